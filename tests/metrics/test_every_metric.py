"""What holds for every metric in the registry, whatever it measures."""

import pickle

import numpy as np
import pytest
from metric_oracle import awkward
from scipy import sparse

from labelproof import metrics

Y_TRUE, Y_SCORE, Y_PROB, Y_PRED = awkward(7)
PROPENSITY = metrics.propensities(Y_TRUE)
EDGES = np.arange(-6.0, 9.0)  # the scores are integers: each has its own bin
NAMES = list(metrics.names())
RNG = np.random.default_rng(11)


def make(name, **options):
    return metrics.by_name(name, propensity=PROPENSITY, **options)


def second_argument(metric):
    """What the metric reads besides y_true."""
    if metric.name.startswith("distribution"):
        p = 0.1 + Y_PROB
        return p / p.sum(1, keepdims=True)
    return {"set": Y_PRED, "ranking": Y_SCORE, "probability": Y_PROB}[metric.kind]


def close(value, expected):
    """Compare sums of some hundred terms in two orders: they differ by less than 1000 roundings of 1e-16."""
    assert value == pytest.approx(expected, rel=1e-11, abs=1e-13, nan_ok=True)


@pytest.fixture(params=NAMES)
def metric(request):
    return make(request.param)


def test_a_metric_is_a_finite_float_here(metric):
    value = metric(Y_TRUE, second_argument(metric))
    assert type(value) is float
    assert np.isfinite(value)


def test_the_order_of_the_examples_does_not_matter(metric):
    order = RNG.permutation(len(Y_TRUE))
    close(metric(Y_TRUE[order], second_argument(metric)[order]), metric(Y_TRUE, second_argument(metric)))


def test_the_order_of_the_labels_does_not_matter(metric):
    order = RNG.permutation(Y_TRUE.shape[1])
    permuted = metrics.by_name(metric.name, propensity=PROPENSITY[order])
    close(permuted(Y_TRUE[:, order], second_argument(metric)[:, order]), metric(Y_TRUE, second_argument(metric)))


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csc_array, sparse.coo_array])
def test_sparse_input_is_the_dense_input_that_it_equals(metric, form):
    y = second_argument(metric)
    expected = metric(Y_TRUE, y)
    close(metric(form(Y_TRUE), y), expected)
    close(metric(form(Y_TRUE.astype(int)), form(y)), expected)
    close(metric(Y_TRUE.astype(float).tolist(), form(y)), expected)


def test_the_memory_layout_does_not_matter(metric):
    y = second_argument(metric)
    close(metric(np.asfortranarray(Y_TRUE), np.asfortranarray(y)), metric(Y_TRUE, y))
    close(metric(Y_TRUE[::2], y[::2]), metric(Y_TRUE[::2].copy(), y[::2].copy()))


def test_weights_of_one_are_no_weights(metric):
    y = second_argument(metric)
    close(metric(Y_TRUE, y, sample_weight=np.ones(len(y))), metric(Y_TRUE, y))


def test_a_weight_is_the_number_of_times_that_an_example_occurs(metric):
    y, times = second_argument(metric), RNG.integers(0, 4, len(Y_TRUE))
    repeated = np.repeat(np.arange(len(y)), times)
    close(metric(Y_TRUE, y, sample_weight=times), metric(Y_TRUE[repeated], y[repeated]))


def test_arguments_are_left_as_they_were(metric):
    y_true, y = Y_TRUE.copy(), second_argument(metric).copy()
    weight = np.ones(len(y))
    metric(y_true, y, sample_weight=weight)
    assert (y_true == Y_TRUE).all()
    assert (y == second_argument(metric)).all()
    assert (weight == 1).all()


def test_the_truth_is_at_least_as_good_a_prediction_as_any_other(metric):
    truth = Y_TRUE / np.maximum(1, Y_TRUE.sum(1, keepdims=True)) if "distribution" in metric.name else Y_TRUE
    rows = Y_TRUE.any(1) if "distribution" in metric.name else np.ones(len(Y_TRUE), bool)
    best = metric(Y_TRUE[rows], truth[rows].astype(float))
    other = metric(Y_TRUE[rows], second_argument(metric)[rows])
    assert best >= other if metric.greater_is_better else best <= other


