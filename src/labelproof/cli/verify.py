"""labelproof verify: which of these label sets can the output layer predict?"""

import shlex
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelproof.cli.console import console, print_json, progress_wanted
from labelproof.cli.engine_options import EngineOptions
from labelproof.cli.grouped import grouped
from labelproof.cli.kept_parts import kept_beside
from labelproof.cli.models import GivenReading, LayerOptions, SetOptions, differences
from labelproof.cli.options import AsJson, Jobs, Labels, TimeLimit, Weights
from labelproof.cli.outputs import require_free_place
from labelproof.foundation.arguments import check_share, is_share_reached

if TYPE_CHECKING:
    from labelproof.data.label_matching import MatchedSets
    from labelproof.importers import ImportedLayer
    from labelproof.importers.assumptions import Reading
    from labelproof.proof.parts import VerificationParts
    from labelproof.proof.result import Verification

__all__ = ["verify"]


@dataclass(frozen=True)
class Effort:
    """What is measured of each label set, for how long and on how many threads, and how many of them are decided."""

    radius: Annotated[
        bool,
        typer.Option("--radius", help="Also measure how far the features of each possible set can move (the radius)."),
    ] = False
    box: Annotated[float, typer.Option(help="Bound on the features for the radius.")] = 1e4
    eps: Annotated[float, typer.Option(help="Count the sets with at least this radius.")] = 1e-8
    time_limit: TimeLimit = None
    jobs: Jobs = None
    sample: Annotated[
        int | None,
        typer.Option(help="Verify a random sample of this size, and bound the share of all sets.", show_default=False),
    ] = None
    seed: Annotated[int, typer.Option(help="Seed of the sample.", min=0)] = 0

    def options(self) -> dict[str, Any]:
        """Return it as keywords of `labelproof.verify`."""
        what = {"radius": self.radius, "box": self.box, "eps": self.eps}
        return {**what, "time_limit": self.time_limit, "n_jobs": self.jobs, "sample": self.sample, "seed": self.seed}


@dataclass(frozen=True)
class Output:
    """Where verdicts and proofs go."""

    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Save verdicts and proofs: in a file (*.npz), or part by part in a folder (a name without a suffix). "
            "After an interruption the same command continues.",
            show_default=False,
        ),
    ] = None
    part_size: Annotated[
        int | None, typer.Option(help="Label sets per part, if the output is a folder.", min=1, show_default=False)
    ] = None


@grouped
def verify(
    weights: Weights,
    labels: Labels,
    *,
    place: Output,
    sets: SetOptions,
    layer: LayerOptions,
    reading: GivenReading,
    effort: Effort,
    engine: EngineOptions,
    fail_under: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Exit with code 1 if a smaller share of the sets can be predicted.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Decide for each label set whether the output layer can ever predict it, with a proof."""
    from labelproof.cli import verdicts
    from labelproof.cli.verify_parts import is_folder, read_sets

    output = place.output
    found, names = layer.read(weights)
    if fail_under is not None:
        check_share("--fail-under", fail_under)
    require_free_place(output, [weights, Path(labels), layer.bias, layer.label_names])
    if place.part_size is not None and not is_folder(output):
        raise ValueError("--part-size goes with an --output that is a folder: a name without an ending")
    data = read_sets(labels, found.n_labels, names, sets.part, sets.columns, output)
    if not len(data.sets):
        raise ValueError(f"{Path(labels).name}: expected at least one label set, got none")
    used = reading.read()
    notes = [*differences(found, used), *([data.note] if data.note else [])]
    options = {**effort.options(), "engine": engine.connected()}
    start = time.perf_counter()
    v = _decided(found, data, used, options, place)
    seconds = time.perf_counter() - start
    n_possible = int((v.status == 1).sum())
    passed = fail_under is None or is_share_reached(n_possible, len(v), fail_under)
    bias_from = None if found.bias is None else _name(layer.bias or weights)
    if as_json:
        described = {"bias_from": bias_from, "notes": notes, "seconds": round(seconds, 3)}
        outcome = {"saved": None if output is None else str(output), "passed": passed}
        print_json({**verdicts.report(v, data.names), **described, **outcome})
    else:
        verdicts.print_head(v, _name(weights), Path(labels).name, bias_from, notes)
        verdicts.print_verdicts(v, data.names, seconds)
        if output is not None:
            again = _command_to_check(output, weights, layer)
            console().print(f"Saved to {output}. To prove it again:\n  {again}", soft_wrap=True)
        if not passed:
            share = f"{n_possible / len(v):.4f}"
            console().print(f"Not passed: {share} of the label sets can be predicted, {fail_under} were required.")
    if not passed:
        raise typer.Exit(1)


def _decided(
    layer: "ImportedLayer", data: "MatchedSets", used: "Reading", options: dict[str, Any], place: Output
) -> "Verification | VerificationParts":
    """Decide the label sets, and save verdicts and proofs where that was asked for."""
    import labelproof
    from labelproof.cli.verify_parts import is_folder, verify_to_folder

    output, how = place.output, {**used.options(), **options, "bias": layer.bias}
    if output is not None and is_folder(output):
        kept = {"label_names": data.names, "part_size": place.part_size}
        return verify_to_folder(output, layer.weight, data.sets, **kept, **how)
    with kept_beside(output) as parts:
        v = labelproof.verify(layer.weight, data.sets, keep=parts, progress=progress_wanted(), **how)
        if output is not None:
            v.save(output, label_names=data.names)
    return v


def _command_to_check(output: Path, weights: Path, layer: LayerOptions) -> str:
    words = ["labelproof", "check", str(output), "--weights", str(weights)]
    words += [] if layer.weight_key is None else ["--weight-key", layer.weight_key]
    return shlex.join(words if layer.bias is None else [*words, "--bias", str(layer.bias)])


def _name(path: Path) -> str:
    return path.resolve().name
