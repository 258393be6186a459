"""Hill, SPLC, APL, ZLPR and the two-way loss are what their papers define."""

import numpy as np
import pytest
import torch
from loss_definitions import a_batch
from torch.autograd import gradcheck, gradgradcheck
from torch.nn.functional import softplus

from labelproof.functional import (
    asymmetric_loss,
    asymmetric_polynomial_loss,
    hill_loss,
    splc_loss,
    two_way_loss,
    zlpr_loss,
)
from labelproof.losses import AsymmetricPolynomialLoss, HillLoss, SPLCLoss, TwoWayLoss, ZLPRLoss
from labelproof.losses.curves import SelfPacedCurve
from labelproof.losses.log_sum_kernels import list_ones
from labelproof.losses.pointwise import pointwise_loss


def sigmoid(z):
    return 1 / (1 + torch.exp(-z))


def defined_hill(z, y, lam=1.5, margin=1.0, gamma=2.0):
    p, shifted = sigmoid(z), sigmoid(z - margin)
    return -y * (1 - shifted) ** gamma * shifted.log() + (1 - y) * (lam - p) * p**2


def defined_splc(z, y, tau=0.6, margin=1.0, gamma=2.0):
    p, shifted = sigmoid(z), sigmoid(z - margin)
    positive, negative = -((1 - shifted) ** gamma) * shifted.log(), -(p**gamma) * (1 - p).log()
    small = (p <= tau).double()
    return y * positive + (1 - y) * (small * negative + (1 - small) * positive)


def series(x, first, second, n=4000):
    """Return first·x + second·x² + x³/3 + x⁴/4 + …, for |x| well below 1."""
    powers = torch.arange(3, n, dtype=x.dtype)
    return first * x + second * x**2 + (x.unsqueeze(-1) ** powers / powers).sum(-1)


def defined_polynomial(z, y, gamma_neg=4.0, gamma_pos=0.0, clip=0.05, alpha_1=0.0, alpha_2=1.75, beta_1=1.0):
    p = sigmoid(z)
    q, shifted = 1 - p, (p - clip).clamp(min=0)
    return y * q**gamma_pos * series(q, alpha_1, alpha_2) + (1 - y) * shifted**gamma_neg * series(shifted, beta_1, 0.5)


def defined_zlpr(z, y):
    return (1 + ((1 - y) * z.exp()).sum(1)).log() + (1 + (y * (-z).exp()).sum(1)).log()


def defined_two_way(z, y, t_pos=4.0, t_neg=1.0):
    def of_one(z, y):
        above = t_neg * (z[y == 0] / t_neg).exp().sum().log()
        return softplus(above + t_pos * (-z[y == 1] / t_pos).exp().sum().log()) if (y == 0).any() else 0.0

    def mean(z, y):
        return sum(of_one(*pair) for pair in zip(z, y, strict=True) if pair[1].any()) / y.any(1).sum()

    return mean(z, y) + mean(z.T, y.T)


POINTWISE = {
    "hill": (hill_loss, defined_hill, {}),
    "hill, other options": (hill_loss, defined_hill, {"lam": 2.0, "margin": 0.5, "gamma": 3.0}),
    "hill, odd exponent": (hill_loss, defined_hill, {"gamma": 0.5}),
    "splc": (splc_loss, defined_splc, {}),
    "splc, other options": (splc_loss, defined_splc, {"tau": 0.8, "margin": 0.0, "gamma": 1.0}),
    "splc, corrects nothing": (splc_loss, defined_splc, {"tau": 1.0}),
    "polynomial": (asymmetric_polynomial_loss, defined_polynomial, {}),
    "polynomial, other options": (
        asymmetric_polynomial_loss,
        defined_polynomial,
        {"gamma_neg": 2, "gamma_pos": 1, "clip": 0.0, "alpha_1": 2.0, "alpha_2": 0.0, "beta_1": 0.3},
    ),
    "polynomial, odd exponents": (asymmetric_polynomial_loss, defined_polynomial, {"gamma_neg": 1.5, "gamma_pos": 0.5}),
}


@pytest.mark.parametrize(("loss", "defined", "options"), POINTWISE.values(), ids=POINTWISE)
def test_pointwise_losses_and_their_gradients_are_those_of_the_papers(loss, defined, options):
    logits, targets = a_batch(spread=1.0)
    logits.requires_grad_()
    expected = defined(logits, targets, **options)
    (slope,) = torch.autograd.grad(expected.sum(), logits)
    torch.testing.assert_close(loss(logits, targets, reduction="none", **options), expected, rtol=1e-6, atol=1e-9)
    for dtype, close in ((torch.float64, 1e-8), (torch.float32, 2e-6)):
        z = logits.detach().to(dtype, copy=True).requires_grad_()
        value = loss(z, targets, reduction="sum", **options)
        value.backward()
        assert value.item() == pytest.approx(expected.sum().item(), rel=close)
        torch.testing.assert_close(z.grad.double(), slope, atol=close, rtol=20 * close)


