"""Projections onto the probability simplex for numpy arrays: sparsemax and its α-entmax relatives, without torch."""

from labelproof.simplex.projection import entmax, sparsemax

__all__ = ["entmax", "sparsemax"]
