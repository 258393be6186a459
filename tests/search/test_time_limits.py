"""Time limits are kept by every part of the search, measured on a clock that moves only when it is told to."""

import math

import numpy as np
import pytest

import labelproof as lp
from labelproof.proof.conflicts import conflict_faults
from labelproof.proof.labels import read_label_sets
from labelproof.proof.regions import make_layer
from labelproof.search import active_set_kernels, engine, few_features, many_bits, propose, time_limits
from labelproof.search.findings import Finding
from labelproof.search.least_norm import Box, nearest_point
from labelproof.search.scaled_points import ScaledPoints
from labelproof.search.systems import search_system
from labelproof.search.time_limits import OutOfTimeError, deadline_after, stop_after, time_left
from labelproof.theory.dft import dft_matrix


class Clock:
    """Seconds that pass when somebody waits, and a little whenever somebody looks."""

    def __init__(self, seconds_a_look=0.0):
        self.seconds, self.compiled, self.seconds_a_look = 100.0, 0.0, seconds_a_look

    def perf_counter(self):
        self.seconds += self.seconds_a_look
        return self.seconds

    def wait(self, seconds):
        self.seconds += seconds


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(time_limits, "time", clock)
    monkeypatch.setattr(time_limits, "seconds_of_compilation", lambda: clock.compiled)
    return clock


def gaussian(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).normal(size=shape)


def test_what_is_compiled_meanwhile_does_not_count(clock):
    start, deadline = time_limits.now(), deadline_after(2.0)
    clock.wait(5.0)
    clock.compiled = 4.5
    assert time_left(2.0, start, 1) == pytest.approx(1.5)
    stop_after(deadline)
    clock.wait(2.0)
    with pytest.raises(OutOfTimeError):
        stop_after(deadline)


def test_a_deadline_stops_what_would_pass_it(clock):
    deadline = deadline_after(2.0)
    stop_after(deadline)
    stop_after(deadline, cost=1.9)
    with pytest.raises(OutOfTimeError):
        stop_after(deadline, cost=2.1)
    clock.wait(2.0)
    with pytest.raises(OutOfTimeError):
        stop_after(deadline)
    stop_after(deadline_after(None), cost=1e9)


def test_each_label_set_of_many_pays_its_share(clock):
    start = time_limits.now()
    clock.wait(6.0)
    assert time_left(5.0, start, 3) == 3.0
    assert time_left(1.0, start, 3) == 0.0
    assert time_left(None, start, 3) is None


def test_rounds_with_more_features_share_one_time_limit(clock, monkeypatch):
    monkeypatch.setattr(few_features, "WIDE", 8)
    layer = make_layer(-np.random.default_rng(0).uniform(1, 2, (2, 1000)))
    sets = read_label_sets([[0], [1]], 2)
    given = []

    def decide(narrow, some, seconds):
        given.append(seconds)
        clock.wait(3.0 * len(some))
        return [Finding(conflict=np.array([0, 1]))] * len(some)

    monkeypatch.setattr(few_features, "_pulls", lambda layer, *_: np.arange(1.0, layer.d + 1))
    answers = few_features.search_few_features(layer, few_features.first_features(layer), sets, decide, 10.0)
    assert given == [10.0, 7.0, 4.0, 1.0]
    assert [answer.reason for answer in answers] == ["no proof within the time limit of 10.0 s"] * 2


def test_a_conflict_that_takes_too_long_to_lift_or_to_prove_is_undecided(clock, monkeypatch):
    monkeypatch.setattr(few_features, "WIDE", 8)
    weight = -np.random.default_rng(0).uniform(1, 2, (3, 60))
    given = make_layer(weight, domain="nonnegative"), read_label_sets([[0]], 3), 1, 10.0, lambda _: None
    assert engine._decide_wide(*given)[0].conflict is not None
    for module, name in ((few_features, "SECONDS_OF_A_DEPENDENCE"), (engine, "SECONDS_A_NUMBER")):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, 1.0)
            (found,) = engine._decide_wide(*given)
            assert found.conflict is None
            assert found.reason == "no proof within the time limit of 10.0 s"