@pytest.mark.parametrize(("loss", "defined", "options"), POINTWISE.values(), ids=POINTWISE)
def test_labels_far_from_any_positive_one_have_the_loss_of_negatives(loss, defined, options):
    """The compiled loops leave out the positive part where a stretch of a row has no positive target."""
    z, _ = a_batch(3, 1700, spread=1.0)
    y = torch.zeros(3, 1700)
    y[0, [3, 1600]], y[1, 700] = 1, 1
    weight = torch.linspace(0.5, 2.0, 1700)
    z.requires_grad_()
    expected = (weight * defined(z, y.double(), **options)).sum()
    (slope,) = torch.autograd.grad(expected, z)
    for targets in (y, [[3, 1600], [700], []]):
        single = z.detach().float().requires_grad_()
        value = loss(single, targets, label_weight=weight, reduction="sum", **options)
        value.backward()
        assert value.item() == pytest.approx(expected.item(), rel=1e-5)
        torch.testing.assert_close(single.grad.double(), slope, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize(("loss", "defined", "options"), POINTWISE.values(), ids=POINTWISE)
def test_gradients_and_second_gradients_are_right(loss, defined, options):
    logits, targets = a_batch(4, 3)
    assert gradcheck(lambda z: loss(z, targets, **options), logits.requires_grad_())
    assert gradgradcheck(lambda z: loss(z, targets, **options), logits)


@pytest.mark.parametrize(
    ("loss", "defined"),
    [
        (zlpr_loss, lambda z, y: defined_zlpr(z, y).mean()),
        (two_way_loss, defined_two_way),
        (
            lambda z, y: two_way_loss(z, y, t_pos=0.5, t_neg=2.0),
            lambda z, y: defined_two_way(z, y, 0.5, 2.0),
        ),
    ],
    ids=["zlpr", "two-way", "two-way, other temperatures"],
)
def test_losses_that_compare_labels_are_those_of_the_papers(loss, defined):
    logits, targets = a_batch(20, 9)
    targets[3], targets[4], targets[:, 7] = 0, 1, 0  # an example without labels, one with all, a label without examples
    logits.requires_grad_()
    expected = defined(logits, targets)
    (slope,) = torch.autograd.grad(expected, logits)
    for dtype, close in ((torch.float64, 1e-10), (torch.float32, 2e-6)):
        z = logits.detach().to(dtype, copy=True).requires_grad_()
        value = loss(z, targets)
        value.backward()
        assert value.item() == pytest.approx(expected.item(), rel=close)
        torch.testing.assert_close(z.grad.double(), slope, atol=close, rtol=20 * close)
    assert gradcheck(lambda z: loss(z, targets), logits)


@pytest.mark.parametrize("loss", [zlpr_loss, two_way_loss])
def test_losses_that_compare_labels_can_be_differentiated_twice(loss):
    logits, targets = a_batch(4, 3)
    assert gradgradcheck(lambda z: loss(z, targets), logits.requires_grad_())


def test_the_polynomial_with_the_coefficients_of_the_logarithm_is_the_asymmetric_loss():
    logits, targets = a_batch(dtype=torch.float32)
    for options in ({"gamma_neg": 4, "gamma_pos": 1}, {"gamma_neg": 2, "gamma_pos": 2, "clip": 0.0}):
        for through in (True, False):
            z, other = logits.clone().requires_grad_(), logits.clone().requires_grad_()
            both = {**options, "grad_through_weights": through}
            asymmetric_polynomial_loss(z, targets, alpha_1=1, alpha_2=0.5, **both).backward()
            asymmetric_loss(other, targets, **both).backward()
            torch.testing.assert_close(z.grad, other.grad, rtol=1e-5, atol=1e-9)


def test_the_polynomials_factors_can_be_constants():
    logits, targets = a_batch(4, 3)
    slopes = []
    for dtype in (torch.float64, torch.float32):
        z = logits.to(dtype, copy=True).requires_grad_()
        asymmetric_polynomial_loss(z, targets, beta_1=0.2, gamma_pos=1, grad_through_weights=False).backward()
        slopes.append(z.grad.double())
    torch.testing.assert_close(*slopes, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_sure_negative_is_taken_for_a_positive_by_self_paced_correction_alone(dtype):
    sure = torch.tensor([[6.0]], dtype=dtype, requires_grad=True)
    splc_loss(sure, [[]]).backward()
    assert sure.grad.item() < 0
    sure.grad = None
    hill_loss(sure, [[]]).backward()
    assert 0 < sure.grad.item() < 0.01


def test_self_paced_correction_is_the_same_beside_soft_targets_which_take_another_loop():
    logits, targets = a_batch(4, 1200, dtype=torch.float32)
    weights = {"label_weight": torch.linspace(0.0, 2.0, 1200)}
    hard, soft = (logits.clone().requires_grad_() for _ in range(2))
    beside = targets.clone()
    beside[:, ::512] = 0.25  # one in every tile of a row
    splc_loss(hard, targets, reduction="sum", **weights).backward()
    splc_loss(soft, beside, reduction="sum", **weights).backward()
    others = beside == targets
    assert 0 < int((~others).sum()) < 20
    torch.testing.assert_close(hard.grad[others], soft.grad[others], rtol=1e-6, atol=1e-7)
    assert not torch.allclose(hard.grad[~others], soft.grad[~others])


def test_self_paced_correction_may_have_an_exponent_for_each_part():
    logits, targets = a_batch(5, 40, dtype=torch.float32)
    curve = SelfPacedCurve(1.0, 3.0)
    positive, negative = curve.parts(logits.double())
    wanted = (targets * positive + (1 - targets) * negative).sum()
    torch.testing.assert_close(
        pointwise_loss(logits, targets, curve, reduction="sum").double(), wanted, rtol=1e-5, atol=0
    )


def test_self_paced_correction_starts_after_the_warm_up_and_counts_training_batches_alone():
    sure, loss = torch.tensor([[6.0]]), SPLCLoss(warm_up=2)
    uncorrected, corrected = splc_loss(sure, [[]], tau=1.0), splc_loss(sure, [[]])
    assert loss.eval()(sure, [[]]) == uncorrected
    assert [loss.train()(sure, [[]]).item() for _ in range(3)] == [uncorrected, uncorrected, corrected]
    again = SPLCLoss(warm_up=2)
    again.load_state_dict(loss.state_dict())
    assert again(sure, [[]]) == corrected


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("loss", [zlpr_loss, two_way_loss])
def test_an_infinite_logit_that_is_right_changes_nothing_and_one_that_is_wrong_costs_everything(loss, dtype):
    logits, targets = a_batch(6, 4, dtype=dtype)
    right = logits.clone()
    right[0, 1] = -torch.inf
    far = right.clone()
    far[0, 1] = -60.0
    found, expected = right.requires_grad_(), far.requires_grad_()
    value = loss(found, targets)
    value.backward()
    loss(expected, targets).backward()
    assert value.isfinite()
    torch.testing.assert_close(found.grad, expected.grad, rtol=1e-5, atol=1e-7)
    wrong = logits.clone()
    wrong[0, 1] = torch.inf
    wrong.requires_grad_()
    value = loss(wrong, targets)
    value.backward()
    assert value == torch.inf
    assert wrong.grad.isfinite().all()
    assert wrong.grad[0, 1] > 0
    wrong = logits.clone()
    wrong[0, 0] = -torch.inf  # a positive
    wrong.requires_grad_()
    loss(wrong, targets).backward()
    assert wrong.grad[0, 0] < 0


@pytest.mark.parametrize("loss", [zlpr_loss, two_way_loss])
def test_logits_far_from_each_other_have_the_loss_of_double_precision(loss):
    logits, targets = a_batch(12, 6, spread=60.0)
    z, exact = logits.float().requires_grad_(), logits.requires_grad_()
    value, expected = loss(z, targets), loss(exact, targets)
    value.backward()
    expected.backward()
    torch.testing.assert_close(value.double(), expected, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(z.grad.double(), exact.grad, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_weights_count_labels_and_examples_that_many_times(dtype):
    logits, targets = a_batch(8, 5, dtype=dtype)
    twice = torch.cat([logits, logits[:, :1]], 1), torch.cat([targets, targets[:, :1]], 1)
    weight = torch.tensor([2.0, 1, 1, 1, 1], dtype=dtype)
    torch.testing.assert_close(zlpr_loss(logits, targets, label_weight=weight), zlpr_loss(*twice))
    torch.testing.assert_close(two_way_loss(logits, targets, label_weight=weight), two_way_loss(*twice))
    more = torch.cat([logits, logits[:1]]), torch.cat([targets, targets[:1]])
    often = torch.tensor([2.0, 1, 1, 1, 1, 1, 1, 1], dtype=dtype)
    torch.testing.assert_close(two_way_loss(logits, targets, example_weight=often), two_way_loss(*more))
    sums = [zlpr_loss(*more, reduction="sum"), zlpr_loss(logits, targets, example_weight=often, reduction="sum")]
    torch.testing.assert_close(*sums)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_reductions_of_losses_that_compare_labels_belong_together(dtype):
    logits, targets = a_batch(6, 4, dtype=dtype)
    mask = torch.ones(6, 4, dtype=torch.bool)
    mask[2] = False
    each = zlpr_loss(logits, targets, mask=mask, reduction="none")
    assert each.shape == (6,)
    assert each[2] == 0
    torch.testing.assert_close(zlpr_loss(logits, targets, mask=mask), each.sum() / 5)
    torch.testing.assert_close(zlpr_loss(logits, targets, mask=mask, reduction="sum"), each.sum())
    each = two_way_loss(logits, targets, mask=mask, reduction="none")
    assert each.shape == (10,)
    torch.testing.assert_close(two_way_loss(logits, targets, mask=mask), each[:6].sum() / 5 + each[6:].mean())
    torch.testing.assert_close(two_way_loss(logits, targets, mask=mask, reduction="sum"), each.sum())


def test_ones_are_listed_in_as_many_passes_as_there_is_room_for():
    targets = np.eye(3, 5, dtype=np.float32)
    ends, columns = np.zeros(4, np.int64), np.zeros(1, np.int64)
    assert list_ones(targets, ends, columns) == 3
    columns = np.zeros(3, np.int64)
    assert list_ones(targets, ends, columns) == 3
    assert columns.tolist() == [0, 1, 2]
    targets[0, 0] = 0.5
    assert list_ones(targets, ends, columns) == -1
    many = torch.ones(2, 100)
    many[:, 0] = 0
    torch.testing.assert_close(two_way_loss(many, many), two_way_loss(many.double(), many.double()).float())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: HillLoss(lam=0.9), "lam must be at least 1 and finite, got 0.9"),
        (lambda: HillLoss(margin=-1.0), "margin must be at least 0 and finite, got -1"),
        (lambda: HillLoss(gamma=-1.0), "gamma must be at least 0, got -1"),
        (lambda: SPLCLoss(tau=0.0), "tau must be above 0 and at most 1, got 0"),
        (lambda: SPLCLoss(tau=1.5), "tau must be above 0 and at most 1, got 1.5"),
        (lambda: SPLCLoss(warm_up=-1), "warm_up must be an integer of at least 0, got -1"),
        (lambda: AsymmetricPolynomialLoss(alpha_1=-1.0), "alpha_1 must be at least 0 and finite, got -1"),
        (lambda: AsymmetricPolynomialLoss(alpha_2=float("nan")), "alpha_2 must be at least 0 and finite, got nan"),
        (lambda: AsymmetricPolynomialLoss(beta_1=float("inf")), "beta_1 must be at least 0 and finite, got inf"),
        (lambda: AsymmetricPolynomialLoss(clip=1.0), "clip must be at least 0 and less than 1, got 1"),
        (lambda: TwoWayLoss(t_pos=0.0), "t_pos must be positive, got 0"),
        (lambda: TwoWayLoss(t_neg=-1.0), "t_neg must be positive, got -1"),
        (lambda: ZLPRLoss(reduction="avg"), "reduction must be one of 'none', 'mean', 'sum', got 'avg'"),
        (lambda: TwoWayLoss(reduction="avg"), "reduction must be one of 'none', 'mean', 'sum', got 'avg'"),
        (lambda: zlpr_loss(torch.zeros(1, 2), [[0]], reduction="avg"), "reduction must be one of"),
        (lambda: two_way_loss(torch.zeros(1, 2), [[0]], reduction="avg"), "reduction must be one of"),
        (lambda: zlpr_loss(torch.zeros(1, 2), torch.full((1, 2), 2.0)), "targets must lie between 0 and 1"),
        (lambda: two_way_loss(torch.zeros(1, 2), torch.full((1, 2), 2.0)), "targets must lie between 0 and 1"),
        (lambda: hill_loss(torch.zeros(1, 2), torch.full((1, 2), 2.0)), "targets must lie between 0 and 1"),
    ],
)
def test_wrong_options_and_targets_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
