"""Weights in files of plain numbers."""

import numpy as np
import pytest
import scipy.sparse

from labelproof.decisions import Threshold
from labelproof.errors import DataFormatError, LabelproofError, ModelFormatError
from labelproof.importers import ImportedLayer, layer_of, read_layer
from labelproof.importers.tables import arrays_of_weight

RNG = np.random.default_rng(0)
W = RNG.normal(size=(5, 3))
B = RNG.normal(size=5)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int32])
def test_the_weight_of_a_matrix_file_is_exact(tmp_path, dtype):
    stored = (W * 8).astype(dtype)
    np.save(tmp_path / "w.npy", stored)
    layer = read_layer(tmp_path / "w.npy")
    assert layer.weight.dtype == np.float64
    np.testing.assert_array_equal(layer.weight, stored.astype(np.float64))
    assert (layer.bias, layer.dtype, layer.domain, layer.rule) == (None, np.dtype(dtype).name, None, "sigmoid")
    assert (layer.n_labels, layer.n_features, layer.model) == (5, 3, "w.npy")


@pytest.mark.parametrize(("ending", "separator"), [(".csv", ","), (".tsv", "\t"), (".txt", " ")])
def test_numbers_of_a_text_file_are_read_back(tmp_path, ending, separator):
    np.savetxt(tmp_path / f"w{ending}", W, delimiter=separator, fmt="%.17g")
    np.testing.assert_array_equal(read_layer(tmp_path / f"w{ending}").weight, W)


@pytest.mark.parametrize("names", [("weight", "bias"), ("W", "b"), ("coef_", "intercept_")])
def test_weight_and_bias_of_arrays_are_found_by_their_usual_names(tmp_path, names):
    np.savez(tmp_path / "w.npz", **dict(zip(names, (W, B), strict=True)))
    layer = read_layer(tmp_path / "w.npz")
    np.testing.assert_array_equal(layer.weight, W)
    np.testing.assert_array_equal(layer.bias, B)
    assert layer.source == f"{names[0]} of w.npz"


def test_a_bias_may_come_from_a_file_or_an_array_and_stand_in_one_row(tmp_path):
    np.save(tmp_path / "w.npy", W)
    np.save(tmp_path / "b.npy", B[None])
    np.testing.assert_array_equal(read_layer(tmp_path / "w.npy", bias=tmp_path / "b.npy").bias, B)
    np.testing.assert_array_equal(read_layer(tmp_path / "w.npy", bias=str(tmp_path / "b.npy")).bias, B)
    np.testing.assert_array_equal(read_layer(tmp_path / "w.npy", bias=B).bias, B)
    np.savez(tmp_path / "b.npz", B)
    np.testing.assert_array_equal(read_layer(tmp_path / "w.npy", bias=tmp_path / "b.npz").bias, B)
    np.savez(tmp_path / "w.npz", weight=W, bias=-B)
    np.testing.assert_array_equal(read_layer(tmp_path / "w.npz", bias=B).bias, B)


def test_label_names_in_the_file_are_taken(tmp_path):
    np.savez(tmp_path / "w.npz", weight=W, label_names=np.array(list("abcde")))
    assert read_layer(tmp_path / "w.npz").label_names == tuple("abcde")


def test_a_single_matrix_is_the_weight_whatever_its_name(tmp_path):
    np.savez(tmp_path / "w.npz", anything=W, steps=np.arange(3))
    np.testing.assert_array_equal(read_layer(tmp_path / "w.npz").weight, W)


def test_the_weight_key_decides_between_matrices(tmp_path):
    np.savez(tmp_path / "w.npz", first=W.T, second=W)
    with pytest.raises(
        ModelFormatError, match=r"^w.npz: expected one matrix, got first 3×5, second 5×3: .*weight_key="
    ):
        read_layer(tmp_path / "w.npz")
    np.testing.assert_array_equal(read_layer(tmp_path / "w.npz", weight_key="second").weight, W)
    with pytest.raises(ModelFormatError, match=r"^w.npz: expected the array 'third', got first"):
        read_layer(tmp_path / "w.npz", weight_key="third")


# Sparse matrices, and programs that write them


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
@pytest.mark.parametrize("turned", [False, True])
def test_the_bias_or_the_number_of_labels_says_which_side_of_a_sparse_matrix_is_the_labels(tmp_path, form, turned):
    sparse = W * (W > 0)
    scipy.sparse.save_npz(tmp_path / "w.npz", scipy.sparse.coo_array(sparse.T if turned else sparse).asformat(form))
    found = read_layer(tmp_path / "w.npz", bias=B).weight
    assert found.format == "csr"
    np.testing.assert_array_equal(found.toarray(), sparse)
    np.testing.assert_array_equal(read_layer(tmp_path / "w.npz", n_labels=5).weight.toarray(), sparse)


