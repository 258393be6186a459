"""Losses as a transformers Trainer calls them, with a model made from a configuration."""

import pytest
import torch
from loss_definitions import a_batch
from transformers import BertConfig, BertForSequenceClassification

from labelproof.losses import AsymmetricLoss, BinaryCrossEntropyLoss, SigmoidF1Loss, TrainerLoss


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=30,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        num_labels=5,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    return BertForSequenceClassification(config)


TOKENS = torch.randint(0, 30, (8, 6), generator=torch.Generator().manual_seed(1))
LABELS = a_batch(8, 5, dtype=torch.float32)[1]


@pytest.mark.parametrize("loss", [BinaryCrossEntropyLoss(), AsymmetricLoss(), SigmoidF1Loss()])
def test_a_transformer_learns_by_it(model, loss):
    compute_loss = TrainerLoss(loss)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-2)
    values = []
    for _ in range(8):
        optimiser.zero_grad()
        value = compute_loss(model(input_ids=TOKENS), LABELS, num_items_in_batch=LABELS.numel())
        value.backward()
        optimiser.step()
        values.append(value.item())
    assert values[-1] < values[0]


def test_parts_of_a_batch_add_up_to_its_mean(model):
    compute_loss = TrainerLoss(BinaryCrossEntropyLoss())
    known = LABELS.clone()
    known[1, 2] = known[5, 0] = -100  # what the Trainer does not count either
    n_known = known.ne(-100).sum()
    whole = compute_loss(model(TOKENS), known)
    parts = [
        compute_loss(model(TOKENS[part]), known[part], num_items_in_batch=n_known)
        for part in (slice(0, 3), slice(3, 8))
    ]
    torch.testing.assert_close(sum(parts), whole)


def test_unknown_labels_are_masked():
    logits, targets = a_batch(4, 3, dtype=torch.float32)
    targets[0, 0] = -1
    mask = targets >= 0
    value = TrainerLoss(SigmoidF1Loss(), unknown=-1)({"logits": logits}, targets)
    assert value == SigmoidF1Loss()(logits, targets.clamp(min=0), mask=mask)
