"""Features of real examples, and the domain that an audit assumes."""

import numpy as np
import pytest
import scipy.sparse

import labelproof as lp
from labelproof.auditing.inside import refuse_outside


@pytest.mark.parametrize(
    ("domain", "features", "message"),
    [
        ("unit", [[0.6, 0.8], [3.0, 4.0]], "example 1 at a distance of 5 from a centre, where 1 is the most"),
        ("unit", [[0.5, -0.5]], "-0.5 as feature 1 of example 0, where 0 is the least"),
        (("ball", 2.0, [5.0, 0.0]), [[0.0, 0.0]], "example 0 at a distance of 5 from a centre, where 2 is the most"),
        ((-1.0, 1.0), [[0.0, 1.5]], "1.5 as feature 1 of example 0, where 1 is the most"),
        (None, [[1.0]], r"shape \(n_examples, 2\) to match the weight, got \(1, 1\)"),
    ],
)
def test_features_outside_of_the_domain_are_refused(domain, features, message):
    for given in (features, scipy.sparse.csr_matrix(features)):
        with pytest.raises(ValueError, match=message):
            refuse_outside(domain, 2, given)
    refuse_outside("unit", 2, [[0.6, 0.800001]])
    refuse_outside(None, 2, [[1e9, -1e9]])


def test_an_audit_refuses_features_outside_of_its_domain():
    with pytest.raises(ValueError, match="features must be in the domain"):
        lp.audit(np.eye(2), [[0]], features=np.array([[3.0, 4.0], [0.0, 1.0]]), domain="unit")
