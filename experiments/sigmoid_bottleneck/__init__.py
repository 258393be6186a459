"""Taming the sigmoid bottleneck: counts and arrangements (figures 2, 3), radii (4), bottleneck against DFT (5)."""
