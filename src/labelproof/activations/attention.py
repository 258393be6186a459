"""Attention whose weights come from softmax, sparsemax, α-entmax or sigmoids."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout, linear

from labelproof.activations.entmax import check_alpha, entmax

__all__ = ["MultiheadSparseAttention", "SparseAttention", "attention_weights"]


def attention_weights(scores: Tensor, activation: str | float = "sparsemax", *, mask: Tensor | None = None) -> Tensor:
    """Return the attention weights of scores along the last dimension.

    Parameters
    ----------
    scores
        Tensor of shape (..., n_keys).
    activation
        "softmax", "sparsemax", "entmax" (α = 1.5), "sigmoid", or a number: the α of entmax. Sigmoids weigh every key
        by itself and do not sum to 1.
    mask
        Bool tensor that broadcasts to the scores, True where a key must not be attended to: its weight is exactly 0.
        A row with no key left has weight 0 everywhere, and gradient 0.

    Returns
    -------
    Tensor
        Of the scores' shape and dtype.

    Examples
    --------
    >>> scores = torch.tensor([[1.0, 0.8, 0.1], [1.0, 0.8, 0.1]])
    >>> attention_weights(scores, mask=torch.tensor([[False, True, False], [True, True, True]]))
    tensor([[0.9500, 0.0000, 0.0500],
            [0.0000, 0.0000, 0.0000]])
    """
    weigh = _read_activation(activation)
    if mask is None:
        return weigh(scores)
    if mask.dtype != torch.bool:
        raise ValueError(f"mask must be a bool tensor (True where a key is masked), got {mask.dtype}")
    hopeless = mask.all(-1, keepdim=True)  # filled with 0 before, not after: NaN has no gradient to mask
    weights = weigh(scores.masked_fill(mask & ~hopeless, -torch.inf))
    return weights.masked_fill(mask, 0)


class SparseAttention(nn.Module):
    """Additive attention of one query over a sequence: z_t = tanh(W_x h_t + W_y y + b), weights ρ(v·z_t).

    This is the attention of the sparsemax paper's model for natural language inference, where the h_t are the premise's
    states and y is the hypothesis' last state.

    Parameters
    ----------
    key_features
        Size of each h_t.
    query_features
        Size of y.
    hidden_features
        Size of z_t; by default that of h_t.
    activation
        ρ, as in `attention_weights`.
    device, dtype
        Of the parameters.

    Examples
    --------
    >>> attention = SparseAttention(4, 3)
    >>> context, weights = attention(torch.randn(2, 5, 4), torch.randn(2, 3))
    >>> context.shape, weights.shape
    (torch.Size([2, 4]), torch.Size([2, 5]))
    """

    def __init__(
        self,
        key_features: int,
        query_features: int,
        hidden_features: int | None = None,
        *,
        activation: str | float = "sparsemax",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        _read_activation(activation)
        hidden = hidden_features or key_features
        self.activation = activation
        self.of_keys = nn.Linear(key_features, hidden, device=device, dtype=dtype)
        self.of_query = nn.Linear(query_features, hidden, bias=False, device=device, dtype=dtype)
        self.score = nn.Linear(hidden, 1, bias=False, device=device, dtype=dtype)

    def forward(self, keys: Tensor, query: Tensor, *, key_padding_mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return the weighted sum of the keys and the weights.

        Parameters
        ----------
        keys
            Tensor h of shape (..., n_keys, key_features).
        query
            Tensor y of shape (..., query_features).
        key_padding_mask
            Bool tensor of shape (..., n_keys), True for padding. Where all is padding, weights and sum are 0.

        Returns
        -------
        context, weights
            Tensors of shape (..., key_features) and (..., n_keys).
        """
        _check_padding(key_padding_mask, keys)
        hidden = torch.tanh(self.of_keys(keys) + self.of_query(query).unsqueeze(-2))
        weights = attention_weights(self.score(hidden).squeeze(-1), self.activation, mask=key_padding_mask)
        return (weights.unsqueeze(-2) @ keys).squeeze(-2), weights

    def extra_repr(self) -> str:
        """Return the activation, for printing."""
        return f"activation={self.activation!r}"


