"""Read features of examples, and prove again what was measured among them."""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelproof.cli.console import console, print_json, progress_wanted
from labelproof.errors import CertificateError, DataFormatError
from labelproof.foundation.wording import plural

if TYPE_CHECKING:
    from labelproof.importers import ImportedLayer

__all__ = ["CALIBRATION", "Calibration", "check_measured", "read_features"]

CALIBRATION = (
    "Inputs that the model was neither trained nor tuned on, for the bar: their features; with --data, a data set."
)
Calibration = Annotated[Path | None, typer.Option(metavar="FILE", help=CALIBRATION, show_default=False)]


def read_features(path: Path) -> Any:
    """Map an array of features from its file, or read a sparse matrix."""
    import numpy as np
    import scipy.sparse

    from labelproof.cli.files import existing, read_numbers

    existing(path)
    if path.suffix == ".npy":
        try:
            return np.load(path, mmap_mode="r", allow_pickle=False)
        except (ValueError, EOFError) as error:
            raise DataFormatError(
                f"{path.name}: expected an array of numbers in the .npy format, got another"
            ) from error
    if path.suffix == ".npz":
        with np.load(path, allow_pickle=False) as file:
            is_sparse = {"indptr", "indices", "data", "shape"} <= set(file.files)
        if is_sparse:
            return scipy.sparse.load_npz(path)
    return read_numbers(path)


def check_measured(
    result: Path, layer: "ImportedLayer", features: Path, calibration: Path | None, jobs: int | None, as_json: bool
) -> None:
    """Prove every bound of a stretch, of pairs or of a reach again; leave with the exit code 1 if one is not proven."""
    what, found, prove = _read_measured(result, layer, features, calibration, jobs)
    start = time.perf_counter()
    try:
        prove()
        fault = None
    except CertificateError as error:
        fault = str(error)
    seconds = time.perf_counter() - start
    if as_json:
        print_json({"proven": fault is None, "fault": fault, "sets": len(found), "seconds": round(seconds, 3)})
    elif fault is None:
        examples = getattr(found, "examples_of", None) or found.examples
        console().print(f"The {what} proven again in {seconds:.1f} s.")
        console().print(f"Rule {found.layer.rule}, ties {found.layer.ties}, {plural(len(examples), 'example')}.")
    else:
        console().print(f"Not proven: {fault}.")
    if fault is not None:
        raise typer.Exit(1)


def _read_measured(
    result: Path, layer: "ImportedLayer", features: Path, calibration: Path | None, jobs: int | None
) -> tuple[str, Any, Callable[[], None]]:
    """Return what a file holds, in words and as it was kept, and what proves it."""
    from labelproof.proof.measured_store import format_of
    from labelproof.proof.pair_store import FORMAT as PAIRS
    from labelproof.proof.pair_store import load_pairs
    from labelproof.proof.reach_store import FORMAT as REACH
    from labelproof.proof.reach_store import load_reach
    from labelproof.proof.stretch_store import load_stretch

    known, kind = read_features(features), format_of(result)
    held_out = None if calibration is None else read_features(calibration)
    if kind == PAIRS:
        pairs = load_pairs(result, layer.weight, known, bias=layer.bias)
        return f"stretch of {plural(len(pairs), 'pair')} of labels", pairs, pairs.check
    if kind == REACH:
        reach = load_reach(result, layer.weight, known, bias=layer.bias)
        return f"reach of {plural(len(reach), 'label set')}", reach, partial(reach.check, calibration=held_out)
    s = load_stretch(result, layer.weight, known, bias=layer.bias)
    check = partial(s.check, calibration=held_out, n_jobs=jobs, progress=progress_wanted())
    return f"stretch of {plural(len(s), 'label set')}", s, check
