"""Generated data: topics whose labels occur together, and the label-proportion mixtures of the sparsemax paper."""

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from labelproof.data.dataset import Dataset
from labelproof.foundation.arguments import check_choice

__all__ = ["label_proportions", "topic_data"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
WORDS_OF_LABEL, WORDS_OF_TOPIC = 8, 40
TOPICS = (
    "music travel cooking football history physics gardening cinema health banking weather chess sailing painting "
    "law farming energy theatre climbing poetry railways fashion geology fishing housing tennis robots castles "
    "birds chemistry elections insurance dance jazz oceans archaeology cycling textiles astronomy schools "
    "wine photography bridges horses genetics ceramics radio mountains dentistry opera forests trade skiing maps "
    "bees museums dogs aviation novels glaciers coffee markets harbours languages"
)
MAX_DRAWS = 20


def topic_data(
    n_examples: int = 1000,
    n_labels: int = 200,
    n_features: int = 5000,
    *,
    n_topics: int | None = None,
    cardinality: float = 4.0,
    n_words: float = 60.0,
    exponent: float = 1.0,
    stray: float = 0.1,
    seed: int = 0,
) -> Dataset:
    """Generate word counts and labels as in collections of documents: few frequent labels, many rare ones, in topics.

    Label frequencies follow Zipf's law. Every label belongs to a topic; an example has one to three topics and draws
    its labels from them, so that labels of one topic occur together. Its words come from its labels, its topics, and
    the language at large. All is drawn in arrays: 100,000 examples with 20,000 labels take seconds.

    Parameters
    ----------
    n_examples, n_labels, n_features
        Their numbers.
    n_topics
        Number of topics; by default about 2·√n_labels.
    cardinality
        Labels of an example on average (Poisson, so that some examples have none).
    n_words
        Words of an example on average.
    exponent
        Zipf's exponent of the label frequencies.
    stray
        Share of labels that are drawn from all topics.
    seed
        The same seed gives the same data.

    Returns
    -------
    Dataset
        Sparse word counts (float32). Labels are called by their topic, the most frequent of it first (``music 1``,
        ``music 2``, ...), in an order that has nothing to do with topics.

    Examples
    --------
    >>> data = topic_data(500, 50, 1000)
    >>> data, bool(3.8 < data.labels.sum() / len(data) < 4.2)
    (Dataset(500 examples, 50 labels, features), True)
    """
    sizes = {"n_examples": n_examples, "n_labels": n_labels, "n_features": n_features, "n_topics": n_topics}
    for name, value in sizes.items():
        if value is not None and value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}")
    if cardinality <= 0 or n_words <= 0 or not 0 <= stray <= 1:
        raise ValueError(
            f"cardinality and n_words must be positive and stray from 0 to 1, got {cardinality}, {n_words} and {stray}"
        )
    rng = np.random.default_rng(seed)
    n_topics = min(n_labels, round(2 * n_labels**0.5) if n_topics is None else n_topics)
    topics = _Topics(rng, n_labels, n_topics, exponent)
    of_example = topics.draw(rng, n_examples)  # (n_examples, 3), the first is the main one
    labels = _label_matrix(rng, topics, of_example, rng.poisson(cardinality, n_examples), n_labels, stray)
    features = _words(rng, labels, of_example, n_features, n_words, n_topics)
    return Dataset(labels, topics.label_names(), features=features)


class _Topics:
    """Labels in topics: popularity by Zipf's law, and for each topic the range of its labels in one long line."""

    def __init__(self, rng: np.random.Generator, n_labels: int, n_topics: int, exponent: float) -> None:
        popularity = 1.0 / np.arange(1, n_labels + 1) ** exponent
        topic_of = np.concatenate([np.arange(n_topics), rng.integers(n_topics, size=n_labels - n_topics)])
        by_topic = np.argsort(topic_of, kind="stable")
        self._line = np.concatenate([[0.0], np.cumsum(popularity[by_topic])])
        self._ends = np.concatenate([[0], np.cumsum(np.bincount(topic_of, minlength=n_topics))])
        self._label = rng.permutation(n_labels)[by_topic]  # of each place on the line
        self._weight = np.diff(self._line[self._ends])

    def label_names(self) -> tuple[str, ...]:
        """Return a name for each label: its topic, and its place there by popularity."""
        names, words = [""] * len(self._label), TOPICS.split()
        for topic, (start, end) in enumerate(pairwise(self._ends.tolist())):
            again, which = divmod(topic, len(words))
            word = f"{words[which]} {again + 1}," if again else words[which]
            for place in range(start, end):
                names[self._label[place]] = f"{word} {place - start + 1}"
        return tuple(names)

    def draw(self, rng: np.random.Generator, n_examples: int) -> Ints:
        """Draw three topics for every example, of which the second and third may repeat the first."""
        share = np.cumsum(self._weight) / self._weight.sum()
        drawn = np.minimum(np.searchsorted(share, rng.random((n_examples, 3))), len(share) - 1)
        again = rng.random((n_examples, 2)) < 0.6
        drawn[:, 1:] = np.where(again, drawn[:, :1], drawn[:, 1:])
        return drawn.astype(np.int64)

    def draw_labels(self, rng: np.random.Generator, of_example: Ints, rows: Ints, stray: float) -> Ints:
        """Draw a label for each of these rows from one of its topics, or now and then from all."""
        topic = of_example[rows, rng.integers(3, size=len(rows))]
        low, high = self._line[self._ends[topic]], self._line[self._ends[topic + 1]]
        far = rng.random(len(rows)) < stray
        low, high = np.where(far, 0.0, low), np.where(far, self._line[-1], high)
        place = np.searchsorted(self._line, low + (high - low) * rng.random(len(rows)), "right") - 1
        return self._label[np.minimum(place, len(self._label) - 1)]


