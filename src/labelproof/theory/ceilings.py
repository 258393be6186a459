"""How large a margin any output layer could have for all sets of k labels: what proven margins are held to.

Let the rows w_i and the features x be unit vectors, and let x predict S, |S| = k, with margin m: y_i w_i·x ≥ m for all
i. Take shares a/k on each active and (1 - a)/(n - k) on each inactive label; then m ≤ ‖v_S‖ with
v_S = Σ_S (a/k) w_i - Σ_{not S} ((1 - a)/(n - k)) w_j. Averaged over all S of k labels, ‖v_S‖² depends on the rows only
through the mean r of w_i·w_j over pairs: it is (1 - r) h(a) + r (1 - 2a)², h(a) = a²/k + (1 - a)²/(n - k). At the a for
which both are equal, r drops out: the smallest margin over all S is at most 1 - 2a. Rows with the same angle between
any two attain it. For the gap between the lowest active and the highest inactive score the shares are 1/k and
1/(n - k), the mean is (1 - r)(1/k + 1/(n - k)), and r ≥ -1/(n - 1) since the rows' sum has a norm:
n/√(k(n - 1)(n - k)), attained by the simplex (arXiv 2601.20844 has this one). Margins of order k^-½ are thus the best
possible, and arXiv 2605.23556 shows that order k·log(n/k) features suffice for them, over the real numbers.
"""

import math

from labelproof.foundation.arguments import whole_number

__all__ = ["gap_ceiling", "margin_ceiling"]


def margin_ceiling(n_labels: int, k: int) -> float:
    """Return the largest margin that unit rows without a bias can have for every set of k labels.

    The margin of a set is the largest min y_i w_i·x over unit vectors x; `Verification.margin` is one of a witness.

    Parameters
    ----------
    n_labels : int
        Number of labels n; more than 2k.
    k : int
        Number of active labels; at least 1.

    Examples
    --------
    >>> round(margin_ceiling(2689, 25), 4), round(1 / (2 * 25**0.5 + 1), 4)
    (0.0915, 0.0909)
    """
    n_labels, k = _checked(n_labels, k)
    low, high = 0.0, 0.5  # h - (1 - 2a)² is negative at 0 unless n = 2k + 1 = 3, and positive at ½
    for _ in range(60):
        a = (low + high) / 2
        below = a * a / k + (1 - a) ** 2 / (n_labels - k) < (1 - 2 * a) ** 2
        low, high = (a, high) if below else (low, a)
    return 1 - 2 * low


def gap_ceiling(n_labels: int, k: int) -> float:
    """Return the largest gap between active and inactive scores that unit rows can have for every set of k labels.

    Examples
    --------
    >>> round(gap_ceiling(2689, 25), 4)
    0.201
    """
    n_labels, k = _checked(n_labels, k)
    return n_labels / math.sqrt(k * (n_labels - 1) * (n_labels - k))


def _checked(n_labels: int, k: int) -> tuple[int, int]:
    k = whole_number("k", k, minimum=1)
    return whole_number("n_labels", n_labels, minimum=2 * k + 1), k
