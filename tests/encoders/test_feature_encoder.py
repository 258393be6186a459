"""Given features, dense and sparse."""

import numpy as np
import pytest
import scipy.sparse
import torch
from every_encoder import features_of, saved_and_loaded

import labelproof.encoders
from labelproof.encoders.matrices import Standardisation
from labelproof.errors import ModelFormatError


def sparse_matrix(n=30, d=12, seed=0):
    rng = np.random.default_rng(seed)
    return np.where(rng.random((n, d)) < 0.3, rng.normal(2, 3, (n, d)), 0.0)


@pytest.mark.parametrize("hidden", [None, 5])
@pytest.mark.parametrize("standardise", [False, True])
def test_sparse_and_dense_features_give_the_same_output(hidden, standardise):
    X = sparse_matrix()
    encoder = labelproof.encoders.build("features", X, hidden=hidden, standardise=standardise)
    dense, sparse = features_of(encoder, X), features_of(encoder, scipy.sparse.csr_array(X))
    torch.testing.assert_close(sparse, dense, atol=2e-6, rtol=1e-5)


def test_without_a_hidden_layer_the_output_is_the_features():
    X = sparse_matrix()
    encoder = labelproof.encoders.build("features", X)
    assert encoder.width == X.shape[1]
    assert np.array_equal(features_of(encoder, X).numpy(), X.astype(np.float32))


def test_the_hidden_layer_is_an_affine_map_with_relu():
    X = sparse_matrix()
    encoder = labelproof.encoders.build("features", X, hidden=7)
    weight, bias = encoder.bag.weight.detach().double().numpy(), encoder.bag.bias.detach().double().numpy()
    np.testing.assert_allclose(features_of(encoder, X).numpy(), np.maximum(X @ weight + bias, 0), atol=1e-5)


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array, scipy.sparse.csc_matrix, scipy.sparse.lil_array])
def test_standardised_features_have_mean_zero_and_variance_one(form):
    X = sparse_matrix()
    X[:, 3], X[:, 4] = 0.1, 0.0  # constant
    output = features_of(labelproof.encoders.build("features", form(X), standardise=True), form(X)).numpy()
    np.testing.assert_allclose(output.mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(np.delete(output.std(axis=0), [3, 4]), 1, atol=1e-6)
    assert np.abs(output[:, [3, 4]]).max() < 1e-6


def test_features_far_from_zero_are_standardised_before_they_are_rounded():
    X = 1e9 + np.arange(5.0)[:, None]
    output = features_of(labelproof.encoders.build("features", X, standardise=True), X)
    np.testing.assert_allclose(output.numpy()[:, 0], (np.arange(5) - 2) / np.sqrt(2), atol=1e-6)


def test_statistics_of_sparse_features_are_those_of_the_dense_ones():
    X = sparse_matrix(n=5000)
    dense, sparse = Standardisation.learned(X), Standardisation.learned(scipy.sparse.csr_array(X))
    np.testing.assert_allclose(sparse.mean, X.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(sparse.scale, X.std(axis=0), rtol=1e-12)
    np.testing.assert_allclose(dense.scale, X.std(axis=0), rtol=1e-12)


def test_duplicate_entries_of_a_sparse_matrix_add_up_and_the_matrix_stays_as_it_was():
    duplicates = scipy.sparse.csr_array((np.array([1.0, 2.0]), np.array([1, 1]), np.array([0, 2])), shape=(1, 3))
    encoder = labelproof.encoders.build("features", np.eye(3), standardise=True)
    expected = features_of(encoder, np.array([[0.0, 3.0, 0.0]]))
    torch.testing.assert_close(features_of(encoder, duplicates), expected)
    assert duplicates.nnz == 2


def test_rows_come_in_the_order_that_was_asked_for():
    X = sparse_matrix()
    encoder = labelproof.encoders.build("features", X, hidden=4)
    rows = np.array([5, 0, 5, 29])
    for form in (X, scipy.sparse.csr_array(X)):
        torch.testing.assert_close(features_of(encoder, form, rows), features_of(encoder, form)[rows])


def test_rows_without_entries_and_batches_of_them_give_the_bias():
    encoder = labelproof.encoders.build("features", np.eye(3), hidden=4)
    torch.nn.init.uniform_(encoder.bag.bias)
    output = features_of(encoder, scipy.sparse.csr_array((2, 3)))
    torch.testing.assert_close(output, encoder.bag.bias.detach().expand(2, 4))


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int64, np.float16])
def test_features_of_every_dtype_are_read(dtype):
    X = (sparse_matrix() > 1).astype(dtype)
    encoder = labelproof.encoders.build("features", X, standardise=True)
    expected = features_of(encoder, X.astype(float))
    torch.testing.assert_close(features_of(encoder, X), expected)
    if dtype is not np.float16:  # which scipy does not take
        sparse = labelproof.encoders.build("features", scipy.sparse.csr_array(X), standardise=True)
        torch.testing.assert_close(features_of(sparse, scipy.sparse.csr_array(X)), expected)


