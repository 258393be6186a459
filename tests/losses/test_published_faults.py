"""Faults of the public code for these losses, each as a test that ours does not have it.

The first functions show the fault in the public formula, so that the tests would notice it.
"""

import pytest
import torch
from loss_definitions import EVERY_LOSS, a_batch, defined_asymmetric

from labelproof.functional import asymmetric_loss, binary_cross_entropy_loss, focal_loss, sigmoid_f1_loss

POINTWISE = {"bce": binary_cross_entropy_loss, "focal": focal_loss, "asymmetric": asymmetric_loss}


def published_sigmoid_f1(scores, targets, slope, shift):
    """Return the loss as published: slope with the other sign, and scores that are sigmoids already."""
    s = 1 / (1 + torch.exp(slope * (scores + shift)))
    tp, fp, fn = (s * targets).sum(0), (s * (1 - targets)).sum(0), ((1 - s) * targets).sum(0)
    return (1 - 2 * tp / (2 * tp + fn + fp + 1e-16)).mean()


def test_a_second_sigmoid_would_hide_nearly_all_differences():
    _, targets = a_batch(200, 10, share=0.1)
    perfect = 10 * (2 * targets - 1)
    gap = sigmoid_f1_loss(-perfect, targets) - sigmoid_f1_loss(perfect, targets)
    twice = [published_sigmoid_f1(torch.sigmoid(z), targets, -1.0, 0.0) for z in (-perfect, perfect)]
    assert twice[0] - twice[1] < 0.2
    assert gap > 0.99


def test_a_larger_slope_prefers_the_right_prediction_more():
    _, targets = a_batch()
    perfect = 2 * targets - 1
    assert published_sigmoid_f1(perfect, targets, 1.0, 0.0) > published_sigmoid_f1(-perfect, targets, 1.0, 0.0)
    losses = [sigmoid_f1_loss(perfect, targets, beta=beta).item() for beta in (0.5, 1.0, 4.0)]
    assert losses == sorted(losses, reverse=True)
    with pytest.raises(ValueError, match="beta must be positive, got -1"):
        sigmoid_f1_loss(perfect, targets, beta=-1.0)


def test_false_positives_of_a_label_without_positives_are_not_free():
    logits = torch.zeros(4, 2, requires_grad=True)
    targets = torch.tensor([[1.0, 0.0]] * 4)
    published_sigmoid_f1(logits, targets, -1.0, 0.0).backward()
    assert (logits.grad[:, 1] == 0).all()
    logits.grad = None
    sigmoid_f1_loss(logits, targets).backward()
    assert (logits.grad[:, 1] > 0).all()


def test_large_logits_do_not_overflow_to_nan():
    _, targets = a_batch(dtype=torch.float32)
    logits = (-200 * (2 * targets - 1)).requires_grad_()
    naive = published_sigmoid_f1(logits, targets, -1.0, 0.0)
    assert torch.autograd.grad(naive, logits)[0].isnan().any()
    loss = sigmoid_f1_loss(logits, targets)
    loss.backward()
    assert loss.item() == pytest.approx(1.0)
    assert logits.grad.isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_nothing_rests_on_adding_a_number_that_rounds_to_zero(dtype):
    assert torch.tensor(1e-16, dtype=torch.float16) == 0
    logits = torch.full((4, 2), -60.0, dtype=dtype, requires_grad=True)  # sigmoids that half precision cannot hold
    for average in ("macro", "micro", "weighted", "samples"):
        loss = sigmoid_f1_loss(logits, torch.zeros(4, 2, dtype=dtype), average=average)
        loss.backward()
        assert loss.isfinite()
        assert logits.grad.isfinite().all()


def test_focal_loss_tells_logits_from_targets():
    logits, targets = a_batch()
    ours = focal_loss(logits, targets, reduction="none")
    right = defined_asymmetric(logits, targets, 2, 2, 0, positive=0.25, negative=0.75)
    swapped = defined_asymmetric(targets, logits, 2, 2, 0, positive=0.25, negative=0.75)
    torch.testing.assert_close(ours, right)
    assert (ours - swapped).abs().max() > 0.1
    with pytest.raises(ValueError, match="targets must lie between 0 and 1"):
        focal_loss(targets, logits)


@pytest.mark.parametrize("name", EVERY_LOSS)
def test_the_gradient_of_a_surely_wrong_prediction_is_not_rounded_to_zero(name):
    """A negative at a logit of 30: 1 - sigmoid(30) is 0 in float32, sigmoid(-30) is 9.4e-14."""
    targets = torch.tensor([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    logits = torch.zeros(4, 2)
    logits[0, 0] = 30.0
    gradients = []
    for dtype in (torch.float32, torch.float64):
        z = logits.detach().to(dtype, copy=True).requires_grad_()
        EVERY_LOSS[name]()(z, targets.to(dtype)).backward()
        gradients.append(z.grad[0, 0].item())
    assert gradients[0] == pytest.approx(gradients[1], rel=1e-5)
    if gradients[1] != 0:  # recall does not look at negatives
        assert (gradients[0] > 0) != name.startswith("splc")  # which takes a sure negative for a positive


def test_the_asymmetric_gradient_at_thirty_is_the_closed_form():
    z = torch.tensor([[30.0]], requires_grad=True)
    asymmetric_loss(z, torch.zeros(1, 1)).backward()
    q, p = 9.357622968840175e-14, 0.95
    expected = q * (p**4 / 0.05 - 4 * p**3 * torch.tensor(0.05).log().item())
    assert z.grad.item() == pytest.approx(expected, rel=1e-5)


def test_a_constant_factor_has_no_gradient():
    logits, targets = a_batch(dtype=torch.float64)
    for z in (logits.requires_grad_(), logits.detach().float().requires_grad_()):
        y = targets.to(z.dtype)
        for gamma_neg, gamma_pos, clip in ((4, 1, 0.05), (2, 2, 0.0), (2.5, 0.5, 0.1)):
            ours = asymmetric_loss(
                z, y, gamma_neg=gamma_neg, gamma_pos=gamma_pos, clip=clip, grad_through_weights=False, reduction="sum"
            )
            defined = defined_asymmetric(logits, targets, gamma_neg, gamma_pos, clip, through=False).sum()
            assert ours.item() == pytest.approx(defined.item(), rel=1e-5)
            expected = torch.autograd.grad(defined, logits)[0]
            torch.testing.assert_close(torch.autograd.grad(ours, z)[0].double(), expected, atol=1e-6, rtol=1e-4)
