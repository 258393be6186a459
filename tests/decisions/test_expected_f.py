"""The set with the largest expected F against all sets there are."""

import numpy as np
import pytest
from every_decision import best_expected_f, expected_f
from hypothesis import given, settings
from hypothesis import strategies as st

from labelproof.decisions import ExpectedF
from labelproof.decisions.expected_f import best_sizes

BETAS = (0.5, 1.0, 2.0)


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("n_labels", [1, 2, 3, 5, 8, 10, 12])
def test_no_label_set_has_a_larger_expected_f(beta, n_labels):
    rng = np.random.default_rng(n_labels)
    p = rng.beta(0.7, 1.3, (3 if n_labels > 10 else 6, n_labels))
    _, values = best_sizes(p, beta)
    best = [best_expected_f(row, beta) for row in p]
    np.testing.assert_allclose(values, best, rtol=0, atol=1e-12)


@pytest.mark.parametrize("beta", BETAS)
def test_the_value_is_the_expectation_of_the_set_that_is_returned(beta):
    p = np.random.default_rng(7).beta(0.5, 1.0, (10, 7))
    chosen = ExpectedF(beta, scores="probabilities").decide(p)
    _, values = best_sizes(p, beta)
    for row, labels, value in zip(p, chosen, values, strict=True):
        assert expected_f(row, labels, beta) == pytest.approx(value, abs=1e-12)


@settings(deadline=None, max_examples=40, derandomize=True, database=None)
@given(
    st.lists(st.sampled_from([0.0, 1e-300, 1e-9, 0.25, 0.5, 0.5 + 1e-16, 0.75, 1 - 1e-12, 1.0]), min_size=1, max_size=8)
)
def test_certain_impossible_and_equal_labels_make_no_trouble(p):
    p = np.array(p)
    _, values = best_sizes(p[None], 1.0)
    assert values[0] == pytest.approx(best_expected_f(p, 1.0), abs=1e-11)


@pytest.mark.parametrize("both_empty", [0.0, 0.5, 1.0])
def test_the_value_of_two_empty_sets_is_an_option(both_empty):
    p = np.random.default_rng(1).beta(0.3, 3.0, (20, 6))
    _, values = best_sizes(p, 1.0, both_empty=both_empty)
    best = [best_expected_f(row, 1.0, both_empty) for row in p]
    np.testing.assert_allclose(values, best, rtol=0, atol=1e-12)


def test_improbable_labels_give_the_empty_set():
    p = np.full((1, 4), 0.05)
    assert not ExpectedF(1.0, scores="probabilities").decide(p).any()
    assert ExpectedF(1.0, scores="probabilities", both_empty=0.0).decide(p).any()


def test_with_many_labels_the_truncated_programme_is_the_full_one():
    rng = np.random.default_rng(3)
    for scale in (0.01, 0.05):
        p = np.minimum(rng.exponential(scale, (2, 600)), 1.0)
        p[:, :12] = rng.random((2, 12))
        sizes, values = best_sizes(p, 1.0)
        for row, size, value in zip(p, sizes, values, strict=True):
            all_values = full_programme(np.sort(row)[::-1])
            assert value == pytest.approx(all_values.max(), abs=1e-11)
            assert all_values[size] == pytest.approx(all_values.max(), abs=1e-11)


def full_programme(p, beta=1.0, largest=60):
    """E F of the k most probable labels for k = 0 … largest, from the full distributions of both sums."""
    values = []
    for k in range(largest + 1):
        hits, others = poisson_binomial(p[:k]), poisson_binomial(p[k:])
        tp, rest = np.arange(len(hits))[:, None], np.arange(len(others))[None, :]
        bottom = k + beta**2 * (tp + rest)
        f = np.where(bottom > 0, (1 + beta**2) * tp / np.where(bottom > 0, bottom, 1), 1.0)
        values.append(float(hits @ f @ others))
    return np.array(values)


def poisson_binomial(p):
    chance = np.ones(1)
    for q in p:
        chance = np.convolve(chance, [1 - q, q])
    return chance


def test_the_distribution_of_the_sum_is_followed_far_enough():
    rng = np.random.default_rng(5)
    p = rng.random((1, 400))  # about 200 labels are on
    _, values = best_sizes(p, 1.0)
    draws = rng.random((4000, 400)) < p
    chosen = ExpectedF(1.0, scores="probabilities").decide(p)[0]
    f = 2 * (draws & chosen).sum(axis=1) / (draws.sum(axis=1) + chosen.sum())
    assert values[0] == pytest.approx(f.mean(), abs=5 * f.std() / np.sqrt(len(f)))


def test_logits_and_their_probabilities_give_the_same_sets():
    z = np.random.default_rng(2).standard_normal((50, 9))
    p = 1 / (1 + np.exp(-z))
    for beta in BETAS:
        ours = ExpectedF(beta, scores="logits").decide(z)
        np.testing.assert_array_equal(ours, ExpectedF(beta, scores="probabilities").decide(p))


def test_the_labels_with_the_largest_probabilities_are_taken():
    p = np.random.default_rng(4).random((30, 8))
    rule = ExpectedF(1.0, scores="probabilities")
    active = rule.decide(p)
    for row, chosen in zip(p, active, strict=True):
        if chosen.any() and not chosen.all():
            assert row[chosen].min() >= row[~chosen].max()
    assert (rule.geometry.rule, rule.geometry.exact) == ("topk", False)


def test_a_larger_beta_takes_no_fewer_labels():
    p = np.random.default_rng(6).beta(0.5, 1.5, (200, 10))
    sizes = [best_sizes(p, beta, both_empty=0.0)[0].sum() for beta in (0.25, 0.5, 1.0, 2.0, 4.0)]
    assert sizes == sorted(sizes)