class MultiheadSparseAttention(nn.Module):
    """Scaled dot-product attention in several heads, with any activation of `attention_weights`.

    With ``activation="softmax"`` it computes what `torch.nn.MultiheadAttention` with ``batch_first=True`` does, from
    parameters of the same names and shapes.

    Parameters
    ----------
    embed_dim
        Size of queries, keys and values.
    num_heads
        Number of heads; it must divide embed_dim.
    activation
        As in `attention_weights`.
    dropout
        Share of weights that are dropped in training.
    bias
        Whether the four linear maps have biases.
    device, dtype
        Of the parameters.

    Examples
    --------
    >>> attention = MultiheadSparseAttention(8, 2, activation=1.5)
    >>> x = torch.randn(3, 5, 8)
    >>> out, weights = attention(x, x, x)
    >>> out.shape, weights.shape
    (torch.Size([3, 5, 8]), torch.Size([3, 2, 5, 5]))
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        *,
        activation: str | float = "sparsemax",
        dropout: float = 0.0,
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        _read_activation(activation)
        if num_heads < 1 or embed_dim % num_heads:
            raise ValueError(f"num_heads must be positive and divide embed_dim {embed_dim}, got {num_heads}")
        if not 0 <= dropout <= 1:
            raise ValueError(f"dropout must lie between 0 and 1, got {dropout}")
        self.num_heads, self.activation, self.dropout = num_heads, activation, dropout
        self.in_proj_weight = nn.Parameter(torch.empty(3 * embed_dim, embed_dim, device=device, dtype=dtype))
        self.in_proj_bias = nn.Parameter(torch.zeros(3 * embed_dim, device=device, dtype=dtype)) if bias else None
        self.out_proj = nn.Linear(embed_dim, embed_dim, bias=bias, device=device, dtype=dtype)
        nn.init.xavier_uniform_(self.in_proj_weight)
        if bias:
            nn.init.zeros_(self.out_proj.bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        *,
        key_padding_mask: Tensor | None = None,
        attn_mask: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Return the attended values and the weights of every head.

        Parameters
        ----------
        query
            Tensor of shape (..., n_queries, embed_dim).
        key, value
            Tensors of shape (..., n_keys, embed_dim).
        key_padding_mask
            Bool tensor of shape (..., n_keys), True for padding.
        attn_mask
            Bool tensor that broadcasts to (..., num_heads, n_queries, n_keys), True where a query must not attend.
            A query with no key left has weights 0; its output is then the bias of ``out_proj``.

        Returns
        -------
        output, weights
            Tensors of shape (..., n_queries, embed_dim) and (..., num_heads, n_queries, n_keys).
        """
        _check_padding(key_padding_mask, key)
        q, k, v = (self._split(x, part) for part, x in enumerate((query, key, value)))
        mask = None if key_padding_mask is None else key_padding_mask[..., None, None, :]
        if attn_mask is not None:
            mask = attn_mask if mask is None else mask | attn_mask
        scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5  # (..., heads, queries, keys)
        weights = attention_weights(scores, self.activation, mask=mask if mask is None else mask.expand_as(scores))
        heads = dropout(weights, self.dropout, self.training) @ v
        return self.out_proj(heads.transpose(-3, -2).flatten(-2)), weights

    def extra_repr(self) -> str:
        """Return the arguments, for printing."""
        return f"num_heads={self.num_heads}, activation={self.activation!r}, dropout={self.dropout}"

    def _split(self, x: Tensor, part: int) -> Tensor:
        """Apply the map of queries (0), keys (1) or values (2); return shape (..., heads, positions, features)."""
        weight = self.in_proj_weight.chunk(3)[part]
        bias = None if self.in_proj_bias is None else self.in_proj_bias.chunk(3)[part]
        return linear(x, weight, bias).reshape(*x.shape[:-1], self.num_heads, -1).transpose(-3, -2)


def _read_activation(activation: str | float) -> Callable[[Tensor], Tensor]:
    named: dict[str, Callable[[Tensor], Tensor]] = {
        "softmax": lambda scores: torch.softmax(scores, -1),
        "sparsemax": lambda scores: entmax(scores, 2.0),
        "entmax": lambda scores: entmax(scores, 1.5),
        "sigmoid": torch.sigmoid,
    }
    if not isinstance(activation, str):
        check_alpha(activation)
        return lambda scores: entmax(scores, activation)
    if activation not in named:
        raise ValueError(f"activation must be a number or one of {', '.join(map(repr, named))}, got {activation!r}")
    return named[activation]


def _check_padding(mask: Tensor | None, keys: Tensor) -> None:
    if mask is not None and (mask.shape != keys.shape[:-1] or mask.dtype != torch.bool):
        raise ValueError(
            f"key_padding_mask must be a bool tensor of shape {tuple(keys.shape[:-1])} to match keys "
            f"{tuple(keys.shape)}, got {mask.dtype} of shape {tuple(mask.shape)}"
        )
