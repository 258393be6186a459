"""Generated data: Zipf frequencies, labels that occur together, words that tell the labels, the paper's mixtures."""

import numpy as np
import pytest

from labelproof.data import label_proportions, topic_data


def test_the_same_seed_gives_the_same_data():
    first, again, other = topic_data(seed=1), topic_data(seed=1), topic_data(seed=2)
    assert first.label_sets() == again.label_sets() != other.label_sets()
    assert (first.features != again.features).nnz == 0


@pytest.mark.parametrize("cardinality", [1.0, 4.0, 12.0])
def test_examples_have_as_many_labels_as_asked_for(cardinality):
    sizes = topic_data(3000, 300, 100, cardinality=cardinality).labels.sum(axis=1)
    assert abs(sizes.mean() - cardinality) < 4 * np.sqrt(cardinality / 3000)
    assert abs((sizes == 0).mean() - np.exp(-cardinality)) < 0.03


def test_label_frequencies_follow_zipf():
    counts = np.sort(topic_data(20_000, 500, 100).label_counts())[::-1].astype(float)
    ranks = np.arange(1, 501)
    slope = np.polyfit(np.log(ranks[9:300]), np.log(counts[9:300]), 1)[0]
    assert -1.25 < slope < -0.75


def pairs_beyond_chance(stray):
    """Mean lift of the pairs of labels that at least ten examples have: how much more often than by chance."""
    data = topic_data(5000, 200, 100, stray=stray)
    labels = data.labels.astype(np.int64)
    together = np.triu((labels.T @ labels).toarray(), 1)
    alone = np.outer(data.label_counts(), data.label_counts()) / len(data)
    return (together[together >= 10] / alone[together >= 10]).mean()


def test_labels_of_one_topic_occur_together():
    assert pairs_beyond_chance(stray=0.1) > 2 * pairs_beyond_chance(stray=1.0)


def test_words_tell_the_labels():
    data = topic_data(2000, 50, 2000)
    X, Y = data.features, data.labels.astype(np.float32)
    weights = np.log1p(len(data) / (1 + (X > 0).sum(axis=0)))
    centroids = (Y[:1500].T @ (X[:1500] * weights)) / np.maximum(Y[:1500].sum(axis=0), 1)[:, None]
    scores = (X[1500:] * weights) @ (centroids - centroids.mean(axis=0)).T
    best = np.asarray(scores.argmax(axis=1)).ravel()
    hits = Y[1500:].toarray()[np.arange(500), best]
    assert hits.mean() > 0.5


def test_twenty_thousand_labels_stay_sparse():
    data = topic_data(2000, 20_000, 5000, cardinality=10)
    assert data.n_labels == 20_000
    assert data.labels.nnz < 25_000
    assert data.features.dtype == np.float32


def test_fewer_labels_than_asked_for_are_all_used():
    sizes = topic_data(200, 3, 10, cardinality=20).labels.sum(axis=1)
    assert sizes.max() == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_examples": 0}, "n_examples must be at least 1, got 0"),
        ({"n_labels": 0}, "n_labels must be at least 1, got 0"),
        ({"n_features": -1}, "n_features must be at least 1, got -1"),
        ({"n_topics": 0}, "n_topics must be at least 1, got 0"),
        ({"cardinality": 0}, "cardinality and n_words must be positive"),
        ({"stray": 2}, "stray from 0 to 1, got 4.0, 60.0 and 2"),
    ],
)
def test_impossible_data_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        topic_data(**arguments)


# The sparsemax paper's mixtures


@pytest.mark.parametrize("mixture", ["uniform", "random"])
def test_mixtures_have_proportions_and_lengths(mixture):
    features, proportions = label_proportions(2000, 10, 200, mixture=mixture)
    np.testing.assert_allclose(proportions.sum(axis=1), 1)
    assert abs(features.sum(axis=1).mean() - 200) < 3
    sizes = (proportions > 0).sum(axis=1)
    one = 1 / (np.e - 1)  # Poisson(1) without 0: 1/(e − 1) have one label, half as many two
    assert abs((sizes == 1).mean() - one) < 0.04
    assert abs((sizes == 2).mean() - one / 2) < 0.04
    two = proportions[sizes == 2].max(axis=1)
    assert (two == 0.5).all() if mixture == "uniform" else (two > 0.5).all()


def test_words_are_those_of_the_mixture():
    features, proportions = label_proportions(1500, 5, 2000)
    words, *_ = np.linalg.lstsq(proportions, features / features.sum(axis=1, keepdims=True), rcond=None)
    left = features / features.sum(axis=1, keepdims=True) - proportions @ words
    assert np.abs(left).mean() < 2 * np.sqrt(0.2 * 0.8 / 2000)


def test_mixtures_that_cannot_be_are_refused():
    with pytest.raises(ValueError, match="mixture must be 'uniform' or 'random', got 'equal'"):
        label_proportions(mixture="equal")
    with pytest.raises(ValueError, match=r"n_labels must be at least 1 and length positive, got 0 and 200\.0"):
        label_proportions(n_labels=0)
