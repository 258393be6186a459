"""Targets in all forms, and one clear sentence for each wrong argument."""

import numpy as np
import pytest
import scipy.sparse
import torch

from labelproof.functional import asymmetric_loss, binary_cross_entropy_loss, confusion_loss, focal_loss
from labelproof.losses import (
    AsymmetricLoss,
    BinaryCrossEntropyLoss,
    ConfusionLoss,
    FocalLoss,
    SigmoidF1Loss,
    TwoWayLoss,
    ZLPRLoss,
)
from labelproof.losses.targets import SparseTargets, is_class_indices, promote, read_class_indices, read_targets

LOGITS = torch.zeros(3, 4)


def test_index_lists_are_sorted_by_row_and_label():
    read = read_targets(LOGITS, [[3, 1], (), np.array([0])])
    assert read.rows.tolist() == [0, 0, 2]
    assert read.columns.tolist() == [1, 3, 0]
    assert read.indptr.tolist() == [0, 2, 2, 3]
    assert (read.n_examples, read.n_labels) == (3, 4)
    assert read_targets(LOGITS, read) is read


@pytest.mark.filterwarnings("ignore:Sparse")  # torch warns of the CSR layout and of its checks
def test_stored_zeros_of_sparse_matrices_are_no_labels():
    csr = scipy.sparse.csr_array((np.array([1, 0, 1.0]), np.array([2, 1, 0]), np.array([0, 2, 2, 3])), shape=(3, 4))
    layouts = (csr, csr.tocoo(), torch.sparse_csr_tensor(csr.indptr, csr.indices, torch.tensor(csr.data), (3, 4)))
    for form in layouts:
        read = read_targets(LOGITS, form)
        assert list(zip(read.rows.tolist(), read.columns.tolist(), strict=True)) == [(0, 2), (2, 0)]
        assert read.indptr.tolist() == [0, 1, 1, 2]


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint16, np.int64, np.float32])
def test_sparse_matrices_may_hold_any_numbers_and_be_read_only(dtype):
    csr = scipy.sparse.csr_matrix(np.eye(3, 4, dtype=dtype))
    for part in (csr.data, csr.indices, csr.indptr):
        part.flags.writeable = False
    assert read_targets(LOGITS, csr).columns.tolist() == [0, 1, 2]


def test_dense_targets_take_the_precision_of_the_loss():
    assert read_targets(LOGITS, torch.ones(3, 4, dtype=torch.int64)).dtype == torch.float32
    assert read_targets(LOGITS.double(), np.ones((3, 4), bool)).dtype == torch.float64
    assert read_targets(LOGITS.half(), torch.ones(3, 4).half()).dtype == torch.float32


def test_class_indices_have_one_dimension_less():
    assert is_class_indices(LOGITS, torch.tensor([0, 3, 1]))
    assert not is_class_indices(LOGITS, torch.zeros(3, 4))
    assert not is_class_indices(LOGITS, [[0], [3], [1]])
    assert read_class_indices(LOGITS, np.array([0, 3, 1], np.int32))[0].dtype == torch.int64


def duplicate_entries():
    return scipy.sparse.csr_array((np.ones(2), np.array([1, 1]), np.array([0, 2, 2, 2])), shape=(3, 4))


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        (torch.zeros(3, 5), r"targets must have the shape of logits \(3, 4\), got \(3, 5\)"),
        (torch.full((3, 4), 2.0), "targets must lie between 0 and 1, got values from 2 to 2"),
        (torch.full((3, 4), -1), "targets must lie between 0 and 1, got values from -1 to -1"),
        (torch.full((3, 4), torch.nan), "targets must lie between 0 and 1, got values from nan to nan"),
        ([[0], [1]], r"must match logits of shape \(n_examples, n_labels\), got \(2, 4\) for logits \(3, 4\)"),
        ([[0], [4], []], "targets must be label indices from 0 to 3, got values from 0 to 4"),
        ([[0], [-1], []], "targets must be label indices from 0 to 3, got values from -1 to 0"),
        ([[0], [2, 2], []], "targets must name a label once for each example, got label 2 twice in example 1"),
        ([0, 1, 2], "targets as a list must hold one sequence of label indices for each example, got bare values"),
        ([[0.5], [], []], "targets as a list must hold sequences of integer label indices, got something else"),
        ([["a"], [], []], "targets as a list must hold sequences of integer label indices, got something else"),
        (scipy.sparse.csr_array((3, 5)), r"got \(3, 5\) for logits \(3, 4\)"),
        (scipy.sparse.csr_array(np.full((3, 4), 0.5)), "in sparse form must have the values 0 and 1, got other values"),
        (duplicate_entries(), "targets must name a label once for each example, got label 1 twice in example 0"),
        (
            torch.zeros(3, 4).to_sparse(),
            "targets must be dense or in the layout torch.sparse_csr, got torch.spar",
        ),
        ({0: 1}, "targets must be a tensor, an array, a list of index lists or a sparse matrix, got dict"),
    ],
)
def test_wrong_targets_are_refused(targets, message):
    for loss in (SigmoidF1Loss(), AsymmetricLoss()):
        with pytest.raises(ValueError, match=message):
            loss(LOGITS, targets)


