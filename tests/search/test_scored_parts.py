"""Rows may be scored a part at a time: every row is in one part, and verdicts are those of all rows at once."""

import numpy as np
import pytest

import labelproof as lp
from labelproof.proof.regions import make_layer
from labelproof.search import systems
from labelproof.search.systems import search_system


@pytest.mark.parametrize("tile", [1, 3, 128])
@pytest.mark.parametrize("n_labels", [7, 8, 9, 40])
def test_every_row_is_in_one_part_and_the_rest_is_zero(n_labels, tile, monkeypatch):
    monkeypatch.setattr(systems, "ROWS_A_PART", 1)
    monkeypatch.setattr(systems, "ROWS_A_TILE", tile)
    weight = np.random.default_rng(n_labels).normal(size=(n_labels, 2))
    system = search_system(make_layer(weight, domain=(-1.0, 2.0)))
    parts = system.scored_parts
    n_parts, n_tiles, width, size = parts.shape
    assert n_parts == min(4, len(system.rows) // system.width)
    assert size <= tile
    rows = parts.transpose(1, 3, 0, 2).reshape(n_tiles * size * n_parts, width)
    np.testing.assert_array_equal(rows[: len(system.rows)], system.rows.astype(np.float32))
    assert not rows[len(system.rows) :].any()


def test_only_layers_of_many_labels_are_scored_in_parts():
    for n_labels, n_parts in ((100, 1), (159, 1), (160, 2), (320, 4), (1000, 4)):
        layer = make_layer(np.random.default_rng(0).normal(size=(n_labels, 2)))
        assert len(search_system(layer).scored_parts) == n_parts


@pytest.mark.parametrize("rule", ["sigmoid", "topk", "sparsemax"])
@pytest.mark.parametrize("domain", [None, "nonnegative", (np.array([0.5, -1.0, 0.0]), np.array([0.5, 2.0, np.inf]))])
@pytest.mark.parametrize("ties", ["open", "inactive"])
def test_verdicts_depend_neither_on_the_number_of_parts_nor_on_their_tiles(rule, domain, ties, monkeypatch):
    rng = np.random.default_rng(3)
    weight = rng.normal(size=(41, 3))
    weight[:5] = 0.0  # rows that hold, or not, at every input
    points = rng.normal(size=(60, 3)).clip(-1, 2)
    points[:, 0] = 0.5
    sets = [np.flatnonzero(row > np.sort(row)[-4]).tolist() for row in points @ weight.T]
    sets += [rng.choice(41, 3, replace=False).tolist() for _ in range(60)]
    found = []
    for most, tile in ((1, 128), (1, 4), (2, 128), (3, 1), (4, 5)):
        monkeypatch.setattr(systems, "ROWS_A_PART", 1)
        monkeypatch.setattr(systems, "ROWS_A_TILE", tile)
        monkeypatch.setattr(systems, "MOST_PARTS", most)
        v = lp.verify(weight, sets, rule=rule, domain=domain, ties=ties)
        v.check()
        found.append(v.status.tolist())
    assert -1 not in found[0]
    assert found == [found[0]] * 5
