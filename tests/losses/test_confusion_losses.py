"""Smooth metrics are what they are defined to be, and become scikit-learn's metrics as their slope grows."""

import numpy as np
import pytest
import torch
from loss_definitions import AVERAGES, METRICS, a_batch, counts, defined_confusion_loss
from sklearn import metrics as sk
from torch.autograd import gradcheck, gradgradcheck

from labelproof.losses import ConfusionLoss, SigmoidF1Loss, UnboundedF1Loss
from labelproof.losses.averaging import Aim, average_loss
from labelproof.losses.confusion import confusion_loss, unbounded_f1_loss


@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("metric", METRICS)
def test_each_metric_and_its_gradient_are_those_of_the_definition(metric, average):
    logits, targets = a_batch()
    logits.requires_grad_()
    expected = defined_confusion_loss(logits, targets, metric, average, beta=1.7, eta=0.3)
    (slope,) = torch.autograd.grad(expected, logits)
    for dtype, close in ((torch.float64, 1e-12), (torch.float32, 2e-6)):
        z = logits.detach().to(dtype).requires_grad_()
        loss = ConfusionLoss(metric, beta=1.7, eta=0.3, average=average, f_beta=2.0)(z, targets)
        loss.backward()
        assert loss.item() == pytest.approx(expected.item(), abs=close)
        torch.testing.assert_close(z.grad.double(), slope, atol=close, rtol=20 * close)


def by_scikit_learn(metric, average, y_true, y_pred):
    known = {
        "f1": sk.f1_score,
        "precision": sk.precision_score,
        "recall": sk.recall_score,
        "jaccard": sk.jaccard_score,
        "fbeta": lambda *a, **k: sk.fbeta_score(*a, beta=2.0, **k),
    }
    if metric in known:
        return known[metric](y_true, y_pred, average=average, zero_division=0)
    flipped = {"specificity": sk.recall_score, "npv": sk.precision_score}
    single = {
        "accuracy": sk.accuracy_score,
        "balanced-accuracy": sk.balanced_accuracy_score,
        "mcc": sk.matthews_corrcoef,
    }
    one = single.get(metric) or (lambda t, p: flipped[metric](t, p, pos_label=0, zero_division=0))
    if average == "micro":
        return one(y_true.ravel(), y_pred.ravel())
    groups = zip(y_true, y_pred, strict=True) if average == "samples" else zip(y_true.T, y_pred.T, strict=True)
    values = [one(t, p) for t, p in groups]
    return np.average(values, weights=y_true.sum(0) if average == "weighted" else None)


@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("metric", METRICS)
def test_a_steep_sigmoid_gives_the_hard_metric_of_scikit_learn(metric, average):
    logits, targets = a_batch(40, 9, seed=3)
    predicted = (logits > 0).int().numpy()
    assert set(predicted.sum(0)).isdisjoint({0, 40})  # every label is predicted somewhere, and somewhere not
    gaps = []
    for beta in (3.0, 30.0, 1e6):
        smooth = 1 - ConfusionLoss(metric, beta=beta, average=average, f_beta=2.0)(logits, targets).item()
        gaps.append(abs(smooth - by_scikit_learn(metric, average, targets.int().numpy(), predicted)))
    assert gaps[0] > gaps[1] > gaps[2]
    assert gaps[2] < 1e-12


@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("metric", METRICS)
def test_gradients_and_second_gradients_are_right(metric, average):
    logits, targets = a_batch(6, 3, spread=1.0)
    loss = ConfusionLoss(metric, average=average, f_beta=0.5)
    assert gradcheck(lambda z: loss(z, targets), logits.requires_grad_())
    assert gradgradcheck(lambda z: loss(z, targets), logits)


def test_the_compiled_loops_can_be_differentiated_twice():
    logits, targets = a_batch(8, 5)

    def curvature(z):
        (slope,) = torch.autograd.grad(SigmoidF1Loss()(z, targets), z, create_graph=True)
        return torch.autograd.grad(slope.square().sum(), z)[0]

    single = curvature(logits.float().requires_grad_())
    torch.testing.assert_close(single.double(), curvature(logits.requires_grad_()), atol=1e-7, rtol=1e-5)


