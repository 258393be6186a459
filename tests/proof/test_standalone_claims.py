"""The standalone checker refuses claims whose arrays do not fit together, and tells by its exit code what it proved."""

from fractions import Fraction

import numpy as np
import pytest
from standalone_cases import example, paths_in, radii, read_changed, refuse, with_offset, write, write_weights

from labelproof.proof.standalone import Array, _floats, _fraction, _parts, main, prove

# The arrays of a result


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"indptr": np.array([], np.int64)}, "IndexError"),
        ({"indptr": np.array([1, 2, 5, 6, 7])}, "ascending indptr"),
        ({"indptr": np.array([0, 2, 5, 6, 6])}, "ascending indptr"),
        ({"indptr": np.array([0, 5, 2, 6, 7])}, "ascending indptr"),
        ({"indptr": np.array([[0, 2, 5, 6, 7]])}, "indptr of type i8"),
        ({"indices": np.array([0, 3, 0, 1, 2, 0, 2])}, "indices from 0 up to 3"),
        ({"indices": np.array([-1, 1, 0, 1, 2, 0, 2])}, "indices from 0 up to 3"),
        ({"indices": np.array([1, 0, 0, 1, 2, 0, 2])}, "ascending labels in each set"),
        ({"indices": np.array([0, 1, 0, 1, 1, 0, 2])}, "ascending labels in each set"),
        ({"indices": np.array([0, 1, 0, 1, 2, 0, 2], np.int32)}, "indices of type i8"),
        ({"conflict_ptr": np.array([0, 0, 3, 3])}, "conflict_ptr of type i8 and shape (5,)"),
        ({"conflict_ptr": np.array([0, 0, 3, 3, 2])}, "ascending conflict_ptr"),
        ({"conflict_rows": np.array([0, 1, 10])}, "conflict_rows from 0 up to 10"),
        ({"conflict_rows": np.array([-1, 1, 2])}, "conflict_rows from 0 up to 10"),
        ({"status": np.array([1, 0, 1, -2], np.int8)}, "a status of 1, 0 or -1"),
        ({"status": np.array([1, 0, 1, 2], np.int8)}, "a status of 1, 0 or -1"),
        ({"status": np.array([1, 0, 1], np.int8)}, "status of type i1 and shape (4,)"),
        ({"status": np.array([1, -1, 1, -1], np.int8)}, "a reason for each undecided set"),
        ({"point_of": np.array([1, -1, -1])}, "point_of of type i8 and shape (4,)"),
        ({"point_of": np.array([2, -1, -1, -1])}, "each witness among the points"),
        ({"point_of": np.array([-2, -1, -1, -1])}, "each witness among the points"),
        ({"point_of": np.array([1, 2, -1, -1])}, "each witness among the points"),
        ({"point_of": np.array([-1, -1, -1, -1])}, "KeyError(0)"),
        ({"points": np.zeros((2, 3))}, "points of type f8 and shape (None, 2)"),
        ({"points": None}, "points of type f8 and shape (None, 2), got nothing"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(tmp_path, changes, message):
    refuse(tmp_path, message, **changes)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"fractions": {"2": ["0x1/0x1"]}}, "fractions of 2 features"),
        ({"fractions": {"2": ["0x1/0x1"] * 2, "0": ["0x1/0x1"] * 3}}, "fractions of 2 features"),
        ({"fractions": {"2": ["1/2", "0x1/0x1"]}}, "fractions like 0x1/0x2"),
        ({"fractions": {"2": ["0x1/0x0", "0x1/0x1"]}}, "ZeroDivisionError"),
        ({"fractions": {}}, "KeyError(2)"),
        ({"reasons": {}}, "a reason for each undecided set"),
        ({"reasons": {"2": "none"}}, "a reason for each undecided set"),
    ],
)
def test_evidence_of_the_header_that_does_not_fit_is_refused(tmp_path, fields, message):
    refuse(tmp_path, message, fields)


def test_a_witness_is_the_first_point_the_last_or_none(tmp_path):
    for point_of, expected in ((0, (-1.0, -1.0)), (1, (1.0, 1.0)), (-1, [Fraction(3), Fraction(1, 2)])):
        fields = {"fractions": {"0": ["0x3/0x1", "0x1/0x2"], "2": ["0x1/0x1", "-0x1/0x3"]}}
        _, claims = read_changed(tmp_path, fields, point_of=np.array([point_of, 0, -1, -1]))
        assert claims[0].evidence == expected
        assert claims[1].evidence == (0, 1, 2)
        assert claims[3].evidence == ()