@pytest.mark.parametrize("name", [name for name in NAMES if "@" not in name])
def test_without_examples_there_is_no_mean(name):
    value = metrics.by_name(name)(np.zeros((0, 3), bool), np.zeros((0, 3)))
    assert np.isnan(value) or value == 0.0


@pytest.mark.parametrize("name", [name for name in NAMES if "@" not in name and "distribution" not in name])
def test_without_labels_nothing_is_wrong_or_right(name):
    value = metrics.by_name(name)(np.zeros((4, 0), bool), np.zeros((4, 0)))
    assert np.isnan(value) or value == (1.0 if name in ("exact-match", "lrap") else 0.0)


@pytest.mark.parametrize("name", [name for name in NAMES if make(name).kind == "ranking"])
def test_rankings_depend_on_the_order_of_the_scores_alone(name):
    expected = make(name)(Y_TRUE, Y_SCORE)
    for scores in (2.0**60 * Y_SCORE, 1e-30 * Y_SCORE, np.exp(Y_SCORE), Y_SCORE.astype(np.float32)):
        close(make(name)(Y_TRUE, scores), expected)


@pytest.mark.parametrize("name", [name for name in NAMES if make(name).of_counts])
def test_counts_of_many_candidates_are_evaluated_at_once(name):
    predictions = np.stack([[t < Y_SCORE for t in (-1, 0)], [t < Y_SCORE for t in (1, 2)]])  # (2, 2, n, L)
    counts = [metrics.count(Y_TRUE, p) for p in predictions.reshape(4, *Y_TRUE.shape)]
    stacked = (np.reshape([getattr(c, x) for c in counts], (2, 2, -1)) for x in ("tp", "fp", "fn", "tn"))
    values = make(name).of_counts(*stacked)
    assert values.shape == (2, 2)
    expected = [make(name)(Y_TRUE, p) for p in predictions.reshape(4, *Y_TRUE.shape)]
    np.testing.assert_allclose(values.ravel(), expected, rtol=1e-12)


# --- streams ----------------------------------------------------------------------------------------------


def stream(name, pieces, weight=None):
    accumulator = metrics.Accumulator([name], propensity=PROPENSITY, edges=EDGES)
    metric = make(name)
    part = "y_pred" if metric.kind == "set" else "y_score"
    for piece in pieces:
        chosen = None if weight is None else weight[piece]
        accumulator.update(Y_TRUE[piece], **{part: second_argument(metric)[piece]}, sample_weight=chosen)
    return accumulator


@pytest.mark.parametrize("name", NAMES)
def test_a_stream_of_batches_gives_the_value_of_all_at_once(name):
    weight = RNG.random(len(Y_TRUE))
    accumulator = stream(name, [slice(0, 1), slice(1, 1), slice(1, 20), slice(20, 40)], weight)
    expected = make(name)(Y_TRUE, second_argument(make(name)), sample_weight=weight)
    close(accumulator.compute()[name], expected)


@pytest.mark.parametrize("name", NAMES)
def test_merged_accumulators_give_the_value_of_one_pass(name):
    left, right = stream(name, [slice(0, 9)]), stream(name, [slice(9, 30), slice(30, 40)])
    left.merge(pickle.loads(pickle.dumps(right)))  # noqa: S301 - as another process would send it
    close(left.compute()[name], make(name)(Y_TRUE, second_argument(make(name))))
    empty = stream(name, [])
    empty.merge(left)
    assert empty.compute() == left.compute()


def test_an_accumulator_does_not_grow_with_the_examples():
    names = [name for name in NAMES if not name.startswith("distribution")]
    accumulator = metrics.Accumulator(names, propensity=PROPENSITY, edges=EDGES)
    sizes = []
    for _ in range(4):
        accumulator.update(Y_TRUE, y_pred=Y_PRED, y_score=Y_PROB)
        sizes.append(len(pickle.dumps(accumulator)))
    assert len(set(sizes[1:])) == 1  # after the first batch, metrics may still share one array


