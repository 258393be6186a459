"""The standalone checker reads what a result claims, and refuses one with other weights or a header out of form."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from standalone_cases import TRIANGLE, example, paths_in, radii, read_changed, refuse, with_offset, write, write_weights

from labelproof.proof.standalone import Claim, InputError, ProofError, prove, read

BIAS = np.array([0.5, -1.0, 0.25])


# A whole result


def test_a_result_is_read_as_it_was_written(tmp_path):
    layer, claims = read_changed(tmp_path)
    assert (layer.rule, layer.ties, layer.temperature, layer.unit) == ("sigmoid", "open", 1, 1)
    assert (layer.low, layer.high) == ([None, None], [None, None])
    assert (layer.weight, layer.offset) == ([list(map(int, row)) for row in TRIANGLE], [0, 0, 0])
    assert (layer.has_offset, layer.exponents, layer.is_usual) == (False, [1, 1, 1], True)
    assert claims == [
        Claim(frozenset([0, 1]), 1, (1.0, 1.0), None),
        Claim(frozenset([0, 1, 2]), 0, (0, 1, 2), None),
        Claim(frozenset([0]), 1, [Fraction(1), Fraction(-1, 3)], None),
        Claim(frozenset([2]), -1, (), None),
    ]
    prove(layer, claims)


def test_radii_are_read_with_their_evidence(tmp_path):
    paths = paths_in(tmp_path)
    layer, claims = read_changed(tmp_path, {"box": 2.0}, **radii())
    prove(layer, claims)
    given = radii()
    for place, i in enumerate((0, 2)):
        box, lower, upper, centre, labels, nu = claims[i].radius
        assert (box, lower, upper) == (2, given["radius_lower"][place], given["radius_upper"][place])
        assert centre == tuple(given["radius_centers"][place])
        assert (labels, nu) == (((0,), (1.0,)), ((1, 2), (1.0, 1.0)))[place]
    assert claims[1].radius is claims[3].radius is None
    read_changed(tmp_path, **radii())  # without a box they are not looked at
    assert all(claim.radius is None for claim in read(*paths)[1])


def test_an_error_that_is_not_ours_is_told_with_its_name(tmp_path):
    paths = paths_in(tmp_path)
    with pytest.raises(InputError, match=r"damaged, or not what they should be \(\[Errno 2\] No such file"):
        read(*paths)
    header, arrays = example()
    del header["rule"]
    write(paths[0], header, arrays)
    write_weights(paths[1])
    with pytest.raises(InputError, match=r"\(KeyError\('rule'\)\)"):
        read(*paths)
    refuse(tmp_path, "(expected a known rule and treatment of ties)", {"rule": "softmax"})


# The header


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"format": "another"}, "a result of version 1 or 2"),
        ({"version": 3}, "a result of version 1 or 2"),
        ({"version": 0}, "a result of version 1 or 2"),
        ({"rule": "softmax"}, "a known rule"),
        ({"ties": "closed"}, "a known rule and treatment of ties"),
        ({"temperature": 0.0}, "a positive temperature"),
        ({"temperature": -0.5}, "a positive temperature"),
        ({"temperature": 1}, "a positive temperature"),
        ({"temperature": True}, "a positive temperature"),
        ({"temperature": math.inf}, "a positive temperature"),
        ({"temperature": math.nan}, "a positive temperature"),
        ({"eps": -0.5}, "a number eps ≥ 0"),
        ({"eps": 0}, "a number eps ≥ 0"),
        ({"eps": math.inf}, "a number eps ≥ 0"),
        ({"eps": None}, "a number eps ≥ 0"),
        ({"label_names": ["a", "b"]}, "one name for each label"),
        ({"label_names": []}, "one name for each label"),
        ({"box": 2}, "a box from 1e-150 to 1e150"),
        ({"box": "2"}, "a box from 1e-150 to 1e150"),
        ({"box": -2.0}, "a box from 1e-150 to 1e150"),
        ({"box": math.nextafter(1e-150, 0)}, "a box from 1e-150 to 1e150"),
        ({"box": math.nextafter(1e150, math.inf)}, "a box from 1e-150 to 1e150"),
        ({"box": 2.0, "rule": "topk"}, "radii with the rule sigmoid only"),
    ],
)
def test_a_header_with_a_wrong_field_is_refused(tmp_path, fields, message):
    refuse(tmp_path, message, fields, **radii())


def test_numbers_of_the_header_may_lie_on_the_edge_of_their_range(tmp_path):
    for fields in ({"temperature": 5e-324}, {"temperature": 0.5}, {"temperature": 1e308}, {"eps": 0.0}, {"eps": 1e308}):
        layer, _ = read_changed(tmp_path, fields)
        assert layer.temperature == Fraction(fields.get("temperature", 1.0))
    for box in (1e-150, 2.0, 1e150):
        _, claims = read_changed(tmp_path, {"box": box}, **radii())
        assert claims[0].radius[0] == Fraction(box)
    layer, _ = read_changed(tmp_path, {"label_names": ["a", "b", "c"], "rule": "topk", "ties": "inactive"})
    assert (layer.rule, layer.ties) == ("topk", "inactive")


@pytest.mark.parametrize("certified", [False, None, 1, "yes"])
def test_a_result_without_evidence_proves_nothing(tmp_path, certified):
    with pytest.raises(ProofError, match="no verdict is proven: the file was made without evidence"):
        read_changed(tmp_path, {"certified": certified})


def test_a_header_is_bytes_of_json(tmp_path):
    header, _ = example()
    text = np.frombuffer(json.dumps(header).encode(), np.uint8)
    for wrong in (None, text.view(np.int8), text[None], text[:-1]):
        refuse(tmp_path, "", header=wrong)
    refuse(tmp_path, "header of type u1 and shape (None,)", header=text[None])


# The classifier


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"weight": np.nextafter(TRIANGLE, 9.0)}, "the weights that were verified, got others"),
        ({"weight": np.array(TRIANGLE)[:, ::-1]}, "the weights that were verified, got others"),
        ({"weight": np.array(TRIANGLE)[:2]}, "weights of another shape than (2, 2)"),
        ({"weight": np.array(TRIANGLE).T}, "weights of another shape than (2, 3)"),
        ({"weight": np.array(TRIANGLE)[None]}, "one matrix, best called weight, W, coef_, coef"),
        ({"weight": np.zeros(3)}, "one matrix"),
        ({"weight": np.full((3, 2), np.inf)}, "finite numbers"),
        ({"bias": BIAS}, "no bias, as was verified"),
    ],
)
def test_other_weights_are_refused(tmp_path, weights, message):
    refuse(tmp_path, message, weights=weights)


def test_a_matrix_without_numbers_is_refused(tmp_path):
    refuse(tmp_path, "numbers of labels and features", {"n_labels": 3.5})
    refuse(tmp_path, "numbers of labels and features", {"d": "2"})
    refuse(tmp_path, "weights of another shape than (0, 2)", {"n_labels": 0}, {"weight": np.zeros((0, 2))})
    for shape in ((3, 0), (0, 0)):
        header = {"n_labels": shape[0], "d": shape[1], "label_names": None}
        refuse(tmp_path, "weights of another shape", header, {"weight": np.zeros(shape)})


@pytest.mark.parametrize("name", ["W", "coef_", "coef", "any name"])
def test_the_matrix_may_have_any_name(tmp_path, name):
    paths = paths_in(tmp_path)
    header, arrays = example()
    write(paths[0], header, arrays)
    for others in ({}, {"x": np.zeros(2), "names": np.array([["a", "b"]]), "empty": np.zeros((0, 2))}):
        np.savez(paths[1], **others, **{name: TRIANGLE})
        prove(*read(*paths))
    np.savez(paths[1], **{name: TRIANGLE, "zzz": np.eye(2)})
    if name == "any name":
        with pytest.raises(InputError, match="one matrix"):
            read(*paths)
    else:
        prove(*read(*paths))


def test_the_first_of_the_usual_names_is_that_of_the_matrix(tmp_path):
    prove(*read_changed(tmp_path, weights={"W": np.eye(2), "coef": np.eye(3)}))


def test_a_file_without_a_matrix_is_refused(tmp_path):
    paths = paths_in(tmp_path)
    header, arrays = example()
    write(paths[0], header, arrays)
    np.savez(paths[1], other=np.zeros(3))
    with pytest.raises(InputError, match="one matrix"):
        read(*paths)


def test_a_zero_with_a_sign_is_the_same_weight(tmp_path):
    prove(*read_changed(tmp_path, weights={"weight": np.array(TRIANGLE) * [[1, -1], [-1, 1], [1, 1]]}))


@pytest.mark.parametrize("name", ["bias", "b", "intercept_", "intercept"])
def test_a_bias_is_found_by_its_name(tmp_path, name):
    layer, _ = read_changed(tmp_path, weights={name: BIAS}, **with_offset(BIAS))
    assert (layer.unit, layer.offset, layer.weight[2], layer.has_offset) == (4, [2, -4, 1], [-4, -4], True)
    refuse(
        tmp_path, "the bias that was verified, got another", weights={name: np.nextafter(BIAS, 9)}, **with_offset(BIAS)
    )
    refuse(tmp_path, "the bias, as was verified", weights={}, **with_offset(BIAS))


def test_a_bias_of_its_own_file_is_taken(tmp_path):
    paths = paths_in(tmp_path)
    header, arrays = example()
    write(paths[0], header, arrays | with_offset(BIAS))
    write_weights(paths[1], bias=np.zeros(3))
    np.save(tmp_path / "b.npy", BIAS)
    layer, _ = read(*paths, str(tmp_path / "b.npy"))
    assert layer.offset == [2, -4, 1]


@pytest.mark.parametrize("bias", [[], [0.0], [0.0] * 4, [[0.0] * 3], [[0.0]] * 3, [[]]])
def test_a_bias_has_one_number_for_each_label(tmp_path, bias):
    zeros = with_offset([0.0] * 3)
    refuse(tmp_path, "a bias of 3 numbers", weights={"bias": np.array(bias)}, **zeros)
    layer, _ = read_changed(tmp_path, weights={"bias": np.zeros(3)}, **zeros)
    assert (layer.offset, layer.has_offset) == ([0, 0, 0], True)


def test_thresholds_are_taken_off_the_bias_without_rounding(tmp_path):
    theta = np.array([1e-30, 3.0, 0.1])
    layer, _ = read_changed(tmp_path, weights={"bias": BIAS}, **with_offset(BIAS, theta))
    exact = [Fraction(b) - Fraction(t) for b, t in zip(BIAS, theta, strict=True)]
    assert [Fraction(o, layer.unit) for o in layer.offset] == exact
    assert [Fraction(c, layer.unit) for c in layer.weight[2]] == [-1, -1]
    layer, _ = read_changed(tmp_path, **with_offset([0.0] * 3, theta))
    assert [Fraction(o, layer.unit) for o in layer.offset] == [-Fraction(t) for t in theta]
    assert layer.has_offset


def test_offsets_that_are_not_bias_minus_threshold_are_refused(tmp_path):
    theta = np.array([1e-30, 3.0, 0.1])
    good, weights = with_offset(BIAS, theta), {"bias": BIAS}
    assert good["offset_error"][0] == -1e-30
    for i in range(3):
        step = np.eye(3)[i] * 2.0**-80
        moved = good["offset_error"] + step
        refuse(tmp_path, "the bias that was verified", weights=weights, **good | {"offset_error": moved})
        moved = good["offset"] + np.eye(3)[i] * 2.0**-50
        refuse(tmp_path, "the bias that was verified", weights=weights, **good | {"offset": moved})
    halves = {"offset": BIAS - 0.25, "offset_error": np.full(3, 0.25)}  # the sum is right, but its parts are not
    refuse(tmp_path, "the bias that was verified", weights=weights, **halves)
    for missing in ("offset", "offset_error"):
        refuse(tmp_path, "bias, as was verified", weights=weights, **good | {missing: None})
        refuse(tmp_path, "bias, as was verified", **{missing: np.zeros(3)})
        refuse(tmp_path, f"{missing} of type f8 and shape (3,)", weights=weights, **good | {missing: np.zeros(2)})
    refuse(tmp_path, "theta of type f8 and shape (3,)", weights=weights, **good | {"theta": theta[:2]})
    refuse(tmp_path, "thresholds with the rule sigmoid only", {"rule": "topk"}, weights, **good)
    layer, _ = read_changed(tmp_path, {"rule": "topk"}, weights, **with_offset(BIAS))
    assert layer.offset == [2, -4, 1]


@pytest.mark.parametrize("weight", [2.0**-400, 2.0**400, -(2.0**-400), -(2.0**400), 2.0**-1074])
def test_numbers_far_from_one_are_known_as_unusual(tmp_path, weight):
    towards = math.copysign(1, weight)
    for value, is_usual in ((weight, False), (math.nextafter(weight, towards), abs(weight) > 1e-300)):
        for place in ("bias", "box"):
            bias = np.array([1.0, value if place == "bias" else 0.0, 3.0])
            if place == "box" and not (value > 0 and 1e-150 <= value <= 1e150):
                continue
            box = value if place == "box" else 2.0
            fields, arrays = {"box": box}, radii() | with_offset(bias)
            assert read_changed(tmp_path, fields, {"bias": bias}, **arrays)[0].is_usual == is_usual
            if place == "bias":
                assert read_changed(tmp_path, None, {"bias": bias}, **arrays)[0].is_usual == is_usual


def test_the_exponent_of_a_label_is_that_of_its_largest_number(tmp_path):
    for bias, exponents in (([0.25, 3.0, -5.0], [1, 2, 3]), ([1.0, -1.5, 0.0], [1, 1, 1]), ([2.0, 0, 0], [2, 1, 1])):
        layer, _ = read_changed(tmp_path, weights={"bias": np.array(bias)}, **with_offset(bias))
        assert layer.exponents == exponents


# The domain


def test_bounds_are_fractions_or_none(tmp_path):
    low, high = np.array([-np.inf, 0.1]), np.array([0.0, np.inf])
    layer, _ = read_changed(tmp_path, low=low, high=high)
    assert (layer.low, layer.high) == ([None, Fraction(0.1)], [0, None])
    assert read_changed(tmp_path, low=low)[0].low == [None, Fraction(0.1)]
    assert read_changed(tmp_path, high=high)[0].high == [0, None]
    layer, _ = read_changed(tmp_path, low=np.ones(2), high=np.ones(2))
    assert (layer.low, layer.high) == ([1, 1], [1, 1])


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ({"low": np.zeros(3)}, "low of type f8 and shape (2,)"),
        ({"high": np.zeros(2, np.float32)}, "high of type f8 and shape (2,)"),
        ({"low": np.array([0.0, np.inf])}, "Infinity"),
        ({"high": np.array([0.0, -np.inf])}, "Infinity"),
        ({"low": np.array([0.0, np.nan])}, "NaN"),
        ({"high": np.array([np.nan, 0.0])}, "NaN"),
        ({"low": np.array([-1.0, 1.0]), "high": np.array([1.0, 0.5])}, "low ≤ high"),
        ({"low": np.array([1.0, 1.0]), "high": np.array([0.0, 0.5])}, "low ≤ high"),
    ],
)
def test_bounds_that_leave_no_domain_are_refused(tmp_path, bounds, message):
    refuse(tmp_path, message, **bounds)
