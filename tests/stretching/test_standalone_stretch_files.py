"""The standalone checker of a stretch reads what was stored, and refuses files that are damaged or do not fit."""

import io
import struct
import zipfile
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from standalone_stretch_cases import FEATURES, WEIGHT, digest, example, read_changed, refuse, with_bar, write

from labelproof.proof import standalone_stretch
from labelproof.proof.standalone_stretch import Array, InputError, _parse, _read_arrays, main, read

BIAS = np.array([-1.0, -1.0, 0.25])


def sparse(indptr=(0, 1, 3, 4, 6), indices=(0, 0, 1, 1, 0, 1), data=(1.0, -1.0, 0.5, 1.0, 2.0, 0.5), shape=(4, 2)):
    return {"indptr": np.array(indptr), "indices": np.array(indices), "data": np.array(data), "shape": np.array(shape)}


def sparse_sha256(indptr, indices, data):
    packed = struct.pack(f"<{len(indptr)}q{len(indices)}q{len(data)}d", *indptr, *indices, *data)
    return standalone_stretch.hashlib.sha256(b"csr 4 2 " + packed).hexdigest()


def of_sparse(indptr=(0, 1, 3, 4, 6), indices=(0, 0, 1, 1, 0, 1), data=(1.0, -1.0, 0.5, 1.0, 2.0, 0.5)):
    return {"features_sha256": sparse_sha256(indptr, indices, data)}


# What is read


def test_every_number_is_taken_as_it_is(tmp_path):
    stored = read_changed(tmp_path)
    problem = stored.problem
    assert (problem.rule, problem.ties) == ("sigmoid", "inactive")
    assert [[Fraction(c, problem.w_unit) for c in row] for row in problem.weight] == [list(row) for row in WEIGHT]
    assert [Fraction(c, problem.w_unit) for c in problem.offset] == [-1, -1, 0.25]
    assert [[Fraction(c, problem.f_unit) for c in row] for row in problem.features] == [list(row) for row in FEATURES]
    assert [Fraction(c, problem.f_unit) for c in problem.centre] == [0.5, 0.5]
    assert (stored.predicted, stored.bar) == ([], None)
    assert stored.claims == [
        (frozenset([0]), 0.25, 2.5, ((3,), (2.5,)), ((0,), (1.5,)), ()),
        (frozenset([0, 2]), 0.0, np.inf, ((), ()), ((), ()), ()),
        (frozenset(), 0.0, 0.0, ((), ()), ((), ()), ()),
    ]


def test_a_bias_without_thresholds_and_thresholds_without_a_bias(tmp_path):
    theta = np.array([0.5, 0.1, -0.25])
    exact = [Fraction(b) - Fraction(t) for b, t in zip(BIAS.tolist(), theta.tolist(), strict=True)]
    offset = np.array(list(map(float, exact)))
    error = np.array([float(x - Fraction(o)) for x, o in zip(exact, offset.tolist(), strict=True)])
    assert error.any()
    changes = {"theta": theta, "offset": offset, "offset_error": error}
    problem = read_changed(tmp_path, **changes).problem
    assert [Fraction(c, problem.w_unit) for c in problem.offset] == exact
    refuse(tmp_path, "the bias that was measured, got another", **(changes | {"offset_error": np.zeros(3)}))
    refuse(tmp_path, "the bias that was measured, got another", **(changes | {"offset": offset + error + 1}))
    wrong = {"offset": offset + 1, "offset_error": error - 1}  # the same sum, but not its nearest float
    refuse(tmp_path, "the bias that was measured, got another", **(changes | wrong))
    alone = {"theta": theta, "offset": -theta, "offset_error": np.zeros(3)}
    problem = read_changed(tmp_path, weights={"bias": None}, **alone).problem
    assert [Fraction(c, problem.w_unit) for c in problem.offset] == (-theta).tolist()
    neither = {"offset": None, "offset_error": None}
    assert read_changed(tmp_path, weights={"bias": None}, **neither).problem.offset == [0, 0, 0]


