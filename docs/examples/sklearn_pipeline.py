"""MultiLabelClassifier in a scikit-learn pipeline, searched over and compared with one-vs-rest."""

import warnings

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline

from labelproof import MultiLabelClassifier

WORDS = np.array([f"word{i}" for i in range(60)])


def documents(n: int, seed: int) -> tuple[list[str], np.ndarray]:
    """Texts of eight words; label j is active where one of the words 3j to 3j + 2 occurs."""
    rng = np.random.default_rng(seed)
    words = np.array([rng.choice(len(WORDS), size=8, replace=False) for _ in range(n)])
    labels = np.array([[np.isin(words[i], (3 * j, 3 * j + 1, 3 * j + 2)).any() for j in range(10)] for i in range(n)])
    return [" ".join(WORDS[row]) for row in words], labels.astype(int)


def main() -> dict[str, float]:
    """Choose the loss by cross-validation and return micro-F1 on test data, beside the baseline's."""
    texts, labels = documents(300, seed=0)
    unseen, truth = documents(200, seed=1)
    micro_f1 = make_scorer(f1_score, average="micro")
    search = GridSearchCV(
        make_pipeline(TfidfVectorizer(), MultiLabelClassifier("dft", slack=10, epochs=15, lr=0.05, random_state=0)),
        {"multilabelclassifier__loss": ["bce", "sigmoid-f1"]},
        scoring=micro_f1,
        cv=2,
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the head has")  # a small vocabulary, for a quick example
        search.fit(texts, labels)
    baseline = make_pipeline(TfidfVectorizer(), OneVsRestClassifier(LogisticRegression())).fit(texts, labels)
    return {"ours": micro_f1(search, unseen, truth), "baseline": micro_f1(baseline, unseen, truth)}


if __name__ == "__main__":
    print(main())
