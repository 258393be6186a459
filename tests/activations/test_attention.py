"""Attention with sparse weights: the definitions, torch's own block as oracle, masks, gradients and bad input."""

import pytest
import torch
from torch import nn

from labelproof.activations import MultiheadSparseAttention, SparseAttention, attention_weights, sparsemax

ACTIVATIONS = ["softmax", "sparsemax", "entmax", "sigmoid", 1.3]


def normal(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_additive_attention_is_the_papers_formula(activation):
    attention = SparseAttention(6, 4, 5, activation=activation, dtype=torch.float64)
    h, y = normal(3, 7, 6), normal(3, 4, seed=1)
    context, weights = attention(h, y)
    w_x, b, w_y = attention.of_keys.weight, attention.of_keys.bias, attention.of_query.weight
    for i in range(3):
        hidden = [torch.tanh(w_x @ h[i, t] + w_y @ y[i] + b) for t in range(7)]
        scores = torch.stack([attention.score.weight[0] @ z for z in hidden])
        torch.testing.assert_close(weights[i], attention_weights(scores, activation))
        torch.testing.assert_close(context[i], sum(weights[i, t] * h[i, t] for t in range(7)))


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_padding_is_as_good_as_a_shorter_sequence(activation):
    attention = SparseAttention(6, 4, activation=activation, dtype=torch.float64)
    h, y = normal(2, 7, 6), normal(2, 4, seed=1)
    padding = torch.zeros(2, 7, dtype=torch.bool)
    padding[:, 4:] = True
    context, weights = attention(h, y, key_padding_mask=padding)
    shorter, fewer = attention(h[:, :4], y)
    torch.testing.assert_close(context, shorter)
    torch.testing.assert_close(weights[:, :4], fewer)
    assert (weights[:, 4:] == 0).all()


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_a_fully_masked_row_has_weights_and_gradients_zero(activation):
    scores = normal(3, 5).requires_grad_()
    mask = torch.zeros(3, 5, dtype=torch.bool)
    mask[1] = True
    mask[2, :3] = True
    weights = attention_weights(scores, activation, mask=mask)
    assert (weights[1] == 0).all()
    (g,) = torch.autograd.grad(weights.square().sum(), scores)
    assert g.isfinite().all()
    assert (g[mask] == 0).all()
    assert (g[0] != 0).any()


def test_a_sequence_of_padding_alone_gives_a_context_of_zeros():
    attention = SparseAttention(3, 2)
    context, weights = attention(
        torch.ones(1, 4, 3), torch.ones(1, 2), key_padding_mask=torch.ones(1, 4, dtype=torch.bool)
    )
    assert (context == 0).all()
    assert (weights == 0).all()


def test_with_softmax_the_block_is_torchs_multihead_attention():
    theirs = nn.MultiheadAttention(8, 2, batch_first=True, dtype=torch.float64)
    ours = MultiheadSparseAttention(8, 2, activation="softmax", dtype=torch.float64)
    ours.load_state_dict(theirs.state_dict())
    q, k, v = normal(3, 4, 8), normal(3, 6, 8, seed=1), normal(3, 6, 8, seed=2)
    padding = torch.tensor([[False] * 6, [False] * 4 + [True] * 2, [True] + [False] * 5])
    causal = torch.ones(4, 6, dtype=torch.bool).triu(3)
    options = {"key_padding_mask": padding, "attn_mask": causal}
    expected, weights = theirs(q, k, v, average_attn_weights=False, **options)
    found = ours(q, k, v, **options)
    torch.testing.assert_close(found[0], expected)
    torch.testing.assert_close(found[1], weights)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_the_block_has_right_gradients_and_any_leading_dimensions(activation):
    block = MultiheadSparseAttention(4, 2, activation=activation, dtype=torch.float64)
    x = normal(2, 3, 4).requires_grad_()
    mask = torch.zeros(3, 3, dtype=torch.bool)
    mask[1] = True
    assert torch.autograd.gradcheck(lambda x: block(x, x, x, attn_mask=mask), (x,))
    out, weights = block(*[normal(5, 2, 3, 4)] * 3)
    assert out.shape == (5, 2, 3, 4)
    assert weights.shape == (5, 2, 2, 3, 3)


def test_a_query_without_keys_gets_the_output_bias():
    block = MultiheadSparseAttention(4, 2)
    nn.init.ones_(block.out_proj.bias)
    x = torch.ones(1, 3, 4)
    out, weights = block(x, x, x, key_padding_mask=torch.ones(1, 3, dtype=torch.bool))
    assert (weights == 0).all()
    assert (out == 1).all()


def test_dropout_acts_in_training_only_and_no_bias_means_none():
    block = MultiheadSparseAttention(4, 2, dropout=1.0, bias=False)
    x = torch.ones(1, 3, 4)
    assert (block(x, x, x)[0] == 0).all()
    assert (block.eval()(x, x, x)[0] != 0).any()
    assert block.in_proj_bias is None


def test_a_block_learns_to_attend_to_few_keys():
    torch.manual_seed(0)
    x = torch.randn(64, 12, 8)
    marked = torch.randint(12, (64,))
    x[torch.arange(64), marked, 0] = 4.0
    attention = SparseAttention(8, 1, 8)
    optimizer = torch.optim.Adam(attention.parameters(), 0.05)
    target = x[torch.arange(64), marked]
    for _ in range(60):
        context, weights = attention(x, torch.ones(64, 1))
        optimizer.zero_grad()
        (context - target).square().mean().backward()
        optimizer.step()
    assert (weights.argmax(-1) == marked).float().mean() > 0.9
    assert (weights > 0).sum(-1).float().mean() < 6


def test_half_precision_goes_through():
    block = MultiheadSparseAttention(8, 2, dtype=torch.bfloat16)
    x = torch.randn(2, 5, 8, dtype=torch.bfloat16)
    out, weights = block(x, x, x)
    assert out.dtype == weights.dtype == torch.bfloat16


def test_unmasked_weights_are_the_activation_itself():
    scores = normal(3, 4)
    assert torch.equal(attention_weights(scores), sparsemax(scores))


def test_bad_input_is_refused_in_one_sentence():
    h, y = torch.ones(2, 3, 4), torch.ones(2, 4)
    with pytest.raises(ValueError, match=r"activation must be a number or one of 'softmax', .*, got 'relu'"):
        SparseAttention(4, 4, activation="relu")
    with pytest.raises(ValueError, match="alpha must be a finite number of at least 1, got"):
        MultiheadSparseAttention(4, 2, activation=0.5)
    with pytest.raises(ValueError, match="num_heads must be positive and divide embed_dim 4, got 3"):
        MultiheadSparseAttention(4, 3)
    with pytest.raises(ValueError, match="dropout must lie between 0 and 1, got 2"):
        MultiheadSparseAttention(4, 2, dropout=2)
    with pytest.raises(ValueError, match=r"key_padding_mask must be a bool tensor of shape \(2, 3\) .* got torch.bool"):
        SparseAttention(4, 4)(h, y, key_padding_mask=torch.ones(2, 4, dtype=torch.bool))
    with pytest.raises(ValueError, match=r"mask must be a bool tensor .*, got torch.float32"):
        attention_weights(torch.ones(2), mask=torch.ones(2))
