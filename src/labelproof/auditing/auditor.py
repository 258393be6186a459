"""The front door of the audit: its options, which are one by one what a `Request` holds in groups."""

import os
from collections.abc import Sequence
from typing import Any, Literal

from labelproof.auditing.audit_result import Audit
from labelproof.auditing.conducting import conduct
from labelproof.auditing.feature_cache import FeatureCache
from labelproof.auditing.real_inputs import MOST_EXAMPLES
from labelproof.auditing.request import Inputs, Questions, Request, Subject, Work
from labelproof.foundation.engines import Engine
from labelproof.importers.assumptions import AS_FOUND, Reading

__all__ = ["audit"]


def audit(
    model: Any,
    labels: Any,
    *,
    # what is audited
    weight_key: str | None = None,
    label_names: Sequence[str] | None = None,
    part: str | None = None,
    drop_unknown: bool = False,
    data_name: str = "the data",
    # how it is read
    rule: Any = AS_FOUND,
    thresholds: Any = AS_FOUND,
    ties: Literal["open", "inactive"] = "inactive",
    domain: Any = AS_FOUND,
    # real inputs
    features: Any = None,
    calibration: Any = None,
    alpha: float = 0.01,
    run: bool = True,
    most_inputs: int = MOST_EXAMPLES,
    cache: FeatureCache | None = None,
    # what else to find out, and what is required
    pairs: int = 0,
    triples: int = 0,
    predicted: Any = None,
    required: Any = None,
    fail_under: float | None = None,
    n_explained: int = 20,
    radius: bool = False,
    box: float = 1e4,
    reach: bool = False,
    serving_dtype: str | None = None,
    # how the work is done
    n_jobs: int | None = None,
    engine: Engine = "local",
    keep: str | os.PathLike[str] | None = None,
    time_limit: float | None = 60.0,
    seed: int = 0,
    progress: bool = False,
) -> Audit:
    """Find out, with proof, which label sets of the data a trained model can never predict, and what that means.

    Parameters
    ----------
    model
        What `labelproof.importers.layer_of` reads: the path of a saved model, a torch module, a scikit-learn estimator,
        a `labelproof.models.Model`, an array of weights (n_labels, d), or the `ImportedLayer` that
        `labelproof.importers.read_layer` gives.
    labels
        A `labelproof.Dataset`, whose labels are matched by name where the model names its own, label sets as for
        `labelproof.verify`, or the path or name of either, as for `labelproof.data.read_label_file`.
    weight_key
        Which parameter is the output layer, where a model leaves that open.
    label_names
        One for each label, where the model has none or other ones.
    part
        Of a data set: judge the label sets of this part only.
    drop_unknown
        Count label sets with labels that the model does not know as never predictable, and name these labels; by
        default they are an error, unless the data have all labels of the model beside them.
    data_name
        What to call the data.
    rule, thresholds, domain
        As for `labelproof.verify`; by default what the model tells of itself, else sigmoid, ½ and every input.
    ties
        As for `labelproof.verify`; the default is what ``logits > 0`` computes.
    features
        What the output layer reads for real inputs, (n, d), dense or sparse: also measure the *stretch* of each set,
        see `labelproof.stretch`, the pairs of labels that no mixture of these inputs combines, and dead labels.
    calibration
        The same of inputs that the model was neither trained nor tuned on, and that are not in ``features``: for the
        bar. Where the model is run, a data set of such inputs, in place of a part of ``labels``.
    alpha
        The share of predictions that may lie beyond the bar.
    run
        Where ``labels`` is a data set with inputs that the model can read here, and no features are given: run the
        model to get features; False where real inputs are no question. Examples are those of the training part, where
        there is one, and other parts are for the bar; else a random half of the data is for the bar.
    most_inputs
        How many examples are run at most.
    cache
        Where an earlier audit kept features.
    pairs, triples
        How many pairs and triples of labels to verify; all where there are no more, else a random sample. 0: none.
    predicted
        The model's own predictions on some data, as label sets: how varied are they?
    required
        Label sets that must be predictable: a mapping from names to sets of label names or indices, or label sets.
    fail_under
        The least share of the data's distinct sets that must be proven argmaxable.
    n_explained
        How many of the most frequent unpredictable sets to explain, about half a second each.
    radius, box
        Also measure the radius of each set's region; see `labelproof.verify`.
    reach
        Also measure how far from the mean of ``features`` each set begins, in units of their spread.
    serving_dtype
        "float64", "float32", "bfloat16" or "float16": which sets survive in these numbers. Default: as stored.
    n_jobs, time_limit, progress
        As for `labelproof.verify`; the time limit, in seconds, is for one label set, 60 also on the command line.
    engine
        Where label sets are verified, measured and explained, as for `labelproof.verify`; the rest is done here.
    keep
        A folder for verdicts and stretches as they are found, from which the same call goes on; see `labelproof.verify`
        and `labelproof.stretch`.
    seed
        Of random samples.

    Returns
    -------
    Audit

    Examples
    --------
    >>> import numpy as np
    >>> weight = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
    >>> found = audit(weight, [[0], [0, 1], [0, 1, 2], [0, 1, 2]], label_names=["cat", "dog", "fish"])
    >>> found.document["headline"].split(". ")[0]
    '1 of 3 distinct label sets can never be predicted, whatever the input'
    >>> found.document["explained"][0]["sentences"][1]
    'No input can switch on cat, dog and fish: these 3 decisions contradict each other.'
    """
    return conduct(
        model,
        labels,
        Request(
            Subject(weight_key, label_names, part, drop_unknown, data_name),
            Reading(rule, thresholds, ties, domain),
            Inputs(features, calibration, alpha, run, most_inputs, cache),
            Questions(pairs, triples, predicted, required, fail_under, n_explained, radius, box, reach, serving_dtype),
            Work(n_jobs, engine, keep, time_limit, seed, progress),
        ),
    )
