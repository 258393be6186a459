"""Write characters.csv: names of Unicode characters and their properties, the data of the tutorials.

Both come from Python's standard library, whose frozen copy of Unicode 3.2 is the same on every machine.
"""

import csv
import random
from unicodedata import ucd_3_2_0 as unicode

CATEGORIES = {"L": "letter", "M": "mark", "N": "number", "P": "punctuation", "S": "symbol"}
CASES = {"Lu": "uppercase", "Ll": "lowercase"}
DIRECTIONS = {"R": "right-to-left", "AL": "right-to-left", "NSM": "combining"}
SCRIPTS = ("LATIN", "GREEK", "CYRILLIC", "ARABIC", "HEBREW", "DEVANAGARI", "ARMENIAN", "GEORGIAN", "THAI", "ETHIOPIC")


def properties(character: str) -> list[str]:
    """Return what Unicode says of a character, as a list of labels."""
    category, name = unicode.category(character), unicode.name(character)
    labels = [
        CATEGORIES.get(category[0], "other"),
        CASES.get(category),
        DIRECTIONS.get(unicode.bidirectional(character)),
    ]
    labels.append(next((script.title() for script in SCRIPTS if script in name.split()), None))
    labels.append("accented" if " WITH " in name else None)
    labels.append("decomposes" if unicode.decomposition(character) else None)
    labels.append("mirrored" if unicode.mirrored(character) else None)
    labels.append("digit" if unicode.digit(character, None) is not None else None)
    return sorted({label for label in labels if label})


def main(n: int = 2000) -> None:
    """Write n characters in random order, the last fifth of them as the part test."""
    everyone = [chr(code) for code in range(0x20, 0x3000) if unicode.name(chr(code), "")]
    chosen = random.Random(0).sample(everyone, n)  # noqa: S311 - a fixed order, no secret
    with open("characters.csv", "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["text", "labels", "split"])
        for i, character in enumerate(chosen):
            part = "train" if i < 0.8 * n else "test"
            rows.writerow([unicode.name(character).lower(), ";".join(properties(character)), part])


if __name__ == "__main__":
    main()
