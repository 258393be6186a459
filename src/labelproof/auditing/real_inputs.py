"""Features of real inputs for an audit: given, or computed by the model from the data."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from labelproof.auditing.feature_cache import FeatureCache, key_of, write_note
from labelproof.data.dataset import Dataset
from labelproof.data.model_inputs import TRAINING, model_inputs
from labelproof.foundation.progress import progress_bar
from labelproof.importers import ImportedLayer
from labelproof.importers.feature_blocks import stacked
from labelproof.proof.examples import each_row, read_examples
from labelproof.proof.stretch_bar import bar_rank

__all__ = [
    "MOST_EXAMPLES",
    "RealInputs",
    "choose_rows",
    "compute",
    "given",
    "raw_inputs",
    "take_rows",
    "training_rows",
    "with_held_out",
]

Indices = npt.NDArray[np.int64]
MOST_EXAMPLES, MOST_HELD_OUT = 10_000, 3_000  # inputs that are run, unless more are asked for
CHECKED = 48  # inputs whose logits are compared with the model's own
AT_ONCE = 256


@dataclass(frozen=True, eq=False)
class RealInputs:
    """What the output layer reads for real inputs.

    Attributes
    ----------
    examples
        Features (n, d), dense or CSR: mixtures are of these.
    source
        Where they are from, in words.
    held_out
        Features of inputs that the model was neither trained nor tuned on, for the bar; or None.
    held_out_source
        Where these are from, in words.
    why_no_bar
        Why there are none, in a sentence.
    rows, held_out_rows
        Which rows of the data they are, where that is known.
    training
        Rows of the data that the model was trained on, as far as its parts tell: there it predicts what it will not for
        new inputs.
    texts
        Of all rows of the data.
    key
        Of the raw inputs that features were computed from, by which they are found again.
    """

    examples: Any
    source: str
    held_out: Any = None
    held_out_source: str | None = None
    why_no_bar: str | None = None
    rows: Indices | None = None
    held_out_rows: Indices | None = None
    training: Indices | None = None
    texts: Sequence[str] | None = None
    key: str | None = None

    def write_note(self, path: Path, model: str) -> None:
        """Write beside the features what they are of, so that they are found again."""
        if self.key is None:
            return
        rows = None if self.held_out_rows is None else self.held_out_rows.tolist()
        facts = {"held_out_rows": rows, "held_out_source": self.held_out_source, "why_no_bar": self.why_no_bar}
        write_note(path, model, self.key, {"features": self.examples, "calibration": self.held_out}, facts)

    def proven_by(self, command: str) -> str:
        """Return a command that proves something among these features again, in the folder of the audit."""
        return command.replace(".npy", ".npz") if scipy.sparse.issparse(self.examples) else command


def given(features: Any, calibration: Any = None, *, source: str = "features that were given") -> RealInputs:
    """Hold features that were given."""
    held_out = None if calibration is None else "held-out features that were given"
    return RealInputs(features, source, calibration, held_out)


def training_rows(data: Dataset) -> Indices:
    """Return the rows of the training part of a data set."""
    return np.flatnonzero([] if data.split is None else np.isin(np.asarray(data.split), TRAINING))


def raw_inputs(layer: ImportedLayer, data: Dataset) -> Any:
    """Return what the model reads of a data set, or None where it can compute nothing from it."""
    return None if layer.reads is None or not layer.can_run else model_inputs(data, layer.reads)


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of the data whose inputs are examples, and those that are held out for the bar, each with where from."""

    examples: Indices
    source: str
    held_out: Indices | None = None
    held_out_source: str | None = None
    why_no_bar: str | None = None