def test_the_finer_searches_have_what_the_first_one_left(clock, monkeypatch):
    first, deadlines = engine.search, []

    def slow_search(*arguments, **options):
        clock.wait(1.4)
        guesses = first(*arguments, **options)
        guesses.outcome[:] = -1
        return guesses

    monkeypatch.setattr(engine, "search", slow_search)
    monkeypatch.setattr(engine, "_escalate", lambda *all: deadlines.append(all[3]))
    found = lp.verify(np.eye(2), [[0], [1]], time_limit=1.0)
    assert deadlines == [pytest.approx(clock.seconds + 0.3)] * 2
    assert [found[i].reason for i in range(2)] == ["no proof within the time limit of 1.0 s"] * 2


def terms(n_labels, d):
    return np.maximum(gaussian(n_labels, d), 0) - 0.3 * np.maximum(gaussian(n_labels, d, seed=1), 0)


REGIMES = {
    "few features": (np.round(3 * gaussian(200, 8)), range(20), {"ties": "inactive"}),
    "rows": (gaussian(400, 40), range(60), {}),
    "more bits": (dft_matrix(300, 20), range(0, 300, 15), {}),
    "many features": (gaussian(300, 2500), range(100), {}),
    "columns": (terms(80, 2500), range(40), {"domain": "nonnegative", "bias": np.full(80, -1.0)}),
    "boxes": (terms(80, 2500), range(40), {"domain": (0.0, 1e-3), "bias": np.full(80, -1.0)}),
    "a ball": (terms(80, 2500), range(40), {"domain": "unit", "bias": np.full(80, -1.0)}),
    "a small ball": (gaussian(80, 30), range(40), {"domain": ("ball", 1.0), "bias": np.full(80, -1.0)}),
    "topk": (gaussian(400, 40), range(60), {"rule": "topk"}),
    "sparsemax": (gaussian(200, 30), range(40), {"rule": "sparsemax", "bias": gaussian(200)}),
}


@pytest.mark.parametrize("looks", [3, 30, 300])
@pytest.mark.parametrize("regime", list(REGIMES))
def test_whatever_is_going_on_ends_soon_after_the_limit(clock, regime, looks):
    weight, active, options = REGIMES[regime]
    clock.seconds_a_look, start = 1.0, clock.seconds
    v = lp.verify(weight, [list(active)], time_limit=float(looks), n_jobs=1, **options)
    assert clock.seconds - start <= 1.2 * looks + 12  # what was begun is packed up
    assert v.status[0] >= 0 or v[0].reason.startswith("no proof within the time limit of")


def test_a_conflict_is_not_solved_exactly_without_the_time_for_it(clock, monkeypatch):
    layer = make_layer([[1.0, 3.0], [2.0, 6.0], [-1.0, -3.0]])  # floats cannot tell: there are two dependences
    sets, rows = read_label_sets([[0, 1, 2]], 3), np.array([0, 2])
    asked = []
    fault = conflict_faults(layer, sets, [rows], lambda size: bool(asked.append(size)))[0]
    assert asked == [2]
    assert fault.endswith("and no time for an exact solve")
    assert conflict_faults(layer, sets, [rows], lambda _: True) == [None]
    monkeypatch.setattr(engine, "SECONDS_OF_A_SOLUTION", 1.0)
    assert engine._may_solve(9.0, 2)
    assert not engine._may_solve(8.0, 2)
    assert engine._may_solve(None, 1000)


def test_a_narrow_layer_that_there_is_no_time_to_prepare_is_not_made(clock, monkeypatch):
    monkeypatch.setattr(few_features, "SECONDS_OF_A_NUMBER", 1.0)
    layer, sets = make_layer(gaussian(2, 50)), read_label_sets([[0]], 2)
    answers = few_features.search_few_features(layer, np.arange(4), sets, lambda *_: pytest.fail("asked"), 23.9)
    assert [answer.reason for answer in answers] == ["no proof within the time limit of 23.9 s"]


