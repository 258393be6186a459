"""An explanation in plain words; names of labels are shown as they are, but for control characters."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from labelproof.explaining.boundary import Boundary
from labelproof.explaining.nearest import Neighbour
from labelproof.explaining.small_conflicts import shares
from labelproof.proof.certificates import Unargmaxable
from labelproof.proof.regions import OutputLayer

__all__ = ["Wording"]

MOST_NAMES = 8
MOST_TERMS = 6
ALONE = {True: "can change alone", False: "never changes alone", None: "undecided if it can change alone"}


@dataclass(frozen=True, eq=False)
class Wording:
    """Lines of text about one label set; each method words one part of an explanation."""

    layer: OutputLayer
    label_set: tuple[int, ...]
    names: tuple[str, ...] | None

    def the_set(self) -> str:
        """Return what the label set is called."""
        names = [self._name(i) for i in self.label_set[:MOST_NAMES]]
        if len(self.label_set) > MOST_NAMES:
            names.append(f"{len(self.label_set) - MOST_NAMES} more")
        return f"the label set {{{', '.join(names)}}}" if names else "the empty label set"

    def boundary(self, closest: Sequence[Boundary]) -> Iterator[str]:
        """Say which labels are closest to changing."""
        if closest:
            yield "The labels closest to changing there:"
        for one in closest[:MOST_NAMES]:
            state = "on" if one.label in self.label_set else "off"
            yield f"  {self._name(one.label)} ({state}, margin {one.margin:.3g}): {ALONE[one.can_flip]}"

    def conflict(self, certificate: Unargmaxable, *, irreducible: bool) -> Iterator[str]:
        """Say which decisions contradict each other, and how one sees that."""
        labels, pulls = certificate.conflict, shares(certificate)
        if not labels:
            yield "The support of sparsemax is never empty."
            return
        order = list(range(len(labels)))
        if pulls and len(labels) > MOST_NAMES:
            order.sort(key=lambda k: -pulls[k])
        yield self._decisions([labels[k] for k in order], certificate.extra)
        if pulls and len(labels) > 1:
            yield self._dependence(certificate, order)
        if irreducible and len(labels) > 1:
            yield "If any one of these decisions is dropped, the others are possible."
        unbounded = set(self.layer.extra_rows()) <= {self.layer.scale_row}
        if unbounded and len(labels) == self.layer.width + 1 - self.layer.has_scale:
            yield f"There are {len(labels)} of them: with weights in general position no contradiction has fewer."

    def distance(self, least: int | None) -> str:
        """Say how far the nearest argmaxable set is at least."""
        if least is None:
            return "No input gives any label set at all."
        labels = "1 label" if least == 1 else f"{least} labels"
        return f"Every label set that can be predicted differs in at least {labels}."

    def neighbours(self, title: str, sets: Sequence[Neighbour]) -> Iterator[str]:
        """Say in what near argmaxable sets differ."""
        if sets:
            yield title
        for one in sets:
            sides = (("with", one.added), ("without", one.removed))
            changes = ", ".join(f"{word} {self._listed(side)}" for word, side in sides if side)
            count = f"{one.distance} change{'s' if one.distance > 1 else ''}"
            yield f"  {changes} ({count}{', the fewest possible' if one.is_minimal else ''})"

    def _name(self, i: int) -> str:
        name = f"label {i}" if self.names is None else self.names[i]
        plain = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)
        return plain if len(plain) <= 60 else plain[:59] + "…"

    def _listed(self, labels: Sequence[int]) -> str:
        names = [self._name(i) for i in labels]
        if len(names) > MOST_NAMES:
            names = [*names[: MOST_NAMES - 1], f"{len(names) - MOST_NAMES + 1} others"]
        return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)

    def _decisions(self, labels: list[int], extra: tuple[str, ...]) -> str:
        on = [i for i in labels if i in self.label_set]
        off = [i for i in labels if i not in self.label_set]
        start = "Given its biases, no" if "scale" in extra and self.layer.offset is not None else "No"
        who = f"{start} input{self._within(extra)} can"
        if len(labels) == 1 and not self.layer.has_threshold:
            return f"{who} switch {'on' if on else 'off'} {self._name(labels[0])}: {self._logit_is(labels[0])}."
        if _has_sum(extra):
            return f"{who} give just this support: its scores' sum contradicts the places of {self._listed(labels)}."
        how = f"these {len(labels)} decisions contradict each other"
        if self.layer.has_threshold:
            return f"{who} rank {self._listed(on)} above {self._listed(off)}: {how}."
        sides = [f"{word} {self._listed(side)}" for word, side in (("on", on), ("off", off)) if side]
        return f"{who} switch {' and '.join(sides)}: {how}."

    def _logit_is(self, label: int) -> str:
        if self.layer.offset is None and not self.layer.weight[label].any():
            return "its logit is always 0"
        if label in self.label_set:
            return "its logit is never positive"
        return "its logit is never negative" if self.layer.ties == "open" else "its logit is always positive"

    def _within(self, extra: tuple[str, ...]) -> str:
        if "domain" in extra:
            return " of the domain"
        features = sorted({int(name[name.index("[") + 1 : -1]) for name in extra if "[" in name})
        if not features:
            return ""
        if self.layer.high is None and self.layer.low is not None and not self.layer.low.any():
            return " with features ≥ 0"
        some = ", ".join(map(str, features[:5])) + (f" and {len(features) - 5} others" if len(features) > 5 else "")
        return f" within the bounds of feature{'s' if len(features) > 1 else ''} {some}"

    def _dependence(self, certificate: Unargmaxable, order: list[int]) -> str:
        largest = max(certificate.multipliers)
        total = ""
        for k in order[:MOST_TERMS]:
            label, m = certificate.conflict[k], certificate.multipliers[k]
            number = str(m) if largest < 10_000 else f"{m / largest:.3g}"
            total += f" {'+' if label in self.label_set else '−'} {number}·{self._name(label)}"
        if len(order) > MOST_TERMS:
            total += f" + … ({len(order) - MOST_TERMS} more)"
        total = total.removeprefix(" + ") if total.startswith(" +") else total.replace(" − ", "−", 1)
        scaled = "scale" in certificate.extra
        relation = "< 0" if scaled else "≤ 0" if certificate.extra else "= 0"
        logit = "logit less the threshold" if _has_sum(certificate.extra) else "logit"
        return (
            f"For every {'such input' if certificate.extra else 'input'} {total} {relation} (a name stands for the "
            f"{logit}), but these decisions make it {'not negative' if scaled else 'positive'}."
        )


def _has_sum(extra: tuple[str, ...]) -> bool:
    return "sum_le" in extra or "sum_ge" in extra