def test_the_last_row_number_is_that_of_the_last_upper_bound(tmp_path):
    _, claims = read_changed(tmp_path, conflict_rows=np.array([0, 1, 9]))
    assert claims[1].evidence == (0, 1, 9)


def test_a_result_of_no_label_sets_claims_nothing(tmp_path):
    nothing = {name: np.zeros(0, np.int64) for name in ("indices", "point_of", "conflict_rows")}
    ends = {name: np.zeros(1, np.int64) for name in ("indptr", "conflict_ptr")}
    layer, claims = read_changed(tmp_path, status=np.zeros(0, np.int8), points=np.zeros((0, 2)), **nothing, **ends)
    assert claims == []
    prove(layer, claims)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"radius_sets": np.array([0, 1])}, "a radius for each argmaxable set"),
        ({"radius_sets": np.array([2, 0])}, "a radius for each argmaxable set"),
        ({"radius_sets": np.array([0])}, "radius_sets of type i8 and shape (2,)"),
        ({"radius_lower": np.zeros(3)}, "radius_lower of type f8 and shape (2,)"),
        ({"radius_upper": np.zeros(1)}, "radius_upper of type f8 and shape (2,)"),
        ({"radius_centers": np.zeros((2, 3))}, "radius_centers of type f8 and shape (2, 2)"),
        ({"radius_centers": np.zeros((3, 2))}, "radius_centers of type f8 and shape (2, 2)"),
        ({"radius_ptr": np.array([0, 1])}, "radius_ptr of type i8 and shape (3,)"),
        ({"radius_rows": np.array([0, 1, 3])}, "radius_rows from 0 up to 3"),
        ({"radius_multipliers": np.ones(2)}, "ascending radius_ptr"),
        ({"radius_multipliers": np.ones(3, np.int64)}, "radius_multipliers of type f8"),
    ],
)
def test_radii_that_do_not_fit_are_refused(tmp_path, changes, message):
    refuse(tmp_path, message, {"box": 2.0}, **radii() | changes)


def test_an_array_is_cut_where_the_ends_say():
    arrays = {
        "ends": Array("i8", (4,), (0, 2, 2, 3)),
        "a": Array("i8", (3,), (0, 4, 2)),
        "x": Array("f8", (3,), (-1.0,) * 3),
    }
    assert _parts(arrays, "ends", "a", 3, 5) == [(0, 4), (), (2,)]
    assert _parts(arrays, "ends", "x", 3) == [(-1.0, -1.0), (), (-1.0,)]
    with pytest.raises(ValueError, match="a from 0 up to 4"):
        _parts(arrays, "ends", "a", 3, 4)
    for wrong in ((1, 2, 2, 3), (-1, 2, 2, 3), (0, 2, 2, 2), (0, 2, 2, 4), (0, 3, 2, 3), (0, 2, 1, 3)):
        with pytest.raises(ValueError, match="ascending ends"):
            _parts(arrays | {"ends": Array("i8", (4,), wrong)}, "ends", "a", 3, 5)


# Numbers


def test_integers_that_a_float_holds_exactly_are_weights():
    most = 2**53
    assert _floats(Array("i8", (3,), (most, -most, 0))) == [float(most), -float(most), 0.0]
    assert all(isinstance(number, float) for number in _floats(Array("b1", (2,), (True, False))))
    for wrong in (most + 1, -most - 1, most + 2, 2 * most):
        for numbers in ((wrong, 0), (0, wrong)):
            with pytest.raises(ValueError, match="integers ≤ 2"):
                _floats(Array("i8", (2,), numbers))
    assert _floats(Array("f8", (2,), (1e300, -1e300))) == [1e300, -1e300]
    for wrong in (float("nan"), float("inf"), -float("inf")):
        for numbers in ((wrong, 0.0), (0.0, wrong)):
            with pytest.raises(ValueError, match="finite numbers"):
                _floats(Array("f8", (2,), numbers))


