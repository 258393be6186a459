"""Activations that turn scores into sparse probabilities, and attention built on them."""

from labelproof.activations.attention import MultiheadSparseAttention, SparseAttention, attention_weights
from labelproof.activations.entmax import Entmax, Sparsemax, entmax, sparsemax

__all__ = [
    "Entmax",
    "MultiheadSparseAttention",
    "SparseAttention",
    "Sparsemax",
    "attention_weights",
    "entmax",
    "sparsemax",
]
