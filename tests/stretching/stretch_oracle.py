"""The stretch by its definition: the whole linear programme, in doubles by HiGHS or in fractions."""

from fractions import Fraction

import numpy as np
from scipy.optimize import linprog

from exact_oracle import simplex

__all__ = ["exact_is_within", "made_case", "weak_value"]


def weak_value(weight, bias, features, centre, active, *, rule="sigmoid"):
    """The least Σ λ with every inequality weak, or infinity, to about nine digits."""
    y = np.where(np.isin(np.arange(len(weight)), active), 1.0, -1.0)
    rows = -y[:, None] * (weight @ (features - centre).T)
    cost = np.ones(len(features))
    if rule == "topk":  # τ is free
        rows, cost = np.column_stack([rows, y, -y]), np.append(cost, [0.0, 0.0])
    found = linprog(cost, A_ub=rows, b_ub=y * (weight @ centre + bias), method="highs")
    return found.fun if found.status == 0 else np.inf


def exact_is_within(weight, bias, features, centre, active, most, *, rule="sigmoid", ties="open"):
    """Whether some λ ≥ 0 with Σ λ ≤ most gives the set, with strict rows strict, in fractions."""
    W, F = ([[Fraction(float(v)) for v in row] for row in matrix] for matrix in (weight, features))
    c, n = [Fraction(float(v)) for v in centre], len(F)
    rows = []
    for i, (w, b) in enumerate(zip(W, bias, strict=True)):
        y = 1 if i in active else -1
        gains = [y * sum(a * (f - m) for a, f, m in zip(w, row, c, strict=True)) for row in F]
        at_centre = y * (sum(a * m for a, m in zip(w, c, strict=True)) + Fraction(float(b)))
        tau = [Fraction(-y)] if rule == "topk" else []
        rows.append(([*gains, *tau], at_centre, i in active or ties == "open"))
    free = [Fraction(0)] if rule == "topk" else []
    rows += [([Fraction(int(j == k)) for k in range(n)] + free, Fraction(0), False) for j in range(n)]
    if most < np.inf:
        rows.append(([Fraction(-1)] * n + free, Fraction(most), False))
    return simplex(rows)


def made_case(seed, *, whole=False):
    """A random layer, features and label sets; small whole numbers if asked for, which tie often."""
    rng = np.random.default_rng([7, seed])
    n_labels, d, n = rng.integers(2, 7), rng.integers(1, 4), rng.integers(3, 8 if whole else 30)

    def draw(*shape):
        return rng.integers(-2, 3, shape).astype(float) if whole else rng.normal(size=shape)

    weight, bias, features = draw(n_labels, d), draw(n_labels), draw(n, d)
    if not (features @ weight.T + bias > 0).any():
        bias[0] = 1 + np.abs(features @ weight[0]).max()
    sets = [np.flatnonzero(rng.random(n_labels) < 0.4).tolist() for _ in range(4)]
    return weight, bias, features, sets
