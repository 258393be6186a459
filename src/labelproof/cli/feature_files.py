"""Read features of examples, and prove a stored stretch among them."""

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from labelproof.cli.console import console, plural, print_json, progress_wanted
from labelproof.errors import CertificateError, DataFormatError

__all__ = ["Calibration", "check_stretch", "read_features"]

Calibration = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Inputs that the model was neither trained nor tuned on, for the bar: their features; with --data, a data "
        "set.",
        show_default=False,
    ),
]


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
            raise DataFormatError(f"{path.name}: expected an array of numbers, got {error}") from error
    if path.suffix == ".npz":
        with np.load(path, allow_pickle=False) as file:
            is_sparse = {"indptr", "indices", "data", "shape"} <= set(file.files)
        if is_sparse:
            return scipy.sparse.load_npz(path)
    return read_numbers(path)


def check_stretch(
    result: Path, weight: Any, bias: Any, features: Path, calibration: Path | None, jobs: int | None, as_json: bool
) -> None:
    """Prove every bound of a stored stretch again; leave with the exit code 1 if one is not proven."""
    from labelproof import load_stretch

    s = load_stretch(result, weight, read_features(features), bias=bias)
    held_out = None if calibration is None else read_features(calibration)
    start = time.perf_counter()
    try:
        s.check(calibration=held_out, n_jobs=jobs, progress=progress_wanted())
        fault = None
    except CertificateError as error:
        fault = str(error)
    seconds = time.perf_counter() - start
    if as_json:
        print_json({"proven": fault is None, "fault": fault, "sets": len(s), "seconds": round(seconds, 3)})
    elif fault is None:
        console().print(f"The stretch of {plural(len(s), 'label set')} proven again in {seconds:.1f} s.")
        console().print(f"Rule {s.layer.rule}, ties {s.layer.ties}, {plural(len(s.examples), 'example')}.")
    else:
        console().print(f"Not proven: {fault}.")
    if fault is not None:
        raise typer.Exit(1)