def test_a_sparse_weight_is_saved_in_parts_beside_its_bias_names_and_thresholds(tmp_path):
    sparse, names = scipy.sparse.csr_array(W * (W > 0)), np.array(["a", "b", "c", "d", "e"])
    parts = arrays_of_weight(sparse)
    np.savez(tmp_path / "w.npz", **parts, bias=B, label_names=names, thresholds=0.25)
    layer = read_layer(tmp_path / "w.npz", n_labels=5)
    np.testing.assert_array_equal(layer.weight.toarray(), sparse.toarray())
    np.testing.assert_array_equal(layer.bias, B)
    assert (layer.label_names, layer.thresholds.tolist()) == (tuple("abcde"), [0.25] * 5)
    assert (layer.n_labels, layer.n_features, layer.source) == (5, 3, "weight of w.npz")
    with pytest.raises(ModelFormatError, match=r"expected 3 rows, one for each label, got shape \(5, 3\): transpose"):
        read_layer(tmp_path / "w.npz", n_labels=3)
    del parts["weight_indptr"]
    np.savez(tmp_path / "w.npz", **parts)
    with pytest.raises(ModelFormatError, match="expected an array 'weight' or 'W' of shape"):
        read_layer(tmp_path / "w.npz")


@pytest.mark.parametrize("form", ["csr", "coo"])
def test_a_sparse_matrix_with_an_entry_twice_is_refused(tmp_path, form):
    twice = np.array([1.0, 1.0, 1.0]), (np.array([0, 0, 4]), np.array([2, 2, 1]))
    matrix = scipy.sparse.coo_array(twice, (5, 3))
    if form == "csr":
        matrix = scipy.sparse.csr_array((twice[0], twice[1][1], np.array([0, 2, 2, 2, 2, 3])), (5, 3))
    scipy.sparse.save_npz(tmp_path / "w.npz", matrix)
    with pytest.raises(ModelFormatError, match="each entry once, got"):
        read_layer(tmp_path / "w.npz", n_labels=5)


def test_a_number_of_a_sparse_matrix_that_is_not_finite_is_named(tmp_path):
    matrix = scipy.sparse.csr_array(W * (W > 0))
    matrix.data[-1] = np.nan
    row, column = (int(axis[-1]) for axis in matrix.tocoo().coords)
    scipy.sparse.save_npz(tmp_path / "w.npz", matrix)
    with pytest.raises(ModelFormatError, match=f"weight must be finite, got nan at label {row}, feature {column}"):
        read_layer(tmp_path / "w.npz", n_labels=5)


def test_a_sparse_matrix_whose_labels_are_unknown_is_asked_about(tmp_path):
    scipy.sparse.save_npz(tmp_path / "w.npz", scipy.sparse.csr_array(W))
    with pytest.raises(ModelFormatError, match=r"^w.npz: expected to know which side of the sparse 5×3 .*bias="):
        read_layer(tmp_path / "w.npz")
    with pytest.raises(ModelFormatError, match="expected 7 rows or columns, one for each label, got a 5×3 matrix"):
        read_layer(tmp_path / "w.npz", n_labels=7)
    scipy.sparse.save_npz(tmp_path / "s.npz", scipy.sparse.csr_array(W[:3]))
    with pytest.raises(ModelFormatError, match="which side of the sparse 3×3"):
        read_layer(tmp_path / "s.npz", n_labels=3)


def test_a_dense_matrix_that_lies_on_its_side_is_refused(tmp_path):
    np.save(tmp_path / "w.npy", W.T)
    np.savez(tmp_path / "w.npz", weight=W.T)
    for name in ("w.npy", "w.npz"):
        with pytest.raises(ModelFormatError, match=r"expected 5 rows, one for each label, got shape \(3, 5\): transp"):
            read_layer(tmp_path / name, n_labels=5)


@pytest.mark.parametrize(
    "change",
    [
        {"indices": np.array([0, 9, 1])},
        {"indptr": np.array([0, 9, 1, 3, 3, 3])},
        {"format": np.array(b"dia")},
        {"shape": np.array([5])},
        {"shape": np.array([5, -3])},
        {"data": np.array(["a", "b", "c"])},
    ],
)
def test_a_false_sparse_matrix_is_refused(tmp_path, change):
    matrix = scipy.sparse.csr_array(np.eye(5, 3))
    arrays = {"format": np.array(b"csr"), "shape": np.array([5, 3]), "data": matrix.data}
    arrays |= {"indices": matrix.indices, "indptr": matrix.indptr}
    np.savez(tmp_path / "w.npz", **(arrays | change))
    with pytest.raises(LabelproofError, match=r"^w.npz: .*expected|^w.npz: .* must hold real numbers"):
        read_layer(tmp_path / "w.npz", n_labels=5)


