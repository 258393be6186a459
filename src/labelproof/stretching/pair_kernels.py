"""Compiled search for the stretch of pairs of labels: the simplex method with two rows, over all examples.

    min Σ λ_j   such that   Σ_j λ_j D_ja ≥ −z_a(c) and Σ_j λ_j D_jb ≥ −z_b(c),   λ ≥ 0

A basis is two columns: an example, a surplus of one label, or one artificial column that meets both at the cost FAR.
"""

import numpy as np

from labelproof.foundation.compilation import compiled, compiled_part

__all__ = ["cover_pairs"]

FAR = 1e4
MOST_STEPS = 200
SURPLUS_A, SURPLUS_B, ARTIFICIAL = -1, -2, -3


@compiled_part(_nrt=False, fastmath=True, error_model="numpy")
def _best(row_a, row_b, theta_a, theta_b):  # pragma: no cover - compiled
    """Return the example with the largest weighted sum of two rows, and that sum."""
    best = np.float32(-np.inf)
    for j in range(row_a.shape[0]):
        best = max(best, theta_a * row_a[j] + theta_b * row_b[j])
    for j in range(row_a.shape[0]):
        if theta_a * row_a[j] + theta_b * row_b[j] >= best:
            return j, best
    return 0, best


@compiled_part(_nrt=False, error_model="numpy")
def _cover(row_a, row_b, need_a, need_b, weights, examples, theta):  # pragma: no cover - compiled
    """Find the mixture and the multipliers of one pair; returns whether the mixture is one of examples alone."""
    kinds_0, kinds_1 = ARTIFICIAL, SURPLUS_A if need_a < need_b else SURPLUS_B
    p_a, p_b = max(need_a, 0.0) / FAR, max(need_b, 0.0) / FAR  # the first column of the basis, then the second
    q_a, q_b = (-1.0, 0.0) if kinds_1 == SURPLUS_A else (0.0, -1.0)
    if need_a == need_b:
        q_a, q_b, kinds_1 = -1.0, 0.0, SURPLUS_A
    amount_0 = amount_1 = 0.0
    for _ in range(MOST_STEPS):
        det = p_a * q_b - q_a * p_b
        amount_0, amount_1 = (need_a * q_b - q_a * need_b) / det, (p_a * need_b - need_a * p_b) / det
        cost_0, cost_1 = (
            (1.0 if kinds_0 not in (SURPLUS_A, SURPLUS_B) else 0.0),
            (1.0 if kinds_1 not in (SURPLUS_A, SURPLUS_B) else 0.0),
        )
        theta_a, theta_b = (cost_0 * q_b - cost_1 * p_b) / det, (cost_1 * p_a - cost_0 * q_a) / det
        size = max(abs(theta_a), abs(theta_b))
        if theta_a < -1e-9 * size:
            new, r_a, r_b = SURPLUS_A, -1.0, 0.0
        elif theta_b < -1e-9 * size:
            new, r_a, r_b = SURPLUS_B, 0.0, -1.0
        else:
            theta_a, theta_b = max(theta_a, 0.0), max(theta_b, 0.0)
            j, gain = _best(row_a, row_b, np.float32(theta_a), np.float32(theta_b))
            theta[0], theta[1] = theta_a, theta_b
            if gain <= 1.0 + 1e-5:
                break
            new, r_a, r_b = j, float(row_a[j]), float(row_b[j])
        in_0, in_1 = (r_a * q_b - q_a * r_b) / det, (p_a * r_b - r_a * p_b) / det
        ratio_0 = max(amount_0, 0.0) / in_0 if in_0 > 1e-12 else np.inf
        ratio_1 = max(amount_1, 0.0) / in_1 if in_1 > 1e-12 else np.inf
        if ratio_0 == np.inf and ratio_1 == np.inf:
            break
        if ratio_0 <= ratio_1:
            p_a, p_b, kinds_0 = r_a, r_b, new
        else:
            q_a, q_b, kinds_1 = r_a, r_b, new
    weights[0] = weights[1] = 0.0
    examples[0] = examples[1] = 0
    if kinds_0 >= 0:
        examples[0], weights[0] = kinds_0, max(amount_0, 0.0)
    if kinds_1 >= 0:
        examples[1], weights[1] = kinds_1, max(amount_1, 0.0)
    artificial = (kinds_0 == ARTIFICIAL and amount_0 > 1e-9) or (kinds_1 == ARTIFICIAL and amount_1 > 1e-9)
    return not artificial


@compiled(_nrt=False, error_model="numpy")
def cover_pairs(beyond, centre, scale, margin, pairs, weights, examples, theta):  # pragma: no cover - compiled
    """Search each pair of labels; weights and examples (n, 2) are the mixture, infinite where there is none."""
    for k in range(len(pairs)):
        a, b = pairs[k, 0], pairs[k, 1]
        need_a, need_b = margin * scale[a] - centre[a], margin * scale[b] - centre[b]
        theta[k, 0] = theta[k, 1] = weights[k, 0] = weights[k, 1] = 0.0
        examples[k, 0] = examples[k, 1] = 0
        if need_a <= 0 and need_b <= 0:
            continue
        if not _cover(beyond[a], beyond[b], need_a, need_b, weights[k], examples[k], theta[k]):
            weights[k, 0] = np.inf
