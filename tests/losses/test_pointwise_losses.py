"""Cross entropy, focal and asymmetric loss are what they are defined to be."""

import pytest
import torch
from loss_definitions import a_batch, defined_asymmetric
from torch.autograd import gradcheck, gradgradcheck
from torch.nn.functional import binary_cross_entropy_with_logits

from labelproof.functional import asymmetric_loss, binary_cross_entropy_loss, focal_loss
from labelproof.losses import AsymmetricLoss, BinaryCrossEntropyLoss, FocalLoss

SETTINGS = [(4, 1, 0.05), (0, 0, 0.0), (2, 2, 0.0), (0, 0, 0.2), (7, 3, 0.1), (1.5, 0.5, 0.0), (2.5, 1.0, 0.05)]


@pytest.mark.parametrize(("gamma_neg", "gamma_pos", "clip"), SETTINGS)
def test_the_asymmetric_loss_and_its_gradients_are_those_of_the_definition(gamma_neg, gamma_pos, clip):
    logits, targets = a_batch()
    logits.requires_grad_()
    expected = defined_asymmetric(logits, targets, gamma_neg, gamma_pos, clip)
    (slope,) = torch.autograd.grad(expected.sum(), logits)
    settings = {"gamma_neg": gamma_neg, "gamma_pos": gamma_pos, "clip": clip}
    torch.testing.assert_close(asymmetric_loss(logits, targets, reduction="none", **settings), expected)
    for dtype, close in ((torch.float64, 1e-12), (torch.float32, 1e-6)):
        z = logits.detach().to(dtype, copy=True).requires_grad_()
        loss = asymmetric_loss(z, targets, reduction="sum", **settings)
        loss.backward()
        assert loss.item() == pytest.approx(expected.sum().item(), rel=close)
        torch.testing.assert_close(z.grad.double(), slope, atol=close, rtol=20 * close)


@pytest.mark.parametrize(("gamma_neg", "gamma_pos", "clip"), SETTINGS)
def test_second_gradients_are_right(gamma_neg, gamma_pos, clip):
    logits, targets = a_batch(4, 3)

    def loss(z):
        return asymmetric_loss(z, targets, gamma_neg=gamma_neg, gamma_pos=gamma_pos, clip=clip)

    assert gradcheck(loss, logits.requires_grad_())
    assert gradgradcheck(loss, logits)


def test_the_compiled_loops_can_be_differentiated_twice():
    logits, targets = a_batch(8, 5)

    def curvature(z):
        (slope,) = torch.autograd.grad(AsymmetricLoss(reduction="sum")(z, targets), z, create_graph=True)
        return torch.autograd.grad(slope.square().sum(), z)[0]

    single = curvature(logits.float().requires_grad_())
    torch.testing.assert_close(single.double(), curvature(logits.requires_grad_()), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("strange", [-0.1, 1.1, float("nan"), float("inf")])
@pytest.mark.parametrize("reduction", ["mean", "none"])
def test_a_target_out_of_range_is_found_wherever_it_is(strange, reduction):
    targets = torch.zeros(3, 1300)
    targets[2, 1299] = strange
    with pytest.raises(ValueError, match="targets must lie between 0 and 1, got values from"):
        binary_cross_entropy_loss(torch.zeros(3, 1300), targets, reduction=reduction)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_cross_entropy_is_that_of_torch_with_weights_and_all_reductions(reduction, dtype):
    logits, targets = a_batch(dtype=dtype)
    of_label, positive = torch.linspace(0.5, 2, 7, dtype=dtype), torch.linspace(1, 3, 7, dtype=dtype)
    of_example = torch.linspace(0, 1, 24, dtype=dtype)
    ours = binary_cross_entropy_loss(
        logits,
        targets,
        pos_weight=positive,
        label_weight=of_label,
        example_weight=of_example,
        reduction=reduction,
    )
    weight = of_label * of_example.unsqueeze(1)
    theirs = binary_cross_entropy_with_logits(logits, targets, weight, pos_weight=positive, reduction=reduction)
    torch.testing.assert_close(ours, theirs)


def test_label_smoothing_moves_targets_towards_one_half():
    logits, targets = a_batch()
    smoothed = 0.8 * targets + 0.1
    expected = binary_cross_entropy_with_logits(logits, smoothed)
    torch.testing.assert_close(BinaryCrossEntropyLoss(label_smoothing=0.2)(logits, targets), expected)
    lists = [row.nonzero()[0].tolist() for row in targets.numpy()]
    for z in (logits, logits.float()):
        value = BinaryCrossEntropyLoss(label_smoothing=0.2)(z, lists)
        torch.testing.assert_close(value.double(), expected, rtol=1e-6, atol=0)


def test_focal_loss_without_focus_is_cross_entropy():
    logits, targets = a_batch(dtype=torch.float32)
    torch.testing.assert_close(
        focal_loss(logits, targets, alpha=None, gamma=0), binary_cross_entropy_with_logits(logits, targets)
    )
    torch.testing.assert_close(
        focal_loss(logits, targets, alpha=0.5, gamma=0), binary_cross_entropy_with_logits(logits, targets) / 2
    )


def test_focal_loss_is_asymmetric_loss_with_one_exponent():
    logits, targets = a_batch(dtype=torch.float32)
    expected = asymmetric_loss(logits, targets, gamma_neg=3, gamma_pos=3, clip=0)
    torch.testing.assert_close(FocalLoss(None, 3.0)(logits, targets), expected)


def test_alpha_weighs_the_positive_part():
    assert focal_loss(torch.zeros(1, 1), [[0]], alpha=0.9) == pytest.approx(
        9 * focal_loss(torch.zeros(1, 1), [[]], alpha=0.9)
    )


def test_easy_negatives_below_the_clip_cost_nothing():
    z = torch.tensor([[-3.0, 0.0]], requires_grad=True)
    AsymmetricLoss()(z, [[]]).backward()
    assert z.grad[0, 0] == 0
    assert z.grad[0, 1] > 0


def test_a_mean_counts_known_labels_only():
    logits, targets = a_batch()
    mask = torch.zeros(logits.shape, dtype=torch.bool)
    mask[2, 3] = True
    expected = binary_cross_entropy_with_logits(logits[2, 3], targets[2, 3])
    torch.testing.assert_close(binary_cross_entropy_loss(logits, targets, mask=mask), expected)
    assert binary_cross_entropy_loss(logits, targets, mask=torch.zeros_like(mask)) == 0


def test_losses_keep_their_digits_over_the_whole_range():
    z = torch.cat([-torch.logspace(-3, 2, 300).flip(0), torch.logspace(-3, 2, 300)]).unsqueeze(1)
    for targets in (torch.zeros_like(z), torch.ones_like(z)):
        for gamma_neg, gamma_pos, clip in ((0, 0, 0.0), (2, 2, 0.0), (4, 1, 0.05)):
            slopes = []
            for dtype in (torch.float32, torch.float64):
                x = z.to(dtype, copy=True).requires_grad_()
                settings = {"gamma_neg": gamma_neg, "gamma_pos": gamma_pos, "clip": clip}
                asymmetric_loss(x, targets, reduction="sum", **settings).backward()
                slopes.append(x.grad.double())
            seen = slopes[1].abs() > 1e-36  # smaller ones are left to the limits of float32
            relative = (slopes[0] - slopes[1]).abs()[seen] / slopes[1].abs()[seen]
            near_the_clip = clip > 0 and targets.sum() == 0  # p - clip cancels there
            assert relative.max() < (0.05 if near_the_clip else 1e-5)
