"""Whether features are in the domain that is told of them."""

import numpy as np
import scipy.sparse

from labelproof.proof.domains import read_domain

__all__ = ["assert_in_domain"]


def assert_in_domain(features, domain):
    """Fail if some row of features (n, d) is not in the domain, whatever its form."""
    features = np.asarray(features.toarray() if scipy.sparse.issparse(features) else features, np.float64)
    low, high, balls = read_domain(domain, features.shape[1])
    assert low is None or (features >= low).all()
    assert high is None or (features <= high).all()
    for ball in balls:
        lengths = np.linalg.norm(features[:, ball.start : ball.stop] - ball.centre, axis=1)
        assert (lengths <= ball.radius).all()
