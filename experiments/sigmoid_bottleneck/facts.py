"""What the paper proves, and what the tests of its public code assert, tried on small layers with exact proofs."""

import math
from collections import Counter
from dataclasses import replace
from itertools import combinations

import numpy as np
import numpy.typing as npt
import torch

import labelproof as lp
from experiments.pages import Claim
from labelproof.heads import DFTHead
from labelproof.theory.counting import count_argmaxable, count_k_active, log10_int
from labelproof.theory.cyclic import alternations, in_general_position, minor_signs
from labelproof.theory.dft import dft_matrix, gale_matrix, vandermonde_matrix

SIZES = {"MIMIC-III": (8921, 80), "BioASQ": (20000, 50), "OpenImages": (8933, 50)}  # n and k
Matrix = npt.NDArray[np.float64]


def claims() -> list[Claim]:
    """Return the facts, each with what was computed; all are exact or have a tolerance of rounding."""
    return [
        *_counting(),
        _nodes(),
        _slack(),
        _permuted(),
        _by_changes(),
        _necklaces(),
        _complement(),
        _octahedron(),
        _polygon(),
        _orthogonal(),
        _transform(),
        _start(),
        *_classes(),
    ]


def all_sets(n_labels: int, most: int | None = None) -> list[list[int]]:
    """Return all label sets, or those of up to so many labels."""
    sizes = range((n_labels if most is None else most) + 1)
    return [list(one) for size in sizes for one in combinations(range(n_labels), size)]


def possible(weight: Matrix, sets: list[list[int]], **options: object) -> npt.NDArray[np.bool_]:
    """Return which sets a layer can predict, with proof."""
    return np.asarray(lp.verify(weight, sets, **options).status) == 1


def _counting() -> list[Claim]:
    """Compare, in the paper's three settings, what 25 features can predict with what the data need."""
    text = "by counting alone, d = 25 features cannot predict all sets of up to k labels"
    found = []
    for name, (n, k) in SIZES.items():
        most, needed = log10_int(count_argmaxable(n, 25)), log10_int(count_k_active(n, k))
        said = f"at most 10^{most:.1f} sets, of 10^{needed:.1f} with up to k labels"
        found.append(replace(Claim.judged(text, "yes", said, most < needed), data=f"{name}, n = {n}, k = {k}"))
    return found


def _nodes() -> Claim:
    """Build DFT columns at random increasing nodes within one turn and compute all their minors exactly."""
    rng, kept, tries = np.random.default_rng(0), 0, 20
    for _ in range(tries):
        nodes = np.sort(rng.uniform(0, 2 * math.pi, 8))
        waves = [wave(j * nodes) for j in (1, 2) for wave in (np.cos, np.sin)]
        kept += minor_signs(np.stack([np.ones(8), *waves], axis=1)) != 0
    text = "the DFT matrix stays in Gr⁺ with any increasing nodes within one turn (n = 8, k = 2, random nodes)"
    return Claim.judged(text, "yes", f"{kept} of {tries}, by exact minors", kept == tries)


def _slack() -> Claim:
    slack = np.random.default_rng(0).normal(size=(12, 3))
    found = possible(np.hstack([dft_matrix(12, 2), slack]), all_sets(12, 2))
    text = "learnable columns beside the DFT columns take no label set away (lemma 3; n = 12, k = 2)"
    return Claim.judged(text, "all", f"{found.sum()} of {len(found)}", bool(found.all()))


def _permuted() -> Claim:
    order = np.random.default_rng(0).permutation(12)
    found = possible(dft_matrix(12, 1)[order], all_sets(12, 1)[1:])
    text = "with the labels in any order, single labels can be predicted (n = 12, k = 1)"
    return Claim.judged(text, "all", f"{found.sum()} of {len(found)}", bool(found.all()))


def _by_changes() -> Claim:
    sets = all_sets(10)
    chosen = [
        one for one, is_possible in zip(sets, possible(vandermonde_matrix(10, 5), sets), strict=True) if is_possible
    ]
    counts = Counter(alternations(chosen, n_labels=10).tolist())
    expected = {j: 2 * math.comb(9, j) for j in range(5)}
    said = ", ".join(str(counts[j]) for j in sorted(counts))
    text = "in Gr⁺ 2 C(n − 1, j) sets with j sign changes can be predicted (n = 10, d = 5, j = 0 to 4)"
    return Claim.judged(text, ", ".join(map(str, expected.values())), said, counts == expected)


def _necklaces() -> Claim:
    count = count_argmaxable(20, 17)
    text = "Cover's count is that of two-coloured necklaces with at most d − 1 changes (n = 20, d = 17)"
    return Claim.judged(text, "1,048,194", f"{count:,}", count == 1_048_194)


