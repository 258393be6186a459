"""Under ties="inactive" a region may be a face without an inside; that is decided too, and soon."""

import numpy as np
import pytest

import labelproof as lp
from labelproof.search import engine


def layer_with_a_face(n, d, seed=0):
    """Return integer weights with pairs of opposite rows that vanish at a point, and the label set of the point."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 4, d)
    x[0] = 1
    weight = rng.integers(-3, 4, (n, d)).astype(float)
    for k in range(d // 5):
        weight[2 * k, 0] -= weight[2 * k] @ x
        weight[2 * k + 1] = -weight[2 * k]
    return weight, np.flatnonzero(weight @ x > 0).tolist()


@pytest.mark.parametrize("domain", [None, "nonnegative"])
@pytest.mark.parametrize(("n", "d"), [(30, 6), (150, 20), (150, 30)])
def test_a_face_is_found_and_proven_with_no_search_in_many_bits(n, d, domain, monkeypatch):
    monkeypatch.setattr(engine, "_finer_searches", lambda *_: pytest.fail("the boundary was not enough"))
    weight, labels = layer_with_a_face(n, d)
    v = lp.verify(weight, [labels], ties="inactive", domain=domain, n_jobs=1)
    assert v.status.tolist() == [1]
    v.check()
    assert lp.verify(weight, [labels], ties="open", domain=domain, n_jobs=1).status.tolist() == [0]


@pytest.mark.parametrize("domain", [None, "nonnegative"])
def test_verdicts_beside_a_face_are_those_of_exact_steps(domain, monkeypatch):
    weight, labels = layer_with_a_face(60, 8)
    sets = [labels] + [sorted(set(labels) ^ {i}) for i in range(0, 60, 4)]
    v = lp.verify(weight, sets, ties="inactive", domain=domain, n_jobs=1)
    v.check()
    monkeypatch.setattr(engine, "_any_strict", lambda *_: True)
    expected = lp.verify(weight, sets, ties="inactive", domain=domain, n_jobs=1)
    assert v.status.tolist() == expected.status.tolist()
    assert {0, 1} == set(v.status.tolist())
