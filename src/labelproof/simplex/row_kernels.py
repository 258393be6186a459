# mypy: disallow-untyped-decorators=False, disallow-untyped-defs=False, disallow-untyped-calls=False
"""Compiled: what short and long rows share, from a share of the rows to the probabilities of a whole row."""

from labelproof.simplex.root_kernels import gap, inlined, loose, probability

__all__ = ["DENSE", "own_share", "write_dense"]

DENSE = -1  # in place of a support's size: the support was not listed


@inlined
def own_share(first, whole, shares):  # pragma: no cover - compiled
    """Return which of equal shares of the range `whole` begins at `first`, as `spread` divides it."""
    start, stop = whole
    return -((start - first) * shares // (stop - start))


@loose
def write_dense(x, top, tau, alpha, factor, p):  # pragma: no cover - compiled
    """Write the probabilities of a whole row, times a factor."""
    if alpha == 2.0:
        for j in range(x.shape[0]):
            u = gap(x[j], top, 1.0, tau)
            p[j] = factor * u if u > 0.0 else 0.0
    elif alpha == 1.5:
        for j in range(x.shape[0]):
            u = gap(x[j], top, 0.5, tau)
            p[j] = factor * (u * u) if u > 0.0 else 0.0
    else:
        total = 0.0
        for j in range(x.shape[0]):
            p[j] = probability(gap(x[j], top, alpha - 1.0, tau), alpha)
            total += p[j]
        for j in range(x.shape[0]):
            p[j] *= factor / total
