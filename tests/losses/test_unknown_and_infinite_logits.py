"""What an unknown label's logit is does not matter, and what an infinite one's loss is follows from the limit."""

import pytest
import scipy.sparse
import torch
from loss_definitions import EVERY_LOSS, a_batch
from torch.nn.functional import binary_cross_entropy_with_logits

from labelproof.losses import AsymmetricLoss, BinaryCrossEntropyLoss, ConfusionLoss, FocalLoss, UnboundedF1Loss

STRANGE = [float("inf"), float("-inf"), float("nan")]
POINTWISE = {name: EVERY_LOSS[name] for name in EVERY_LOSS if name.startswith(("bce", "focal", "asym", "hill", "splc"))}
MASKABLE = EVERY_LOSS | {
    "unboundedF1": UnboundedF1Loss,
    "sigmoidF1, samples, weighted labels": lambda **k: ConfusionLoss(
        average="samples", label_weight=torch.linspace(0.5, 2, 7), **k
    ),
    "mcc, micro": lambda **k: ConfusionLoss("mcc", average="micro", **k),
    "sigmoidF1, learned": lambda **k: ConfusionLoss(learn=("beta", "eta"), **k),
    "sigmoidF1, memory": lambda **k: ConfusionLoss(empty="memory", **k),
}


def forms(targets):
    """Return the targets as a tensor, as index lists, and as a sparse matrix."""
    lists = [row.nonzero()[0].tolist() for row in targets.numpy()]
    return targets, lists, scipy.sparse.csr_array(targets.numpy())


def value_and_gradient(loss, logits, targets, **options):
    z = logits.detach().clone().requires_grad_()
    value = loss(z, targets, **options)
    value.sum().backward()
    return value.detach(), z.grad


@pytest.mark.parametrize("make", MASKABLE.values(), ids=MASKABLE)
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_an_unknown_label_may_have_any_logit(make, reduction, dtype):
    logits, targets = a_batch(dtype=dtype)
    mask = torch.rand(logits.shape, generator=torch.Generator().manual_seed(1)) < 0.8
    loss = make(reduction=reduction)
    for form in forms(targets):
        expected = value_and_gradient(loss.eval(), torch.where(mask, logits, 0.3), form, mask=mask)
        for strange in STRANGE:
            given = torch.where(mask, logits, strange)
            value, gradient = value_and_gradient(loss, given, form, mask=mask)
            torch.testing.assert_close((value, gradient), expected)
            assert (gradient[~mask] == 0).all()


@pytest.mark.parametrize("make", MASKABLE.values(), ids=MASKABLE)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_masked_labels_leave_the_loss_of_what_is_left(make, dtype):
    logits, targets = a_batch(dtype=dtype)
    loss, fewer = make().eval(), make().eval()
    if fewer.label_weight is not None:
        fewer.label_weight = fewer.label_weight[:5]
    rest = value_and_gradient(fewer, logits[:, :5], targets[:, :5])
    mask = torch.arange(7).expand(logits.shape) < 5
    value, gradient = value_and_gradient(loss, torch.where(mask, logits, torch.nan), targets, mask=mask)
    torch.testing.assert_close((value, gradient[:, :5]), rest)


@pytest.mark.parametrize("make", MASKABLE.values(), ids=MASKABLE)
def test_a_batch_of_unknown_labels_only_has_neither_loss_nor_gradient(make):
    logits, targets = torch.full((4, 7), torch.nan), torch.ones(4, 7)
    value, gradient = value_and_gradient(make(), logits, targets, mask=torch.zeros(4, 7, dtype=torch.bool))
    assert value == 0
    assert (gradient == 0).all()


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_gradient_at_infinite_logits_is_that_of_torch(dtype, reduction):
    logits, targets = a_batch(dtype=dtype)
    logits[0, :4] = torch.tensor([float("inf"), float("-inf"), float("inf"), float("-inf")])
    targets[0, :4] = torch.tensor([1.0, 0.0, 0.0, 1.0])  # two are surely right, two surely wrong
    expected = value_and_gradient(
        lambda z, y: binary_cross_entropy_with_logits(z, y, reduction=reduction), logits, targets
    )[1]
    assert expected.isfinite().all()
    for form in forms(targets):
        _, gradient = value_and_gradient(BinaryCrossEntropyLoss(reduction=reduction), logits, form)
        torch.testing.assert_close(gradient, expected)
        assert (gradient[0, :2] == 0).all()


@pytest.mark.parametrize("make", POINTWISE.values(), ids=POINTWISE)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_an_infinite_logit_has_the_gradient_of_a_far_one(make, dtype):
    logits, targets = a_batch(dtype=dtype)
    ends = torch.where(torch.rand(logits.shape, generator=torch.Generator().manual_seed(3)) < 0.5, -1, 1)
    far, infinite = ends * torch.full_like(logits, 1e4), ends * torch.full_like(logits, torch.inf)
    for form in forms(targets):
        expected = value_and_gradient(make(reduction="sum"), far, form)[1]
        value, gradient = value_and_gradient(make(reduction="sum"), infinite, form)
        torch.testing.assert_close(gradient, expected, atol=1e-12, rtol=1e-6)
        assert not value.isnan()


@pytest.mark.parametrize("make", [BinaryCrossEntropyLoss, FocalLoss, AsymmetricLoss])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_what_is_surely_right_costs_nothing_and_what_is_surely_wrong_everything(make, dtype):
    ends = torch.tensor([[float("inf"), float("-inf")]], dtype=dtype)
    for form in ([[0]], torch.tensor([[1.0, 0.0]], dtype=dtype)):
        assert make()(ends, form) == 0
    assert make()(-ends[:, :1], [[0]]).isinf()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_nan_is_not_hidden_by_a_weight_of_zero(dtype):
    logits = torch.tensor([[torch.nan, 1.0]], dtype=dtype)
    loss = BinaryCrossEntropyLoss(label_weight=torch.tensor([0.0, 1.0]))
    for form in ([[0]], [[1]], torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0]])):
        assert loss(logits, form).isnan()
