"""Compiled fits of calibrations: logistic curves of many labels, and pooled means."""

import numpy as np

from labelproof.foundation.compilation import compiled, compiled_part

__all__ = ["isotonic_means", "logistic_fits"]


@compiled()
def logistic_fits(scores, targets, with_offset, slopes, offsets):  # pragma: no cover - compiled
    """Fit P(y) = 1/(1 + exp(−(slope·z + offset))) to each row of scores by damped Newton steps."""
    for j in range(scores.shape[0]):
        a, b = slopes[j], offsets[j]
        value = _log_loss(scores[j], targets[j], a, b)
        for _ in range(100):
            ga, gb, haa, hab, hbb = 0.0, 0.0, 1e-12, 0.0, 1e-12
            for i in range(scores.shape[1]):
                z = scores[j, i]
                p = 1 / (1 + np.exp(-(a * z + b)))
                e, w = p - targets[j, i], p * (1 - p)
                ga += e * z
                gb += e
                haa += w * z * z
                hab += w * z
                hbb += w
            if with_offset:
                determinant = haa * hbb - hab * hab
                if determinant <= 1e-14 * haa * hbb:
                    da, db = 0.0, gb / hbb
                else:
                    da, db = (hbb * ga - hab * gb) / determinant, (haa * gb - hab * ga) / determinant
            else:
                da, db = ga / haa, 0.0
            step = 1.0
            while step > 1e-10:
                trial = _log_loss(scores[j], targets[j], a - step * da, b - step * db)
                if trial <= value:
                    break
                step /= 2
            if step <= 1e-10:
                break
            a, b = a - step * da, b - step * db
            if value - trial <= 1e-13 * (1 + abs(value)):
                break
            value = trial
        slopes[j], offsets[j] = a, b


@compiled_part()
def _log_loss(z, target, a, b):  # pragma: no cover - compiled
    total = 0.0
    for i in range(z.shape[0]):
        u = a * z[i] + b
        total += max(u, 0.0) + np.log1p(np.exp(-abs(u))) - target[i] * u
    return total


@compiled()
def isotonic_means(targets, weights, means):  # pragma: no cover - compiled
    """Write the non-decreasing sequence nearest to the targets in weighted squares (pool adjacent violators)."""
    n = targets.shape[0]
    starts, sums, masses = np.empty(n, np.int64), np.empty(n), np.empty(n)
    blocks = 0
    for i in range(n):
        starts[blocks], sums[blocks], masses[blocks] = i, targets[i] * weights[i], weights[i]
        blocks += 1
        while blocks > 1 and sums[blocks - 2] * masses[blocks - 1] >= sums[blocks - 1] * masses[blocks - 2]:
            sums[blocks - 2] += sums[blocks - 1]
            masses[blocks - 2] += masses[blocks - 1]
            blocks -= 1
    for block in range(blocks):
        end = starts[block + 1] if block + 1 < blocks else n
        means[starts[block] : end] = sums[block] / masses[block]
