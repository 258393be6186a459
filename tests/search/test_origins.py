"""The search begins where most labels are off, if there is such a point; verdicts do not depend on it."""

import numpy as np
import pytest

import labelproof as lp
from labelproof.proof.labels import read_label_sets
from labelproof.proof.regions import make_layer
from labelproof.search import origins, propose
from labelproof.search.origins import DISTANCE, origin
from labelproof.search.systems import search_system

RNG = np.random.default_rng(3)
TILTED = np.column_stack([np.full(600, -2.0), RNG.normal(size=(600, 20))])
SETS = [sorted(RNG.choice(600, k, replace=False).tolist()) for k in (0, 1, 3, 5, 10, 11, 60)]


def test_most_labels_are_off_at_the_origin_and_far_from_their_boundaries():
    rows = TILTED / np.linalg.norm(TILTED, axis=1)[:, None]
    v = origin(rows, 600)
    assert (rows @ v < 0).all()
    assert np.median(rows @ v) == pytest.approx(-DISTANCE)


def test_rows_that_are_no_labels_hold_there():
    system = search_system(make_layer(TILTED, bias=np.full(600, -1.0), domain=(-2.0, 2.0)))
    assert len(system.rows) > 600
    reached = system.rows @ system.origin
    assert (reached[:600] < 0).mean() > 0.9
    assert reached[600] > 0  # the scale


@pytest.mark.parametrize(
    "rows",
    [RNG.normal(size=(600, 20)), np.concatenate([TILTED, -TILTED]), np.zeros((5, 3)), np.empty((0, 3))],
    ids=["random", "opposed", "zeros", "none"],
)
def test_without_such_a_point_the_origin_is_zero(rows):
    assert not origin(rows, len(rows)).any()


def test_a_few_rows_of_many_are_enough(monkeypatch):
    rows = TILTED / np.linalg.norm(TILTED, axis=1)[:, None]
    monkeypatch.setattr(origins, "MORE_ROWS", 50)
    assert (rows @ origin(rows, 600) < 0).mean() > 0.95


def test_the_least_squares_are_those_of_the_normal_equations():
    G, wanted = RNG.normal(size=(40, 7)), RNG.normal(size=40)
    expected = np.linalg.solve(G.T @ G + 3.0 * np.eye(7), G.T @ wanted)
    np.testing.assert_allclose(origins._least_squares(G, wanted, 3.0), expected, rtol=1e-8)


@pytest.mark.parametrize(
    "options",
    [{}, {"bias": RNG.normal(size=600) - 1}, {"rule": "topk"}, {"rule": "sparsemax"}, {"domain": (-1.0, 2.0)}],
)
def test_verdicts_do_not_depend_on_where_the_search_begins(options, monkeypatch):
    x = RNG.normal(size=(12, 21))
    x[:, 0] = np.abs(x[:, 0]) + 2
    sets = [*SETS, *(np.flatnonzero(row > 0).tolist() for row in x @ TILTED.T)]
    v = lp.verify(TILTED, sets, **options)
    v.check()
    monkeypatch.setattr("labelproof.search.systems.origin", lambda rows, _: np.zeros(rows.shape[1]))
    other = lp.verify(TILTED, sets, **options)
    np.testing.assert_array_equal(v.status, other.status)
    assert set(v.status.tolist()) == {0, 1}


def test_sets_of_many_labels_begin_at_zero(monkeypatch):
    begins = []

    def stop(*arguments):
        begins.append(arguments[-1].copy())
        raise InterruptedError

    monkeypatch.setattr("labelproof.search.block_kernels.search_block", stop)
    layer = make_layer(TILTED)
    system = search_system(layer)
    with pytest.raises(InterruptedError):
        propose.search(layer, system, read_label_sets(SETS, 600), np.empty(0, np.int64))
    (points,) = begins
    assert points.any(axis=1).tolist() == [True, True, True, True, True, False, False]
