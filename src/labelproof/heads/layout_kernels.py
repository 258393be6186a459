"""Compiled search for a layout of labels on a circle."""

from labelproof.foundation.compilation import compiled

__all__ = ["swap_apart"]


@compiled()
def swap_apart(places, indptr, indices, weights, energy, tries, random):  # pragma: no cover - compiled
    """Swap two labels' places wherever that lowers Σ weights_ij · energy[|p_i − p_j|]; places are updated."""
    n = len(places)
    for _ in range(tries):
        i = random.integers(0, n)
        j = random.integers(0, n)
        if i == j:
            continue
        change = 0.0
        for a in range(2):  # the pair's own distance stays
            at, to, other = (places[i], places[j], j) if a == 0 else (places[j], places[i], i)
            mover = i if a == 0 else j
            for e in range(indptr[mover], indptr[mover + 1]):
                if indices[e] != other:
                    p = places[indices[e]]
                    change += weights[e] * (energy[abs(to - p)] - energy[abs(at - p)])
        if change < 0:
            places[i], places[j] = places[j], places[i]
