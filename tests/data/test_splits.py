"""Splits: shares are kept, groups and times too, labels are spread evenly, and the same seed gives the same parts."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from labelproof.data import (
    iterative_stratification,
    label_deviation,
    split_at_random,
    split_at_times,
    split_by_group,
    split_by_time,
    topic_data,
)

PARTS = {"train": 0.6, "valid": 0.2, "test": 0.2}


def published_algorithm(labels, share, order, ties):
    """Iterative stratification as the paper states it, on sets of examples; order and ties as in ours."""
    remaining = [set(np.flatnonzero(row).tolist()) for row in labels]
    left = [i for i in order if remaining[i]]
    wanted = np.outer(labels.sum(axis=0), share)
    size = len(labels) * np.asarray(share)
    part_of = {}
    while left:
        counts = {}
        for i in left:
            for label in remaining[i]:
                counts[label] = counts.get(label, 0) + 1
        label = min(counts, key=lambda name: (counts[name], name))
        for i in [i for i in left if label in remaining[i]]:
            best = np.flatnonzero(wanted[label] == wanted[label].max())
            best = best[size[best] == size[best].max()]
            part = int(best[int(ties[i] * len(best))])
            part_of[i] = part
            size[part] -= 1
            for other in remaining[i]:
                wanted[other, part] -= 1
        left = [i for i in left if i not in part_of]
    return part_of


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 40), st.integers(1, 8), st.sampled_from([(1, 1), (3, 1), (2, 1, 1)]))
def test_the_compiled_algorithm_is_the_published_one(seed, n, n_labels, shares):
    labels = np.random.default_rng(seed).random((n, n_labels)) < 0.4
    parts = {str(i): share for i, share in enumerate(shares)}
    split = iterative_stratification(labels, parts, seed=seed)
    rng = np.random.default_rng(seed)  # the draws that ours makes
    order, ties = rng.permutation(n), rng.random(n)
    expected = published_algorithm(labels, np.array(shares) / sum(shares), order.tolist(), ties)
    assert {i: int(split[i]) for i in expected} == expected


def test_every_part_gets_its_share_of_every_label():
    data = topic_data(3000, 40, 50)
    split = iterative_stratification(data.labels, PARTS)
    counts = data.label_counts()
    for name, share in PARTS.items():
        part = np.asarray(data.labels[split == name].sum(axis=0))
        assert (np.abs(part - share * counts) <= 1 + 0.03 * counts).all()
        assert abs((split == name).mean() - share) < 0.005
    assert label_deviation(data.labels, split) < 0.3 * label_deviation(data.labels, split_at_random(3000, PARTS))


def test_a_label_of_two_examples_is_in_both_halves():
    labels = np.zeros((100, 50), bool)
    labels[np.arange(100), np.arange(100) % 50] = True
    split = iterative_stratification(labels, {"a": 1, "b": 1})
    assert (labels[split == "a"].sum(axis=0) == 1).all()


def test_examples_without_labels_fill_what_is_left():
    labels = scipy.sparse.csr_array((10, 3), dtype=bool)
    assert sorted(iterative_stratification(labels, {"a": 0.3, "b": 0.7}).tolist()) == ["a"] * 3 + ["b"] * 7


def test_groups_stay_together_and_labels_are_still_spread():
    data = topic_data(4000, 20, 50)
    groups = np.random.default_rng(0).integers(800, size=4000)
    split = iterative_stratification(data.labels, {"train": 0.8, "test": 0.2}, groups=groups)
    for group in range(800):
        assert len(set(split[groups == group])) <= 1
    by_group = split_by_group(groups, {"train": 0.8, "test": 0.2})
    assert label_deviation(data.labels, split) < 0.7 * label_deviation(data.labels, by_group)
    assert abs((split == "test").mean() - 0.2) < 0.02


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 6), min_size=1, max_size=60), st.integers(0, 99))
def test_no_group_is_torn_apart(groups, seed):
    split = split_by_group(groups, PARTS, seed=seed)
    assert len({(group, part) for group, part in zip(groups, split.tolist(), strict=True)}) == len(set(groups))


@pytest.mark.parametrize("n", [0, 1, 7, 1000])
def test_random_parts_have_their_sizes(n):
    split = split_at_random(n, PARTS)
    for name, share in PARTS.items():
        assert abs((split == name).sum() - share * n) <= 1


def test_the_seed_decides():
    data = topic_data(300, 20, 50)
    for split in (
        lambda seed: iterative_stratification(data.labels, PARTS, seed=seed),
        lambda seed: split_at_random(300, PARTS, seed=seed),
        lambda seed: split_by_group(np.arange(300) // 2, PARTS, seed=seed),
    ):
        assert (split(1) == split(1)).all()
        assert (split(1) != split(2)).any()


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1990, 2000), min_size=1, max_size=50))
def test_no_part_reaches_back_in_time(years):
    years = np.array(years)
    split = split_by_time(years, PARTS)
    ranks = np.array([list(PARTS).index(part) for part in split])
    for early, late in ((0, 1), (1, 2), (0, 2)):
        if (ranks == early).any() and (ranks == late).any():
            assert years[ranks == early].max() < years[ranks == late].min()


def test_times_without_ties_give_exact_shares():
    split = split_by_time(np.random.default_rng(0).permutation(100), PARTS)
    assert [(split == name).sum() for name in PARTS] == [60, 20, 20]


def test_cuts_at_given_times():
    times = ["2025-07-31", "2024-01-01", "2025-08-01", "2025-09-01"]
    starts = {"train": None, "valid": "2025-07-01", "test": "2025-08-01"}
    assert split_at_times(times, starts).tolist() == ["valid", "train", "test", "test"]


def test_numbers_given_as_text_have_the_order_of_numbers():
    times = ["9", "10", "8", "11"]
    assert split_by_time(times, {"train": 0.5, "test": 0.5}).tolist() == ["train", "test", "train", "test"]
    for cut in ("10", 10):
        assert split_at_times(times, {"train": None, "test": cut}).tolist() == ["train", "test", "train", "test"]
    assert split_at_times(times, {"a": None, "b": "9", "c": "10"}).tolist() == ["b", "c", "a", "c"]
    assert split_at_times(["b", "a"], {"train": None}).tolist() == ["train"] * 2


@pytest.mark.parametrize("starts", [{}, {"a": 1}, {"a": None, "b": None}, {"a": None, "b": 3, "c": 2}])
def test_cuts_that_do_not_ascend_are_refused(starts):
    with pytest.raises(ValueError, match="starts must be None for the first part and ascend"):
        split_at_times([1, 2], starts)


@pytest.mark.parametrize("parts", [{}, {"a": 0}, {"a": 1, "b": -1}, {"a": float("nan")}])
def test_shares_that_are_not_positive_are_refused(parts):
    with pytest.raises(ValueError, match="parts must name positive shares"):
        split_at_random(3, parts)


@pytest.mark.parametrize(
    ("labels", "message"),
    [([[1, -1], [1, 1]], "labels must be 0 or 1, got -1"), ([1, 0], r"labels must have shape .*, got \(2,\)")],
)
def test_what_are_no_labels_is_refused(labels, message):
    with pytest.raises(ValueError, match=message):
        iterative_stratification(labels, PARTS)


def test_groups_of_another_length_are_refused():
    with pytest.raises(ValueError, match="groups must hold 2 examples to match labels, got 1"):
        iterative_stratification(np.eye(2), PARTS, groups=["a"])