def test_a_bias_is_there_if_and_only_if_one_was_measured(tmp_path):
    message = "a bias if and only if one was measured"
    refuse(tmp_path, message, weights={"bias": None})
    refuse(tmp_path, message, offset=None, offset_error=None)
    refuse(tmp_path, message, offset_error=None)
    refuse(tmp_path, message, weights={"bias": None}, offset=None)
    refuse(tmp_path, message, weights={"bias": None}, offset=None, theta=np.zeros(3))
    refuse(tmp_path, "longer", weights={"bias": BIAS[:2]})
    refuse(tmp_path, "thresholds with the rule sigmoid only", {"rule": "topk"}, theta=np.zeros(3))
    assert read_changed(tmp_path, {"rule": "topk"}).problem.rule == "topk"


@pytest.mark.parametrize(("weight", "bias"), [("weight", "bias"), ("W", "b"), ("coef_", "intercept_")])
def test_usual_names_of_weight_and_bias_are_known(tmp_path, weight, bias):
    given = {"weight": None, "bias": None, weight: np.array(WEIGHT), bias: BIAS}
    assert len(read_changed(tmp_path, weights=given).claims) == 3


def test_a_bias_of_its_own_file_is_taken(tmp_path):
    paths = write(tmp_path, *example(), weights={"bias": None})
    with pytest.raises(InputError, match="a bias if and only if"):
        read(*paths)
    np.save(tmp_path / "b.npy", BIAS)
    assert read(*paths, str(tmp_path / "b.npy")).problem.offset == read_changed(tmp_path).problem.offset