def test_slope_and_shift_can_be_learned_for_each_label():
    logits, targets = a_batch(8, 3)
    loss = SigmoidF1Loss(torch.tensor([0.5, 1.0, 2.0]), torch.zeros(3), learn=("beta", "eta"))
    assert {name for name, _ in loss.named_parameters()} == {"log_beta", "eta"}
    before = loss(logits, targets)
    step = torch.optim.SGD(loss.parameters(), lr=5.0)
    for _ in range(50):
        step.zero_grad()
        loss(logits, targets).backward()
        step.step()
    assert loss(logits, targets) < before
    assert (loss.beta > 0).all()


def test_gradients_of_slope_and_shift_are_right():
    logits, targets = a_batch(6, 3)
    beta, eta = torch.tensor([0.5, 1.0, 2.0]).double(), torch.tensor([0.1, -0.2, 0.3]).double()
    assert gradcheck(
        lambda b, e: confusion_loss(logits, targets, beta=b, eta=e), (beta.requires_grad_(), eta.requires_grad_())
    )


def test_slopes_for_each_label_are_saved_and_moved_with_the_module():
    loss = SigmoidF1Loss(torch.tensor([1.0, 2.0]), torch.tensor([0.5, 0.0]))
    assert set(loss.state_dict()) == {"fixed_beta", "eta"}
    assert not list(loss.parameters())
    z, y = torch.tensor([[1.0, -1.0], [0.5, 2.0]]), torch.eye(2)
    expected = defined_confusion_loss(z, y, "f1", "macro", beta=loss.beta, eta=loss.eta)
    torch.testing.assert_close(loss(z, y), expected)


# --- labels without a positive ----------------------------------------------------------------------------


def test_where_every_label_has_a_positive_the_policies_agree():
    logits, targets = a_batch()
    loss = {empty: ConfusionLoss("mcc", empty=empty) for empty in ("skip", "smooth", "memory")}
    loss["memory"](*a_batch(seed=5))
    values = {empty: loss[empty](logits, targets).item() for empty in loss}
    assert values["skip"] == values["smooth"] == values["memory"]


def test_smoothing_makes_false_positives_of_an_absent_label_cost_something():
    z = torch.tensor([[1.0, 2.0], [-1.0, 0.0]], requires_grad=True)
    y = torch.tensor([[1.0, 0.0], [0.0, 0.0]])
    loss = SigmoidF1Loss(reduction="none")(z, y)
    predicted = torch.sigmoid(z[:, 1]).sum().item()
    assert loss[1].item() == pytest.approx(predicted / (predicted + 2))  # 1 - 2·1 / (predicted + 1 + 1)
    loss[1].backward()
    assert (z.grad[:, 1] > 0).all()


def test_one_positive_among_millions_is_a_positive():
    counts = torch.tensor([0.5, 1.0, 1.0, 3e6])
    for empty in ("skip", "smooth"):
        assert average_loss(counts, Aim(average="micro", empty=empty)).item() == 0.5  # 1 - 2·½ / (1 + 1)


def test_a_skipped_label_has_no_part_in_the_mean():
    logits, targets = a_batch(6, 4)
    targets[:, 2] = 0
    rest = [0, 1, 3]
    skipping = SigmoidF1Loss(empty="skip")
    assert skipping(logits, targets).item() == pytest.approx(skipping(logits[:, rest], targets[:, rest]).item())
    assert SigmoidF1Loss(empty="skip", reduction="none")(logits, targets)[2] == 0


def test_a_memory_of_earlier_batches_stands_in_for_absent_labels():
    (z1, y1), (z2, y2) = a_batch(6, 3, seed=1), a_batch(6, 3, seed=2)
    y2[:, 1] = 0
    loss = SigmoidF1Loss(empty="memory", decay=0.5, reduction="none")
    loss(z1, y1)
    z2.requires_grad_()
    second = loss(z2, y2)
    both = SigmoidF1Loss(reduction="none")(torch.cat([z1, z2]), torch.cat([y1, y2]))
    assert second[1].item() == pytest.approx(both[1].item())
    assert torch.equal(second[[0, 2]], SigmoidF1Loss(reduction="none")(z2, y2)[[0, 2]])
    second[1].backward()
    assert (z2.grad[:, 1] > 0).all()
    torch.testing.assert_close(loss.memory[2], 0.5 * y1.sum(0) + y2.sum(0))


