"""One small call of everything that is compiled, with the types of array that users' calls end in."""

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

import labelproof

__all__ = ["CALLS", "import_kernels", "kernel_modules"]

Pair = tuple[npt.NDArray[np.bool_], npt.NDArray[Any]]


def kernel_modules() -> Iterator[str]:
    """Yield the name of every module of the package that holds kernels."""
    for module in walk_packages([str(Path(labelproof.__file__).parent)], "labelproof."):
        if module.name.endswith("kernels"):
            yield module.name


def _examples(kind: type[np.floating]) -> Pair:
    """Return labels of examples and probabilities, such that every label has examples with and without it."""
    rng = np.random.default_rng(0)
    return np.arange(320).reshape(40, 8) % 3 == 0, rng.random((40, 8)).astype(kind)


def _verify() -> None:
    from labelproof.proof.regions import make_layer
    from labelproof.search.doubled import DoubledRows, search_doubled
    from labelproof.search.systems import search_system

    rng = np.random.default_rng(0)
    weight = rng.standard_normal((12, 3))
    labelproof.verify(weight, rng.standard_normal((4, 3)) @ weight.T > 0, radius=True, n_jobs=1)
    turn = np.arange(64) * np.pi / 32  # neighbouring rows are nearly parallel, which is searched one by one
    labelproof.verify(np.column_stack([np.cos(turn), np.sin(turn)]), [[0], list(range(32))], n_jobs=1)
    wide = rng.standard_normal((800, 200))
    labelproof.verify(wide, [[0]], n_jobs=1)  # never predicted, by many rows and by as few as that needs
    search_system(make_layer(wide)).sample.conflict(800, np.array([0]))
    layer = make_layer(weight)
    search_doubled(DoubledRows(layer, search_system(layer)), np.array([0]), np.array([1]), np.inf)
    wide = rng.standard_normal((2, 2100))  # which is searched in columns, for a witness and for a conflict
    for stored in (wide, scipy.sparse.csr_array(wide)):
        for domain in ("unit", "nonnegative"):
            labelproof.verify(stored, [[0], [1]], bias=[-1.0, -1e3], domain=domain, n_jobs=1)


def _measure_reach() -> None:
    from labelproof.auditing.label_sets import from_lists
    from labelproof.proof.regions import make_layer
    from labelproof.stretching.reach import find_reach, whiten

    rng = np.random.default_rng(0)
    layer = make_layer(rng.standard_normal((6, 3)))
    find_reach(layer, from_lists([[0], [1, 2]], 6), whiten(rng.standard_normal((20, 3))), n_jobs=1)


def _stretch() -> None:
    weight, features, bias = [[1.0], [1.0]], [[-1.0], [1.0]], [-2000.0, 0.5]  # so far that both precisions search
    labelproof.stretch(weight, [[0, 1], [1]], features, bias=bias, n_jobs=1)
    labelproof.stretch_pairs(weight, [[0, 1]], features, bias=bias, n_jobs=1)


def _count_overlaps() -> None:
    from labelproof.theory.code_checks import covered_ones
    from labelproof.theory.codes import Code, codewords

    code = Code(q=3, coefficients=2, length=3)
    covered_ones(codewords(9, code), code, k=2)


def _metrics() -> None:
    from labelproof import metrics

    for kind in (np.float32, np.float64):
        labels, scores = _examples(kind)
        for name in ("micro-f1", "macro-f1"):
            metrics.by_name(name)(labels, scores > 0.5)
        metrics.average_precision_score(labels, scores, average="macro")
        metrics.interpolated_average_precision_score(labels, scores, average="macro")
        metrics.expected_calibration_error(labels, scores, average="macro")


def _decisions() -> None:
    from labelproof import decisions

    for kind in (np.float32, np.float64):
        labels, scores = _examples(kind)
        rules: list[Any] = [
            decisions.Threshold(),
            decisions.PerLabelThreshold("macro-f1"),
            decisions.PerLabelThreshold("micro-f1"),
            decisions.ThresholdAveraging(),
            decisions.SparsemaxSupport(),
            decisions.TopK(2),
            decisions.ExpectedF(1.0, scores="probabilities"),
            decisions.BatchMacroTopK(2, scores="probabilities"),
            decisions.MacroTopK(2, scores="probabilities"),
            decisions.RiskControlled("precision", 0.5),
        ]
        for rule in rules:
            rule.fit(labels, scores).decide(scores)
        for calibration in (decisions.PlattScaling(), decisions.IsotonicCalibration()):
            calibration.fit(labels, scores)


def _split() -> None:
    from labelproof.data.splits import iterative_stratification

    iterative_stratification(_examples(np.float64)[0], {"train": 0.5, "test": 0.5})


def _sparsemax() -> None:
    from labelproof.simplex import sparsemax
    from labelproof.simplex.short_kernels import SHORT

    for kind in (np.float32, np.float64):
        for length in (SHORT, SHORT + 1):
            sparsemax(np.zeros((1, length), kind))


def _activations() -> None:
    import torch

    from labelproof.activations import sparsemax

    for kind in (torch.float32, torch.float64):
        scores = torch.zeros(1, 4, dtype=kind, requires_grad=True)
        torch.autograd.grad(sparsemax(scores).max(), scores)


def _losses() -> None:
    import torch

    from labelproof import losses

    labels, scores = _examples(np.float32)
    targets: Any
    for targets in (torch.from_numpy(labels).float(), [row.nonzero()[0].tolist() for row in labels]):
        newer = losses.HillLoss(), losses.ZLPRLoss(), losses.TwoWayLoss(), losses.SoftTopKLoss(2)
        by_example = losses.SigmoidF1Loss(average="samples")
        for loss in (losses.SigmoidF1Loss(), by_example, losses.FocalLoss(), losses.SparsemaxLoss(), *newer):
            logits = torch.from_numpy(scores).requires_grad_()
            loss(logits, targets).backward()
            loss(logits, targets)  # without a gradient
        losses.SparsemaxLoss(reduction="none")(logits, targets).sum().backward()
    many = torch.from_numpy(np.tile(scores, (128, 1))).requires_grad_()  # more than are counted in a single call
    for average in ("macro", "samples"):
        losses.SigmoidF1Loss(average=average)(many, torch.zeros(many.shape)).backward()


def _order_labels() -> None:
    from labelproof.heads.order import spread_order

    spread_order([[0, 1], [2, 3]], n_labels=4)


def _svm() -> None:
    import scipy.sparse

    from labelproof.training.svm import linear_svms

    labels, scores = _examples(np.float32)
    for tolerance in (1e-2, 1e-6):  # in float32 and in float64
        linear_svms(scipy.sparse.csr_array(scores), scipy.sparse.csr_array(labels), 1.0, tolerance=tolerance)


CALLS: dict[str, Callable[[], None]] = {
    "metrics": _metrics,
    "decisions": _decisions,
    "search": _verify,
    "data": _split,
    "simplex": _sparsemax,
    "activations": _activations,
    "losses": _losses,
    "heads": _order_labels,
    "training": _svm,
    "auditing": _measure_reach,
    "stretching": _stretch,
    "theory": _count_overlaps,
}


def import_kernels() -> dict[str, str]:
    """Import every module with kernels; return those that need a package that is not installed, and which."""
    missing = {}
    for name in kernel_modules():
        try:
            import_module(f"labelproof.{name.removeprefix('labelproof.')}")
        except ImportError as error:
            missing[name] = str(error)
    return missing