@pytest.mark.parametrize("dtype", ["<f4", ">f8", "<f2"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_weights_and_features_are_read_in_every_type_and_order(tmp_path, dtype, order):
    weights = {"weight": np.asarray(np.array(WEIGHT).astype(dtype), order=order)}
    features = {"x": np.asarray(np.array(FEATURES).astype(dtype), order=order)}
    assert read_changed(tmp_path, weights=weights, features=features) == read_changed(tmp_path)


def test_a_zero_has_no_sign(tmp_path):
    minus = np.where(np.array(WEIGHT) == 0, -0.0, WEIGHT)
    assert read_changed(tmp_path, weights={"weight": minus}) == read_changed(tmp_path)


def test_sparse_features_are_read(tmp_path):
    assert read_changed(tmp_path, of_sparse(), sparse()) == read_changed(tmp_path)
    unsorted = sparse(indices=(0, 1, 0, 1, 0, 1), data=(1.0, 0.5, -1.0, 1.0, 2.0, 0.5))
    assert read_changed(tmp_path, of_sparse(), unsorted) == read_changed(tmp_path)
    zeros = sparse((0, 2, 4, 5, 7), (0, 1, 0, 1, 1, 0, 1), (1.0, 0.0, -1.0, 0.5, 1.0, 2.0, 0.5))
    assert read_changed(tmp_path, of_sparse(), zeros) == read_changed(tmp_path)
    sp.save_npz(tmp_path / "f.npz", sp.csr_matrix(np.array(FEATURES)))
    header, arrays = example()
    paths = write(tmp_path, header | of_sparse(), arrays)
    assert read(*paths[:2], str(tmp_path / "f.npz")) == read_changed(tmp_path)


@pytest.mark.parametrize(
    "changes",
    [
        {"indptr": (0, 1, 3, 6)},
        {"indptr": (0, 1, 3, 4, 6, 6)},
        {"indptr": (1, 1, 3, 4, 6)},
        {"indptr": (0, 1, 3, 4, 5)},
        {"indptr": (0, 3, 1, 4, 6)},
        {"indices": (0, 0, 1, 1, 0, 2)},
        {"indices": (0, 0, 1, 1, 0, -1)},
        {"indices": (0, 0, 1, 1, 0, 1, 0)},
        {"data": (1.0, -1.0, 0.5, 1.0, 2.0, 0.5, 1.0)},
    ],
)
def test_sparse_features_that_are_no_matrix_are_refused(tmp_path, changes):
    refuse(tmp_path, "a sparse matrix in order", of_sparse(), sparse(**changes))


def test_a_place_of_sparse_features_is_named_once(tmp_path):
    twice = {"indptr": (0, 2, 4, 5, 7), "indices": (0, 0, 0, 1, 1, 0, 1), "data": (0.5, 0.5, -1.0, 0.5, 1.0, 2.0, 0.5)}
    refuse(tmp_path, "each place of the sparse matrix once", of_sparse(**twice), sparse(**twice))


def test_other_features_are_refused(tmp_path):
    refuse(tmp_path, "features of shape (4, 2)", features={"x": np.array(FEATURES)[:3]})
    refuse(tmp_path, "features of shape (4, 2)", features={"x": np.array(FEATURES).ravel()})
    refuse(tmp_path, "features of shape (4, 2)", of_sparse(), sparse(shape=(4, 3)))
    refuse(tmp_path, "the features that were measured, got others", features={"x": np.array(FEATURES) + 1})
    refuse(tmp_path, "the features that were measured, got others", features=sparse())
    refuse(tmp_path, "the features that were measured, got others", of_sparse())
    refuse(tmp_path, "the features that were measured", of_sparse(), sparse(data=(1.0, -1.0, 0.5, 1.0, 2.0, 0.25)))
    refuse(tmp_path, "finite numbers", features={"x": np.full((4, 2), np.nan)})
    refuse(tmp_path, "finite numbers", features={"x": np.array([[np.inf, 1.0]] * 4)})


@pytest.mark.parametrize("large", [2**53 + 1, -(2**53) - 1])
def test_integers_that_no_float_holds_are_refused(tmp_path, large):
    features = np.array([[large, 1]] * 4)
    refuse(tmp_path, "integers of at most 2**53", features={"x": features})
    refuse(tmp_path, "integers of at most 2**53", weights={"weight": np.array([[large, 1]] * 3)})
    refuse(tmp_path, "integers of at most 2**53", weights={"bias": np.array([large, 1, 1])})
    refuse(tmp_path, "features that were measured", features={"x": np.array([[2**53, -(2**53)]] * 4)})


def test_other_weights_are_refused(tmp_path):
    refuse(tmp_path, "weights of shape (3, 2)", weights={"weight": np.array(WEIGHT)[:2]})
    refuse(tmp_path, "weights of shape (3, 2)", weights={"weight": np.array(WEIGHT).T})
    refuse(tmp_path, "weights of shape (3, 2)", weights={"weight": None})
    refuse(tmp_path, "the weights that were measured, got others", weights={"weight": np.array(WEIGHT) * 2})
    refuse(tmp_path, "the bias that was measured, got another", weights={"bias": np.nextafter(BIAS, 9)})
    refuse(tmp_path, "finite numbers", weights={"weight": np.full((3, 2), np.inf)})


def test_the_centre_is_the_mean_to_nine_digits(tmp_path):
    largest = np.array([2.0, 1.0])
    for sign in (1, -1):
        near = np.array([0.5, 0.5]) + sign * 0.99e-9 * largest
        assert len(read_changed(tmp_path, centre=near).claims) == 3
        for k in (0, 1):
            off = np.array([0.5, 0.5])
            off[k] += sign * 1.01e-9 * largest[k]
            refuse(tmp_path, "the mean of the features", centre=off)
    refuse(tmp_path, "a centre of 2 features", centre=np.array([0.5, 0.5, 0.0]))
    refuse(tmp_path, "a centre of 2 features", centre=np.array([0.5]))
    refuse(tmp_path, "finite numbers", centre=np.array([0.5, np.nan]))


# What is refused


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"format": "labelproof verification"}, "a labelproof stretch, version 1"),
        ({"version": 2}, "a labelproof stretch, version 1"),
        ({"rule": "sparsemax"}, "a known rule and ties"),
        ({"ties": "closed"}, "a known rule and ties"),
        ({"n_labels": 2}, "weights of shape (2, 2)"),
        ({"d": 3}, "weights of shape (3, 3)"),
        ({"n_examples": 5}, "features of shape (5, 2)"),
        ({"weight_sha256": "0"}, "the weights that were measured"),
        ({"features_sha256": "0"}, "the features that were measured"),
        ({"bar": {}}, "bar_indptr of type i8"),
    ],
)
def test_a_header_that_does_not_fit_is_refused(tmp_path, fields, message):
    refuse(tmp_path, message, fields)


ARRAYS = {"indptr": "i8", "indices": "i8", "lower": "f8", "upper": "f8", "mixture_ptr": "i8", "mixture_examples": "i8"}
ARRAYS |= {"mixture_weights": "f8", "weighted_ptr": "i8", "weighted_labels": "i8", "multipliers": "f8"}
ARRAYS |= {"conflict_ptr": "i8", "conflict_rows": "i8", "centre": "f8", "offset": "f8", "offset_error": "f8"}


