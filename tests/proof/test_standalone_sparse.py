"""The standalone checker reads sparse weights in each form that they are saved in, and proves the same of them."""

import numpy as np
import pytest
import scipy.sparse
from standalone_cases import TRIANGLE, example, paths_in, refuse, write

import labelproof as lp
from labelproof.importers.tables import arrays_of_weight
from labelproof.proof.standalone import InputError, SparseRows, main, prove, read

MATRIX = scipy.sparse.csr_array(np.array(TRIANGLE))
ROWS = [list(map(int, row)) for row in TRIANGLE]


def parts(**changes):
    """The arrays of the triangle's weight, without a dense one."""
    return arrays_of_weight(MATRIX) | {"weight": np.empty(0, "U1")} | changes


def read_saved(folder, matrix):
    paths = paths_in(folder)
    write(paths[0], *example())
    scipy.sparse.save_npz(paths[1], matrix)
    return read(*paths)


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
@pytest.mark.parametrize("turned", [False, True])
def test_what_scipy_saves_is_read_with_labels_as_rows_or_columns(tmp_path, form, turned):
    layer, claims = read_saved(tmp_path, (MATRIX.T if turned else MATRIX).asformat(form))
    assert [*layer.weight] == ROWS
    assert (len(layer.weight), layer.exponents, layer.is_usual) == (3, [1, 1, 1], True)
    prove(layer, claims)


def test_the_parts_of_a_weight_are_read_with_its_bias(tmp_path):
    paths = paths_in(tmp_path)
    weight, bias = scipy.sparse.csr_array(np.array([[0.0, 2.0], [0.0, 0.0], [-0.75, 0.0]])), np.array([0.5, -1.0, 0.25])
    lp.verify(weight, [[0], [1], []], bias=bias).save(paths[0])
    np.savez(paths[1], **arrays_of_weight(weight), bias=bias)
    layer, claims = read(*paths)
    assert ([*layer.weight], layer.unit) == ([[0, 8], [0, 0], [-3, 0]], 4)
    assert (layer.offset, layer.exponents) == ([2, -4, 1], [2, 1, 0])
    assert [claim.status for claim in claims] == [1, 0, 1]
    prove(layer, claims)


def test_a_row_below_the_first_is_no_place(tmp_path):
    paths, places = paths_in(tmp_path), MATRIX.tocoo()
    write(paths[0], *example())
    for row, column in [(np.where(places.row == 2, -1, places.row), places.col), (places.row, places.col - 2)]:
        arrays = {"row": row, "col": column, "data": places.data}
        np.savez(paths[1], format=np.array(b"coo"), shape=np.array([3, 2]), **arrays)
        with pytest.raises(InputError, match="each entry once, within the matrix"):
            read(*paths)


def test_a_square_matrix_is_taken_as_it_lies(tmp_path):
    paths = paths_in(tmp_path)
    square = scipy.sparse.csr_array(np.array([[1.0, 2.0], [0.0, 1.0]]))
    lp.verify(square, [[0]]).save(paths[0])
    scipy.sparse.save_npz(paths[1], square)
    prove(*read(*paths))
    scipy.sparse.save_npz(paths[1], square.T.tocsr())
    with pytest.raises(InputError, match="expected the weights that were verified, got others"):
        read(*paths)


@pytest.mark.parametrize("domain", ["nonnegative", "unit", (0.0, 2.0)])
def test_results_of_wide_sparse_weights_are_proven(tmp_path, domain, capsys):
    rng = np.random.default_rng(0)
    weight = scipy.sparse.random_array((6, 2200), density=0.02, rng=rng, format="csr", data_sampler=rng.standard_normal)
    sign = scipy.sparse.csr_array(np.vstack([np.eye(5, 6), -np.eye(1, 6, 2)]))
    weight = (sign @ weight).tocsr()  # the last label is active where the third is not
    v = lp.verify(weight, [[0], [0, 2], [2, 5], [1, 2, 3, 5]], bias=[-0.1] * 6, domain=domain)
    assert v.status.tolist() == [1, 1, 0, 0]
    v.save(tmp_path / "v.npz")
    scipy.sparse.save_npz(tmp_path / "w.npz", weight)
    np.save(tmp_path / "b.npy", np.full(6, -0.1))
    assert main([str(tmp_path / name) for name in ("v.npz", "w.npz", "b.npy")]) == 0
    assert "Proven: 2 label sets argmaxable, 2 unargmaxable." in capsys.readouterr().out


def test_rows_are_made_of_what_is_stored():
    rows = SparseRows(3, [{2: 5}, {}, {0: -1, 1: 4}])
    assert [*rows] == [[0, 0, 5], [0, 0, 0], [-1, 4, 0]]
    assert (len(rows), rows[1]) == (3, [0, 0, 0])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"weight_data": MATRIX.data * 2}, "the weights that were verified"),
        ({"weight_data": np.array([1.0, 1.0, np.nan, -1.0])}, "finite numbers"),
        ({"weight_data": MATRIX.data[:3]}, "ascending indptr"),
        ({"weight_indices": np.array([0, 1, 0, 2])}, "each entry once, within the matrix"),
        ({"weight_indices": np.array([0, 1, -1, 1])}, "each entry once, within the matrix"),
        ({"weight_indices": np.array([0, 1, 1, 1])}, "each entry once, within the matrix"),
        ({"weight_indices": np.array([0, 1, 0])}, "zip() argument"),
        ({"weight_indptr": np.array([0, 1, 2, 5])}, "ascending indptr"),
        ({"weight_indptr": np.array([1, 1, 2, 4])}, "ascending indptr"),
        ({"weight_indptr": np.array([0, 2, 1, 4])}, "ascending indptr"),
        ({"weight_indptr": np.array([0, 1, 2, 3, 4])}, "each entry once, within the matrix"),
        ({"weight_shape": np.array([2, 3])}, "weights of another shape than (2, 3)"),
        ({"weight_shape": np.array([3, 2, 1])}, "weights of another shape than (3, 2, 1)"),
    ],
)
def test_parts_that_do_not_fit_together_are_refused(tmp_path, changes, message):
    refuse(tmp_path, message, weights=parts(**changes))


@pytest.mark.parametrize(("row", "column"), [(-1, 0), (3, 0), (0, -1), (0, 2)])
def test_a_place_outside_of_the_matrix_is_refused(tmp_path, row, column):
    paths = paths_in(tmp_path)
    write(paths[0], *example())
    places = {"row": np.array([row, 1, 2, 2]), "col": np.array([column, 1, 0, 1])}
    np.savez(paths[1], format=b"coo", shape=[3, 2], data=MATRIX.data, **places)
    with pytest.raises(InputError, match="each entry once, within the matrix"):
        read(*paths)


def test_a_form_that_is_not_known_is_refused(tmp_path):
    with pytest.raises(InputError, match="a sparse matrix in the form csr, csc or coo, got bsr"):
        read_saved(tmp_path, scipy.sparse.bsr_array(MATRIX))
