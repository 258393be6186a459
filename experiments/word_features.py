"""Features of texts from their words alone: TF-IDF in the directions in which training texts differ most."""

import numpy as np
import numpy.typing as npt
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from threadpoolctl import threadpool_limits

WIDTH = 384  # as many as those of the sentence encoder


def word_features(texts: list[str], training: npt.NDArray[np.bool_]) -> npt.NDArray[np.float32]:
    """Return latent semantic features of every text, (n_texts, 384), learned from the training texts.

    One thread computes them, since their last digits depend on how many there are, and stored runs belong to features.
    """
    known = [text for text, is_known in zip(texts, training, strict=True) if is_known]
    words = TfidfVectorizer(max_features=20000, min_df=2, sublinear_tf=True).fit(known)
    with threadpool_limits(1):
        directions = TruncatedSVD(WIDTH, random_state=0).fit(words.transform(known))
        return np.asarray(directions.transform(words.transform(texts)), np.float32)