@pytest.mark.parametrize("name", ARRAYS)
def test_each_array_has_its_type_and_one_axis(tmp_path, name):
    _, arrays = example()
    kind = ARRAYS[name]
    other = "f4" if kind == "f8" else "i4"
    refuse(tmp_path, f"{name} of type {kind} and one axis, got {other}", **{name: arrays[name].astype(other)})
    refuse(tmp_path, f"{name} of type {kind} and one axis", **{name: arrays[name][:, None]})
    if not name.startswith("offset"):
        refuse(tmp_path, f"{name} of type {kind} and one axis, got nothing", **{name: None})


def test_thresholds_have_their_type_too(tmp_path):
    refuse(tmp_path, "theta of type f8 and one axis, got f4", theta=np.zeros(3, np.float32))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"indptr": np.array([0, 1, 3, 2])}, "ascending ends"),
        ({"indptr": np.array([0, 2, 1, 3])}, "ascending ends"),
        ({"indptr": np.array([1, 1, 3, 3])}, "ascending ends"),
        ({"indptr": np.array([0, 1, 3])}, "longer"),
        ({"indices": np.array([0, 0, 3])}, "indices from 0 up to 3"),
        ({"indices": np.array([-1, 0, 2])}, "indices from 0 up to 3"),
        ({"indices": np.array([0, 2, 0])}, "ascending labels in each set"),
        ({"indices": np.array([0, 2, 2])}, "ascending labels in each set"),
        ({"mixture_examples": np.array([4])}, "mixture_examples from 0 up to 4"),
        ({"mixture_examples": np.array([-1])}, "mixture_examples from 0 up to 4"),
        ({"mixture_examples": np.array([3, 3])}, "ascending ends"),
        ({"weighted_labels": np.array([3])}, "weighted_labels from 0 up to 3"),
        ({"multipliers": np.array([1.0, 1.0])}, "ascending ends"),
        ({"conflict_ptr": np.array([0, 0, 0, 1]), "conflict_rows": np.array([10])}, "conflict_rows from 0 up to 10"),
        ({"lower": np.array([0.25, 0.0, -0.5])}, "bounds of at least 0"),
        ({"upper": np.array([2.5, np.nan, 0.0])}, "bounds of at least 0"),
        ({"upper": np.array([2.5, np.inf])}, "shorter"),
        ({"lower": np.zeros(4)}, "longer"),
    ],
)
def test_arrays_that_do_not_fit_together_are_refused(tmp_path, changes, message):
    refuse(tmp_path, message, **changes)


def test_the_last_row_of_a_conflict_is_read(tmp_path):
    stored = read_changed(tmp_path, conflict_ptr=np.array([0, 0, 1, 1]), conflict_rows=np.array([9]))
    assert [claim.conflict for claim in stored.claims] == [(), (9,), ()]


# Bars


def test_a_bar_comes_with_its_predictions(tmp_path):
    bar, arrays = with_bar()
    stored = read_changed(tmp_path, {"bar": bar}, **arrays)
    assert len(stored.predicted) == 8
    assert stored.predicted[7] == (frozenset([0]), 0.25, 3.0, ((3,), (2.5,)), ((0,), (1.5,)), ())
    assert stored.bar == bar
    assert len(stored.claims) == 3
    refuse(tmp_path, "bar_lower of type f8", {"bar": bar}, **(arrays | {"bar_lower": None}))
    refuse(tmp_path, "indices from 0 up to 3", {"bar": bar}, **(arrays | {"bar_indices": np.full(8, 3)}))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"n": 8.0}, "whole numbers n and rank of the bar"),
        ({"rank": 1.0}, "whole numbers n and rank of the bar"),
        ({"rank": True}, "whole numbers n and rank of the bar"),
        ({"alpha": "0.5"}, "numbers alpha and value of the bar"),
        ({"value": 3}, "numbers alpha and value of the bar"),
        ({"alpha": 0.0}, "a share alpha"),
        ({"alpha": 1.0}, "a share alpha"),
        ({"alpha": float("nan")}, "a share alpha"),
    ],
)
def test_a_bar_of_other_types_is_refused(tmp_path, fields, message):
    bar, arrays = with_bar()
    refuse(tmp_path, message, {"bar": bar | fields}, **arrays)


