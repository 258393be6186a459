"""Figures 1a, 2 and 3: the share of argmaxable sets, small arrangements with their balls, lattices of label sets."""

import math
from itertools import combinations
from pathlib import Path

import numpy as np

import labelproof as lp
from labelproof.pictures import draw_hasse
from labelproof.pictures.arrangement import draw_on
from labelproof.pictures.canvas import new_figure, save_figure
from labelproof.theory.cyclic import argmaxable_by_alternation, minor_signs
from labelproof.theory.dft import dft_matrix, gale_matrix, vandermonde_matrix

N = 1000
WIDTHS = (25, 50, 100, 200, 400, 500, 550)
THREE = np.array([[1.0, 0.2], [-0.4, 1.0], [-0.7, -1.0]])  # any three lines in general position look like this


def draw_counts(path: Path) -> None:
    """Draw figure 2: left the share of argmaxable sets of 1000 labels, right three labels in the plane."""
    figure = new_figure(9.4, 4.2)
    left, right = figure.subplots(1, 2)
    widths = np.arange(5, N + 1, 5)
    left.plot(widths, [lp.log10_argmaxable_fraction(N, int(d)) for d in widths], color="#1f5fa8")
    left.axvline(N / 2, color="0.6", linestyle=":")
    left.set_yscale("symlog", linthresh=1)
    left.set_ylim(top=0.5)
    left.set_yticks([0, -1, -10, -100], ["1", "10⁻¹", "10⁻¹⁰", "10⁻¹⁰⁰"])
    left.minorticks_off()
    left.annotate("half of them at d = n/2", (N / 2, math.log10(0.5)), (540, -2), arrowprops={"arrowstyle": "-"})
    left.set(xlabel="features d", ylabel="share of all label sets")
    left.set_title(f"n = {N}: label sets that can be predicted", fontsize=10)
    left.grid(alpha=0.25)
    draw_on(right, THREE)
    right.set_title("n = 3, d = 2: six of eight sets have a region", fontsize=10)
    save_figure(figure, path)


def draw_cyclic(path: Path) -> None:
    """Draw figure 3: four labels in the plane, all maximal minors of one sign."""
    figure = new_figure(4.6, 4.8)
    axes = figure.subplots()
    draw_on(axes, gale_matrix(4, 2))
    axes.set_title("n = 4, d = 2, in Gr⁺: the sets with at most one sign change", fontsize=9)
    save_figure(figure, path)


def draw_lattices(cyclic: Path, random: Path) -> dict[str, dict[str, int]]:
    """Draw the lattices of six labels with three features: in Gr⁺ and at random; return what is argmaxable."""
    weight = np.random.default_rng(0).normal(size=(6, 3))
    return {
        "Gr⁺": draw_hasse(dft_matrix(6, 1), cyclic, title="DFT, n = 6, k = 1"),
        "normal": draw_hasse(weight, random, title="normal weights, n = 6, d = 3"),
    }


def count_table() -> list[tuple[int, float]]:
    """Return log₁₀ of the share of argmaxable sets of 1000 labels, by the number of features."""
    return [(d, lp.log10_argmaxable_fraction(N, d)) for d in WIDTHS]


def alternation_agrees() -> tuple[int, int]:
    """Prove all 1024 sets of a Vandermonde matrix of ten labels; return how many are argmaxable, and how many differ.

    They differ where the proof and the rule of alternations do not say the same.
    """
    weight = vandermonde_matrix(10, 5)
    sets = [list(one) for size in range(11) for one in combinations(range(10), size)]
    proven = np.asarray(lp.verify(weight, sets).status) == 1
    by_rule = argmaxable_by_alternation(sets, 5, n_labels=10)
    return int(proven.sum()), int((proven != by_rule).sum())


def dft_is_cyclic() -> bool:
    """Return whether all maximal minors of the stored DFT matrix of eight labels and k = 2 have one sign, exactly."""
    return minor_signs(dft_matrix(8, 2)) != 0


def small_counts() -> dict[str, int]:
    """Prove all label sets of small layers in general position; return how many each can predict."""
    four = np.random.default_rng(1).normal(size=(4, 2))
    layers = {
        "n = 3, d = 2": (THREE, None),
        "n = 3, d = 2, with a bias": (THREE, np.array([0.3, -0.2, 0.5])),
        "n = 4, d = 2": (four, None),
    }
    found = {}
    for name, (weight, bias) in layers.items():
        n_labels = len(weight)
        sets = [list(one) for size in range(n_labels + 1) for one in combinations(range(n_labels), size)]
        found[name] = int((np.asarray(lp.verify(weight, sets, bias=bias).status) == 1).sum())
    return found


def few_active() -> tuple[int, int]:
    """Return how many of all sets of up to two of twelve labels the stored DFT columns can predict, and all."""
    sets = [list(one) for size in range(3) for one in combinations(range(12), size)]
    return int((np.asarray(lp.verify(dft_matrix(12, 2), sets).status) == 1).sum()), len(sets)