# --- names ------------------------------------------------------------------------------------------------


def test_every_name_makes_the_metric_of_that_name():
    assert len(set(NAMES)) == len(NAMES)
    assert [make(name).name for name in NAMES] == NAMES


def test_any_beta_and_any_k_make_a_name():
    f_beta = metrics.fbeta_score(Y_TRUE, Y_PRED, beta=0.25, average="micro")
    close(metrics.by_name("micro-f0.25")(Y_TRUE, Y_PRED), f_beta)
    close(metrics.by_name("precision@7")(Y_TRUE, Y_SCORE), metrics.precision_at_k(Y_TRUE, Y_SCORE, 7))


def test_average_precision_and_auroc_alone_mean_their_macro_average():
    assert metrics.by_name("average-precision").name == "macro-average-precision"
    assert metrics.by_name("auroc").name == "macro-auroc"


def test_losses_and_errors_go_down_and_all_else_goes_up():
    down = {name for name in NAMES if not make(name).greater_is_better}
    errors = {"hamming-loss", "never-predicted-share", "ranking-loss", "coverage-error", "brier-loss"}
    calibration = {"micro-ece", "macro-ece", "weighted-ece"}
    assert down == errors | calibration | {"distribution-jsd", "distribution-kl", "distribution-mse"}


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("macro-f1", lambda: metrics.f1_score(Y_TRUE, Y_PRED, average="macro")),
        ("samples-jaccard", lambda: metrics.jaccard_score(Y_TRUE, Y_PRED, average="samples")),
        ("weighted-mcc", lambda: metrics.matthews_corrcoef_score(Y_TRUE, Y_PRED, average="weighted")),
        ("hamming-loss", lambda: metrics.hamming_loss(Y_TRUE, Y_PRED)),
        ("exact-match", lambda: metrics.exact_match_score(Y_TRUE, Y_PRED)),
        ("ndcg@3", lambda: metrics.ndcg_at_k(Y_TRUE, Y_SCORE, 3)),
        ("rp@3", lambda: metrics.r_precision_at_k(Y_TRUE, Y_SCORE, 3)),
        ("coverage@2", lambda: metrics.coverage_at_k(Y_TRUE, Y_SCORE, 2)),
        ("psp@2", lambda: metrics.propensity_scored_precision_at_k(Y_TRUE, Y_SCORE, 2, propensity=PROPENSITY)),
        ("psndcg@2", lambda: metrics.propensity_scored_ndcg_at_k(Y_TRUE, Y_SCORE, 2, propensity=PROPENSITY)),
        ("lrap", lambda: metrics.label_ranking_average_precision_score(Y_TRUE, Y_SCORE)),
        ("ranking-loss", lambda: metrics.label_ranking_loss(Y_TRUE, Y_SCORE)),
        ("coverage-error", lambda: metrics.coverage_error(Y_TRUE, Y_SCORE)),
        ("samples-auroc", lambda: metrics.roc_auc_score(Y_TRUE, Y_SCORE, average="samples")),
        ("micro-average-precision", lambda: metrics.average_precision_score(Y_TRUE, Y_SCORE, average="micro")),
        (
            "weighted-interpolated-average-precision-11",
            lambda: metrics.interpolated_average_precision_score(Y_TRUE, Y_SCORE, points=11, average="weighted"),
        ),
        ("macro-ece", lambda: metrics.expected_calibration_error(Y_TRUE, Y_PROB, average="macro")),
        ("brier-loss", lambda: metrics.brier_loss(Y_TRUE, Y_PROB)),
        ("f1-of-mean-precision-and-recall", lambda: metrics.f1_of_mean_precision_and_recall_score(Y_TRUE, Y_PRED)),
    ],
)
def test_a_name_and_its_function_give_one_value(name, function):
    metric = metrics.by_name(name)
    close(metric(Y_TRUE, second_argument(metric)), function())
