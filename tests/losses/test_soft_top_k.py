"""The smooth choice of k labels has exactly k, is that of the largest logits when it is sharp, and can learn."""

import pytest
import torch
from loss_definitions import a_batch
from torch.autograd import gradcheck, gradgradcheck

from labelproof.functional import soft_top_k, soft_top_k_loss
from labelproof.losses import SoftTopKLoss


@pytest.mark.parametrize("k", [1, 3, 6])
@pytest.mark.parametrize("scale", [0.01, 1.0, 30.0, 1000.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_k_labels_are_chosen_in_the_order_of_logits(k, scale, dtype):
    logits = scale * a_batch(40, 7, dtype=dtype)[0]
    chosen = soft_top_k(logits, k)
    torch.testing.assert_close(chosen.sum(1), torch.full((40,), float(k), dtype=dtype), rtol=1e-5, atol=1e-5)
    in_order = chosen.gather(1, logits.argsort(1))
    assert (in_order.diff(dim=1) >= 0).all()


def test_a_sharp_choice_is_that_of_the_largest_logits_and_its_loss_the_metric():
    logits, targets = a_batch(30, 9)
    largest = torch.zeros_like(logits).scatter(1, logits.topk(4, 1).indices, 1.0)
    torch.testing.assert_close(soft_top_k(logits, 4, temperature=1e-4), largest, atol=1e-4, rtol=0)
    found = (largest * targets).sum(1)
    expected = 1 - (found / targets.sum(1).clamp(max=4)).mean()
    recall = soft_top_k_loss(logits, targets, k=4, temperature=1e-4)
    torch.testing.assert_close(recall, expected, atol=1e-4, rtol=0)
    precision = soft_top_k_loss(logits, targets, k=4, metric="precision", temperature=1e-4)
    torch.testing.assert_close(precision, 1 - (found / 4).mean(), atol=1e-4, rtol=0)


def test_the_choice_maximises_logits_and_entropy():
    z = a_batch(1, 5)[0]

    def value(p):
        return (p * z).sum() - (p * p.log() + (1 - p) * (1 - p).log()).sum()

    p = soft_top_k(z, 2)
    generator = torch.Generator().manual_seed(0)
    for _ in range(50):
        step = 0.001 * torch.randn(1, 5, generator=generator, dtype=torch.float64)
        other = p + step - step.mean()  # still two labels
        assert value(other) < value(p)


@pytest.mark.parametrize("metric", ["recall", "precision"])
@pytest.mark.parametrize("k", [1, 2, 4])
def test_gradients_and_second_gradients_are_right(metric, k):
    logits, targets = a_batch(4, 5)
    loss = SoftTopKLoss(k, metric, 0.7)
    assert gradcheck(lambda z: loss(z, targets), logits.requires_grad_())
    assert gradgradcheck(lambda z: loss(z, targets), logits)


def test_no_more_labels_than_k_are_all_chosen():
    logits, targets = a_batch(6, 3)
    assert (soft_top_k(logits, 3) == 1).all()
    assert soft_top_k_loss(logits, targets, k=5) == 0
    mask = torch.tensor([True, True, False]).expand(6, 3)
    assert soft_top_k_loss(logits, torch.ones(6, 3), k=2, mask=mask) == 0


def test_examples_without_labels_are_left_out():
    logits, targets = a_batch(4, 5)
    targets[1] = 0
    each = soft_top_k_loss(logits, targets, k=2, reduction="none")
    assert each[1] == 0
    torch.testing.assert_close(soft_top_k_loss(logits, targets, k=2), each.sum() / 3)
    torch.testing.assert_close(soft_top_k_loss(logits, targets, k=2, reduction="sum"), each.sum())


def test_weights_value_what_is_found():
    logits, targets = torch.zeros(1, 4), torch.tensor([[1.0, 1.0, 0.0, 0.0]])
    logits[0, 0] = 30.0  # found
    weight = torch.tensor([3.0, 1.0, 1.0, 1.0])
    assert soft_top_k_loss(logits, targets, k=2, label_weight=weight) < soft_top_k_loss(logits, targets, k=2)


def test_training_on_it_raises_recall_at_k():
    torch.manual_seed(0)
    x, layer = torch.randn(200, 10), torch.nn.Linear(10, 12)
    targets = (x @ torch.randn(10, 12)).topk(3, 1).indices
    y = torch.zeros(200, 12).scatter(1, targets, 1.0)
    sharp, loss = SoftTopKLoss(3, temperature=1e-4), SoftTopKLoss(3)
    before = sharp(layer(x), y).item()
    optimiser = torch.optim.Adam(layer.parameters(), lr=0.1)
    for _ in range(60):
        optimiser.zero_grad()
        loss(layer(x), y).backward()
        optimiser.step()
    assert sharp(layer(x), y).item() < before / 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k must be an integer of at least 1, got 0"),
        ({"k": 1.5}, r"k must be an integer of at least 1, got 1\.5"),
        ({"k": True}, "k must be an integer of at least 1, got True"),
        ({"metric": "f1"}, "metric must be 'recall' or 'precision', got 'f1'"),
        ({"temperature": 0.0}, "temperature must be positive, got 0"),
        ({"reduction": "avg"}, "reduction must be one of 'none', 'mean', 'sum', got 'avg'"),
    ],
)
def test_wrong_options_are_refused(options, message):
    for make in (SoftTopKLoss, lambda **k: soft_top_k_loss(torch.zeros(1, 2), [[0]], **k)):
        with pytest.raises(ValueError, match=message):
            make(**options)