# Files


def npy(array):
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


@pytest.mark.parametrize("dtype", [f"{sign}{kind}" for sign in "<>" for kind in ("f2", "f4", "f8", "i2", "i4", "i8")])
@pytest.mark.parametrize("order", ["C", "F"])
def test_numbers_of_every_size_sign_and_order_are_read(dtype, order):
    array = np.array([[1, -2, 3], [5, 8, -13]]).astype(dtype)
    expected = Array(dtype[1:], (2, 3), tuple(array.ravel().tolist()))
    assert _parse(npy(np.asarray(array, order=order))) == expected


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "<u2", ">u2", "<u4", ">u4", "<u8", ">u8"])
def test_truth_values_bytes_and_numbers_without_sign_are_read(dtype):
    array = np.array([[0, 1], [1, 1], [0, 0]]).astype(dtype)
    if array.dtype.kind != "b":
        array[0, 0] = np.iinfo(array.dtype).max
    kind = f"{array.dtype.kind}{array.dtype.itemsize}"
    assert _parse(npy(array)) == Array(kind, (3, 2), tuple(array.ravel().tolist()))


@pytest.mark.parametrize("array", [np.array(["a", "größe"]), np.array([b"abc"]), np.array("x")])
def test_text_is_passed_over(array):
    assert _parse(npy(array)) == Array(array.dtype.str.lstrip("<|"), array.shape, ())


def test_a_longer_header_is_read():
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.array([1.5, -2.0]), version=(2, 0))
    assert _parse(stream.getvalue()) == Array("f8", (2,), (1.5, -2.0))


@pytest.mark.parametrize("array", [np.array([1j]), np.array(["2020"], "M8[Y]"), np.array([(1, 2.0)], "i4,f8")])
def test_arrays_of_other_kinds_are_refused(array):
    with pytest.raises(ValueError, match="numbers or text"):
        _parse(npy(array))


def test_arrays_that_are_cut_off_are_refused():
    for end in (-1, -9):
        with pytest.raises(struct.error):
            _parse(npy(np.arange(3.0))[:end])


def test_an_archive_names_each_array_once_and_is_not_too_large(tmp_path, monkeypatch):
    path = str(tmp_path / "a.npz")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.npy", npy(np.arange(2.0)))
    assert _read_arrays(path) == {"x": Array("f8", (2,), (0.0, 1.0))}
    size = len(npy(np.arange(2.0)))
    monkeypatch.setattr(standalone_stretch, "MOST_BYTES", size)
    assert len(_read_arrays(path)) == 1
    monkeypatch.setattr(standalone_stretch, "MOST_BYTES", size - 1)
    with pytest.raises(ValueError, match="bytes of arrays"):
        _read_arrays(path)
    monkeypatch.setattr(standalone_stretch, "MOST_BYTES", 2**20)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("x", npy(np.arange(2.0)))
    with pytest.raises(ValueError, match="each array once"):
        _read_arrays(path)


def test_one_array_is_called_weight(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(2.0))
    assert _read_arrays(str(tmp_path / "a.npy")) == {"weight": Array("f8", (2,), (0.0, 1.0))}
    assert standalone_stretch.MOST_BYTES == 17179869184


# The command


def test_the_command_tells_what_holds(tmp_path, capsys):
    paths = write(tmp_path, *example())
    assert main(paths) == 0
    assert capsys.readouterr().out == (
        "Proven: the stretch of 3 label sets, 0 of them infinite.\nRule sigmoid, ties inactive, 4 examples.\n"
    )
    header, arrays = example()
    bar, more = with_bar()
    assert main(write(tmp_path, header | {"bar": bar}, arrays | more)) == 0
    assert capsys.readouterr().out.endswith("Bar: 2.5, from 8 predictions, for 0.5.\n")