def test_fractions_are_written_in_hexadecimal_digits():
    assert _fraction("-0x1f/0x2") == Fraction(-31, 2)
    for text in ("1/2", "0x1", "0x1/-0x2", "0x1/0x2 ", "0xG/0x1", "0x1/0x2/0x3", "+0x1/0x1"):
        with pytest.raises(ValueError, match="fractions like 0x1/0x2"):
            _fraction(text)


# The command


def run(folder, capsys, fields=None, weights=None, more=(), **changes):
    header, arrays = example()
    paths = paths_in(folder)
    write(paths[0], header | (fields or {}), arrays | changes)
    write_weights(paths[1], **(weights or {}))
    code = main([*paths, *more])
    told = capsys.readouterr()
    return code, told.out, told.err


def test_what_is_proven_is_told_with_its_rule_ties_and_domain(tmp_path, capsys):
    assert run(tmp_path, capsys) == (
        0,
        "Proven: 2 label sets argmaxable, 1 unargmaxable. Undecided, so not claimed: 1.\n"
        "Rule sigmoid: a label is active where its logit exceeds 0, or the logit of its threshold.\n"
        "Ties open: every inequality is strict.\n"
        "Domain: all features.\n",
        "",
    )


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        ({"low": [-9.0, -9.0]}, "features within the bounds in the file"),
        ({"low": [-np.inf, 0.0]}, "features within the bounds in the file"),
        ({"high": [9.0, 9.0]}, "features within the bounds in the file"),
        ({"high": [np.inf, 9.0]}, "features within the bounds in the file"),
        ({"low": [-np.inf, -np.inf], "high": [np.inf, np.inf]}, "all features"),
        ({"low": [0.0, 0.0], "high": [9.0, 9.0]}, "features within the bounds in the file"),
        ({"low": [0.0, 0.0]}, "nonnegative features"),
        ({"low": [1.0, 1.0]}, "features within the bounds in the file"),
        ({"low": [-1.0, -1.0]}, "features within the bounds in the file"),
    ],
)
def test_the_domain_is_told_in_words(tmp_path, capsys, bounds, words):
    only = {"status": np.array([-1, 0, -1, -1], np.int8)}  # the conflict holds in every domain
    fields = {"reasons": {"0": "", "2": "", "3": ""}}
    code, told, _ = run(tmp_path, capsys, fields, **only, **{side: np.array(b) for side, b in bounds.items()})
    assert code == 0
    assert told.endswith(f"Domain: {words}.\n")
    assert told.startswith("Proven: 0 label sets argmaxable, 1 unargmaxable. Undecided, so not claimed: 3.")


def test_a_verdict_without_proof_has_exit_code_1(tmp_path, capsys):
    code, out, err = run(tmp_path, capsys, point_of=np.array([0, -1, -1, -1]))
    assert (code, out) == (1, "")
    assert err == "Not proven: label set 0 is not proven: label 0 is not active at its witness.\n"
    assert run(tmp_path, capsys, {"certified": False})[0] == 1


def test_bad_input_has_exit_code_2(tmp_path, capsys):
    code, out, err = run(tmp_path, capsys, {"rule": "softmax"})
    assert (code, out) == (2, "")
    assert err.startswith("Refused: ")
    assert err.endswith("(expected a known rule and treatment of ties).\n")
    for paths in ([], ["a"], ["a", "b", "c", "d"]):
        assert main(paths) == 2
        assert capsys.readouterr() == ("", "usage: python standalone.py RESULT.npz WEIGHTS.npz [BIAS.npy]\n")
    assert main(["absent", "absent"]) == 2
    assert capsys.readouterr().err.startswith("Refused: absent with absent: damaged, or not what they should be (")


def test_a_third_path_is_that_of_the_bias(tmp_path, capsys):
    bias = np.array([0.25, 0.25, 0.25])
    np.save(tmp_path / "b.npy", bias)
    undecided = {"status": np.array([1, -1, 1, -1], np.int8)}
    fields = {"reasons": {"1": "", "3": ""}}
    path = str(tmp_path / "b.npy")
    assert run(tmp_path, capsys, fields, more=[path], **undecided, **with_offset(bias))[0] == 0
    assert run(tmp_path, capsys, fields, **undecided, **with_offset(bias))[0] == 2
