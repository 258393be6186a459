"""Training and test parts of a data set as sparse features and dense labels, for scripts that train in plain torch."""

import numpy as np
import scipy.sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import StandardScaler

import labelproof as lp

Part = tuple[scipy.sparse.csr_array, np.ndarray]


def load(name: str, *, most_words: int | None = None) -> tuple[Part, Part]:
    data = lp.load_dataset(name)
    train, test = data.part("train"), data.part("test")
    if train.texts is not None:
        words = TfidfVectorizer(sublinear_tf=True, min_df=3, max_features=most_words)
        X, test_X = words.fit_transform(train.texts), words.transform(test.texts)
    else:
        X, test_X = scipy.sparse.csr_array(train.features), scipy.sparse.csr_array(test.features)
        if X.max() > 1 or X.min() < 0:
            scaler = StandardScaler().fit(X.toarray())
            X, test_X = (scipy.sparse.csr_array(scaler.transform(part.toarray())) for part in (X, test_X))
    return (rows(X), dense(train.labels)), (rows(test_X), dense(test.labels))


def rows(X: object) -> scipy.sparse.csr_array:
    return scipy.sparse.csr_array(X, dtype=np.float32)


def dense(labels: object) -> np.ndarray:
    return np.asarray(labels.toarray() if scipy.sparse.issparse(labels) else labels).astype(bool)
