"""labelproof stretch: how far beyond all mixtures of known inputs must the model go for these label sets?"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelproof.cli.console import console, print_json, printable, progress_wanted, table
from labelproof.cli.engine_options import EngineOptions
from labelproof.cli.feature_files import Calibration, read_features
from labelproof.cli.grouped import grouped
from labelproof.cli.kept_parts import kept_beside
from labelproof.cli.models import FoundThresholds, InactiveTies, LayerOptions, ModelFile, SetOptions
from labelproof.cli.options import AsJson, Jobs, Labels
from labelproof.cli.outputs import require_free_place
from labelproof.foundation.wording import at_least, percent, plural, some_of

if TYPE_CHECKING:
    from labelproof.importers import ImportedLayer
    from labelproof.proof.labels import LabelSets
    from labelproof.proof.pair_result import PairStretch
    from labelproof.proof.stretch_result import Stretch
    from labelproof.stretching.pairs import DeadLabel

__all__ = ["stretch"]

MOST_ROWS, MOST_NAMES = 8, 6


@dataclass(frozen=True)
class Known:
    """Real inputs: those whose mixtures count as known, and those for the bar."""

    features: Annotated[
        Path,
        typer.Option(
            "--features",
            "-f",
            metavar="FILE",
            help="Features of real examples, as the output layer receives them: .npy (n, d), or a sparse .npz.",
            show_default=False,
        ),
    ]
    calibration: Calibration = None
    alpha: Annotated[float, typer.Option(help="Share of the predictions that may lie beyond the bar.")] = 0.01


@dataclass(frozen=True)
class StretchReading:
    """How logits become label sets: as the model does, or as asked; the examples take the place of a domain."""

    rule: Annotated[
        str | None, typer.Option(metavar="sigmoid|topk", help="By default the model's own.", show_default=False)
    ] = None
    thresholds: FoundThresholds = None
    ties: InactiveTies = "inactive"
    k: Annotated[
        int | None, typer.Option("-k", help="Number of labels of a prediction, for topk.", show_default=False)
    ] = None

    def options(self, layer: "ImportedLayer") -> dict[str, Any]:
        """Return it as keywords of `labelproof.stretch`; rule and thresholds are told as for an audit."""
        from labelproof.cli.files import read_thresholds
        from labelproof.importers.assumptions import AS_FOUND, Reading, assume

        thresholds = AS_FOUND if self.thresholds is None else read_thresholds(self.thresholds)
        assumed = assume(layer, Reading(AS_FOUND if self.rule is None else self.rule, thresholds))
        if not isinstance(assumed.rule, str):
            raise ValueError(f"--rule must be given: the model's own is {type(assumed.rule).__name__}")
        return {"rule": assumed.rule, "thresholds": assumed.thresholds, "ties": self.ties, "k": self.k}


@dataclass(frozen=True)
class PairOptions:
    """Whether pairs of labels are measured: those that occur, or all."""

    pairs: Annotated[
        bool, typer.Option("--pairs", help="Also measure pairs of labels, and list labels that are never predicted.")
    ] = False
    every_pair: Annotated[
        bool, typer.Option("--every-pair", help="Like --pairs, for all pairs of labels, up to a million.")
    ] = False

    @property
    def any(self) -> bool:
        """Whether there is anything to measure."""
        return self.pairs or self.every_pair


@grouped
def stretch(
    model: ModelFile,
    labels: Labels,
    *,
    known: Known,
    reading: StretchReading,
    pairs: PairOptions,
    sets: SetOptions,
    layer: LayerOptions,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Save bounds and proofs here; the same command goes on after an interruption.",
            show_default=False,
        ),
    ] = None,
    jobs: Jobs = None,
    engine: EngineOptions,
    as_json: AsJson = False,
) -> None:
    """Measure how far beyond mixtures of real inputs each label set lies, with proofs."""
    from labelproof.data.label_files import read_label_file

    require_free_place(output)
    found, names = layer.read(model)
    data = read_label_file(labels, label_names=names, n_labels=found.n_labels, part=sets.part, columns=sets.columns)
    options = reading.options(found)
    if pairs.any and options["rule"] != "sigmoid":
        raise ValueError(f"--pairs goes with the rule sigmoid only, got {options['rule']}")
    features = read_features(known.features)
    held_out = None if known.calibration is None else read_features(known.calibration)
    options |= {"calibration": held_out, "alpha": known.alpha, "n_jobs": jobs, "engine": engine.connected()}
    start = time.perf_counter()
    with kept_beside(output) as parts:
        s, together, dead = _measured(found, data.sets, features, pairs, {**options, "keep": parts})
        seconds = time.perf_counter() - start
        if output is not None:
            s.save(output)
            if together is not None:
                together.save(output.with_name(f"{output.stem}-pairs.npz"))
    called = list(data.names or names or [str(i) for i in range(found.n_labels)])
    if as_json:
        print_json({**_report(s), **_of_pairs(together, dead, called), "seconds": round(seconds, 3)})
        return
    _print(s, called, seconds)
    if together is not None and dead is not None:
        _print_pairs(together, dead, called)
    if output is not None:
        files = f"{output}" if together is None else f"{output} and {output.stem}-pairs.npz"
        console().print(f"Saved to {files}. To prove it again: labelproof check, with --features.")


def _measured(
    layer: "ImportedLayer", sets: "LabelSets", features: Any, pairs: PairOptions, options: dict[str, Any]
) -> "tuple[Stretch, PairStretch | None, list[DeadLabel] | None]":
    """Measure label sets, and where that was asked for pairs of labels and those that are never predicted."""
    import labelproof
    from labelproof.stretching.measuring import require_variety

    of = layer.weight, sets, features
    s = labelproof.stretch(*of, bias=layer.bias, **options, progress=progress_wanted())
    require_variety(s.examples)
    if not pairs.any:
        return s, None, None
    like = {"bias": layer.bias, "thresholds": options["thresholds"]}
    together = labelproof.stretch_pairs(*of, **like, every=pairs.every_pair, n_jobs=options["n_jobs"])
    return s, together, labelproof.dead_labels(*of, **like)


def _report(s: "Stretch") -> dict[str, Any]:
    import numpy as np

    bar = s.bar
    return {
        "sets": len(s),
        "examples": len(s.examples),
        "features_sha256": s.examples.sha256,
        "lower": [_finite(x) for x in s.lower.tolist()],
        "upper": [_finite(x) for x in s.upper.tolist()],
        "within_the_hull": int((s.upper <= 1).sum()),
        "outside_the_hull": int((s.lower > 1).sum()),
        "infinite": int(np.isinf(s.lower).sum()),
        "bar": None
        if bar is None
        else {
            "value": _finite(bar.value),
            "alpha": bar.alpha,
            "confidence": 0.95,
            "n": bar.n,
            "rank": bar.rank,
            "calibration_sha256": bar.sha256,
            "beyond": int(s.beyond.sum()),
            "statement": bar.statement,
            "assumption": bar.assumption,
        },
    }


def _finite(number: float) -> float | None:
    """Return a number that JSON has: None for infinity."""
    return number if math.isfinite(number) else None


def _of_pairs(together: "PairStretch | None", dead: "list[DeadLabel] | None", names: Sequence[str]) -> dict[str, Any]:
    if together is None or dead is None:
        return {}
    apart = [
        {"labels": [names[a] for a in together.pairs[i]], "count": int(together.counts[i]), "lower": _finite(low)}
        for i, low in zip(together.apart.tolist(), together.lower[together.apart].tolist(), strict=True)
    ]
    listed = [{"label": names[one.label], "true": one.true, "reason": one.reason} for one in dead]
    return {"pairs": len(together), "pairs_apart": apart, "dead_labels": listed}


def _print(s: "Stretch", names: Sequence[str], seconds: float) -> None:
    import numpy as np

    out, bar, n = console(), s.bar, len(s)
    if bar is not None:
        beyond = int(s.beyond.sum())
        out.print(
            f"{percent(beyond, n)} of the label sets ({beyond:,} of {n:,}) lie beyond the bar of {bar.value:.2f}."
        )
        out.print(f"{bar.statement} {bar.assumption}\n", soft_wrap=True)
    rows = table("stretch", "label sets", "share")
    counts = {
        "up to 1: some mixture of the examples": int((s.upper <= 1).sum()),
        "over 1: beyond every mixture": int(((s.lower > 1) & np.isfinite(s.lower)).sum()),
        "infinite: never, however far": int(np.isinf(s.lower).sum()),
    }
    counts["at 1, up to the tolerance"] = n - sum(counts.values())
    for name, count in counts.items():
        rows.add_row(name, f"{count:,}", percent(count, n))
    out.print(rows)
    never = np.flatnonzero(np.isinf(s.lower))[: MOST_ROWS // 2]
    order = np.argsort(-np.where(np.isinf(s.lower), -1.0, s.lower), kind="stable")
    far = np.append(never, order[: MOST_ROWS - len(never)])
    far = far[s.lower[far] > (1.0 if bar is None else bar.value)]
    if len(far):
        out.print("\nThe farthest, with the labels that contradict each other at every example:")
        for i in far.tolist():
            against, active = s[i].weighted or s[i].conflict, set(s.label_sets[i].tolist())
            on, off = ([names[a] for a in against if (a in active) == side] for side in (True, False))
            parts = [f"{word} {_some(part)}" for word, part in (("on:", on), ("off:", off)) if part]
            times = at_least(s.lower[i]) if math.isfinite(s.lower[i]) else "never"
            out.print(f"  {times}  {_some([names[a] for a in sorted(active)])} ({'; '.join(parts)})")
    out.print(f"\nMeasured among {plural(len(s.examples), 'example')} in {seconds:.1f} s, every bound with a proof.")


def _print_pairs(together: "PairStretch", dead: "list[DeadLabel]", names: Sequence[str]) -> None:
    out, apart = console(), together.apart
    share = percent(len(apart), len(together))
    out.print(f"\nPairs that no mixture of the examples combines: {len(apart):,} of {len(together):,} ({share}).")
    for i in apart[:MOST_ROWS].tolist():
        a, b = together.pairs[i].tolist()
        out.print(f"  {together.counts[i]:,} ×  {_some([names[a], names[b]])}: {at_least(together.lower[i])}")
    out.print(f"Labels that are predicted for none of the examples: {len(dead):,} of {len(names):,}.")
    for one in dead[:MOST_ROWS]:
        reason = f" ({one.reason})" if one.reason else ""
        out.print(f"  {_some([names[one.label]])}, true for {plural(one.true, 'label set')}{reason}")


def _some(names: Sequence[str]) -> str:
    return printable(some_of(names, MOST_NAMES)) or "(none)"
