"""The search in twice the digits of a float: verdicts where floats fail, and none where its rows are not exact."""

from fractions import Fraction
from math import inf

import numpy as np
import pytest

import labelproof as lp
from labelproof.proof.conflicts import conflict_faults
from labelproof.proof.labels import read_label_sets
from labelproof.proof.regions import make_layer
from labelproof.search import doubled, engine, time_limits
from labelproof.search.doubled import DoubledRows, search_doubled
from labelproof.search.doubled_kernels import doubled_products
from labelproof.search.systems import search_system
from labelproof.search.time_limits import OutOfTimeError
from labelproof.theory.dft import dft_matrix

NOTHING = np.empty(0, np.int64)


def doubled_rows(weight, **options):
    layer = make_layer(weight, **options)
    return DoubledRows(layer, search_system(layer))


def random_sets(n_labels, k, n_sets):
    rng = np.random.default_rng(k)
    return [np.sort(rng.choice(n_labels, k, replace=False)) for _ in range(n_sets)]


@pytest.mark.parametrize(
    "options",
    [{}, {"rule": "topk"}, {"bias": np.linspace(0, 1, 90)}, {"domain": "nonnegative"}, {"rule": "sparsemax"}],
)
def test_its_outcomes_are_those_of_the_search_in_floats(options):
    rng = np.random.default_rng(0)
    weight = rng.normal(size=(90, 18))
    rows = doubled_rows(weight, **options)
    bias = options.get("bias", 0.0)
    sets = [np.flatnonzero(weight @ x + bias > 0) for x in np.abs(rng.normal(size=(4, 18)))] + random_sets(90, 40, 4)
    known = lp.verify(weight, sets, **options).status.tolist()
    assert {*known} == {0, 1}
    for active, status in zip(sets, known, strict=True):
        outcome, point, numbers = search_doubled(rows, active, NOTHING, inf)
        assert outcome == status
        if outcome == 1:
            assert_active_above(rows, active, point)
        else:
            assert conflict_faults(rows.layer, read_label_sets([active], 90), [np.sort(numbers)]) == [None]


def assert_active_above(rows, active, point):
    """Every row of the search is on its side, in exact arithmetic."""
    for i, row in enumerate(rows.rows.tolist()):
        value = sum(Fraction(a) * b for a, b in zip(row, point, strict=True))
        assert value > 0 if i in active or i >= 90 else value < 0


def test_pure_dft_layers_at_full_load_need_no_more_bits(monkeypatch):
    monkeypatch.setattr(engine, "search_extended", lambda *_: pytest.fail("more bits were asked for"))
    v = lp.verify(dft_matrix(700, 30), random_sets(700, 30, 4))
    assert (v.status >= 0).all()
    v.check()


def test_products_cancel_to_what_is_left():
    row, v = np.array([[1.0, -1.0, 2.0**-60, 3.0]]), np.array([[1e20, 1e20, 2.0**60, 1.0], [1.0, 0.0, 0.0, 2.0**-60]])
    found = np.empty(1)
    doubled_products(row, v, found)
    assert found[0] == 5.0  # 1e20 − 1e20 + 1 + 1 + 3 + 3·2**-60


@pytest.mark.parametrize(
    ("weight", "options"),
    [
        (np.eye(3), {"domain": (0.5, 1.0)}),
        (np.eye(3), {"domain": (0.0, 0.0)}),
        (np.eye(3), {"bias": [0.1, 1.0, 1.0], "thresholds": [0.3, 0.5, 0.5]}),
        (np.eye(3), {"rule": "sparsemax", "bias": [1.0, 1.0, 1.0]}),
        (np.eye(3, 2), {"ties": "inactive"}),  # the last label is always inactive
        ([[1e300, 5e-324], [1e300, 0.0]], {}),
    ],
)
def test_there_are_no_rows_where_floats_or_labels_are_not_all(weight, options):
    rows = doubled_rows(weight, **options)
    assert rows.rows is None
    assert search_doubled(rows, np.array([0]), np.array([1]), inf) == (-1, [], np.array([1]))


def test_there_are_no_rows_of_more_numbers_than_are_worth_it(monkeypatch):
    monkeypatch.setattr(doubled, "MOST_NUMBERS", 8)
    assert doubled_rows(np.eye(3)).rows is None
    assert doubled_rows(np.eye(2)).rows is not None


def test_it_gives_up_at_the_deadline_between_two_slices(monkeypatch):
    looks = []

    class Clock:
        def perf_counter(self):
            looks.append(None)
            return float(len(looks))

    monkeypatch.setattr(time_limits, "time", Clock())
    monkeypatch.setattr(time_limits, "seconds_of_compilation", lambda: 0.0)
    monkeypatch.setattr(time_limits, "SHARE_OF_A_SLICE", 0.0)  # a step at a time
    rows = doubled_rows(np.random.default_rng(0).normal(size=(90, 18)))
    with pytest.raises(OutOfTimeError):
        search_doubled(rows, np.arange(30), NOTHING, 7.0)
    assert len(looks) == 7


def test_too_many_steps_are_no_outcome(monkeypatch):
    monkeypatch.setattr(doubled, "MOST_ROUNDS", 1)
    weight = np.random.default_rng(0).normal(size=(400, 12))
    outcome, point, numbers = search_doubled(doubled_rows(weight), np.arange(2), NOTHING, inf)
    assert (outcome, point) == (-1, [])
    assert {*numbers.tolist()} <= {0, 1}
