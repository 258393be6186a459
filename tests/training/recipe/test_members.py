"""Members of a blend: support vector machines against scikit-learn, calibration, folds, and the mean of members."""

import time

import numpy as np
import pytest
import scipy.sparse
import torch
from scipy.special import expit
from sklearn.svm import LinearSVC

from labelproof.data import Dataset
from labelproof.training.dense_svm import dense_svms
from labelproof.training.recipe import calibrating
from labelproof.training.recipe import folds as folds_module
from labelproof.training.recipe.assembling import assemble
from labelproof.training.recipe.blending import Blend, blend
from labelproof.training.recipe.budget import Budget, parse_budget
from labelproof.training.recipe.calibrating import Calibration, calibrate, cross_fitted, log_loss
from labelproof.training.recipe.folds import Folds, fold_numbers
from labelproof.training.recipe.members import Candidate, leaf_logits, network_candidate, refit, svm_candidate
from labelproof.training.recipe.menu import ViewPlan, material_of, plans_for
from labelproof.training.recipe.network import train_network
from labelproof.training.recipe.predicting import Size, Speed
from labelproof.training.recipe.searching import edges


def problem(n=120, d=6, n_labels=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    Y = X @ rng.normal(size=(d, n_labels)) + 0.5 * rng.normal(size=(n, n_labels)) > 0.8
    return X, scipy.sparse.csr_array(Y)


@pytest.mark.parametrize("cost", [1e-3, 0.1, 10.0])
def test_dense_machines_are_those_of_liblinear(cost):
    X, Y = problem()
    weight, bias = dense_svms(X, Y, cost, tolerance=1e-9)
    for j in range(Y.shape[1]):
        peer = LinearSVC(C=cost, dual=False, tol=1e-10, max_iter=10_000).fit(X, Y[:, [j]].toarray().ravel())
        np.testing.assert_allclose(weight[j], peer.coef_[0], rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(bias[j], peer.intercept_[0], rtol=1e-4, atol=1e-6)


def test_a_label_that_all_or_none_have_has_its_machine():
    X, Y = problem(n_labels=2)
    Y = scipy.sparse.csr_array(np.column_stack([np.ones(len(X)), np.zeros(len(X)), Y.toarray()]).astype(bool))
    weight, bias = dense_svms(X, Y, 1.0)
    assert np.isfinite(weight).all()
    assert bias[0] > 0.9
    assert bias[1] < -0.9


def test_a_calibration_is_where_the_posterior_is_level():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(300, 4)) * 2
    truth = rng.random(z.shape) < expit(1.5 * z - 1)
    found = calibrate(z, scipy.sparse.csr_array(truth))
    gap = expit(found.slopes * z + found.offsets) - truth
    rare = calibrate(z, scipy.sparse.csr_array(np.zeros(z.shape, bool)))
    assert np.abs(gap.mean(axis=0)).max() < 0.02  # as many as expected, but for the prior
    assert (rare.slopes > 0).all()
    assert np.isfinite(rare.offsets).all()


def test_a_calibration_far_from_its_start_is_reached():
    rng = np.random.default_rng(0)
    z = rng.normal(-0.9, 0.05, (4000, 30))
    truth = rng.random(z.shape) < expit(40 * z + 32)
    found = calibrate(z, scipy.sparse.csr_array(truth))
    assert found.slopes.mean() == pytest.approx(40, rel=0.03)
    assert found.offsets.mean() == pytest.approx(32, rel=0.03)


def test_a_calibration_does_not_depend_on_how_many_scores_are_summed_at_once(monkeypatch):
    rng = np.random.default_rng(3)
    scores = rng.normal(size=(400, 5))
    labels = scipy.sparse.csr_array(rng.random(scores.shape) < expit(2 * scores - 1))
    whole = calibrate(scores, labels)
    monkeypatch.setattr(calibrating, "IN_CACHE", 37)
    parts = calibrate(scores, labels)
    np.testing.assert_allclose(parts.slopes, whole.slopes, rtol=1e-6)
    np.testing.assert_allclose(parts.offsets, whole.offsets, rtol=1e-6)


def test_logits_of_a_fold_do_not_depend_on_its_labels():
    X, Y = problem()
    folds = np.arange(len(X)) % 3
    scores = X[:, :3]
    changed = Y.toarray()
    changed[folds == 0] = ~changed[folds == 0]
    before, after = (cross_fitted(scores, scipy.sparse.csr_array(y), folds) for y in (Y.toarray(), changed))
    np.testing.assert_array_equal(before[folds == 0], after[folds == 0])
    assert not np.array_equal(before[folds == 1], after[folds == 1])


def test_log_loss_is_minus_the_mean_logarithm():
    logits, Y = np.array([[0.3, -2.0], [1.5, 0.0]]), np.array([[True, False], [False, True]])
    p = np.where(Y, expit(logits), 1 - expit(logits))
    assert log_loss(logits, scipy.sparse.csr_array(Y)) == pytest.approx(-np.log(p).mean(), rel=1e-12)


def test_groups_stay_in_one_fold_and_large_sets_have_three():
    X, Y = problem(n=200)
    groups = np.arange(200) // 7
    numbers = fold_numbers(Dataset(Y, ("a", "b", "c"), features=X, groups=groups), seed=1)
    assert all(len(set(numbers[groups == g])) == 1 for g in set(groups))
    assert len(set(numbers)) == 5
    many = Dataset(scipy.sparse.csr_array(np.ones((3000, 1), bool)), ("a",), features=np.zeros((3000, 1)))
    assert len(set(fold_numbers(many, seed=0))) == 3
    two = Dataset(scipy.sparse.csr_array(np.ones((2, 1), bool)), ("a",), features=np.zeros((2, 1)))
    assert sorted(fold_numbers(two, seed=0)) == [0, 1]


def test_with_times_a_fold_is_a_stretch_of_time(monkeypatch):
    X, Y = problem(n=100)
    data = Dataset(Y, ("a", "b", "c"), features=X)
    years = np.random.default_rng(0).permutation(np.arange(1900, 2000))
    numbers = fold_numbers(data, seed=0, times=years)
    assert np.bincount(numbers).tolist() == [20] * 5
    assert (np.diff(numbers[np.argsort(years)]) >= 0).all()
    few = fold_numbers(data, seed=0, times=np.full(100, 1999))  # too few times: as without
    np.testing.assert_array_equal(few, fold_numbers(data, seed=0))
    monkeypatch.setattr(folds_module, "MOST_SCORES", 100)
    latest = fold_numbers(data, seed=0, times=years) == 0
    assert 0 < latest.sum() < 50
    assert years[latest].min() > years[~latest].max()


def test_of_a_very_large_set_some_examples_are_held_out_once(monkeypatch):
    monkeypatch.setattr(folds_module, "MOST_SCORES", 1000)
    monkeypatch.setattr(folds_module, "HELD_SCORES", 150)
    X, Y = problem(n=600)
    data = Dataset(Y, ("a", "b", "c"), features=X)
    numbers = fold_numbers(data, seed=0)
    assert set(numbers.tolist()) == {-1, 0}
    assert 40 <= (numbers == 0).sum() <= 60  # of 150 scores of three labels
    folds = Folds(material_of(data), Y, numbers)
    plan = plans_for(folds.material)[0]
    member = svm_candidate(folds, plan, folds.views(plan), 0.01)
    assert member.logits.shape == folds.truth.shape == ((numbers == 0).sum(), 3)
    assert set(folds.parts.tolist()) == {0, 1}  # thresholds of each half are those of the other
    assert member.loss < log_loss(np.zeros(folds.truth.shape, np.float32), folds.truth)


def test_a_leaf_is_worth_the_logit_of_its_share():
    leaves = scipy.sparse.csr_array(np.array([[1.0, 0, 1, 0], [1, 0, 0, 1], [0, 1, 0, 1]]))  # two trees of two leaves
    weight, bias = leaf_logits(leaves, scipy.sparse.csr_array(np.array([[True], [False], [False]])))
    usual = 1.5 / 4
    shares = np.array([(count + 0.3 * usual) / (size + 0.3) for count, size in ((1, 2), (0, 1), (1, 1), (0, 2))])
    np.testing.assert_allclose(weight[0], np.log(shares / (1 - shares)) / 2)
    assert bias.tolist() == [0.0]


def test_a_search_goes_on_beyond_the_edge():
    assert list(edges({0.1: 3.0, 1.0: 2.0, 10.0: 1.0})) == [100.0]
    assert list(edges({0.1: 1.0, 1.0: 2.0})) == pytest.approx([0.01])
    assert list(edges({0.1: 2.0, 1.0: 1.0, 10.0: 3.0})) == []


def test_a_budget_is_a_time():
    assert [parse_budget(text) for text in ("90s", "10m", "1.5h", "7", "fast")] == [90.0, 600.0, 5400.0, 7.0, 0.0]
    for wrong in ("soon", "-1m", "10 days", ""):
        with pytest.raises(ValueError, match="budget must be a time such as 90s"):
            parse_budget(wrong)
    default = Budget()
    assert default.left() == float("inf")
    default.first_stage_took(100.0)
    assert 2890 < default.left() <= 2900


def test_a_grid_is_predicted_by_its_numbers_but_for_the_smallest():
    speed = Speed()
    speed.measured(Size(10, 1_000), 2.0)
    assert speed.seconds(Size(10, 50_000)) == pytest.approx(2.0)  # of so few, a grid takes as long as of any
    assert speed.seconds(Size(10, 200_000, 3.0)) == pytest.approx(7.0)


def test_the_default_budget_counts_the_time_of_the_processor(monkeypatch):
    wall = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: wall[0])
    default, given = Budget(), Budget(100.0)
    default.first_stage_took(1.0)
    wall[0] = 1000.0
    assert default.left() > 0
    assert given.left() == -900.0


