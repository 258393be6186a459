"""What has no value is refused in one sentence that names the argument, what was expected and what came."""

import re

import numpy as np
import pytest
from scipy import sparse

from labelproof import metrics

Y = np.array([[1, 0, 1], [0, 1, 0]])
S = np.array([[0.9, 0.2, 0.4], [0.1, 0.8, 0.3]])


def refuse(message, function, *arguments, **options):
    """Expect a ValueError of one line that says exactly this, or begins with it where it ends in '…'."""
    with pytest.raises(ValueError, match=r".") as caught:
        function(*arguments, **options)
    text = str(caught.value)
    assert "\n" not in text
    if message.endswith("…"):
        assert text.startswith(message[:-1])
    else:
        assert text == message


def f1(y_true, y_pred=Y, **options):
    return metrics.f1_score(y_true, y_pred, **{"average": "micro", **options})


@pytest.mark.parametrize(
    ("y_true", "message"),
    [
        (2 * Y, "y_true must be 0 or 1, got 2"),
        (2 * Y - 1, "y_true must be 0 or 1, got -1"),
        (np.where(Y, np.nan, 0), "y_true must be 0 or 1, got nan"),
        (Y.astype(str), "y_true must be bool or 0/1, got an array of dtype <U21"),
        (Y[0], "y_true must have shape (n_examples, n_labels), got shape (3,)"),
        ([[0, 1], [1]], "y_true must have shape (n_examples, n_labels), got rows of different lengths"),
        (Y[:, :2], "y_pred must have the shape of y_true, (2, 2), got (2, 3)"),
        (Y[:1], "y_pred must have the shape of y_true, (1, 3), got (2, 3)"),
        (sparse.csr_array(2 * Y), "y_true must be 0 or 1, got 2"),
        (sparse.coo_array(Y[0]), "y_true must have shape (n_examples, n_labels), got shape (3,)"),
        (
            sparse.csr_array(([1, 1], [0, 0], [0, 2, 2]), shape=(2, 3)),
            "y_true must store each entry once, got a sparse matrix with duplicate entries",
        ),
    ],
)
def test_labels_that_are_no_label_matrix(y_true, message):
    refuse(message, f1, y_true)


def test_predictions_are_checked_like_the_truth():
    refuse("y_pred must be 0 or 1, got 0.9", f1, Y, S)
    refuse("y_pred must be 0 or 1, got 0.9", metrics.count, Y, S)
    refuse("y_pred must have the shape of y_true, (2, 3), got (2, 2)", metrics.count_examples, Y, Y[:, 1:])


def test_a_sparse_matrix_that_points_outside_itself():
    broken = sparse.csr_array(Y)
    broken.indices[0] = 99
    with pytest.raises(ValueError, match="ind"):
        f1(broken)


def test_stored_zeros_are_no_labels():
    stored = sparse.csr_array(([1, 0, 1], [0, 1, 2], [0, 3, 3]), shape=(2, 3))
    assert metrics.count(stored, stored).tp.tolist() == [1, 0, 1]
    unsorted = sparse.csr_array(([True, True], [2, 0], [0, 2, 2]), shape=(2, 3))
    assert metrics.count(unsorted, stored).tp.tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    ("y_score", "message"),
    [
        (np.where(Y, np.nan, S), "y_score must not be NaN, got NaN for example 0, label 0"),
        (S[:, :2], "y_score must have the shape of y_true, (2, 3), got (2, 2)"),
        (S[0], "y_score must have shape (n_examples, n_labels), got shape (3,)"),
        (S.astype(str), "y_score must be numbers, got an array of dtype <U32"),
        (S.astype(complex), "y_score must be numbers, got an array of dtype complex128"),
        (None, "y_score must be given for this metric, got None"),
    ],
)
def test_scores_that_are_no_scores(y_score, message):
    for name in ("macro-auroc", "precision@1", "lrap"):
        refuse(message, metrics.by_name(name), Y, y_score)


def test_half_precision_and_integer_scores_are_scores():
    assert metrics.precision_at_k(Y, S.astype(np.float16), 1) == metrics.precision_at_k(Y, (10 * S).astype(int), 1) == 1


@pytest.mark.parametrize("k", [0, -1, 1.0, True, "3", None])
def test_a_k_that_is_no_count(k):
    refuse(f"k must be an integer of at least 1, got {k!r}", metrics.precision_at_k, Y, S, k)


