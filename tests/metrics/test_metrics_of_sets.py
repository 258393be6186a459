"""Set metrics against scikit-learn where it defines them, and closed forms where it does not."""

import numpy as np
import pytest
import sklearn.metrics as sk
from hypothesis import given, settings
from hypothesis import strategies as st
from metric_oracle import awkward

from labelproof import metrics
from labelproof.metrics.arguments import read_labels

AVERAGES = ["micro", "macro", "weighted", "samples", None]
Y_TRUE, _, _, Y_PRED = awkward()
WEIGHT = np.random.default_rng(3).random(len(Y_TRUE))


@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize("zero_division", [0.0, 1.0, np.nan])
@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("name", ["precision_score", "recall_score", "f1_score", "jaccard_score"])
def test_set_metrics_agree_with_scikit_learn(name, average, zero_division, weight):
    if name == "jaccard_score" and np.isnan(zero_division):
        zero_division = 0.0  # scikit-learn's Jaccard has no NaN
    options = {"average": average, "zero_division": zero_division, "sample_weight": weight}
    ours = getattr(metrics, name)(Y_TRUE, Y_PRED, **options)
    theirs = getattr(sk, name)(Y_TRUE, Y_PRED, **options)
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)


@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("beta", [0.5, 1, 2, 10])
def test_f_beta_agrees_with_scikit_learn(beta, average):
    ours = metrics.fbeta_score(Y_TRUE, Y_PRED, beta=beta, average=average)
    theirs = sk.fbeta_score(Y_TRUE, Y_PRED, beta=beta, average=average, zero_division=0.0)
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def degenerate_problems():
    """Yield label matrices in which much is empty: no true or predicted label, rows or columns; and weights."""
    rng = np.random.default_rng(17)
    for _ in range(30):
        shape = rng.integers(1, 7), rng.integers(2, 5)
        matrices = []
        for _ in range(2):
            y = rng.random(shape) < rng.choice([0.0, 0.1, 0.5, 1.0])
            y &= (rng.random((1, shape[1])) < 0.7) & (rng.random((shape[0], 1)) < 0.8)
            matrices.append(y.astype(int))
        yield *matrices, None if rng.random() < 0.5 else rng.integers(0, 3, shape[0]) + np.eye(1, shape[0])[0]


@pytest.mark.parametrize("zero_division", [0.0, 1.0, np.nan])
@pytest.mark.parametrize("average", AVERAGES)
def test_degenerate_problems_have_the_values_of_scikit_learn(average, zero_division):
    peers = {
        "precision_score": (metrics.precision_score, sk.precision_score, {}),
        "recall_score": (metrics.recall_score, sk.recall_score, {}),
        "f1_score": (metrics.f1_score, sk.f1_score, {}),
        "fbeta_score": (metrics.fbeta_score, sk.fbeta_score, {"beta": 0.5}),
    }
    if not np.isnan(zero_division):  # scikit-learn's Jaccard has no NaN
        peers["jaccard_score"] = metrics.jaccard_score, sk.jaccard_score, {}
    for y_true, y_pred, weight in degenerate_problems():
        for name, (ours, theirs, extra) in peers.items():
            options = {"average": average, "zero_division": zero_division, "sample_weight": weight, **extra}
            message = f"{name} of {y_true.tolist()}, {y_pred.tolist()}, {options}"
            value, expected = ours(y_true, y_pred, **options), theirs(y_true, y_pred, **options)
            np.testing.assert_allclose(value, expected, rtol=1e-12, err_msg=message)


def test_weights_without_any_true_label_are_equal():
    y_true, y_pred = np.zeros((3, 3), int), np.array([[1, 0, 0], [0, 0, 0], [0, 0, 0]])
    options = {"average": "weighted", "zero_division": 1.0}
    assert metrics.f1_score(y_true, y_pred, **options) == pytest.approx(2 / 3)  # 0 of the first label, 1 of the others
    assert sk.f1_score(y_true, y_pred, **options) == pytest.approx(2 / 3)


@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_hamming_loss_and_exact_match_agree_with_scikit_learn(weight):
    ours = metrics.hamming_loss(Y_TRUE, Y_PRED, sample_weight=weight)
    assert ours == pytest.approx(sk.hamming_loss(Y_TRUE, Y_PRED, sample_weight=weight))
    y_pred = np.where(np.arange(len(Y_TRUE))[:, None] % 3, Y_TRUE, Y_PRED)
    ours = metrics.exact_match_score(Y_TRUE, y_pred, sample_weight=weight)
    assert ours == pytest.approx(sk.accuracy_score(Y_TRUE, y_pred, sample_weight=weight))
    assert 0 < ours < 1


def test_metrics_of_one_label_agree_with_scikit_learns_binary_ones():
    seen = [j for j in range(Y_TRUE.shape[1]) if 0 < Y_TRUE[:, j].sum() < len(Y_TRUE)]
    peers = {
        "matthews_corrcoef_score": sk.matthews_corrcoef,
        "balanced_accuracy_score": sk.balanced_accuracy_score,
        "accuracy_score": sk.accuracy_score,
        "specificity_score": lambda t, p: sk.recall_score(~t, ~p),
        "npv_score": lambda t, p: sk.precision_score(~t, ~p),
    }
    for name, peer in peers.items():
        ours = getattr(metrics, name)(Y_TRUE, Y_PRED, average=None)
        theirs = [peer(Y_TRUE[:, j], Y_PRED[:, j]) for j in seen]
        np.testing.assert_allclose(ours[seen], theirs, rtol=1e-12, err_msg=name)