def choose_rows(data: Dataset, part: str | None, name: str, *, alpha: float, most: int, seed: int) -> Rows:
    """Choose examples and held-out inputs among the rows of a data set.

    Where the data have a training part, the examples are from there, and all other parts, or the one that is asked
    for, are held out. Else a random half is held out.

    Parameters
    ----------
    data
        All of it.
    part
        The part whose label sets are judged; None for all.
    name
        What to call the data.
    alpha
        Of the bar, which says how many inputs it needs.
    most
        How many examples are taken at most.
    """
    rng = np.random.default_rng(seed)
    split = None if data.split is None else np.asarray(data.split)
    training = np.zeros(len(data), np.bool_) if split is None else np.isin(split, TRAINING)
    judged = np.ones(len(data), np.bool_) if part is None or split is None else split == part
    held = judged & ~training
    if training.any() and held.any():
        examples, held_out = _sample(training, most, rng), _sample(held, MOST_HELD_OUT, rng)
        sources = f"the training part of {name}", f"the part {part} of {name}" if part else f"the rest of {name}"
    elif training.any():
        why = f"All inputs are of the training part of {name}."
        return Rows(_sample(judged, most, rng), f"the training part of {name}", why_no_bar=why)
    else:
        every = rng.permutation(np.flatnonzero(judged))
        half = len(every) // 2
        examples, held_out = np.sort(every[half:][:most]), np.sort(every[:half][:MOST_HELD_OUT])
        untold = "no training part is marked, so the bar holds only if the model has learned from none of them"
        sources = f"a random half of {name}", f"the other half of {name}; {untold}"
    needed = _too_few(len(held_out), alpha)
    if needed is not None:
        rest = examples if training.any() else _sample(judged, most, rng)
        return Rows(rest, sources[0] if training.any() else name, why_no_bar=needed)
    return Rows(examples, sources[0], held_out, sources[1])


def with_held_out(
    inputs: Any, more: Any, data: Dataset, part: str | None, name: str, *, alpha: float, most: int, seed: int
) -> tuple[Any, Rows]:
    """Return the inputs of a data set followed by held-out ones, and the rows to take of both; see `choose_rows`."""
    rng = np.random.default_rng(seed)
    n, n_more = len(data), more.shape[0] if hasattr(more, "shape") else len(more)
    judged = np.ones(n, np.bool_) if part is None or data.split is None else np.asarray(data.split) == part
    held_out = n + _sample(np.ones(n_more, np.bool_), MOST_HELD_OUT, rng)
    both = [*inputs, *more] if isinstance(inputs, list) else stacked([inputs, more])
    bar_rank(len(held_out), alpha)  # says if there are too few
    return both, Rows(_sample(judged, most, rng), name, held_out, "held-out inputs that were given")


def _sample(chosen: npt.NDArray[np.bool_], most: int, rng: np.random.Generator) -> Indices:
    rows = np.flatnonzero(chosen)
    return rows if len(rows) <= most else np.sort(rng.choice(rows, most, replace=False))


def _too_few(n: int, alpha: float) -> str | None:
    """Return in a sentence why n held-out inputs give no bar, or None."""
    try:
        bar_rank(n, alpha)
    except ValueError as error:
        return f"The held-out inputs are too few: {error}."
    return None


