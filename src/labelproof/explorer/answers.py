"""Answers in what JSON has. Labels are indices; ``names`` holds the name of each label that an answer mentions."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from labelproof.explaining.nearest import Neighbour
from labelproof.explorer.drawing.region_drawing import Picture
from labelproof.explorer.prover import Explained, Verdict
from labelproof.explorer.similar import Similar
from labelproof.explorer.stretches import SetStretch
from labelproof.proof.certificates import Argmaxable, Unargmaxable, Undecided

__all__ = [
    "drawing_answer",
    "explanation_answer",
    "label_names",
    "similar_answer",
    "stretch_answer",
    "trial_answer",
    "verdict_answer",
]

Answer = dict[str, Any]
MOST_CHANGES = 60  # of a region that can be chosen in the drawing
DIGITS = 5  # of coordinates


def verdict_answer(verdict: Verdict, pulls: Sequence[float]) -> Answer:
    """Say what is proven; ``pulls`` are the shares of the conflict's labels, where they are known."""
    certificate = verdict.certificate
    if isinstance(certificate, Undecided):
        return {"status": "undecided", "reason": certificate.reason}
    if isinstance(certificate, Argmaxable):
        return {"status": "argmaxable", "margin": _finite(certificate.margin)}
    return {"status": "unargmaxable", "conflict": _conflict(certificate, set(verdict.labels), pulls)}


def explanation_answer(explained: Explained, pulls: Sequence[float]) -> Answer:
    """Say what explains a verdict."""
    boundary = [
        {"label": one.label, "margin": _finite(one.margin), "can_flip": one.can_flip} for one in explained.boundary
    ]
    return verdict_answer(explained.verdict, pulls) | {
        "irreducible": explained.irreducible,
        "least_distance": explained.least_distance,
        "nearest": [_neighbour(one) for one in explained.nearest],
        "boundary": boundary,
    }


def similar_answer(found: Iterable[Similar]) -> list[Answer]:
    """List label sets of the data."""
    return [{"labels": list(one.labels), "similarity": one.similarity, "count": one.count} for one in found]


def stretch_answer(found: SetStretch, active: Sequence[int], inputs: Sequence[Answer], bar: float | None) -> Answer:
    """Say how far from real inputs a set lies; ``inputs`` are those of its mixture. Null is infinite."""
    on = [(label, pull) for label, pull in zip(found.labels, found.shares, strict=True) if label in active]
    off = [(label, pull) for label, pull in zip(found.labels, found.shares, strict=True) if label not in active]
    return {
        "lower": _finite(found.lower),
        "upper": _finite(found.upper),
        "place": _place(found, bar),
        "n_mixed": len(found.examples),
        "mixture": list(inputs),
        "conflict": _sides(on, off) | {"extra": []},
    }


def trial_answer(text: str, predicted: Sequence[int], active: Sequence[int], n_tried: int) -> Answer:
    """Say what the model predicts for a text that was made for a set."""
    return {
        "text": text,
        "predicted": {"labels": list(predicted)},
        "added": [label for label in predicted if label not in active],
        "removed": [label for label in active if label not in predicted],
        "n_tried": n_tried,
    }


def drawing_answer(picture: Picture, counts: Sequence[int]) -> Answer:
    """Write a drawing with few digits; ``counts`` says how many examples of the data have each region's set."""
    regions = [
        {
            "corners": _rounded(region.corners.tolist()),
            "changes": len(region.added) + len(region.removed),
            "added": list(region.added[:MOST_CHANGES]),
            "removed": list(region.removed[:MOST_CHANGES]),
            "can_be_chosen": len(region.added) + len(region.removed) <= MOST_CHANGES,
            "count": count,
        }
        for region, count in zip(picture.regions, counts, strict=True)
    ]
    lines = [
        {
            "label": line.label,
            "start": _rounded(line.start.tolist()),
            "end": _rounded(line.end.tolist()),
            "is_missing": line.is_missing,
        }
        for line in picture.lines
    ]
    disc = picture.disc and {"center": _rounded(picture.disc[0].tolist()), "radius": round(picture.disc[1], DIGITS)}
    return {
        "is_whole": picture.is_whole,
        "is_complete": picture.is_complete,
        "regions": regions,
        "lines": lines,
        "disc": disc,
        "points": _rounded([point.tolist() for point in picture.points]),
        "unit": picture.unit,
    }


def label_names(answer: Any, names: Sequence[str]) -> dict[str, str]:
    """Return the names of all labels that an answer mentions, by index."""
    return {str(i): names[i] for i in sorted(set(_mentioned(answer)))}


def _mentioned(answer: Any) -> Iterable[int]:
    """Yield the labels in an answer: the numbers under these keys, at any depth."""
    if isinstance(answer, list):
        for item in answer:
            yield from _mentioned(item)
    elif isinstance(answer, dict):
        for key, value in answer.items():
            if key == "label":
                yield value
            elif key in ("labels", "on", "off", "added", "removed"):
                yield from value
            else:
                yield from _mentioned(value)


def _conflict(certificate: Unargmaxable, active: set[int], pulls: Sequence[float]) -> Answer:
    """Return the labels of a conflict, those that pull hardest first."""
    order = sorted(
        zip(pulls or [0.0] * len(certificate.conflict), certificate.conflict, strict=True),
        key=lambda pair: (-pair[0], pair[1]),
    )
    on = [(label, pull) for pull, label in order if label in active]
    off = [(label, pull) for pull, label in order if label not in active]
    return _sides(on, off) | {"extra": list(certificate.extra)}


def _sides(on: Sequence[tuple[int, float]], off: Sequence[tuple[int, float]]) -> Answer:
    return {
        "on": [label for label, _ in on],
        "off": [label for label, _ in off],
        "on_shares": [round(pull, DIGITS) for _, pull in on],
        "off_shares": [round(pull, DIGITS) for _, pull in off],
    }


def _place(found: SetStretch, bar: float | None) -> str:
    """Return where a set lies for certain: "beyond" the bar, "within" it, in a mixture ("inside"), or "open"."""
    if found.upper <= 1:
        return "inside"
    if bar is None:
        return "outside" if found.lower > 1 else "open"
    return "beyond" if found.lower > bar else "within" if found.upper <= bar else "open"


def _neighbour(one: Neighbour) -> Answer:
    return {
        "labels": list(one.label_set),
        "added": list(one.added),
        "removed": list(one.removed),
        "is_minimal": one.is_minimal,
        "margin": _finite(one.certificate.margin),
    }


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def _rounded(values: Any) -> Any:
    return [_rounded(one) for one in values] if isinstance(values, list) else round(float(values), DIGITS)