def test_a_k_beyond_the_labels():
    message = "k must be at most the number of labels, 3, got 4"
    for function in (metrics.precision_at_k, metrics.recall_at_k, metrics.f1_at_k, metrics.example_f1_at_k):
        refuse(message, function, Y, S, 4)
    for function in (metrics.ndcg_at_k, metrics.r_precision_at_k, metrics.coverage_at_k):
        refuse(message, function, Y, S, 4)
    for name in ("psp@4", "psndcg@4", "f1@4"):
        refuse(message, metrics.by_name(name, propensity=[0.5] * 3), Y, S)


def test_probabilities_outside_of_0_and_1():
    refuse("y_score must be probabilities between 0 and 1, got 1.5", metrics.brier_loss, Y, S + 0.6)
    refuse("y_score must be probabilities between 0 and 1, got -0.9", metrics.by_name("micro-ece"), Y, -S)


def test_rows_that_are_no_distributions():
    message = "y_prob must be distributions over the labels, each row with the sum 1, got 1.5 for example 0"
    refuse(message, metrics.jensen_shannon_divergence, Y, S)
    refuse(
        "y_true must be finite and not negative, got -1.0",
        metrics.kullback_leibler_divergence,
        -Y,
        S / S.sum(1)[:, None],
    )


def test_weights_that_are_no_weights():
    refuse(
        "sample_weight must be 2 numbers, one per example, got shape (3,) of float64",
        f1,
        Y,
        sample_weight=np.ones(3),
    )
    refuse("sample_weight must be 2 numbers, one per example, got shape (2,) of <U1", f1, Y, sample_weight=["a", "b"])
    refuse("sample_weight must be finite and not negative, got -1.0", f1, Y, sample_weight=[1, -1])
    refuse("sample_weight must be finite and not negative, got inf", f1, Y, sample_weight=[1, np.inf])
    refuse(
        "sample_weight must be finite and not negative, got nan",
        metrics.by_name("lrap"),
        Y,
        S,
        sample_weight=[1, np.nan],
    )


def test_options_outside_of_their_range():
    averages = "'micro', 'macro', 'weighted', 'samples', None"
    refuse(f"average must be one of {averages}, got 'mean'", f1, Y, average="mean")
    refuse(f"average must be one of {averages}, got 'binary'", metrics.roc_auc_score, Y, S, average="binary")
    refuse(
        "average must be one of 'micro', 'macro', 'weighted', None, got 'samples'",
        metrics.expected_calibration_error,
        Y,
        S,
        average="samples",
    )
    for zero in ("warn", 2, -0.5, None):
        refuse(f"zero_division must be a number from 0 to 1, or NaN, got {zero!r}", f1, Y, zero_division=zero)
        refuse(
            f"zero_division must be a number from 0 to 1, or NaN, got {zero!r}",
            metrics.recall_at_k,
            Y,
            S,
            1,
            zero_division=zero,
        )
    for beta in (0, -1, np.inf, np.nan, "2"):
        refuse(
            f"beta must be a finite number above 0, got {beta!r}",
            metrics.fbeta_score,
            Y,
            Y,
            beta=beta,
            average="micro",
        )
    refuse("n_bins must be an integer of at least 1, got 0", metrics.expected_calibration_error, Y, S, n_bins=0)
    for points in (1, 11.0, True):
        refuse(
            f"points must be None or an integer of at least 2, got {points!r}",
            metrics.interpolated_average_precision_score,
            Y,
            S,
            points=points,
        )
    refuse(
        "paper_average must be one of 'macro', 'micro', 'weighted', got 'samples'",
        metrics.sigmoidf1_paper_f1_score,
        Y,
        Y,
        paper_average="samples",
    )


def test_frequencies_and_groups_outside_of_their_range():
    refuse("n_groups must be an integer of at least 1, got 0", metrics.errors_by_frequency, Y, Y, n_groups=0)
    message = "frequency must be 3 finite numbers, one per label, got shape (2,)"
    refuse(message, metrics.errors_by_frequency, Y, Y, frequency=[1, 2])
    refuse(message.replace("(2,)", "(3,)"), metrics.errors_by_frequency, Y, Y, frequency=[1, 2, np.nan])


