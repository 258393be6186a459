"""The losses written out from their definitions, in plain float64 torch, and every loss of the package by name."""

import torch

from labelproof.losses import (
    AsymmetricLoss,
    AsymmetricPolynomialLoss,
    BinaryCrossEntropyLoss,
    ConfusionLoss,
    FocalLoss,
    HillLoss,
    SigmoidF1Loss,
    SoftTopKLoss,
    SPLCLoss,
    TwoWayLoss,
    UnboundedF1Loss,
    ZLPRLoss,
)

METRICS = [
    "f1",
    "fbeta",
    "accuracy",
    "precision",
    "recall",
    "specificity",
    "npv",
    "jaccard",
    "balanced-accuracy",
    "mcc",
]
AVERAGES = ["macro", "micro", "weighted", "samples"]

EVERY_LOSS = {
    "bce": BinaryCrossEntropyLoss,
    "bce, weighted and smoothed": lambda **k: BinaryCrossEntropyLoss(pos_weight=3.0, label_smoothing=0.1, **k),
    "focal": FocalLoss,
    "focal, odd exponent": lambda **k: FocalLoss(gamma=1.5, **k),
    "asymmetric": AsymmetricLoss,
    "asymmetric, odd exponents": lambda **k: AsymmetricLoss(2.5, 0.5, 0.1, **k),
    "asymmetric polynomial": AsymmetricPolynomialLoss,
    "asymmetric polynomial, odd": lambda **k: AsymmetricPolynomialLoss(2.5, 1.5, 0.0, alpha_1=2.0, beta_1=0.5, **k),
    "hill": HillLoss,
    "hill, odd exponent": lambda **k: HillLoss(2.0, 0.5, 1.5, **k),
    "splc": SPLCLoss,
    "splc, odd exponent": lambda **k: SPLCLoss(0.8, 0.0, 1.5, **k),
    "zlpr": ZLPRLoss,
    "two-way": TwoWayLoss,
    "two-way, other temperatures": lambda **k: TwoWayLoss(1.0, 2.0, **k),
    "soft top k": lambda **k: SoftTopKLoss(2, **k),
    "soft top k, precision": lambda **k: SoftTopKLoss(1, "precision", 0.5, **k),
    "sigmoidF1": SigmoidF1Loss,
    "sigmoidF1, micro": lambda **k: SigmoidF1Loss(2.0, 0.5, average="micro", **k),
    "sigmoidF1, samples": lambda **k: SigmoidF1Loss(average="samples", **k),
    "unboundedF1, of sigmoids": lambda **k: UnboundedF1Loss(scores="sigmoid", **k),
    "jaccard, weighted": lambda **k: ConfusionLoss("jaccard", average="weighted", **k),
} | {metric: lambda metric=metric, **k: ConfusionLoss(metric, f_beta=2.0, **k) for metric in METRICS}


def counts(scores, targets, dim):
    """Return tp, fp, fn, tn."""
    return (
        (scores * targets).sum(dim),
        (scores * (1 - targets)).sum(dim),
        ((1 - scores) * targets).sum(dim),
        ((1 - scores) * (1 - targets)).sum(dim),
    )


def metric_of(name, tp, fp, fn, tn, f_beta=2.0):
    b = f_beta**2
    return {
        "f1": lambda: 2 * tp / (2 * tp + fn + fp),
        "fbeta": lambda: (1 + b) * tp / ((1 + b) * tp + b * fn + fp),
        "accuracy": lambda: (tp + tn) / (tp + fp + fn + tn),
        "precision": lambda: tp / (tp + fp),
        "recall": lambda: tp / (tp + fn),
        "specificity": lambda: tn / (tn + fp),
        "npv": lambda: tn / (tn + fn),
        "jaccard": lambda: tp / (tp + fp + fn),
        "balanced-accuracy": lambda: (tp / (tp + fn) + tn / (tn + fp)) / 2,
        "mcc": lambda: (tp * tn - fp * fn) / ((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)).sqrt(),
    }[name]()


def defined_confusion_loss(logits, targets, metric, average, *, beta=1.0, eta=0.0):
    scores = 1 / (1 + torch.exp(-beta * (logits + eta)))
    dim = {"macro": 0, "weighted": 0, "samples": 1, "micro": (0, 1)}[average]
    losses = 1 - metric_of(metric, *counts(scores, targets, dim))
    if average == "weighted":
        return (losses * targets.sum(0)).sum() / targets.sum()
    return losses.mean()


def defined_asymmetric(logits, targets, gamma_neg, gamma_pos, clip, *, positive=1.0, negative=1.0, through=True):
    p = 1 / (1 + torch.exp(-logits))
    shifted = (p - clip).clamp(min=0)
    factor_pos, factor_neg = (1 - p) ** gamma_pos, shifted**gamma_neg
    if not through:
        factor_pos, factor_neg = factor_pos.detach(), factor_neg.detach()
    return -targets * positive * factor_pos * p.log() - (1 - targets) * negative * factor_neg * (1 - shifted).log()


def a_batch(n=24, n_labels=7, *, dtype=torch.float64, seed=0, spread=2.0, share=0.4):
    """Return logits and 0/1 targets in which every label and every example has a positive and a negative."""
    generator = torch.Generator().manual_seed(seed)
    logits = spread * torch.randn(n, n_labels, generator=generator, dtype=torch.float64)
    targets = (torch.rand(n, n_labels, generator=generator) < share).double()
    for i in range(n):
        targets[i, i % n_labels], targets[i, (i + 1) % n_labels] = 1, 0
    return logits.to(dtype), targets.to(dtype)


def assert_gradients_are_apart(loss, logits, targets):
    """Write into one gradient, and see whether the next one of the same graph has changed."""
    z = logits.detach().clone().requires_grad_()
    value = loss(z, targets)
    (first,) = torch.autograd.grad(value, z, retain_graph=True)
    expected = first.clone()
    first.fill_(7)
    (second,) = torch.autograd.grad(3 * value, z, retain_graph=True)
    torch.testing.assert_close(second, 3 * expected)
    second.fill_(7)
    torch.testing.assert_close(torch.autograd.grad(value, z)[0], expected)
