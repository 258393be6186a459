"""Build the data that `labelproof demo` ships with: descriptions of Debian packages and their tags.

    python benchmarks/demo_data.py debtags-bookworm.jsonl.xz

The input has one JSON object a line with package, source, section, description and tags, as the package lists of Debian
12 (main) have them. The output is the same for the same input, byte by byte with the same version of liblzma.
"""

import hashlib
import json
import lzma
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parents[1] / "src/labelproof/data/shipped/debian_packages/packages.jsonl.xz"
N_SOURCES = 4200
LEAST_SOURCES = 40  # of all sources: tags of fewer are left out
LEAST_TAGS = 2  # packages with a single tag are hardly tagged at all

Row = dict[str, Any]


def choose(rows: list[Row]) -> list[Row]:
    """Return the packages of a sample of sources, with their frequent tags, sorted by name."""
    main = [(row, _meant(row["tags"])) for row in rows if "/" not in row["section"]]  # other parts have a prefix
    tagged = [(row, tags) for row, tags in main if len(tags) >= LEAST_TAGS]
    sources_of = Counter(tag for _, tag in {(row["source"], tag) for row, tags in tagged for tag in tags})
    kept = [(row, [tag for tag in tags if sources_of[tag] >= LEAST_SOURCES]) for row, tags in tagged]
    kept = [(row, tags) for row, tags in kept if len(tags) >= LEAST_TAGS]
    sources = set(sorted({row["source"] for row, _ in kept}, key=_shuffled)[:N_SOURCES])
    return [
        {"package": row["package"], "source": row["source"], "description": row["description"], "tags": tags}
        for row, tags in sorted(kept, key=lambda one: one[0]["package"])
        if row["source"] in sources
    ]


def lines(rows: list[Row]) -> Iterator[str]:
    """Write one JSON object a line."""
    for row in rows:
        yield json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n"


def _meant(tags: list[str]) -> list[str]:
    """Leave out tags that say that a tag is missing, and those of the archive's own making."""
    return sorted(tag for tag in tags if not tag.endswith("::TODO") and not tag.startswith("special::"))


def _shuffled(source: str) -> str:
    """Order sources as if by chance, the same on every machine."""
    return hashlib.sha256(source.encode()).hexdigest()


def main(path: str) -> None:
    with lzma.open(path, "rt", encoding="utf-8") as file:
        rows = choose([json.loads(line) for line in file])
    TARGET.write_bytes(lzma.compress("".join(lines(rows)).encode(), preset=9 | lzma.PRESET_EXTREME))
    labels = {tag for row in rows for tag in row["tags"]}
    sources = {row["source"] for row in rows}
    print(
        f"{len(rows):,} packages of {len(sources):,} sources, {len(labels)} tags, "
        f"{sum(len(row['tags']) for row in rows) / len(rows):.2f} a package; {TARGET.stat().st_size:,} bytes"
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