def write_pecos(folder, *, bias=1.0, model="MLModel", **entries):
    import json

    folder.mkdir(parents=True)
    param = {"model": model, "nr_labels": 5, "nr_features": 2, "nr_codes": 1, "bias": bias, "pred_kwargs": {}}
    (folder / "param.json").write_text(json.dumps(param | entries))
    scipy.sparse.save_npz(folder / "W.npz", scipy.sparse.csc_matrix(W.T.astype(np.float32)))


def test_the_last_row_of_a_pecos_matrix_weighs_the_constant(tmp_path):
    write_pecos(tmp_path / "m", bias=0.3)
    layer = read_layer(tmp_path / "m")
    stored = W.astype(np.float32).astype(np.float64)
    np.testing.assert_array_equal(layer.weight.toarray(), stored[:, :2])
    np.testing.assert_array_equal(layer.bias, stored[:, 2] * float(np.float32(0.3)))
    assert (layer.rule, layer.dtype, layer.kind) == ("topk", "float32", "PECOS linear model")
    write_pecos(tmp_path / "n", bias=-1.0)
    assert (read_layer(tmp_path / "n").bias, read_layer(tmp_path / "n").n_features) == (None, 3)


def test_a_pecos_tree_is_refused_because_its_labels_are_partitioned(tmp_path):
    write_pecos(tmp_path / "tree", model="HierarchicalMLModel", depth=2)
    with pytest.raises(ModelFormatError, match=r"^tree: .*got HierarchicalMLModel of depth 2: .* partitioned"):
        read_layer(tmp_path / "tree")
    write_pecos(tmp_path / "clusters", nr_codes=3)
    with pytest.raises(ModelFormatError, match="partitioned"):
        read_layer(tmp_path / "clusters")
    write_pecos(tmp_path / "flat" / "0.model")
    write_pecos(tmp_path / "other", model="HierarchicalMLModel", depth=1)
    (tmp_path / "other" / "param.json").rename(tmp_path / "flat" / "param.json")
    assert read_layer(tmp_path / "flat").n_labels == 5
    write_pecos(tmp_path / "odd", bias="much")
    with pytest.raises(ModelFormatError, match=r"expected a number as bias in param.json, got 'much'"):
        read_layer(tmp_path / "odd")


def test_a_flat_linear_model_as_arrays_gives_the_programs_own_decision_values(tmp_path):
    shift = RNG.normal(size=5)
    np.savez(tmp_path / "m.npz", weights=W.T, bias=1.0, thresholds=shift, multiclass=False)
    layer = read_layer(tmp_path / "m.npz")
    x = RNG.normal(size=(4, 2))
    theirs = np.hstack([x, np.ones((4, 1))]) @ W.T + shift
    np.testing.assert_allclose(x @ layer.weight.T + layer.bias, theirs, rtol=1e-12)
    np.savez(tmp_path / "n.npz", weights=W.T, bias=-1.0, thresholds=0.0, multiclass=True)
    layer = read_layer(tmp_path / "n.npz")
    np.testing.assert_array_equal(layer.weight, W)
    assert layer.rule == "topk"


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"weights": W.T, "bias": 0.1}, "expected a constant feature whose products are exact, such as 1, got 0.1"),
        ({"weights": W.T[:1], "bias": 1.0}, "expected a row for the constant feature 1.0"),
        ({"weights": W.T, "bias": 1.0, "thresholds": B[:2]}, "expected one threshold, or one for each of 5 labels"),
    ],
)
def test_a_false_flat_linear_model_is_refused(tmp_path, arrays, message):
    np.savez(tmp_path / "m.npz", **arrays)
    with pytest.raises(ModelFormatError, match=message):
        read_layer(tmp_path / "m.npz")


# Numbers that are no layer


def with_nan(shape, place):
    array = np.ones(shape)
    array[place] = np.nan
    return array


