import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse

import labelproof as lp
from labelproof.theory.dft import dft_matrix, gale_matrix
from labelproof.theory.plan import TRAINED_FACTOR, WIDTHS, trained_width, wilson_interval

RNG = np.random.default_rng(3)
SPARSE = (RNG.random((60, 80)) < 0.05).astype(np.int8)


@pytest.fixture(scope="module")
def sparse_plan():
    return lp.plan(SPARSE, n_sample=30)


def test_the_data_are_described(sparse_plan):
    sizes = SPARSE.sum(axis=1)
    assert (sparse_plan.n_labels, sparse_plan.n_sets) == (80, 60)
    assert sparse_plan.n_distinct == len({row.tobytes() for row in SPARSE})
    assert sparse_plan.k == sizes.max()
    assert sparse_plan.cardinality == sizes.mean()
    changes = (np.roll(SPARSE, 1, axis=1) != SPARSE).sum(axis=1)
    assert (sparse_plan.alternations[0], sparse_plan.alternations[-1]) == (changes.min(), changes.max())


def test_the_widths_go_up_to_the_number_of_labels(sparse_plan):
    assert [width.d for width in sparse_plan.widths] == [*[d for d in WIDTHS if d < 80], 80]


def test_a_wider_random_head_predicts_all_that_a_narrower_one_does(sparse_plan):
    predicted = [width.predicted for width in sparse_plan.widths if width.predicted is not None]
    assert predicted == sorted(predicted)
    assert predicted[-1] == sparse_plan.n_sampled == 30
    assert predicted[0] < 30
    assert sparse_plan.random_width == sparse_plan.widths[len(predicted) - 1].d


def test_general_position_is_counted_with_a_bias(sparse_plan):
    for width in sparse_plan.widths:
        assert width.log10_fraction == lp.log10_argmaxable_fraction(80, width.d, bias=True)


def test_the_promised_dft_widths_keep_their_promise(sparse_plan):
    k = sparse_plan.k
    assert sparse_plan.dft_width == 2 * k + 1
    assert (lp.verify(dft_matrix(80, k), SPARSE).status == 1).all()
    assert sparse_plan.seen_width <= sparse_plan.dft_width
    assert (lp.verify(gale_matrix(80, sparse_plan.seen_width), SPARSE).status == 1).all()


def test_the_seed_decides_everything(sparse_plan):
    assert lp.plan(SPARSE, n_sample=30) == sparse_plan
    assert lp.plan(SPARSE, n_sample=30, seed=1) != sparse_plan


def test_every_form_of_labels_gives_the_same_plan(sparse_plan):
    assert lp.plan(scipy.sparse.csr_array(SPARSE), n_sample=30) == sparse_plan
    lists = [np.flatnonzero(row).tolist() for row in SPARSE]
    assert lp.plan(lists, 80, n_sample=30) == sparse_plan


def test_shares_are_exact_where_every_set_was_verified():
    p = lp.plan([[0], [1, 2], []], n_labels=6)
    assert p.n_sampled == p.n_distinct == 3
    assert all(width.low == width.high for width in p.widths)


def test_many_active_labels_need_no_more_features_than_labels():
    p = lp.plan(np.ones((1, 5), bool))
    assert (p.k, p.dft_width, p.seen_width) == (5, 5, 1)
    assert "every set of up to 5 labels" in p.recommendation


def test_the_recommendation_admits_defeat(monkeypatch):
    monkeypatch.setattr("labelproof.theory.plan.WIDTHS", (2,))
    p = lp.plan([list(range(0, 40, 2))], n_labels=40)
    assert p.random_width is None
    assert p.recommendation.startswith("No random head of up to 2 features could predict")


def test_the_plan_is_plain_data(sparse_plan):
    plain = sparse_plan.to_dict()
    assert plain["widths"][0]["d"] == WIDTHS[0]
    assert plain["recommendation"] == sparse_plan.recommendation


@pytest.mark.parametrize(
    ("labels", "options", "message"),
    [
        ([[0]], {}, "n_labels must be given when labels is a list of active label indices, got None"),
        ([], {"n_labels": 3}, "labels must hold at least one set, got none"),
        (np.zeros((2, 0)), {}, "n_labels must be an integer of at least 1, got 0"),
        ([[0]], {"n_labels": 3, "n_sample": 0}, "n_sample must be a positive number of label sets, got 0"),
        (np.array([[1, -1]]), {}, "labels must be 0 or 1, got -1"),
        (np.array([1, 0]), {}, "labels must have shape"),
    ],
)
def test_what_has_no_plan_is_refused(labels, options, message):
    with pytest.raises(ValueError, match=message):
        lp.plan(labels, **options)


@pytest.mark.parametrize(("successes", "trials"), [(0, 10), (3, 10), (10, 10), (199, 200)])
def test_wilsons_interval_holds_the_share_and_solves_its_equation(successes, trials):
    low, high = wilson_interval(successes, trials)
    share = successes / trials
    assert 0 <= low <= share <= high <= 1
    for end in (low, high):
        if 0 < end < 1:
            assert (share - end) ** 2 == pytest.approx(1.959963984540054**2 * end * (1 - end) / trials)


def test_a_plan_says_what_the_stored_numbers_take():
    p = lp.plan([[0, 1, 2], [7]], n_labels=60, n_sample=1)
    assert p.code_width == 33
    assert p.gaussian_width > p.code_width
    assert p.recommendation.endswith("For the numbers as they are stored that takes a code head of 33 features.")
    wide = replace(p, code_width=1379, gaussian_width=842)
    assert "or normal columns in 842, for all but one in a million seeds." in wide.recommendation
    assert lp.plan([[0]], n_labels=1, n_sample=1).gaussian_width is None


def test_a_trained_head_needs_more_for_more_active_labels_and_never_more_than_labels():
    widths = [trained_width(500, k) for k in range(0, 501, 20)]
    assert widths == sorted(widths)
    assert (trained_width(500, 0), trained_width(3, 3)) == (1, math.ceil(3 * TRAINED_FACTOR))
    assert trained_width(1, 1) == 1


def test_the_plan_takes_the_size_that_nearly_all_sets_have(sparse_plan):
    sizes = np.sort(SPARSE.sum(axis=1))
    assert sparse_plan.trained_width == trained_width(80, int(sizes[-1]))
    assert f"a trained head needs about {sparse_plan.trained_width} for 99 of 100" in sparse_plan.recommendation


@pytest.mark.parametrize(("n_labels", "k"), [(3, 4), (3, -1), (0, 0)])
def test_more_active_labels_than_labels_have_no_width(n_labels, k):
    with pytest.raises(ValueError, match=f"k must be a number of active labels from 0 to {n_labels}, got {k}"):
        trained_width(n_labels, k)