@pytest.mark.parametrize("n_labels", [3, 6])
def test_a_memory_of_other_labels_is_refused(n_labels):
    loss = SigmoidF1Loss(empty="memory")
    loss(torch.randn(4, 5), torch.zeros(4, 5))
    with pytest.raises(ValueError, match=rf"memory must have the shape \(4, {n_labels}\) .* got \(4, 5\)"):
        loss(torch.randn(4, n_labels), torch.zeros(4, n_labels))


def test_a_label_that_was_never_positive_is_skipped_by_the_memory():
    logits, targets = a_batch(6, 3)
    targets[:, 0] = 0
    loss = SigmoidF1Loss(empty="memory", reduction="none")
    assert loss(logits, targets)[0] == loss(logits, targets)[0] == 0


def test_the_memory_is_saved_and_not_changed_in_evaluation():
    logits, targets = a_batch(6, 3)
    loss = SigmoidF1Loss(empty="memory")
    loss(logits, targets)
    restored = SigmoidF1Loss(empty="memory")
    restored.load_state_dict(loss.state_dict())
    assert torch.equal(restored.memory, loss.memory)
    restored.eval()(logits, targets)
    assert torch.equal(restored.memory, loss.memory)


def test_a_gradient_that_is_asked_for_again_leaves_the_memory_alone():
    logits, targets = a_batch(seed=3)
    logits = logits.float().requires_grad_()
    loss = SigmoidF1Loss(empty="memory")
    value = loss(logits, targets)
    (first,) = torch.autograd.grad(value, logits, retain_graph=True)
    loss.memory.fill_(7.0)
    (second,) = torch.autograd.grad(value, logits)
    torch.testing.assert_close(second, first)
    assert (loss.memory == 7).all()


@pytest.mark.parametrize("average", ["macro", "micro", "weighted"])
def test_the_memory_of_a_double_batch_leaves_later_ones_in_single_precision(average):
    (z1, y1), (z2, y2) = a_batch(6, 3, seed=1), a_batch(6, 3, seed=2, dtype=torch.float32)
    y2[:, 1] = 0
    loss = SigmoidF1Loss(empty="memory", average=average)
    loss(z1, y1)
    assert loss.memory.dtype == torch.float64
    z2.requires_grad_()
    value = loss(z2, y2)
    assert value.dtype == loss.memory.dtype == torch.float32
    alike = SigmoidF1Loss(empty="memory", average=average)
    alike(z1.float(), y1.float())
    torch.testing.assert_close(value, alike(z2, y2))
    assert alike(z1, y1).dtype == torch.float64  # and the other way round