@pytest.mark.parametrize(
    ("weight", "bias", "message"),
    [
        (with_nan((4, 3), (2, 1)), None, "the weight must be finite, got nan at label 2, feature 1"),
        (np.ones((4, 3)), np.array([0, 1, np.inf, 0]), "the bias must be finite, got inf at label 2"),
        (np.ones(4), None, r"the weight must have shape \(n_labels, n_features\), got \(4,\)"),
        (np.ones((2, 3, 4)), None, r"got \(2, 3, 4\)"),
        (np.ones((0, 4)), None, r"got \(0, 4\)"),
        (np.ones((4, 3)), np.ones(3), r"the bias must have shape \(4,\) to match the weight's rows, got \(3,\)"),
        (np.ones((4, 3), dtype=complex), None, "the weight must hold real numbers of at most 64 bits"),
        (np.full((2, 2), 2**60), None, r"the weight must hold integers of at most 2\*\*53"),
    ],
)
def test_numbers_that_are_no_layer_are_refused_with_their_place(tmp_path, weight, bias, message):
    np.save(tmp_path / "w.npy", weight)
    with pytest.raises(ModelFormatError, match=f"^w.npy: .*{message}"):
        read_layer(tmp_path / "w.npy", bias=bias)
    if bias is None:
        with pytest.raises(ValueError, match=message):
            layer_of(weight)


def test_arrays_without_a_matrix_are_refused(tmp_path):
    np.savez(tmp_path / "w.npz", a=B, c=np.arange(3))
    with pytest.raises(ModelFormatError, match=r"^w.npz: expected an array 'weight' or 'W' .*, got a 5, c 3"):
        read_layer(tmp_path / "w.npz")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("w.csv", b"label,a,b\n0,1,2\n", "is that a header line"),
        ("w.csv", b"  \n", "expected rows of numbers, got an empty file"),
        ("w.csv", b"\xff\xfe1,2", "expected text in UTF-8, got byte 0xff"),
        ("w.npy", b"nothing", "w.npy: damaged"),
        ("w.npz", b"nothing", "expected a zip file"),
        ("w.xyz", b"", r"expected \.safetensors, .* or a model's folder, got \.xyz"),
        ("w", b"", "got no ending"),
    ],
)
def test_a_file_that_is_not_what_its_name_says_is_refused(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(LabelproofError, match=message) as caught:
        read_layer(tmp_path / name)
    assert str(caught.value).startswith(f"{name}: ")


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ModelFormatError, match=r"nowhere.npy: no such file or folder"):
        read_layer(tmp_path / "nowhere.npy")
    np.save(tmp_path / "w.npy", W)
    with pytest.raises(DataFormatError, match=r"b.npy: no such file"):
        read_layer(tmp_path / "w.npy", bias=tmp_path / "b.npy")
    with pytest.raises(DataFormatError, match=r"not a file"):
        read_layer(tmp_path / "w.npy", bias=tmp_path)
    np.savez(tmp_path / "two.npz", a=B, b=B)
    with pytest.raises(DataFormatError, match=r"two.npz: expected one array, got a, b"):
        read_layer(tmp_path / "w.npy", bias=tmp_path / "two.npz")
    (tmp_path / "b.json").write_text("[1]")
    with pytest.raises(DataFormatError, match=r"b.json: expected a file .npy"):
        read_layer(tmp_path / "w.npy", bias=tmp_path / "b.json")


def test_options_that_mean_nothing_for_a_format_are_refused(tmp_path):
    np.save(tmp_path / "w.npy", W)
    with pytest.raises(ModelFormatError, match=r"weight_key must not be given for a file of one matrix"):
        read_layer(tmp_path / "w.npy", weight_key="weight")
    write_pecos(tmp_path / "m")
    with pytest.raises(ModelFormatError, match="bias must not be given for such a model"):
        read_layer(tmp_path / "m", bias=B)


# Live arrays


def test_an_array_a_list_and_a_layer_are_layers():
    np.testing.assert_array_equal(layer_of(W).weight, W)
    np.testing.assert_array_equal(layer_of([[1, 2], [3, 4]]).weight, [[1, 2], [3, 4]])
    np.testing.assert_array_equal(layer_of(scipy.sparse.csc_matrix(W)).weight.toarray(), W)
    layer = ImportedLayer(W, None, "float64", "m", "k", "s")
    assert layer_of(layer) is layer


def test_something_else_is_no_layer():
    with pytest.raises(ValueError, match=r"model must be a path, an array, a torch module, .* got builtins.int"):
        layer_of(7)
    with pytest.raises(ValueError, match=r"got labelproof.decisions.thresholds.Threshold"):
        layer_of(Threshold())
    with pytest.raises(ValueError, match="the weight must take up at most"):
        layer_of(scipy.sparse.coo_array((2**30, 2**30)))
    with pytest.raises(ValueError, match="the weight must be an array, got rows of different lengths"):
        layer_of([[1.0], [1.0, 2.0]])