def test_sparse_targets_need_logits_of_two_dimensions():
    with pytest.raises(ValueError, match=r"got \(3, 4\) for logits \(1, 3, 4\)"):
        read_targets(LOGITS.unsqueeze(0), SparseTargets(*[torch.zeros(0).long()] * 3, 3, 4))


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        (
            torch.tensor([0.0, 1, 2]),
            r"integer class indices of shape \(3,\) to match logits \(3, 4\), got torch.fl",
        ),
        (torch.tensor([True, False, True]), "got torch.bool"),
        (torch.tensor([0, 1]), r"got torch.int64 of shape \(2,\)"),
        (torch.tensor([0, 1, 4]), "label indices from 0 to 3, got values from 0 to 4"),
        (torch.tensor([0, -5, 1]), "label indices from 0 to 3, got values from -5 to 1"),
        (torch.tensor([-100, 4, 1]), "label indices from 0 to 3, got values from 0 to 4"),
    ],
)
def test_wrong_class_indices_are_refused(targets, message):
    with pytest.raises(ValueError, match=message):
        read_class_indices(LOGITS, targets)


@pytest.mark.parametrize(
    ("logits", "message"),
    [
        (torch.zeros(3, 4, dtype=torch.int64), "logits must be a floating-point tensor, got a tensor of torch.int64"),
        (np.zeros((3, 4)), "logits must be a floating-point tensor, got ndarray"),
        (torch.tensor(0.0), r"logits must have shape \(..., n_labels\) with at least one label, got \(\)"),
        (torch.zeros(3, 0), r"with at least one label, got \(3, 0\)"),
    ],
)
def test_wrong_logits_are_refused(logits, message):
    with pytest.raises(ValueError, match=message):
        promote(logits)
    for loss in (SigmoidF1Loss(), FocalLoss()):
        with pytest.raises(ValueError, match=message):
            loss(logits, [[0], [1], [2]])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metric": "f2"}, "metric must be one of 'f1', .*'fbeta', got 'f2'; did you mean 'f1'?"),
        ({"metric": "jacard"}, "got 'jacard'; did you mean 'jaccard'?"),
        ({"metric": "zzz"}, "got 'zzz'$"),
        ({"metric": "fbeta", "f_beta": 0.0}, "f_beta must be positive, got 0"),
        ({"beta": -2.0}, "beta must be positive, got -2"),
        ({"beta": 0.0}, "beta must be positive, got 0"),
        ({"beta": torch.tensor([1.0, -1.0])}, "beta must be positive, got -1"),
        ({"beta": float("nan")}, "beta must be positive, got nan"),
        ({"smoothing": 0.0}, "smoothing must be positive, got 0"),
        ({"decay": 1.5}, "decay must lie between 0 and 1, got 1.5"),
        ({"average": "binary"}, "average must be one of 'macro', 'micro', 'weighted', 'samples', got 'binary'"),
        ({"empty": "drop"}, "empty must be one of 'skip', 'smooth', 'memory', got 'drop'"),
        ({"reduction": "avg"}, "reduction must be one of 'none', 'mean', 'sum', got 'avg'"),
        ({"scores": "probabilities"}, "scores must be 'sigmoid' or 'logits', got 'probabilities'"),
        ({"learn": ("gamma",)}, "learn must be 'beta' or 'eta', got 'gamma'"),
        ({"average": "samples", "empty": "memory"}, "empty must be 'skip' or 'smooth' for average='samples'"),
    ],
)
def test_wrong_options_of_confusion_losses_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        ConfusionLoss(**options)
    functional = {key: value for key, value in options.items() if key not in ("decay", "learn")}
    if functional == options:
        with pytest.raises(ValueError, match=message):
            confusion_loss(torch.zeros(2, 2), torch.eye(2), **options)


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (lambda **k: focal_loss(alpha=1.5, **k), "alpha must lie between 0 and 1, got 1.5"),
        (lambda **k: focal_loss(gamma=-1.0, **k), "gamma must be at least 0, got -1"),
        (lambda **k: asymmetric_loss(gamma_neg=-2.0, **k), "gamma must be at least 0, got -2"),
        (lambda **k: asymmetric_loss(clip=1.0, **k), "clip must be at least 0 and less than 1, got 1"),
        (lambda **k: binary_cross_entropy_loss(label_smoothing=1.0, **k), "label_smoothing must be at least 0"),
        (lambda **k: binary_cross_entropy_loss(pos_weight=-1.0, **k), "pos_weight must be positive, got -1"),
        (lambda **k: focal_loss(reduction="batchmean", **k), "reduction must be one of 'none', 'mean', 'sum'"),
    ],
)
def test_wrong_options_of_pointwise_losses_are_refused(loss, message):
    with pytest.raises(ValueError, match=message):
        loss(logits=LOGITS, targets=torch.zeros(3, 4))