def test_propensities_outside_of_their_range():
    tall = np.vstack([Y, Y])
    refuse("a and b must be finite numbers above 0, got 0 and 1.5", metrics.propensities, tall, a=0)
    refuse("a and b must be finite numbers above 0, got 0.55 and nan", metrics.propensities, tall, b=np.nan)
    refuse("y_train must have at least 3 examples, so that C is positive, got 2", metrics.propensities, Y)
    function = metrics.propensity_scored_precision_at_k
    refuse("propensity must have shape (3,), one per label, got (2,)", function, Y, S, 1, propensity=[1, 1])
    refuse("propensity must be above 0 and at most 1, got 0.0", function, Y, S, 1, propensity=[1, 0, 1])
    refuse("propensity must be above 0 and at most 1, got nan", function, Y, S, 1, propensity=[1, np.nan, 1])


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("f1", "micro-f1"),
        ("micro_f1", "micro-f1"),
        ("macro-f0", "macro-f1"),
        ("precision@0", "precision@1"),
        ("precision@k", "precision@1"),
        ("hamming", "hamming-loss"),
        ("macro-ecee", "macro-ece"),
        ("accuracy", "micro-accuracy"),
    ],
)
def test_an_unknown_name_lists_the_nearest(name, near):
    with pytest.raises(ValueError, match=re.escape(f"got {name!r}; the nearest are ")) as caught:
        metrics.by_name(name)
    assert near in str(caught.value)


def test_a_name_like_no_other_lists_none():
    refuse("expected the name of a metric, got '??'", metrics.by_name, "??")
    refuse("expected the name of a metric, got 5…", metrics.by_name, 5)


# --- streams and evaluation -------------------------------------------------------------------------------


def test_a_stream_refuses_what_it_cannot_add_up():
    for name in ("macro-average-precision", "micro-auroc", "interpolated-average-precision"):
        full = metrics.by_name(name).name
        refuse(f"edges must be given to compute {full} from a stream, got None", metrics.Accumulator, [name])
    refuse("propensity must be given to compute psp@1 from a stream, got None", metrics.Accumulator, ["psp@1"])
    for edges in ([], [2, 1], [1, 1], [np.nan], [[1.0, 2.0]]):
        refuse("edges must be numbers in strictly ascending order, got …", metrics.Accumulator, [], edges=edges)


def test_a_stream_refuses_another_number_of_labels_and_stays_as_it_was():
    stream = metrics.Accumulator(["micro-f1"])
    refuse("compute needs at least one batch, got none", stream.compute)
    stream.update(Y, y_pred=Y)
    refuse("y_true must have 3 labels as before, got 2", stream.update, Y[:, :2], y_pred=Y[:, :2])
    refuse("y_pred must be given for this metric, got None", stream.update, Y)
    refuse("y_pred must be 0 or 1, got 2", stream.update, Y, y_pred=2 * Y)
    assert stream.compute() == {"micro-f1": 1.0}


def test_only_accumulators_of_the_same_metrics_and_labels_merge():
    ours, theirs = metrics.Accumulator(["micro-f1"]), metrics.Accumulator(["macro-f1"])
    refuse("other must have the metrics ('micro-f1',) with the same edges and propensities, got …", ours.merge, theirs)
    binned = metrics.Accumulator(["micro-f1"], edges=[0.5])
    refuse("other must have the metrics ('micro-f1',) with the same edges and propensities, got …", ours.merge, binned)
    fewer = metrics.Accumulator(["micro-f1"])
    fewer.update(Y[:, :2], y_pred=Y[:, :2])
    ours.update(Y, y_pred=Y)
    refuse("other must have 3 labels, got 2", ours.merge, fewer)


def test_evaluate_refuses_a_scale_that_it_does_not_know():
    message = "scores must be one of None, 'logits', 'probabilities', 'distributions', got 'sigmoid'"
    refuse(message, metrics.evaluate, Y, S, scores="sigmoid")
    refuse("ks must be an integer of at least 1, got 0", metrics.evaluate, Y, S, ks=[0])
    refuse("y_score must be probabilities between 0 and 1, got 1.8", metrics.evaluate, Y, 2 * S, scores="probabilities")
    refuse("y_true must be 0 or 1, got 2", metrics.evaluate, 2 * Y, S)
    refuse("y_true must have shape (n_examples, n_labels), got shape (3,)", metrics.evaluate, Y[0], S)