def test_balanced_accuracy_of_a_label_without_true_examples_is_its_specificity():
    value = metrics.balanced_accuracy_score([[0], [0]], [[1], [0]], average=None)
    assert value.tolist() == [0.5]


def test_matthews_correlation_of_large_counts_keeps_its_digits():
    half = 1 << 40
    of_counts = metrics.by_name("micro-mcc").of_counts
    assert float(of_counts(*(np.array([half]) for _ in range(4)))) == 0.0
    assert float(of_counts(np.array([half]), np.array([0]), np.array([0]), np.array([half]))) == 1.0


def test_the_three_macro_f1_differ_and_each_is_what_its_name_says():
    y_true = np.array([[1, 1], [1, 1], [0, 1], [0, 1]])
    y_pred = np.array([[1, 1], [1, 0], [1, 0], [1, 0]])  # label 0: P ½, R 1, F 2/3; label 1: P 1, R ¼, F 2/5
    assert metrics.f1_score(y_true, y_pred, average="macro") == pytest.approx((2 / 3 + 2 / 5) / 2)
    p, r = (1 / 2 + 1) / 2, (1 + 1 / 4) / 2
    assert metrics.f1_of_mean_precision_and_recall_score(y_true, y_pred) == pytest.approx(2 * p * r / (p + r))
    pooled = 2 * 3 / (2 * 3 + 2 + 3)
    assert metrics.sigmoidf1_paper_f1_score(y_true, y_pred, paper_average="macro") == pytest.approx(pooled)
    assert metrics.sigmoidf1_paper_f1_score(y_true, y_pred, paper_average="micro") == pytest.approx(8 / 15)
    printed = (2 * 2 / 3 + 4 * 2 / 5) / 2
    assert metrics.sigmoidf1_paper_f1_score(y_true, y_pred, paper_average="weighted") == pytest.approx(printed)
    normalised = printed * 2 / y_true.sum()
    assert metrics.f1_score(y_true, y_pred, average="weighted") == pytest.approx(normalised)


def test_the_harmonic_mean_of_two_zeros_is_zero_whatever_0_over_0_is():
    wrong = metrics.f1_of_mean_precision_and_recall_score([[1, 0]], [[0, 1]], zero_division=0.0)
    assert wrong == metrics.f1_of_mean_precision_and_recall_score([[1, 1]] * 2, [[0, 0]] * 2, zero_division=0.0) == 0.0
    both_zero = np.array([[1, 0], [0, 1]]), np.array([[0, 1], [1, 0]])
    assert metrics.f1_of_mean_precision_and_recall_score(*both_zero, zero_division=1.0) == 0.0


@settings(deadline=None)  # the first call loads compiled code
@given(st.integers(0, 10_000))
def test_the_harmonic_mean_of_means_is_never_below_the_mean_of_the_labels_f1(seed):
    y_true, _, _, y_pred = awkward(seed, n=6, n_labels=4)
    means = metrics.f1_of_mean_precision_and_recall_score(y_true, y_pred)
    assert means >= metrics.f1_score(y_true, y_pred, average="macro") - 1e-12


@settings(deadline=None)  # the first call loads compiled code
@given(st.integers(0, 5), st.integers(0, 40), st.integers(0, 2), st.sampled_from([0.02, 0.5, 1.0]))
def test_rows_of_any_length_at_any_address_are_read_as_they_are(n, n_labels, skip, density):
    whole = np.random.default_rng(n_labels).random((n + 2, n_labels)) < density
    y = whole[skip:]  # begins at any byte
    labels = read_labels(y, "y")
    rows, columns = np.nonzero(y)
    assert labels.shape == y.shape
    assert labels.rows.tolist() == rows.tolist()
    assert labels.indices.tolist() == columns.tolist()


def test_counts_add_up_to_the_examples():
    counts = metrics.count(Y_TRUE, Y_PRED, sample_weight=WEIGHT)
    np.testing.assert_allclose(sum(counts.arrays), WEIGHT.sum())
    np.testing.assert_allclose(counts.tp, WEIGHT @ (Y_TRUE & Y_PRED))
    np.testing.assert_allclose(counts.fp, WEIGHT @ (~Y_TRUE & Y_PRED))
    per_example = metrics.count_examples(Y_TRUE, Y_PRED)
    assert per_example.fn.tolist() == (Y_TRUE & ~Y_PRED).sum(1).tolist()
    assert per_example.tn.tolist() == (~Y_TRUE & ~Y_PRED).sum(1).tolist()


def test_a_rest_of_rounded_weights_is_no_true_negative():
    weight = np.random.default_rng(0).random(1000)
    everything = np.ones((1000, 3), bool)
    assert metrics.count(everything, everything, sample_weight=weight).tn.tolist() == [0.0] * 3
    options = {"average": "macro", "zero_division": 0.25, "sample_weight": weight}
    assert metrics.specificity_score(everything, everything, **options) == 0.25
    y_score = np.random.default_rng(1).random((1000, 3))
    assert np.isnan(metrics.roc_auc_score(everything, y_score, sample_weight=weight))
    stream = metrics.Accumulator(["macro-auroc"], edges=[0.25, 0.5])
    stream.update(everything, y_score=y_score, sample_weight=weight)
    assert np.isnan(stream.compute()["macro-auroc"])