def _pair(upper: Matrix) -> tuple[Matrix, Matrix]:
    """Return a layer of whole numbers and one whose columns span what is orthogonal to it."""
    rest, d = upper.shape
    return np.vstack([np.eye(d), upper]), np.vstack([-upper.T, np.eye(rest)])


def _complement() -> Claim:
    weight, other = _pair(np.random.default_rng(0).integers(-99, 100, size=(5, 3)).astype(np.float64))
    if not in_general_position(weight):
        raise ValueError("the layer must be in general position, got one with a minor of 0")
    sets = all_sets(8)
    either = possible(weight, sets).astype(int) + possible(other, sets)
    text = "a set can be predicted by just one of a layer and its orthogonal complement (n = 8, general position)"
    return Claim.judged(text, "all", f"{(either == 1).sum()} of {len(sets)}", bool((either == 1).all()))


def _octahedron() -> Claim:
    weight = np.vstack([np.eye(3), -np.eye(3)])  # opposite corners are in special position
    weight = np.hstack([weight, np.ones((6, 1))])
    other = np.column_stack([[1, -1, 0, 1, -1, 0], [1, 0, -1, 1, 0, -1]]).astype(np.float64)
    sets = all_sets(6)
    ours, theirs = possible(weight, sets), possible(other, sets)
    counts = ours.sum(), theirs.sum(), (~ours & ~theirs).sum()
    text = "in special position some sets can be predicted by neither (an octahedron: by it, its complement, neither)"
    return Claim.judged(text, "46, 6, 12", ", ".join(map(str, counts)), counts == (46, 6, 12))


def _polygon() -> Claim:
    weight, bias = np.array([[1.0, 0.0], [0.0, 1.0], [-3.0, -4.0]]), np.array([0.0, 0.0, 12.0])
    found = lp.verify(weight, [[0, 1, 2]], bias=bias, radius=True)
    low, high = float(found.radius[0]), float(found.radius_upper[0])
    text = "the radius of a known region (a triangle with sides 3, 4 and 5)"
    return Claim.judged(text, "1", f"{low:.12g} to {high:.12g}", abs(low - 1) < 1e-9 and abs(high - 1) < 1e-9)


def _orthogonal() -> Claim:
    builds = (gale_matrix, vandermonde_matrix)
    worst = max(float(np.abs(q.T @ q - np.eye(12)).max()) for q in (build(12, 12) for build in builds))
    text = "the full DFT and polynomial matrices are orthogonal (n = 12)"
    return Claim.judged(text, "yes", "to 12 digits" if worst < 1e-12 else f"up to {worst:.0e}", worst < 1e-12)


def _transform() -> Claim:
    inputs = torch.randn(16, 91, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    values = []
    for path in ("dense", "fft", "split"):
        head = DFTHead(91, 1000, 40, 10, path=path, dtype=torch.float64)
        with torch.no_grad():
            head.slack_weight.zero_()
            values.append(head.logits(inputs))
    worst = max(float((value - values[0]).abs().max()) for value in values)
    text = "the fast Fourier transform gives the logits of the matrix product (n = 1,000, k = 40)"
    return Claim.judged(text, "yes", "to 10 digits" if worst < 1e-10 else f"up to {worst:.0e}", worst < 1e-10)


def _start() -> Claim:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        head = DFTHead(512, 1000, 25, 50)
        with torch.no_grad():
            share = float(torch.sigmoid(head(torch.randn(500, 512))).mean())
    text = "the start of the DFT head gives every label a probability of about k/n (n = 1,000, k = 25)"
    return Claim.judged(text, "0.025", f"{share:.4f}, mean over random inputs", abs(share - 0.025) < 0.0025)


def _classes() -> list[Claim]:
    """Try the two ways to make every class of a softmax layer possible, of the paper's predecessor."""
    rng, singles = np.random.default_rng(0), all_sets(40, 1)[1:]
    weight = rng.normal(size=(40, 3))
    norms = np.linalg.norm(weight, axis=1)
    layers = {"rows of unit norm": (weight / norms[:, None], None), "bias −‖w‖²/2": (weight, -(norms**2) / 2)}
    drawn = int(possible(weight, singles, rule="topk").sum())
    text = "every class of a softmax layer can be the top one (the paper's predecessor; 40 classes, 3 features)"
    found = []
    for name, (rows, bias) in layers.items():
        count = int(possible(rows, singles, bias=bias, rule="topk").sum())
        said = f"{count} of 40; without, {drawn}"
        found.append(replace(Claim.judged(text, "all", said, count == 40), data=name))
    return found