def _label_matrix(
    rng: np.random.Generator, topics: _Topics, of_example: Ints, sizes: Ints, n_labels: int, stray: float
) -> Any:
    """Draw so many different labels for every example, (n_examples, n_labels); a label drawn again is drawn anew."""
    shape = (len(sizes), n_labels)
    entries = np.empty(0, np.int64)
    for again in range(MAX_DRAWS):
        missing = np.minimum(sizes, n_labels) - np.bincount(entries // n_labels, minlength=len(sizes))
        rows = np.repeat(np.arange(len(sizes)), missing)
        if not len(rows):
            break
        drawn = topics.draw_labels(rng, of_example, rows, 1 - (1 - stray) * 0.6**again)  # its topics may be exhausted
        entries = np.sort(np.concatenate([entries, rows * n_labels + drawn]), kind="stable")
        entries = entries[np.diff(entries, prepend=-1) > 0]
    ones = np.ones(len(entries), np.bool_)
    return scipy.sparse.csr_array((ones, np.divmod(entries, n_labels)), shape=shape)


def _words(
    rng: np.random.Generator, labels: Any, of_example: Ints, n_features: int, n_words: float, n_topics: int
) -> Any:
    """Draw the words of every example, (n_examples, n_features): from its labels, its topics, and the language."""
    n_examples, n_labels = labels.shape
    of_label = rng.integers(n_features, size=(n_labels, WORDS_OF_LABEL))
    of_topic = rng.integers(n_features, size=(n_topics, WORDS_OF_TOPIC))
    rows = np.repeat(np.arange(n_examples), rng.poisson(n_words, n_examples))
    language = np.cumsum(1.0 / np.arange(1, n_features + 1))
    words = np.searchsorted(language, rng.random(len(rows)) * language[-1])
    source = rng.random(len(rows))
    chosen = np.flatnonzero(source < 0.2)
    topic = of_example[rows[chosen], rng.integers(3, size=len(chosen))]
    words[chosen] = of_topic[topic, rng.integers(WORDS_OF_TOPIC, size=len(chosen))]
    sizes = np.diff(labels.indptr)
    chosen = np.flatnonzero((source > 0.5) & (sizes[rows] > 0))
    place = labels.indptr[rows[chosen]] + (rng.random(len(chosen)) * sizes[rows[chosen]]).astype(np.int64)
    words[chosen] = of_label[labels.indices[place], rng.integers(WORDS_OF_LABEL, size=len(chosen))]
    counts = (np.ones(len(rows), np.float32), (rows, words))
    return scipy.sparse.csr_array(scipy.sparse.coo_array(counts, shape=(n_examples, n_features)))


def label_proportions(
    n_examples: int = 2200,
    n_labels: int = 10,
    length: float = 200.0,
    *,
    mixture: str = "uniform",
    seed: int = 0,
) -> tuple[Floats, Floats]:
    """Generate documents that are mixtures of labels, and the proportions, as in the sparsemax paper's simulation.

    A document has a number of labels drawn from Poisson(1) until it is 1 to n_labels, a length drawn from
    Poisson(length), and words of a vocabulary of n_labels words from the mixture of its labels' word distributions.

    Parameters
    ----------
    n_examples, n_labels, length
        Number of documents, labels, and words of a document on average.
    mixture
        ``uniform``: its labels have equal proportions; ``random``: they are drawn uniformly and normalised.
    seed
        The same seed gives the same data.

    Returns
    -------
    features : array (n_examples, n_labels)
        Word counts.
    proportions : array (n_examples, n_labels)
        Non-negative, every row of sum 1.

    Examples
    --------
    >>> features, proportions = label_proportions(100)
    >>> features.shape, bool(np.allclose(proportions.sum(axis=1), 1))
    ((100, 10), True)
    """
    check_choice("mixture", mixture, ("uniform", "random"))
    if n_labels < 1 or length <= 0:
        raise ValueError(f"n_labels must be at least 1 and length positive, got {n_labels} and {length}")
    rng = np.random.default_rng(seed)
    prior = rng.random(n_labels)
    of_label = rng.random((n_labels, n_labels))
    of_label /= of_label.sum(axis=1, keepdims=True)  # words of each label
    features, proportions = np.zeros((2, n_examples, n_labels))
    for row in range(n_examples):
        active = _draw_labels(rng, prior / prior.sum())
        share = rng.random(len(active)) if mixture == "random" else np.ones(len(active))
        proportions[row, active] = share / share.sum()
        features[row] = rng.multinomial(max(1, rng.poisson(length)), proportions[row] @ of_label)
    return features, proportions


def _draw_labels(rng: np.random.Generator, prior: Floats) -> list[int]:
    size = 0
    while not 1 <= size <= len(prior):
        size = int(rng.poisson(1))
    active: set[int] = set()
    while len(active) < size:
        active.update(rng.choice(len(prior), size - len(active), p=prior).tolist())
    return sorted(active)