def made_folds():
    X, Y = problem(n=90)
    data = Dataset(Y, ("a", "b", "c"), features=X)
    return Folds(material_of(data), data.labels, fold_numbers(data, seed=0)), X


def test_the_assembled_model_gives_the_mean_of_the_calibrated_members():
    folds, X = made_folds()
    plans = plans_for(folds.material)
    members = [svm_candidate(folds, plan, folds.views(plan), 0.1) for plan in plans[:2]]
    members.append(network_candidate(folds, plans[0], folds.views(plans[0]), seed=0))
    mean = Blend([(members[0], 0.5), (members[1], 0.25), (members[2], 0.25)], folds.labels)
    fitted = [refit(member, folds.material, folds.labels, seed=0) for member in members]
    encoder, head = assemble(mean, fitted, folds.material)
    expected = 0.0
    for member, one, share in zip(members, fitted, (0.5, 0.25, 0.25), strict=True):
        features = one.view.features(folds.material.matrices)
        scores = features @ one.weight.T + one.bias if one.network is None else one.network.logits(features)
        expected = expected + share * member.calibration.logits(scores)
    with torch.inference_mode():
        found = head(encoder(*encoder.collate(encoder.prepare(X), np.arange(len(X))))).numpy()
    np.testing.assert_allclose(found, expected, atol=1e-4)
    total = 0.5 * members[0].logits + 0.25 * (members[1].logits + members[2].logits)
    np.testing.assert_allclose(mean.logits, total, rtol=1e-5, atol=1e-5)


