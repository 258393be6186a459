"""What the paper proves about sparsemax and its loss, tried on random scores in float64."""

import torch
from torch import Tensor

from experiments.pages import Claim
from experiments.sparsemax.maps import distance_from_huber
from labelproof.activations import sparsemax
from labelproof.losses import SparsemaxLoss

ROWS, LABELS = 1000, 8
CLOSE = 1e-12


def claims() -> list[Claim]:
    """Return the facts, each with the largest deviation that was found."""
    generator = torch.Generator().manual_seed(0)
    scores = 2 * torch.randn(ROWS, LABELS, generator=generator, dtype=torch.float64)
    return [
        _near(
            "sparsemax is the nearest distribution: it is max(z − τ, 0) with sum 1 (proposition 1)", _threshold(scores)
        ),
        _near("adding a constant to all scores changes nothing", _apart(sparsemax(scores + 7.5), sparsemax(scores))),
        _near("sparsemax of permuted scores is permuted", _permuted(scores, generator)),
        _near("of z_i ≤ z_j: 0 ≤ p_j − p_i ≤ z_j − z_i", _bounded(scores)),
        _near("at a temperature of at most the lead of the first score, sparsemax is the maximum", _hard(scores)),
        _near("its derivative is diag(s) − s sᵀ / |S|, s the indicator of the support S", _jacobian(scores[:50]), 50),
        _near("the gradient of the loss is sparsemax(z) − q", _gradient(scores, generator)),
        _near("the loss is convex (midpoints of random pairs)", _convex(scores, generator)),
        _near("the loss is 0 just where the right label leads by at least 1", _zero(scores)),
        _huber(),
    ]


def _huber() -> Claim:
    deviation = distance_from_huber()
    said = "to 12 digits" if deviation < CLOSE else f"off by up to {deviation:.1e}"
    return Claim.judged("the binary sparsemax loss is the modified Huber loss", "yes", said, deviation < CLOSE)


def _near(text: str, deviation: float, rows: int = ROWS) -> Claim:
    said = "to 12 digits" if deviation < CLOSE else f"off by up to {deviation:.1e}"
    return Claim.judged(text, "yes", f"{said}, {rows:,} random vectors of {LABELS} scores", deviation < CLOSE)


def _apart(first: Tensor, second: Tensor) -> float:
    return float((first - second).abs().max())


def _threshold(scores: Tensor) -> float:
    """Find τ by bisection, which knows nothing of the closed form."""
    low, high = scores.amin(1, keepdim=True) - 1, scores.amax(1, keepdim=True)
    for _ in range(80):
        middle = (low + high) / 2
        is_low = (scores - middle).clamp(min=0).sum(1, keepdim=True) > 1
        low, high = torch.where(is_low, middle, low), torch.where(is_low, high, middle)
    return _apart(sparsemax(scores), (scores - high).clamp(min=0))


def _permuted(scores: Tensor, generator: torch.Generator) -> float:
    order = torch.randperm(LABELS, generator=generator)
    return _apart(sparsemax(scores[:, order]), sparsemax(scores)[:, order])


def _bounded(scores: Tensor) -> float:
    """Return by how much a difference of probabilities is negative, or larger than that of the scores."""
    ordered = scores.sort(dim=1).values
    gaps, steps = ordered.diff(dim=1), sparsemax(ordered).diff(dim=1)
    return float(torch.maximum(-steps, steps - gaps).clamp(min=0).max())


def _hard(scores: Tensor) -> float:
    top = scores.topk(2, dim=1).values
    lead = (top[:, :1] - top[:, 1:]) * (1 - 1e-12)
    first = torch.nn.functional.one_hot(scores.argmax(1), LABELS).double()
    return _apart(sparsemax(scores / lead), first)


def _jacobian(scores: Tensor) -> float:
    worst = 0.0
    for row in scores:
        found = torch.autograd.functional.jacobian(lambda z: sparsemax(z[None])[0], row)
        support = (sparsemax(row[None])[0] > 0).double()
        worst = max(worst, _apart(found, torch.diag(support) - torch.outer(support, support) / support.sum()))
    return worst


def _gradient(scores: Tensor, generator: torch.Generator) -> float:
    targets = torch.rand(ROWS, LABELS, generator=generator, dtype=torch.float64)
    targets = targets / targets.sum(1, keepdim=True)
    inputs = scores.clone().requires_grad_()
    SparsemaxLoss(reduction="sum")(inputs, targets).backward()
    return _apart(inputs.grad, sparsemax(scores) - targets)


def _convex(scores: Tensor, generator: torch.Generator) -> float:
    """Return by how much the loss of a midpoint is above the mean of the losses at the ends."""
    targets = torch.nn.functional.one_hot(torch.arange(ROWS) % LABELS, LABELS).double()
    others = scores[torch.randperm(ROWS, generator=generator)]
    loss = SparsemaxLoss(reduction="none")
    excess = loss((scores + others) / 2, targets) - (loss(scores, targets) + loss(others, targets)) / 2
    return float(excess.clamp(min=0).max())


def _zero(scores: Tensor) -> float:
    """Return the largest loss where it must be 0, or infinity where it is 0 and must not be."""
    right = scores.argmax(1)
    top = scores.topk(2, dim=1).values
    leads = top[:, 0] - top[:, 1] >= 1
    losses = SparsemaxLoss(reduction="none")(scores, right)
    if bool((losses[~leads] <= 0).any()):
        return float("inf")
    return float(losses[leads].abs().max())