def test_the_command_says_what_is_not_proven_and_what_is_bad_input(tmp_path, capsys):
    header, arrays = example()
    bar, more = with_bar()

    def says(fields=None, **changes):
        code = main(write(tmp_path, header | {"bar": bar} | (fields or {}), arrays | more | changes))
        told = capsys.readouterr()
        assert len(told.err.splitlines()) <= 1
        return code, told.err

    assert says() == (0, "")
    code, told = says(lower=np.array([0.5, 0.0, 0.0]))
    assert (code, told) == (1, "Not proven: the stretch of label set 0 is not proven: " + told.split(": ", 2)[2])
    assert says(bar_lower=np.full(8, 0.5))[1].startswith("Not proven: the stretch of prediction 0 is not proven")
    assert says({"bar": bar | {"value": 9.0}}) == (1, "Not proven: the bar is not proven: expected 2.5, got 9.0.\n")
    code, told = says({"rule": "other"})
    assert code == 2
    assert told.startswith("Refused: ")
    for number in (2, 5):
        assert main(["a"] * number) == 2
        assert capsys.readouterr().err.startswith("usage: ")
    assert main(["absent.npz"] * 3) == 2
    assert main(["absent.npz"] * 4) == 2


def npy_of(numbers, *, shape="(2,)", order="False", length=0):
    """An .npy file of these bytes with a header of our own, padded in front to a length, and without a line's end."""
    header = f"{{'descr': '<f8', 'fortran_order': {order}, 'shape': {shape}}}".rjust(length).encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + numbers


def test_headers_of_any_length_and_end_are_read():
    two = struct.pack("<2d", 1.5, -2.0)
    for length in (0, 255, 256, 400):
        assert _parse(npy_of(two, length=length)) == Array("f8", (2,), (1.5, -2.0))
    assert _parse(npy_of(two[:8], shape="()", order="True")) == Array("f8", (), (1.5,))


def test_what_is_wrong_is_told_in_words_where_there_are_some(tmp_path):
    header, arrays = example()

    def told(path=None, **changes):
        paths = write(tmp_path, header, arrays | changes)
        with pytest.raises(InputError) as caught:
            read(path or paths[0], *paths[1:])
        return str(caught.value)

    assert "(expected the mean of the features)" in told(centre=np.array([0.5, 0.6]))
    assert "([Errno 2]" in told("absent.npz")
    del header["rule"]
    assert "(KeyError('rule'))" in told()


def test_the_offset_is_the_float_next_to_what_it_stands_for(tmp_path):
    refuse(tmp_path, "the bias that was measured, got another", offset=BIAS - 1, offset_error=np.ones(3))


def test_features_and_examples_that_are_0_are_read(tmp_path):
    features = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0], [2.0, 0.0]])
    sha = {"features_sha256": digest("4 2 ", *features.ravel().tolist())}
    stored = read_changed(tmp_path, sha, {"x": features}, centre=np.array([0.5, 0.0]))
    assert stored.problem.is_constant(1)
    matrix = sp.csr_matrix(features)
    parts = (matrix.indptr.tolist(), matrix.indices.tolist(), matrix.data.tolist())
    again = read_changed(tmp_path, of_sparse(*parts), sparse(*parts), centre=np.array([0.5, 0.0]))
    assert again == stored


def test_the_command_takes_a_bias_and_counts_what_is_infinite(tmp_path, capsys):
    header, arrays = example()
    two = {"lower": np.array([0.25, np.inf, 0.0]), "conflict_ptr": np.array([0, 0, 2, 2])}
    paths = write(tmp_path, header, arrays | two | {"conflict_rows": np.array([0, 2])}, weights={"bias": None})
    np.save(tmp_path / "b.npy", BIAS)
    assert main([*paths, str(tmp_path / "b.npy")]) == 1  # these two rows are no conflict
    zero = {"lower": np.array([0.25, 0.0, 0.0])}
    paths = write(tmp_path, header, arrays | zero, weights={"bias": None})
    capsys.readouterr()
    assert main([*paths, str(tmp_path / "b.npy")]) == 0
    assert "3 label sets, 0 of them infinite" in capsys.readouterr().out
    weight = ((1.0, 0.0), (0.0, 2.0), (-1.0, 0.0))
    sha = {"weight_sha256": digest("3 2 ", *sum(weight, ()))}
    given = {"weight": np.array(weight), "bias": np.array([-1.0, -1.0, 0.25])}
    three = two | {"conflict_ptr": np.array([0, 0, 3, 3]), "conflict_rows": np.array([0, 2, 3])}
    assert main(write(tmp_path, header | sha, arrays | three, weights=given)) == 0  # x_0 − s > 0, s/4 − x_0 > 0, s > 0
    assert "3 label sets, 1 of them infinite" in capsys.readouterr().out