def compute(
    layer: ImportedLayer,
    inputs: Any,
    rows: Rows,
    *,
    alpha: float,
    texts: Sequence[str] | None = None,
    cache: FeatureCache | None = None,
    progress: bool = False,
) -> RealInputs:
    """Have the model compute its features, and see that they are what its output layer reads.

    Parameters
    ----------
    layer
        Of a model that can be run.
    inputs
        Raw inputs of all rows of the data.
    rows
        Which of them to take.
    alpha
        Of the bar.
    texts
        Of all rows, for people.
    cache
        Where features of an earlier audit are.

    Raises
    ------
    ValueError
        If the features do not reproduce the model's own logits.
    """
    wanted = rows.examples if rows.held_out is None else np.concatenate([rows.examples, rows.held_out])
    key = key_of(inputs, rows.examples, rows.held_out)
    real = RealInputs(None, rows.source, rows=rows.examples, texts=texts, key=key)
    found = None if cache is None else cache.load(key)
    if found is not None:
        examples, held_out, facts = found
        theirs = None if held_out is None else np.array(facts["held_out_rows"], np.int64)
        told = {name: facts[name] for name in ("held_out_source", "why_no_bar")}
        return replace(real, examples=examples, held_out=held_out, held_out_rows=theirs, **told)
    require_own_logits(layer, take_rows(inputs, wanted[:: max(1, len(wanted) // CHECKED)][:CHECKED]))
    every = _run(layer, inputs, wanted, progress)
    real = replace(real, examples=every[: len(rows.examples)])
    if rows.held_out is None:
        return replace(real, why_no_bar=rows.why_no_bar)
    return _with_held_out(real, every[len(rows.examples) :], rows, layer.n_features, alpha)


def _with_held_out(real: RealInputs, held_out: Any, rows: Rows, d: int, alpha: float) -> RealInputs:
    """Add the held-out inputs, but for those whose features are an example's."""
    assert rows.held_out is not None  # noqa: S101 - the caller looked
    known = {row.tobytes() for row in each_row(read_examples(real.examples, d))}
    new = np.array([row.tobytes() not in known for row in each_row(read_examples(held_out, d))], np.bool_)
    left_out = int((~new).sum())
    few = _too_few(int(new.sum()), alpha)
    if few is not None:
        return replace(real, why_no_bar=f"{left_out:,} held-out inputs are examples as well. {few}")
    source = rows.held_out_source
    if left_out:
        source = f"{source}, without {left_out:,} whose features are an example's"
    return replace(real, held_out=held_out[new], held_out_rows=rows.held_out[new], held_out_source=source)


def _run(layer: ImportedLayer, inputs: Any, rows: Indices, progress: bool) -> Any:
    assert layer.features is not None  # noqa: S101 - the caller looked
    blocks = []
    with progress_bar("running the model", len(rows), show=progress) as advance:
        for start in range(0, len(rows), AT_ONCE):
            some = rows[start : start + AT_ONCE]
            blocks.append(_in_half_the_space(layer.features(take_rows(inputs, some))))
            advance(len(some))
    return stacked(blocks)


def _in_half_the_space(features: Any) -> Any:
    """Return features in half the space where float32 holds them exactly, as it does for most encoders."""
    if scipy.sparse.issparse(features) or features.dtype != np.float64:
        return features
    with np.errstate(over="ignore"):
        single = features.astype(np.float32)
    return single if np.array_equal(single, features) else features


def take_rows(inputs: Any, rows: Indices) -> Any:
    """Return some rows of raw inputs: of a list, an array or a sparse matrix."""
    return [inputs[i] for i in rows.tolist()] if isinstance(inputs, list) else inputs[rows]


def require_own_logits(layer: ImportedLayer, inputs: Any) -> None:
    """Refuse features that do not give the logits that the model itself gives."""
    if layer.logits is None or layer.features is None:
        return
    own, features = np.asarray(layer.logits(inputs), np.float64), layer.features(inputs)
    if features.shape[1] != layer.n_features:
        raise ValueError(
            f"expected {layer.n_features} features that {layer.model} computes for its output layer, "
            f"got {features.shape[1]}"
        )
    products = features @ layer.weight.T
    ours = np.asarray(products.toarray() if scipy.sparse.issparse(products) else products)
    ours = ours + (0.0 if layer.bias is None else layer.bias)
    if own.shape != ours.shape:
        raise ValueError(f"expected logits of shape {ours.shape} of {layer.model}, got {own.shape}")
    allowed = (0.03 if layer.dtype in ("bfloat16", "float16") else 1e-3) * (1.0 + float(np.abs(ours).max()))
    worst = np.unravel_index(int(np.argmax(np.abs(own - ours))), ours.shape)
    if not np.abs(own - ours)[worst] <= allowed:
        raise ValueError(
            f"the features that {layer.model} computes must reproduce its own logits, got {ours[worst]:.4g} in place "
            f"of {own[worst]:.4g} for label {worst[1]}: something between encoder and output layer is not known here"
        )
