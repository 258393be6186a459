"""The active-set method keeps an orthonormal basis of its active rows, and what each direction is made of."""

import numpy as np
import pytest

from labelproof.search.active_set_kernels import CONFLICT, SOLVED, STOPPED, dual_active_set


class Search:
    """The state of `dual_active_set`, and where it stands."""

    def __init__(self, G, n_equal=0):
        m = G.shape[1]
        self.G, self.n_equal, self.q, self.outcome = G, n_equal, 0, STOPPED
        self.v, self.QT, self.L = np.zeros(m), np.zeros((m, m)), np.zeros((m, m))
        self.lam, self.active, self.multipliers = np.zeros(m + 1), np.zeros(m + 1, np.int64), np.zeros(m + 1)

    def go_on(self, steps):
        targets = np.ones(len(self.G))
        targets[: self.n_equal] = 0.0
        state = self.v, self.QT, self.L, self.lam, self.active
        self.outcome, self.q, done, self.entering = dual_active_set(
            self.G, targets, self.n_equal, *state, self.q, 1.0, 1e-9, steps, self.multipliers
        )
        return done


def unit_rows(n, m, seed, shift=0.0):
    rows = np.random.default_rng(seed).normal(size=(n, m))
    rows[:, 0] += shift  # which they have in common, so that there is a point at which all hold
    return rows / np.linalg.norm(rows, axis=1)[:, None]


@pytest.mark.parametrize("n_equal", [0, 2])
@pytest.mark.parametrize("m", [4, 5, 7, 20])
def test_directions_are_orthonormal_and_made_of_active_rows_after_every_step(m, n_equal):
    n_dropped = 0
    for seed in range(20):
        search = Search(unit_rows(5 * m, m, seed, shift=seed / 10), n_equal)
        while search.outcome == STOPPED:
            n_dropped += search.go_on(1) - 1  # every turn of a step but the last drops a row
            q, QT, L = search.q, search.QT, search.L
            assert not np.triu(L, 1).any()
            np.testing.assert_allclose(QT[:q] @ QT[:q].T, np.eye(q), atol=1e-12)
            made = L[:q, :q] @ search.G[search.active[:q]]
            np.testing.assert_allclose(made, QT[:q], atol=1e-12 * np.abs(L).max())
    assert n_dropped > 0, "no row was ever dropped, so rotations were not tested"


def test_the_rows_of_a_conflict_add_up_to_zero_with_its_multipliers():
    for seed in range(20):
        search = Search(unit_rows(40, 6, seed))
        search.go_on(10_000)
        assert search.outcome == CONFLICT
        rows = search.G[[*search.active[: search.q], search.entering]]
        weights = np.append(search.multipliers[: search.q], 1.0)
        assert (weights >= -1e-11).all()
        np.testing.assert_allclose(weights @ rows, 0.0, atol=1e-9)


def test_a_solution_is_the_nearest_point_at_which_all_rows_hold():
    for seed in range(20):
        G = unit_rows(40, 6, seed, shift=4.0)
        search = Search(G)
        search.go_on(10_000)
        assert search.outcome == SOLVED
        assert (G @ search.v >= 1 - 1e-8).all()
        weights, rows = search.lam[: search.q], G[search.active[: search.q]]
        assert (weights > 0).all()
        np.testing.assert_allclose(weights @ rows, search.v, atol=1e-9 * np.linalg.norm(search.v))