def test_the_preparation_of_a_narrow_layer_ends_at_the_deadline(clock, monkeypatch):
    monkeypatch.setattr(few_features, "WIDE", 8)
    layer, sets = make_layer(gaussian(2000, 60), domain="nonnegative"), read_label_sets([[0]], 2000)
    clock.seconds_a_look = 1.0
    with pytest.raises(OutOfTimeError):
        search_system(layer, deadline_after(2.0))
    assert len(search_system(layer, deadline_after(100.0)).rows) == 2060
    monkeypatch.setattr(engine, "decide", lambda *_, **__: pytest.fail("searched"))
    (found,) = engine._decide_wide(layer, sets, 1, 8.0, lambda _: None)
    assert found.reason == "no proof within the time limit of 8.0 s"


def test_points_of_few_columns_are_given_up_at_the_deadline(clock):
    G, t = gaussian(60, 40), np.ones(60)
    box = Box(np.zeros(40), np.ones(40), np.full(40, -1.0), np.ones(40))
    clock.seconds_a_look = 1.0
    with pytest.raises(OutOfTimeError):
        nearest_point(G, t, box, t, t < 0, tolerance=0.0, deadline=deadline_after(5.0))
    rows, n = ScaledPoints(np.arange(40), np.zeros(40), np.full(40, np.inf)), np.arange(300)
    rows.add(gaussian(300, 40), np.empty(0), 0.0, n, np.ones(300), np.ones(300))
    with pytest.raises(OutOfTimeError):
        rows.solve(deadline_after(2.0))


def searched(weight, active, deadline):
    layer = make_layer(weight)
    system = search_system(layer)
    sets = read_label_sets([active], layer.n_labels)
    return propose.search_one(layer, system, sets, np.empty(0, np.int64), deadline)


@pytest.mark.parametrize(("active", "outcome"), [(range(40), 0), ([], 1)])
def test_a_search_in_slices_ends_like_one_without(clock, monkeypatch, active, outcome):
    weight = np.abs(gaussian(120, 30)) if outcome else gaussian(120, 30)
    monkeypatch.setattr(time_limits, "SHARE_OF_A_SLICE", 0.0)  # one step at a time
    whole, sliced = (searched(weight, active, deadline) for deadline in (math.inf, deadline_after(1.0)))
    assert whole.outcome.tolist() == sliced.outcome.tolist() == [outcome]
    assert sliced.outcome[0] == 0 or (weight @ sliced.points[0] < 0).all()


def test_a_search_is_given_up_within_a_slice_of_its_deadline(clock, monkeypatch):
    calls, kernel = [], active_set_kernels.dual_active_set

    def counted(*arguments):
        calls.append(arguments)
        clock.wait(1.0)
        return kernel(*arguments)

    monkeypatch.setattr(active_set_kernels, "dual_active_set", counted)
    monkeypatch.setattr(time_limits, "SHARE_OF_A_SLICE", 0.0)
    with pytest.raises(OutOfTimeError):
        searched(gaussian(120, 30), range(40), deadline_after(3.0))
    assert len(calls) == 3


def test_extended_rows_are_built_in_as_many_attempts_as_it_takes(clock):
    layer = make_layer(gaussian(100, 4), bias=gaussian(100), domain="nonnegative")
    system = search_system(layer)
    rows, whole = (many_bits.ExtendedRows(layer, system) for _ in range(2))
    whole.build(math.inf)
    clock.seconds_a_look = 1.0
    attempts = 1
    while True:
        try:
            rows.build(deadline_after(3.0))
            break
        except OutOfTimeError:
            attempts += 1
    assert attempts == 4  # of 105 rows, 32 at a time
    places, signs = list(range(105)), [1] * 105
    assert rows.some(places, signs).tolist() == whole.some(places, signs).tolist()


def test_a_matrix_whose_inverse_takes_too_long_is_not_inverted(clock, monkeypatch):
    layer = make_layer(gaussian(30, 20))
    rows = many_bits.ExtendedRows(layer, search_system(layer))
    active, start = np.arange(5), np.arange(10)
    outcome, *_ = many_bits.search_extended(rows, 384, active, start, deadline_after(1.0))
    assert outcome in {0, 1}
    monkeypatch.setattr(many_bits, "SECONDS_OF_AN_INVERSE", 1.0)
    with pytest.raises(OutOfTimeError):
        many_bits.search_extended(rows, 384, active, start, deadline_after(1.0))
