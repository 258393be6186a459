"""Sparse weights lead to the same proven verdicts as dense ones, without a dense copy where features are many."""

import numpy as np
import pytest
import scipy.sparse

import labelproof as lp
from labelproof.proof.sparse_weights import SparseWeight

SETS = [[0], [1, 5], [10], [2, 3, 7], [8]]


def wide(n=12, d=2500):
    """Weights of which the last but one label is below a mix of two others wherever features are nonnegative."""
    rng = np.random.default_rng(5)
    weight = np.where(rng.random((n, d)) < 0.2, rng.normal(size=(n, d)), 0.0)
    bias = -np.abs(rng.normal(size=n))
    weight[10] = 0.5 * weight[0] + 0.5 * weight[1] - 0.01 * rng.random(d)
    bias[10] = 0.5 * bias[0] + 0.5 * bias[1] - 0.01
    return weight, bias


@pytest.fixture
def without_dense_copies(monkeypatch):
    def refuse(*_args, **_options):
        raise AssertionError("a dense copy of a sparse weight was made")

    monkeypatch.setattr(SparseWeight, "__array__", refuse)


@pytest.mark.parametrize("domain", ["nonnegative", (0.0, 1.0), "unit", ("ball", 2.0), None], ids=str)
@pytest.mark.parametrize("rule", ["sigmoid", "topk"])
@pytest.mark.usefixtures("without_dense_copies")
def test_verdicts_are_those_of_the_dense_matrix(domain, rule, tmp_path):
    weight, bias = wide()
    options = {"domain": domain, "rule": rule, "bias": bias, "n_jobs": 1}
    sparse = lp.verify(scipy.sparse.csr_array(weight), SETS, **options)
    sparse.check(n_jobs=1)
    assert sparse.status.tolist() == lp.verify(weight, SETS, **options).status.tolist()
    assert domain not in ("nonnegative", (0.0, 1.0), "unit") or sparse.status.tolist() == [1, 1, 0, 1, 1]
    sparse.save(tmp_path / "result.npz")
    for stored in (weight, scipy.sparse.csc_array(weight)):  # the file knows them by the same hash
        again = lp.load_verification(tmp_path / "result.npz", stored, bias=bias)
        again.check(n_jobs=1)
        assert np.allclose(again.margin, sparse.margin, rtol=1e-9, equal_nan=True)
        assert again[0].margin == pytest.approx(again.margin[0])


@pytest.mark.usefixtures("without_dense_copies")
def test_candidates_of_a_covariance_are_left_to_dense_layers(monkeypatch):
    monkeypatch.setattr("labelproof.search.whitened.LEAST_SIZE", 1)
    monkeypatch.setattr("labelproof.search.whitened.WORTH_A_SET", 1e30)
    weight, bias = wide()
    options = {"rule": "topk", "domain": ("ball", 2.0), "bias": bias, "n_jobs": 1}
    assert lp.verify(scipy.sparse.csr_array(weight), [[0]], **options).status.tolist() == [1]


def test_layers_of_as_many_labels_as_features_are_decided_in_columns():
    rng = np.random.default_rng(6)
    weight = scipy.sparse.random_array((900, 2500), density=0.01, rng=rng, data_sampler=rng.standard_normal)
    v = lp.verify(weight, [[0], [1, 700], [5, 80, 899]], bias=np.full(900, -0.1), domain="unit", n_jobs=1)
    v.check(n_jobs=1)
    assert v.layer.sparse is not None
    assert v.status.tolist() == [1, 1, 1]


@pytest.mark.parametrize("domain", [None, "nonnegative", (-1.0, 1.0)], ids=str)
def test_narrow_layers_and_radii_are_made_dense(domain):
    weight = np.random.default_rng(7).normal(size=(9, 4))
    v = lp.verify(scipy.sparse.csr_array(weight), [[0], [1, 2]], domain=domain, n_jobs=1)
    assert np.array_equal(v.layer.weight, weight)
    wide_one = scipy.sparse.csr_array(wide()[0][:3])
    assert lp.verify(wide_one, [[0]], domain="nonnegative", n_jobs=1).layer.sparse is not None
    assert lp.verify(wide_one, [[0]], domain="nonnegative", radius=True, n_jobs=1).layer.sparse is None


def test_a_witness_or_conflict_of_another_weight_is_found_out():
    weight, bias = wide()
    v = lp.verify(scipy.sparse.csr_array(weight), [[0], [10]], bias=bias, domain="unit", n_jobs=1)
    assert v.status.tolist() == [1, 0]
    stored = v.layer.sparse.rows.data
    stored *= -1
    with pytest.raises(lp.CertificateError, match="label set 0 is not proven"):
        v.check(n_jobs=1)
    v.status[0], v.reasons[0] = -1, "left out"
    with pytest.raises(lp.CertificateError, match="label set 1 is not proven"):
        v.check(n_jobs=1)