def test_a_blend_is_no_worse_than_its_best_member():
    folds, _ = made_folds()
    candidates = [svm_candidate(folds, plan, folds.views(plan), 0.1) for plan in plans_for(folds.material)]
    found = blend(candidates, folds.labels)
    assert found.loss <= min(candidate.loss for candidate in candidates)
    assert sum(weight for _, weight in found.members) == pytest.approx(1.0)


def test_a_member_of_a_blend_gives_way_to_one_that_suits_the_others_better():
    rng = np.random.default_rng(0)
    truth = rng.random((2000, 3)) < 0.5
    sign, e, f = np.where(truth, 2.0, -2.0), rng.normal(0, 2, truth.shape), rng.normal(0, 1, truth.shape)
    labels, calibration = scipy.sparse.csr_array(truth), Calibration(np.ones(3), np.zeros(3))

    def member(view, cost, logits):
        plan = ViewPlan(view, (), is_sparse=True)
        logits = logits.astype(np.float32)
        return Candidate(plan, "svm", logits, calibration, log_loss(logits, labels), 0.0, cost=cost)

    alone, suited = member("one", 1.0, sign + 0.9 * e + f), member("one", 3.0, sign - 1.1 * e)
    other = member("two", 1.0, sign + e)
    assert alone.loss < suited.loss
    assert {m for m, _ in blend([alone, other], labels).members} == {alone, other}
    assert {m for m, _ in blend([alone, suited, other], labels).members} == {suited, other}


def test_a_network_stops_when_held_out_loss_rises_and_a_seed_repeats_it():
    X, Y = problem(n=200)
    first, again = (train_network(X[:150], Y[:150], held_out=(X[150:], Y[150:]), seed=3) for _ in range(2))
    assert first.epochs == again.epochs < 80
    np.testing.assert_array_equal(first.network.logits(X), again.network.logits(X))
    sparse = train_network(scipy.sparse.csr_array(X), Y, epochs=2, seed=0).network
    dense = train_network(X, Y, epochs=2, seed=0).network
    assert sparse.logits(scipy.sparse.csr_array(X)).shape == dense.logits(X).shape == (200, 3)
