"""The front door of the verifier: check the arguments, decide, pack the evidence."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from labelproof.foundation.engines import Engine, require_engine, require_threads
from labelproof.foundation.progress import progress_bar
from labelproof.proof.regions import Domain, Rule, Ties
from labelproof.proof.result import Verification
from labelproof.search.engines import answers, block_of, part_size_of
from labelproof.search.findings import join
from labelproof.search.in_parts import answer_in_kept_parts
from labelproof.search.questions import DecisionRule, ask

__all__ = ["DecisionRule", "verify"]


def verify(
    weight: Any,
    labels: Any,
    *,
    bias: Any = None,
    thresholds: Any = None,
    rule: Rule | DecisionRule = "sigmoid",
    ties: Ties = "open",
    domain: Domain = None,
    radius: bool = False,
    box: float = 1e4,
    eps: float = 1e-8,
    certify: bool = True,
    n_jobs: int | None = None,
    engine: Engine = "local",
    time_limit: float | None = None,
    sample: int | None = None,
    seed: int = 0,
    keep: str | os.PathLike[str] | None = None,
    progress: bool = False,
) -> Verification:
    """Decide for each label set whether the classifier can ever predict it, with a proof.

    Parameters
    ----------
    weight
        Output layer of shape (n_labels, d), of at most 64 bits a number, as an array or a scipy sparse matrix. The
        stored numbers are taken as exact. A sparse matrix stays sparse on bounded domains with thousands of features;
        elsewhere a dense copy is made.
    labels
        Label sets: bool or 0/1 array (n_sets, n_labels), scipy sparse matrix of that shape, or a list of lists of
        active label indices.
    bias
        Shape (n_labels,), or None.
    thresholds
        Probabilities at which the labels switch on, one number or shape (n_labels,); with rule="sigmoid" only.
        Default ½.
    rule
        "sigmoid": a label is active iff its logit is positive (or over its threshold). "topk": the active labels
        have the largest logits. "sparsemax": the active labels are the support of sparsemax. Or a fitted rule of
        `labelproof.decisions` whose ``geometry`` is one of these, with its own thresholds or temperature.
    ties
        "open": all inequalities are strict, so a set that occurs only on a boundary does not count. "inactive": an
        inactive label may lie on the boundary, which is what ``logits > 0`` computes.
    domain
        Which features the layer can get: None (all), "nonnegative" (after a ReLU), (low, high), each a number or of
        shape (d,), ±inf allowed; "unit" or ("unit", radius), nonnegative ones of norm ≤ 1 or radius (rows of TF-IDF);
        ("ball", radius) or ("ball", radius, centre); or ("blocks", [(n_features, domain), ...]), a domain for each of
        several parts. A region that only touches a ball may stay undecided.
    radius
        Also measure the Chebyshev radius of each argmaxable set's region, as in the paper's linear programme: the
        largest ε such that some x has every label at a distance ≥ ε from its boundary, |x_j| ≤ ``box``, within the
        domain. For rule="sigmoid" only. ``v.radius`` and ``v.radius_upper`` are proven bounds.
    box
        Bound on the features for the radius; without a bias the radius is proportional to it.
    eps
        What ``v.eps_argmaxable`` compares the radius with. No verdict depends on box or eps.
    certify
        Keep the evidence. With False every verdict is still proven when it is found, but only the status is kept.
    n_jobs
        Threads; default: the cores that this process may use.
    engine
        Where to run: "local", on threads of this process, or "ray", on the cluster that this process is connected to
        (see `labelproof.foundation.on_ray`), in blocks.
    time_limit
        Seconds for one label set, after which it is undecided; None for no limit.
    sample, seed
        Decide only so many label sets, chosen at random with this seed; `labelproof.share_interval` says what their
        verdicts tell of all.
    keep
        A folder for what is decided, part by part as in `verify_in_parts`; the same call again, after it was killed or
        interrupted, goes on from there. The verdicts are the same as without; proofs may be others.
    progress
        Show a progress bar on standard error.

    Returns
    -------
    Verification
        ``status`` (1 argmaxable: it can be predicted, 0 unargmaxable: it never can be, -1 undecided), and a certificate
        for each label set by index.

    Examples
    --------
    Three labels on two features: of the eight label sets two cannot be predicted, whatever the input.

    >>> import numpy as np
    >>> weight = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
    >>> v = verify(weight, [[], [0], [0, 1], [0, 1, 2]])
    >>> v.status
    array([0, 1, 1, 0], dtype=int8)
    >>> v[3].conflict, v[3].multipliers
    ((0, 1, 2), (1, 1, 1))
    >>> v.check()
    """
    require_engine(engine)
    require_threads(n_jobs)
    if keep is not None and not certify:
        raise ValueError("keep must come with certify=True, since it keeps proofs")
    question = ask(
        weight,
        bias=bias,
        thresholds=thresholds,
        rule=rule,
        ties=ties,
        domain=domain,
        radius=radius,
        box=box,
        eps=eps,
        certify=certify,
        time_limit=time_limit,
    )
    sets, chosen = question.read(labels, sample, seed)
    with progress_bar("verifying", len(sets), show=progress) as advance:
        if keep is not None and len(sets):
            found = answer_in_kept_parts(question, sets, Path(keep), engine, n_jobs, advance)
        elif engine == "local":
            found = question.answer(sets, n_jobs=n_jobs, advance=advance, progress=progress)
        else:
            size = part_size_of(question.layer)
            blocks = [block_of(sets, start, start + size) for start in range(0, len(sets), size)] or [sets]
            found = join(
                question.layer, sets, list(answers(question, blocks, engine, n_blocks=len(blocks), advance=advance))
            )
        return replace(found, sample=chosen)