def test_the_sparse_batch_is_the_only_thing_that_is_made_dense():
    wide = scipy.sparse.csr_array((np.ones(2), ([0, 49_999], [0, 999_999])), shape=(50_000, 1_000_000))
    encoder = labelproof.encoders.build("features", wide)
    batch = features_of(encoder, wide, [49_999])
    assert batch.shape == (1, 1_000_000)
    assert batch[0, -1] == 1


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[1.0, np.nan], [0.0, 1.0]], "got nan in row 0, column 1"),
        ([[1.0, 0.0], [-np.inf, 1.0]], "got -inf in row 1, column 0"),
        ([[1.0, 0.0], [0.0, 1e39]], r"got 1e\+39 in row 1, column 1"),
    ],
)
@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])
def test_what_is_not_finite_is_refused_with_its_place(X, message, form):
    with pytest.raises(ValueError, match=message):
        labelproof.encoders.build("features", form(X))


def test_a_missing_value_far_down_is_found_at_its_place():
    X = np.zeros((10_000, 3), np.float32)
    X[9_000, 2] = np.nan
    for form in (X, scipy.sparse.csr_array(X)):
        with pytest.raises(ValueError, match="got nan in row 9000, column 2"):
            labelproof.encoders.build("features", form)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros(3), r"must have shape \(n_examples, n_features\), got \(3,\)"),
        (np.zeros((3, 0)), r"must have shape \(n_examples, n_features\), got \(3, 0\)"),
        (np.zeros((0, 3)), r"at least one example, got shape \(0, 3\)"),
        (["a", "b"], "must have shape"),
        ([["a", "b"]], "must be numbers, got an array of dtype <U1"),
        ([[1 + 2j]], "must be numbers, got an array of dtype complex128"),
        (scipy.sparse.csr_array(np.array([[1 + 2j]])), "must be numbers, got an array of dtype complex128"),
    ],
)
def test_what_is_no_matrix_of_numbers_is_refused(X, message):
    with pytest.raises(ValueError, match=message):
        labelproof.encoders.build("features", X)


def test_another_number_of_features_than_in_training_is_refused():
    encoder = labelproof.encoders.build("features", np.eye(3))
    with pytest.raises(ValueError, match=r"must have shape \(n_examples, 3\), got \(4, 4\)"):
        encoder.prepare(np.eye(4))


def test_no_examples_at_prediction_give_no_rows():
    encoder = labelproof.encoders.build("features", np.eye(3), hidden=4)
    for form in (np.zeros((0, 3)), scipy.sparse.csr_array((0, 3))):
        assert features_of(encoder, form).shape == (0, 4)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no such file"),
        (b"not an archive", "expected arrays mean and scale"),
        ({"mean": np.zeros(3)}, "expected arrays mean and scale, got mean"),
        ({"mean": np.zeros(3), "scale": np.ones(10**6)}, "expected arrays mean and scale, got .* at most .* bytes"),
        ({"mean": np.zeros(2), "scale": np.ones(3)}, "expected mean to hold 3 finite float64 numbers"),
        ({"mean": np.zeros(3), "scale": np.array([1, np.nan, 1])}, "expected scale to hold 3 finite float64 numbers"),
        ({"mean": np.zeros(3), "scale": np.array([1.0, 0.0, 1.0])}, "expected every scale to be positive, got 0.0"),
        ({"mean": np.array([{}, {}, {}]), "scale": np.ones(3)}, "expected arrays mean and scale"),
    ],
)
def test_a_damaged_standardisation_is_refused(tmp_path, content, message):
    encoder = labelproof.encoders.build("features", np.eye(3), standardise=True)
    path = tmp_path / "standardisation.npz"
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content is not None:
        np.savez(path, **content)
    with pytest.raises(ModelFormatError, match=message):
        labelproof.encoders.load(encoder.description(), tmp_path)


def test_a_saved_standardisation_is_exact(tmp_path):
    X = sparse_matrix()
    encoder = labelproof.encoders.build("features", X, standardise=True, hidden=3)
    loaded = saved_and_loaded(encoder, tmp_path / "encoder")
    assert np.array_equal(loaded.standardisation.scale, encoder.standardisation.scale)
    assert torch.equal(features_of(loaded, scipy.sparse.csr_array(X)), features_of(encoder, scipy.sparse.csr_array(X)))