@pytest.mark.parametrize("average", ["macro", "micro", "weighted"])
@pytest.mark.parametrize("metric", METRICS)
def test_the_memory_is_used_alike_by_the_compiled_loops(metric, average):
    (z1, y1), (z2, y2) = a_batch(6, 3, seed=1), a_batch(6, 3, seed=2)
    y2[:, 1], y2[:, 2] = 0, 1
    results = []
    for dtype in (torch.float64, torch.float32):
        loss = ConfusionLoss(metric, empty="memory", average=average, label_weight=torch.tensor([1.0, 2.0, 3.0]))
        for z, y in ((z1, y1), (z2, y2)):
            logits = z.to(dtype).requires_grad_()
            value = loss(logits, y.to(dtype))
        (gradient,) = torch.autograd.grad(value, logits)
        results.append((value.double(), gradient.double(), loss.memory.double()))
    torch.testing.assert_close(results[1], results[0], atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("empty", ["smooth", "skip"])
def test_labels_without_a_positive_or_a_negative_are_treated_alike_by_the_compiled_loops(metric, average, empty):
    logits, targets = a_batch(8, 6, spread=1.0)
    targets[:, 0], targets[:, 1], targets[0], targets[1] = 0, 1, 0, 1
    results = []
    for dtype in (torch.float64, torch.float32):
        z = logits.to(dtype).requires_grad_()
        weights = {"example_weight": torch.linspace(0.5, 2.0, 8)}
        for reduction in ("mean", "sum"):
            label_weight = torch.linspace(1.0, 3.0, 6)
            loss = ConfusionLoss(metric, average=average, empty=empty, reduction=reduction, label_weight=label_weight)
            value = loss(z, targets.to(dtype), **weights)
            results.append((value.double(), torch.autograd.grad(value, z)[0].double()))
    torch.testing.assert_close(results[2:], results[:2], atol=1e-6, rtol=1e-5)


def test_metrics_that_need_a_negative_treat_labels_without_one_in_the_same_way():
    logits, targets = a_batch(6, 3)
    targets[:, 0] = 1
    none = ConfusionLoss("specificity", empty="skip", reduction="none")(logits, targets)
    assert none[0] == 0
    smooth = ConfusionLoss("specificity", reduction="none")(logits, targets)
    assert smooth[0].item() == pytest.approx(0.0)  # the one label that smoothing adds is rightly left out


def test_a_batch_without_any_positive_has_a_gradient_of_zero_under_skip_and_none_is_nan():
    for average in AVERAGES:
        z = torch.randn(4, 3, requires_grad=True)
        loss = SigmoidF1Loss(average=average, empty="skip")(z, torch.zeros(4, 3))
        loss.backward()
        assert loss.item() == 0
        assert torch.equal(z.grad, torch.zeros(4, 3))


# --- reductions and weights -------------------------------------------------------------------------------


def test_reductions_have_the_shapes_that_the_averages_promise():
    logits, targets = a_batch(5, 3)
    shapes = {average: ConfusionLoss(average=average, reduction="none")(logits, targets).shape for average in AVERAGES}
    assert shapes == {"macro": (3,), "weighted": (3,), "samples": (5,), "micro": ()}
    total = ConfusionLoss(reduction="sum")(logits, targets).item()
    assert total == pytest.approx(3 * ConfusionLoss()(logits, targets).item())


@pytest.mark.parametrize("average", AVERAGES)
def test_a_weight_of_two_is_as_good_as_the_example_twice(average):
    logits, targets = a_batch(6, 4)
    twice = torch.cat([logits, logits[:2]]), torch.cat([targets, targets[:2]])
    weight = torch.tensor([2.0, 2.0, 1, 1, 1, 1])
    loss = SigmoidF1Loss(average=average)
    assert loss(logits, targets, example_weight=weight).item() == pytest.approx(loss(*twice).item())


@pytest.mark.parametrize("average", AVERAGES)
def test_a_weight_of_zero_is_as_good_as_no_such_label(average):
    logits, targets = a_batch(6, 4)
    weighted = SigmoidF1Loss(average=average, label_weight=torch.tensor([1.0, 1.0, 1.0, 0.0]))
    assert weighted(logits, targets).item() == pytest.approx(
        SigmoidF1Loss(average=average)(logits[:, :3], targets[:, :3]).item()
    )


@pytest.mark.parametrize("average", AVERAGES)
def test_sample_weights_are_those_of_scikit_learn(average):
    logits, targets = a_batch(12, 4, seed=2)
    weight = torch.linspace(0.5, 2.0, 12)
    smooth = 1 - SigmoidF1Loss(1e6, average=average)(logits, targets, example_weight=weight).item()
    y_true, y_pred = targets.int().numpy(), (logits > 0).int().numpy()
    assert smooth == pytest.approx(sk.f1_score(y_true, y_pred, average=average, sample_weight=weight.numpy()))


# --- unboundedF1 ------------------------------------------------------------------------------------------


def test_unbounded_f1_of_sigmoids_is_sigmoid_f1_with_slope_one():
    logits, targets = a_batch()
    assert torch.equal(UnboundedF1Loss(scores="sigmoid")(logits, targets), SigmoidF1Loss()(logits, targets))


def test_unbounded_f1_is_by_default_the_paper_s_sum_of_logits():
    logits, targets = a_batch()
    tp, fp, fn, _ = counts(logits, targets, 0)  # equation 4
    expected = (1 - 2 * tp / (2 * tp + fn + fp)).mean()
    torch.testing.assert_close(UnboundedF1Loss()(logits, targets), expected)
    torch.testing.assert_close(unbounded_f1_loss(logits, targets), expected)


def test_unbounded_f1_of_raw_logits_has_no_bounds_and_prefers_some_wrong_predictions():
    targets = torch.tensor([[1.0], [0.0]])

    def loss(positive, negative):
        return UnboundedF1Loss()(torch.tensor([[positive], [negative]]), targets).item()

    assert [loss(c, -c) for c in (1.0, 10.0, 100.0)] == [-1.0, -19.0, -199.0]  # 1 - 2c / (c - c + 1)
    assert loss(3.0, -4.5) == 13.0  # right, but 1 - 6 / (3 - 4.5 + 1)
    assert loss(-3.0, 1.0) == -5.0  # wrong, but 1 + 6 / (-3 + 1 + 1)
