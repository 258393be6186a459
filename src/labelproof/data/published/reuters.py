"""Reuters-21578: SGML files reut2-000.sgm to reut2-021.sgm, with the ModApte split."""

import html
import re
from collections.abc import Iterator
from pathlib import Path

from labelproof.data.dataset import Dataset
from labelproof.data.examples import Example, collect
from labelproof.data.textfile import LIMITS, Limits, at, read_lines
from labelproof.errors import DataFormatError
from labelproof.foundation.arguments import check_choice

__all__ = ["iter_reuters", "read_reuters"]

_ATTRIBUTE = re.compile(r'([A-Z]+)="([^"]*)"')
_PARTS = {"TRAIN": "train", "TEST": "test"}
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f]")


def read_reuters(folder: Path, limits: Limits = LIMITS, *, topics: str = "r90") -> Dataset:
    """Read titles and bodies of the ModApte split.

    Parameters
    ----------
    folder
        The folder of the files, plain or compressed.
    limits
        How much is read.
    topics
        ``r90``: the topics that both parts have, and the stories that have one of them; ``all``: every topic and story.
    """
    check_choice("topics", topics, ("r90", "all"))
    data = collect(iter_reuters(folder, limits))
    if topics == "all":
        return data
    if set(data.parts) != {"train", "test"}:
        raise DataFormatError(
            f"{folder.name}: expected stories of training and test, got {' '.join(data.parts) or 'none'}"
        )
    in_train, in_test = (data.part(part).label_counts() > 0 for part in ("train", "test"))
    kept = [name for name, both in zip(data.label_names, in_train & in_test, strict=True) if both]
    data = data.restrict_to(kept, unknown="drop")
    return data.select(data.labels.sum(axis=1) > 0)


def iter_reuters(folder: Path, limits: Limits = LIMITS) -> Iterator[Example]:
    """Yield the stories of the ModApte split: those with TOPICS="YES" that Lewis put into training or test."""
    files = sorted(folder.glob("reut2-*.sgm*"))
    if not files:
        raise DataFormatError(f"{folder.name}: expected files reut2-*.sgm in this folder, got none")
    for path in files:
        yield from _stories(path, limits)


def _stories(path: Path, limits: Limits) -> Iterator[Example]:
    story: list[str] | None = None
    for number, line in read_lines(path, limits, encoding="latin-1"):
        if line.startswith("<REUTERS "):
            if story is not None:
                raise DataFormatError(f"{at(path, number)}: expected </REUTERS> before the next story")
            story = []
        if story is not None:
            story.append(line)
            if line.rstrip().endswith("</REUTERS>"):
                example = _example("\n".join(story))
                if example is not None:
                    yield example
                story = None
    if story is not None:
        raise DataFormatError(f"{path.name}: expected </REUTERS>, got the end of the file")


def _example(story: str) -> Example | None:
    attributes = dict(_ATTRIBUTE.findall(story.partition(">")[0]))
    split = _PARTS.get(attributes.get("LEWISSPLIT", ""))
    if attributes.get("TOPICS") != "YES" or split is None:
        return None
    topics = (piece.partition("</D>")[0] for piece in _within(story, "TOPICS").split("<D>")[1:])
    labels = tuple(html.unescape(topic) for topic in topics if topic)
    content = _within(story, "TEXT")
    text = "\n\n".join(part for part in (_within(content, "TITLE"), _within(content, "BODY")) if part)
    if not text:  # stories of TYPE="UNPROC" have neither
        text = re.sub(r"<[^<>]*>", "", content)
    return Example(labels, text=_CONTROL.sub("", html.unescape(text)).strip(), split=split, time=_date(story))


def _within(text: str, tag: str) -> str:
    opening = re.search(rf"<{tag}\b[^<>]*>", text)
    content, closing, _ = text[opening.end() :].partition(f"</{tag}>") if opening else ("", "", "")
    return content.strip() if closing else ""


_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")


def _date(story: str) -> str:
    """Return the day of a story, as in 1987-02-26, or "" where it has none."""
    match = re.search(r"<DATE>\s*(\d{1,2})-([A-Z]{3})-(\d{4})", story)
    if match is None or match[2] not in _MONTHS:
        return ""
    return f"{match[3]}-{_MONTHS.index(match[2]) + 1:02}-{int(match[1]):02}"