def test_a_wrong_option_is_refused_when_the_module_is_made():
    for make in (
        lambda: FocalLoss(alpha=2.0),
        lambda: FocalLoss(gamma=-1.0),
        lambda: AsymmetricLoss(clip=-0.1),
        lambda: BinaryCrossEntropyLoss(label_smoothing=2.0),
        lambda: BinaryCrossEntropyLoss(pos_weight=0.0),
        lambda: FocalLoss(reduction="none?"),
    ):
        with pytest.raises(ValueError, match="must"):
            make()


@pytest.mark.parametrize("loss", [SigmoidF1Loss, BinaryCrossEntropyLoss])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mask": torch.ones(3, 4)}, r"mask must be a bool tensor of the logits' shape \(3, 4\)"),
        ({"mask": torch.ones(3, dtype=torch.bool)}, r"got torch.bool of shape \(3,\)"),
        (
            {"example_weight": torch.ones(4)},
            r"example_weight must have shape \(3,\) to match .*, got \(4,\)",
        ),
    ],
)
def test_wrong_masks_and_weights_are_refused(loss, options, message):
    with pytest.raises(ValueError, match=message):
        loss()(LOGITS, torch.zeros(3, 4), **options)


def test_label_vectors_of_another_length_are_refused():
    wrong = torch.ones(5)
    for name, loss in (
        ("label_weight", SigmoidF1Loss(label_weight=wrong)),
        ("label_weight", BinaryCrossEntropyLoss(label_weight=wrong)),
        ("pos_weight", BinaryCrossEntropyLoss(pos_weight=wrong)),
        ("beta", SigmoidF1Loss(beta=wrong)),
        ("eta", SigmoidF1Loss(eta=wrong)),
    ):
        with pytest.raises(ValueError, match=rf"{name} must be a number or have shape \(4,\)"):
            loss(LOGITS, torch.zeros(3, 4))


@pytest.mark.parametrize("loss", [SigmoidF1Loss(), FocalLoss(), ZLPRLoss(), TwoWayLoss()])
def test_numbers_are_found_wherever_a_tensor_keeps_them(loss):
    torch.manual_seed(0)
    logits, targets, mask = torch.randn(6, 4), (torch.rand(6, 4) < 0.5).float(), torch.rand(6, 4) < 0.8
    expected = loss(logits, targets, mask=mask)
    in_columns = [tensor.T.contiguous().T for tensor in (logits, targets, mask)]
    in_every_second = [tensor.repeat_interleave(2, 1)[:, ::2] for tensor in (logits, targets, mask)]
    for z, y, known in (in_columns, in_every_second):
        torch.testing.assert_close(loss(z, y, mask=known), expected)
    torch.testing.assert_close(loss(torch._neg_view(-logits), targets, mask=mask), expected)
