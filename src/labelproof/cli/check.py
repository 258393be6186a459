"""labelproof check: do the proofs in this file hold?"""

import time
from pathlib import Path
from typing import Annotated

import typer

from labelproof.cli.console import console, print_json, progress_wanted
from labelproof.cli.feature_files import Calibration, check_measured
from labelproof.cli.options import FORMATS, AsJson, Bias, Jobs, WeightKey
from labelproof.errors import CertificateError
from labelproof.foundation.wording import plural

__all__ = ["check"]


def check(
    result: Annotated[
        Path, typer.Argument(metavar="RESULT", help="Result that verify, stretch or audit saved.", show_default=False)
    ],
    weights: Annotated[
        Path, typer.Option("--weights", "-w", help=f"The layer that was verified: {FORMATS}.", show_default=False)
    ],
    weight_key: WeightKey = None,
    bias: Bias = None,
    features: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Features of the real inputs, to check a stretch, pairs of labels or a reach.",
            show_default=False,
        ),
    ] = None,
    calibration: Calibration = None,
    jobs: Jobs = None,
    as_json: AsJson = False,
) -> None:
    """Check every proof of a stored result again, exactly, from the weights alone."""
    from labelproof.cli import files, verdict_counts
    from labelproof.importers import read_layer
    from labelproof.proof.parts import load_parts, read_run
    from labelproof.proof.store import load_label_names, load_verification

    if features is not None:
        layer = read_layer(weights, weight_key=weight_key, bias=bias)
        check_measured(files.existing(result), layer, features, calibration, jobs, as_json)
        return
    in_parts = result.is_dir()
    names = read_run(result).label_names if in_parts else load_label_names(files.existing(result))
    # their number tells which side of a sparse matrix is the labels
    layer = read_layer(weights, weight_key=weight_key, bias=bias, n_labels=None if names is None else len(names))
    v = (load_parts if in_parts else load_verification)(result, layer.weight, bias=layer.bias)
    start = time.perf_counter()
    try:
        v.check(n_jobs=jobs, progress=progress_wanted())
        fault = None
    except CertificateError as error:
        fault = str(error)
    seconds = time.perf_counter() - start
    verdicts = verdict_counts.counts(v.status)
    proven = verdicts["argmaxable"] + verdicts["unargmaxable"]
    if as_json:
        assumed = {"assumptions": verdict_counts.assumptions(v.layer)}
        print_json({"proven": fault is None, "fault": fault, **verdicts, **assumed, "seconds": round(seconds, 3)})
    elif fault is None:
        undecided = f"; {verdicts['undecided']:,} are undecided" if verdicts["undecided"] else ""
        console().print(f"{plural(proven, 'verdict')} proven again in {seconds:.1f} s{undecided}.")
        stated = "; ".join(f"{name} {value}" for name, value in verdict_counts.assumptions(v.layer).items())
        console().print(f"The verdicts are about these weights with: {stated}.", highlight=False)
    else:
        console().print(f"Not proven: {fault}.")
    if fault is not None:
        raise typer.Exit(1)
