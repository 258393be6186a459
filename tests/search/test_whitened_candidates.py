"""The candidate that the covariance of the rows suggests: proven where it wins, and the search decides the rest."""

import numpy as np
import pytest

import labelproof as lp
from labelproof.proof.labels import read_label_sets
from labelproof.proof.regions import make_layer
from labelproof.search import whitened
from labelproof.search.findings import Finding
from labelproof.search.whitened import decide_by_candidates_first, whitened_points


def by_candidates(layer, sets):
    """Return what candidates alone prove, and which sets are left to the search."""
    left = []

    def search(some):
        left.extend(active.tolist() for active in some)
        return [Finding(reason="left")] * len(some)

    found = decide_by_candidates_first(layer, read_label_sets(sets, layer.n_labels), search)
    return found, left


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def worth(monkeypatch):
    """Let the covariance of small layers be worth its while."""
    monkeypatch.setattr(whitened, "LEAST_SIZE", 0)
    monkeypatch.setattr(whitened, "WORTH_A_SET", 1e12)


@pytest.mark.parametrize("bias", [False, True])
def test_nearly_every_token_of_a_vocabulary_wins_at_its_candidate(rng, worth, bias):
    weight = rng.normal(size=(2000, 48)) @ rng.normal(size=(48, 48))
    offset = 100.0 * rng.normal(size=2000) if bias else None
    layer = make_layer(weight, bias=offset, rule="topk")
    found, left = by_candidates(layer, [[i] for i in range(2000)])
    assert len(left) < 60
    v = lp.verify(weight, [[i] for i in range(2000)], bias=offset, rule="topk")
    assert (v.status == 1).all()
    v.check()
    for i in (0, 7, 1999):
        if found[i].witness is not None:
            assert np.argmax(weight @ found[i].witness + (0 if offset is None else offset)) == i


def test_small_sets_win_at_the_input_that_gives_them_equal_logits(rng, worth):
    weight = rng.normal(size=(1000, 64))
    sets = [np.sort(rng.choice(1000, size, replace=False)).tolist() for size in (2, 3, 5) for _ in range(40)]
    found, left = by_candidates(make_layer(weight, rule="topk"), sets)
    assert len(left) < 40
    for active, one in zip(sets, found, strict=True):
        if one.witness is not None:
            assert sorted(np.argsort(-(weight @ one.witness))[: len(active)].tolist()) == active


def test_labels_that_come_out_above_a_set_are_pushed_down(rng, worth, monkeypatch):
    weight = rng.normal(size=(3000, 32)) * rng.lognormal(sigma=0.5, size=(3000, 1))
    layer, sets = make_layer(weight, rule="topk"), [[i] for i in range(0, 3000, 10)]
    pushed = by_candidates(layer, sets)[1]
    monkeypatch.setattr(whitened, "ROUNDS", 0)
    assert len(pushed) < 0.7 * len(by_candidates(layer, sets)[1])


def test_a_small_layer_is_left_to_the_search(rng, worth, monkeypatch):
    monkeypatch.setattr(whitened, "LEAST_SIZE", 251)
    assert by_candidates(make_layer(rng.normal(size=(50, 5)), rule="topk"), [[3]])[1] == [[3]]


def test_candidates_change_no_verdict(rng, worth, monkeypatch):
    weight = rng.normal(size=(60, 4)).round(1)  # some rows inside the hull of others, some equal
    weight[7] = weight[3]
    sets = [[i] for i in range(60)] + [sorted(rng.choice(60, 2, replace=False).tolist()) for _ in range(100)]
    with_candidates = lp.verify(weight, sets, rule="topk")
    with_candidates.check()
    monkeypatch.setattr(whitened, "LARGEST_SET", 0)
    assert np.array_equal(with_candidates.status, lp.verify(weight, sets, rule="topk").status)
    assert {0, 1} == set(with_candidates.status.tolist())


def test_equal_rows_are_a_conflict_of_two(rng, worth):
    weight = rng.normal(size=(40, 6))
    weight[[5, 9]] = weight[2]
    weight[11], weight[12] = 0.0, -0.0
    found, _ = by_candidates(make_layer(weight, rule="topk"), [[i] for i in range(40)])
    assert [found[i].conflict.tolist() for i in (5, 9, 11, 12)] == [[2, 5], [2, 9], [11, 12], [11, 12]]
    assert 2 in found[2].conflict.tolist()
    assert len(found[2].conflict) == 2


def test_rows_that_differ_in_their_bias_alone_are_no_twins(rng, worth):
    weight = np.repeat(rng.normal(size=(10, 10)), 2, axis=0)
    bias = np.tile([0.0, 1.0], 10)
    v = lp.verify(weight, [[i] for i in range(20)], bias=bias, rule="topk")
    assert v.status.tolist() == [0, 1] * 10


@pytest.mark.parametrize("options", [{"rule": "sigmoid"}, {"rule": "topk", "domain": "nonnegative"}])
def test_other_rules_and_domains_are_left_to_the_search(rng, worth, options):
    layer = make_layer(rng.normal(size=(50, 5)), **options)
    _, left = by_candidates(layer, [[i] for i in range(50)])
    assert len(left) == 50


def test_the_empty_set_large_sets_and_few_sets_are_left_to_the_search(rng, worth, monkeypatch):
    layer = make_layer(rng.normal(size=(50, 5)), rule="topk")
    _, left = by_candidates(layer, [[], list(range(40)), list(range(50))])
    assert left == [[], list(range(40)), list(range(50))]
    monkeypatch.setattr(whitened, "WORTH_A_SET", 1.0)
    assert by_candidates(layer, [[3]])[1] == [[3]]


def test_a_dead_feature_does_not_cost_the_proof(rng, worth):
    weight = rng.normal(size=(500, 16))
    weight[:, 3] = 1e-33 * rng.normal(size=500)
    weight[:, 5] = 0.25
    found, left = by_candidates(make_layer(weight, rule="topk"), [[i] for i in range(500)])
    assert len(left) < 250
    assert all(np.abs(one.witness).max() < 1e6 for one in found if one.witness is not None)


def test_equal_rows_alone_have_no_candidate(worth):
    layer = make_layer(np.ones((5, 3)), rule="topk")
    found, left = by_candidates(layer, [[0], [1, 2]])
    assert found[0].conflict.tolist() == [0, 4]
    assert left == [[1, 2]]
    assert whitened_points(layer, read_label_sets([[0], [1, 2]], 5)).shape == (2, 3)
