"""What the page may ask: every list, text and number has a limit."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["MOST_BYTES", "MOST_LABELS", "Drawing", "Explanation", "LabelSet", "ManySets", "Similar", "Verdict"]

MOST_BYTES = 256 * 1024  # of a request's body
MOST_LABELS = 1000  # of one label set
MOST_SETS = 24
MOST_ANCHORS = 3
MOST_SECONDS = 10.0

Label = Annotated[int, Field(ge=0, lt=2**31)]
Labels = Annotated[list[Label], Field(max_length=MOST_LABELS)]


class _Request(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class LabelSet(_Request):
    """One label set by the indices of its active labels."""

    labels: Labels


class Verdict(LabelSet):
    """Other labels whose names the page needs, too."""

    others: Labels = []


class Explanation(LabelSet):
    """How long to search for what explains a verdict, and who asks: a newer question of the same page ends this one."""

    seconds: Annotated[float, Field(gt=0, le=MOST_SECONDS, allow_inf_nan=False)]
    page: Annotated[str, Field(min_length=1, max_length=40, pattern="^[0-9a-z-]+$")]


class Similar(LabelSet):
    """How many similar sets of the data to return."""

    limit: Annotated[int, Field(ge=1, le=MOST_SETS)]


class ManySets(_Request):
    """Several label sets."""

    sets: Annotated[list[Labels], Field(max_length=MOST_SETS)]


class Drawing(LabelSet):
    """Predictable label sets through which to lay the plane."""

    anchors: Annotated[list[Labels], Field(max_length=MOST_ANCHORS)]
