"""The reach as it is kept: proven from both sides against fractions, refused when tampered with, and read again."""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from typer.testing import CliRunner

from labelproof.cli import app
from labelproof.errors import CertificateError, DataFormatError
from labelproof.proof.examples import read_examples
from labelproof.proof.labels import read_label_sets
from labelproof.proof.reach_bounds import reach_uppers, spread_fault
from labelproof.proof.reach_store import load_reach
from labelproof.proof.regions import exact_offset, make_layer
from labelproof.stretching.reach import measure_reach, whiten

NOTHING = np.empty(0, np.int64), np.empty(0)
N, D, LABELS = 320, 4, 9


def made(seed=0, *, calibration=True, **options):
    """A layer, examples and held-out inputs, and the reach of sets that are predicted somewhere."""
    rng = np.random.default_rng(seed)
    weight, bias = rng.normal(size=(LABELS, D)), rng.normal(-1.5, 0.5, LABELS)
    features, held_out = rng.normal(size=(N, D)), rng.normal(size=(299, D))
    layer = make_layer(weight, bias=bias, ties="inactive", **options)
    active = [np.flatnonzero(z > 0).tolist() for z in 2 * rng.normal(size=(12, D)) @ weight.T + bias]
    sets, examples = read_label_sets(active, LABELS), read_examples(features, D)
    found, _ = measure_reach(layer, sets, examples, calibration=held_out if calibration else None, n_jobs=1)
    return found, held_out


FOUND, HELD_OUT = made()
SETS, PREDICTED = FOUND.label_sets, FOUND.bar.predicted


def refused(result, message, **options):
    with pytest.raises(CertificateError) as caught:
        result.check(**options)
    assert message in str(caught.value)


def exact_logits(layer, x):
    rows = ([Fraction(w) for w in row] for row in layer.weight.tolist())
    return [sum(w * c for w, c in zip(row, x, strict=True)) + exact_offset(layer, i) for i, row in enumerate(rows)]


# From above


@pytest.mark.parametrize("seed", range(8))
def test_the_input_that_proves_an_upper_bound_is_predicted_and_within_it_in_fractions(seed):
    found, _ = made(seed, calibration=False, thresholds=0.4 if seed % 2 else None)
    centre = [Fraction(c) for c in found.examples.centre.tolist()]
    for active, upper, lower, (rows, theta) in zip(
        found.label_sets, found.upper, found.lower, found.weighted, strict=True
    ):
        v = (theta * np.where(np.isin(rows, active), 1.0, -1.0)) @ found.layer.weight[rows]
        u = [Fraction(c) for c in (found.spread @ v).tolist()]
        assert sum(c * c for c in u) <= Fraction(upper) ** 2
        spread = [[Fraction(s) for s in row] for row in found.spread.tolist()]
        x = [
            m + sum(c * s for c, s in zip(u, column, strict=True))
            for m, column in zip(centre, zip(*spread, strict=True), strict=True)
        ]
        assert [i for i, z in enumerate(exact_logits(found.layer, x)) if z > 0] == active.tolist()
        assert lower <= upper
        assert upper - lower <= 1e-4 * (1 + upper)


def test_a_set_that_is_predicted_at_the_mean_has_no_reach():
    layer = make_layer([[1.0]], bias=[0.5])
    examples = read_examples([[-1.0], [1.0]], 1)
    found, _ = measure_reach(layer, read_label_sets([[0], []], 1), examples)
    assert (found.lower[0], found.upper[0]) == (0.0, 0.0)
    assert found.upper[1] == pytest.approx(0.5 / np.sqrt(2), rel=1e-4)


def test_a_boundary_that_no_float_misses_is_proven_in_fractions():
    """Off where the logit is 0, on a feature that is 0 in every example: no margin is left, and none is needed."""
    layer = make_layer([[1.0, 0.0], [0.0, 1.0]], bias=[-1.0, 0.0], ties="inactive")
    examples = read_examples(np.column_stack([np.linspace(-1, 1, 9), np.zeros(9)]), 2)
    found, _ = measure_reach(layer, read_label_sets([[0]], 2), examples)
    assert np.isfinite(found.upper[0])
    found.check()
    strict, _ = measure_reach(replace(layer, ties="open"), read_label_sets([[0]], 2), examples)
    assert strict.upper[0] == np.inf
    strict.check()


def test_a_set_in_no_direction_of_the_data_is_proven_to_be_very_far():
    features = np.column_stack([np.linspace(-1, 1, 50), np.zeros(50)])
    layer = make_layer([[1.0, 0.0], [1.0, 1.0]], bias=[-0.5, 1.5])  # the second is on wherever the first is
    found, _ = measure_reach(layer, read_label_sets([[0]], 2), read_examples(features, 2))
    assert found.upper[0] == np.inf
    assert found.lower[0] > 1e6
    found.check()


def test_weights_of_labels_that_name_no_input_give_no_bound_from_above():
    layer, mean, spread = make_layer(np.eye(2), bias=[-1.0, -1.0]), np.zeros(2), np.eye(2)
    good = (np.array([0]), np.array([1.5]))
    bad = [
        NOTHING,  # the mean, where label 0 is off
        (np.array([0]), np.array([0.5])),  # not far enough
        (np.array([0]), np.array([1.0])),  # on the boundary
        (np.array([0]), np.array([-1.5])),
        (np.array([0]), np.array([np.nan])),
        (np.array([0]), np.array([np.inf])),
        (np.array([0]), np.array([1e308])),  # too far for floats
        (np.array([5]), np.array([1.5])),
        (np.array([-1]), np.array([1.5])),
        (np.array([0, 1]), np.array([1.5])),
        (np.array([1]), np.array([1.5])),
    ]
    sets = read_label_sets([[0]] * (len(bad) + 1), 2)
    bounds = reach_uppers(layer, mean, spread, sets, [*bad, good])
    assert bounds[:-1].tolist() == [np.inf] * len(bad)
    assert 1.5 <= bounds[-1] <= 1.5 * (1 + 1e-14)
    wider = reach_uppers(layer, mean, spread, sets.take([0]), [good], slacks=4.0)[0]
    assert bounds[-1] < wider <= 1.5 * (1 + 1e-13)
    far = make_layer(np.eye(2) * 2.0**-600, bias=[-(2.0**-600), -1.0])
    assert reach_uppers(far, mean, spread, sets.take([0]), [(np.array([0]), np.array([2.0**601]))])[0] >= 2


@pytest.mark.parametrize("seed", range(20))
def test_rounding_never_proves_an_input_that_is_not_predicted(seed):
    """Logits that nearly cancel at the input named: whether they are positive only fractions tell."""
    rng = np.random.default_rng(seed)
    row = rng.normal(size=3) * 1e6
    mean, spread = rng.normal(size=3) * 1e6, rng.normal(size=(2, 3))
    u = spread @ row
    at = Fraction(0)
    x = [
        Fraction(m) + sum(Fraction(c) * Fraction(s) for c, s in zip(u, column, strict=True))
        for m, column in zip(mean, spread.T, strict=True)
    ]
    at = sum(Fraction(w) * c for w, c in zip(row, x, strict=True))
    for step in (-3, 0, 3):
        bias = -float(at) + step * abs(float(at)) * 2.0**-53
        layer = make_layer([row], bias=[bias])
        exact = at + Fraction(bias) > 0
        bound = reach_uppers(layer, mean, spread, read_label_sets([[0]], 1), [(np.array([0]), np.array([1.0]))])[0]
        assert np.isfinite(bound) == exact
        if exact:
            assert Fraction(bound) ** 2 >= sum(Fraction(c) ** 2 for c in u.tolist())


# What is kept


def test_a_reach_is_proven_again_with_its_bar():
    FOUND.check()
    FOUND.check(calibration=HELD_OUT)
    assert len(FOUND) == 12
    assert FOUND.bar.value == np.sort(FOUND.bar.predicted.upper)[-1]
    assert (FOUND.beyond == (FOUND.lower > FOUND.bar.value)).all()
    with pytest.raises(ValueError, match="a bar needs held-out inputs"):
        replace(FOUND, bar=None).beyond  # noqa: B018 - it raises


def changed(name, i, value):
    array = getattr(FOUND, name).copy()
    array[i] = value
    return replace(FOUND, **{name: array})


def off_centre():
    return replace(FOUND, examples=replace(FOUND.examples, centre=FOUND.examples.centre + 1e-6))


def in_a_column():
    return replace(FOUND, weighted_labels=FOUND.weighted_labels[:, None], multipliers=FOUND.multipliers[:, None])


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (lambda: changed("lower", 3, FOUND.lower[3] + 1e-3), "reach of label set 3 is not proven: {} lower bound"),
        (lambda: changed("lower", 0, np.nan), "label set 0 is not proven"),
        (lambda: changed("upper", 5, FOUND.upper[5] * 0.999), "label set 5 is not proven: {} upper bound"),
        (lambda: changed("upper", 0, np.nan), "its upper bound"),
        (lambda: changed("share", 2, FOUND.share[2] * 0.99), "label set 2 is not proven: {} share"),
        (lambda: changed("share", 0, np.nan), "its share"),
        (lambda: changed("multipliers", 0, -1.0), "label set 0 is not proven"),
        (lambda: changed("weighted_labels", 0, LABELS), "label set 0 is not proven"),
        (lambda: replace(FOUND, lower=FOUND.lower[1:]), "expected bounds of 12 label sets, got 11 lower"),
        (lambda: replace(FOUND, upper=FOUND.upper[1:]), "expected bounds of 12 label sets, got 12 lower, 11 upper"),
        (lambda: replace(FOUND, share=FOUND.share[1:]), "expected bounds of 12 label sets"),
        (lambda: replace(FOUND, label_sets=FOUND.label_sets.take(range(11))), "expected bounds of 11 label sets"),
        (lambda: replace(FOUND, label_sets=replace(SETS, n_labels=LABELS + 1)), "expected bounds of"),
        (lambda: replace(FOUND, label_sets=replace(SETS, indices=SETS.indices + 9)), "ascending labels below 9"),
        (lambda: replace(FOUND, spread=FOUND.spread[0]), "expected a spread of 4 features"),
        (lambda: replace(FOUND, spread=FOUND.spread[:, 1:]), "expected a spread of 4 features"),
        (lambda: replace(FOUND, spread=FOUND.spread * 1.01), "in units of which the features have unit"),
        (lambda: replace(FOUND, spread=FOUND.spread[:-1]), "all directions in which the features vary"),
        (lambda: replace(FOUND, spread=FOUND.spread * [[1], [1], [1], [np.nan]]), "a spread of finite directions"),
        (lambda: replace(FOUND, spread=FOUND.spread * [[1], [1], [1], [0]]), "a spread of finite directions"),
        (lambda: replace(FOUND, multipliers=FOUND.multipliers[1:]), "expected labels with a multiplier each"),
        (lambda: replace(FOUND, weighted_labels=FOUND.weighted_labels[None]), "labels with a multiplier each"),
        (lambda: replace(FOUND, weighted_labels=FOUND.weighted_labels.astype(float)), "labels with a multiplier"),
        (lambda: changed("weighted_ptr", 0, 1), "expected ends of weighted labels that ascend from 0"),
        (lambda: changed("weighted_ptr", -1, 1), "expected ends of weighted labels"),
        (lambda: changed("weighted_ptr", 3, 10**6), "expected ends of weighted labels"),
        (lambda: replace(FOUND, weighted_ptr=FOUND.weighted_ptr[1:]), "expected ends of weighted labels"),
        (lambda: replace(FOUND, layer=replace(FOUND.layer, rule="topk")), "expected the rule sigmoid and no domain"),
        (lambda: replace(FOUND, layer=replace(FOUND.layer, low=np.zeros(D))), "the rule sigmoid and no domain"),
        (lambda: replace(FOUND, layer=replace(FOUND.layer, high=np.zeros(D))), "the rule sigmoid and no domain"),
        (lambda: replace(FOUND, layer=make_layer(FOUND.layer.weight, domain=("ball", 9.0))), "and no domain"),
        (lambda: replace(FOUND, weighted_ptr=np.append(FOUND.weighted_ptr, FOUND.weighted_ptr[-1])), "expected ends"),
        (lambda: replace(FOUND, weighted_ptr=np.minimum(FOUND.weighted_ptr, 2)), "expected ends of weighted labels"),
        (lambda: changed("weighted_ptr", 1, FOUND.weighted_ptr[2] + 1), "expected ends of weighted labels"),
        (lambda: in_a_column(), "expected labels with a multiplier each"),
        (lambda: off_centre(), "expected the mean of the features as centre"),
        (lambda: replace(FOUND, examples=read_examples(FOUND.examples.features[:1], D)), "of at least two examples"),
    ],
)  # fmt: skip
def test_what_is_not_proven_is_refused(result, message):
    refused(result(), message.format("expected weighted labels that prove its"))


def test_a_reach_among_two_examples_is_proven():
    found, _ = measure_reach(
        make_layer([[1.0]], bias=[-1.0]), read_label_sets([[0]], 1), read_examples([[0.0], [1.0]], 1)
    )
    found.check()


def test_a_reach_is_not_proven_where_subnormal_numbers_are_flushed(monkeypatch):
    def refuse():
        raise RuntimeError("flushed")

    monkeypatch.setattr("labelproof.proof.reach_result.require_subnormals", refuse)
    with pytest.raises(RuntimeError, match="flushed"):
        FOUND.check()


def bar_with(**changes):
    return replace(FOUND, bar=replace(FOUND.bar, **changes))


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (lambda: bar_with(value=FOUND.bar.value * 0.99), "the bar is not proven: expected"),
        (lambda: bar_with(rank=1), "the bar is not proven: expected bounds of 299 predictions and their rank"),
        (lambda: bar_with(alpha=0.2), "the bar is not proven"),
        (lambda: bar_with(n=300), "the bar is not proven"),
        (lambda: bar_with(predicted=replace(PREDICTED, upper=PREDICTED.upper * 0.9)), "is not proven"),
        (lambda: bar_with(predicted=replace(PREDICTED, spread=FOUND.spread.copy())), "predictions of this layer"),
        (lambda: bar_with(predicted=replace(PREDICTED, layer=replace(FOUND.layer))), "predictions of this layer"),
        (lambda: bar_with(predicted=replace(PREDICTED, examples=replace(FOUND.examples))), "predictions of this"),
    ],
)  # fmt: skip
def test_a_bar_that_is_not_proven_is_refused(result, message):
    refused(result(), message)


def test_a_bar_of_other_inputs_is_refused():
    refused(FOUND, "expected the inputs that it was made from", calibration=HELD_OUT + 1)
    refused(
        bar_with(sha256=read_examples(HELD_OUT[::-1], D).sha256),
        "expected the sets that are predicted for its inputs",
        calibration=HELD_OUT[::-1],
    )


def test_too_few_held_out_inputs_and_examples_among_them_are_refused():
    layer, examples = FOUND.layer, FOUND.examples
    for inputs, message in (
        (HELD_OUT[:100], "calibration must hold at least 299 inputs for alpha=0.01, got 100"),
        (examples.features[:299], "calibration must hold inputs that are not in features, got 299 that are"),
        (HELD_OUT[:, 1:], r"calibration must have shape \(n_examples, 4\)"),
    ):
        with pytest.raises(ValueError, match=message):
            measure_reach(layer, FOUND.label_sets, examples, calibration=inputs)


def test_the_spread_of_features_far_from_the_origin_or_of_very_different_size_passes():
    rng = np.random.default_rng(3)
    for features in (
        rng.normal(size=(300, 5)) + 1e6,
        rng.normal(size=(300, 5)) * [1.0, 1e-5, 1.0, 1e-3, 1e3],
        np.column_stack([rng.normal(size=(300, 3)), np.zeros(300)]),
        rng.normal(size=(4, 6)),
    ):
        examples = read_examples(features, features.shape[1])
        assert spread_fault(examples, whiten(features, mean=examples.centre).spread) is None
    sparse = read_examples(sp.csr_matrix(features), 6)
    assert spread_fault(sparse, whiten(features, mean=sparse.centre).spread) is None


def test_a_spread_may_be_off_by_a_thousandth_of_the_covariance_and_no_more():
    examples = FOUND.examples
    for factor, is_fine in ((1.0004, True), (1.0006, False), (0.9994, False)):
        assert (spread_fault(examples, FOUND.spread * factor) is None) == is_fine


# On disk


def test_a_reach_is_read_back_as_it_was(tmp_path):
    FOUND.save(tmp_path / "r.npz")
    weight, bias = FOUND.layer.weight, FOUND.layer.offset
    again = load_reach(tmp_path / "r.npz", weight, FOUND.examples.features, bias=bias)
    again.check(calibration=HELD_OUT)
    for name in ("lower", "upper", "share", "spread", "multipliers", "weighted_labels", "weighted_ptr"):
        np.testing.assert_array_equal(getattr(again, name), getattr(FOUND, name))
    assert again.bar.value == FOUND.bar.value
    assert load_reach(tmp_path / "r.npz", weight, sp.csr_matrix(FOUND.examples.features), bias=bias).bar.n == 299
    replace(FOUND, bar=None).save(tmp_path / "r.npz")
    assert load_reach(tmp_path / "r.npz", weight, FOUND.examples.features, bias=bias).bar is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"spread": None}, "spread: expected an array of float64 with two axes"),
        ({"spread": FOUND.spread[0]}, "spread: expected an array of float64 with two axes"),
        ({"spread": FOUND.spread.astype(np.float32)}, "spread: expected an array of float64"),
        ({"share": None}, "share: expected an array of float64 with one axis"),
        ({"bar_lower": None}, "bar_lower: expected an array of float64 with one axis"),
        ({"lower": FOUND.lower[1:]}, "expected bounds of 12 label sets"),
        ({"bar_share": FOUND.share}, "expected bounds of 299 label sets"),
    ],
)
def test_damaged_files_are_refused_in_a_sentence(tmp_path, change, message):
    FOUND.save(tmp_path / "r.npz")
    with np.load(tmp_path / "r.npz") as file:
        arrays = {name: file[name] for name in file.files} | change
    np.savez(tmp_path / "r.npz", **{name: array for name, array in arrays.items() if array is not None})
    with pytest.raises(DataFormatError, match=f"r.npz: .*{message}"):
        load_reach(tmp_path / "r.npz", FOUND.layer.weight, FOUND.examples.features, bias=FOUND.layer.offset)


def test_the_command_line_proves_a_reach_and_names_what_is_not(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savez("W.npz", weight=FOUND.layer.weight, bias=FOUND.layer.offset)
    np.save("F.npy", FOUND.examples.features)
    np.save("C.npy", HELD_OUT)
    FOUND.save("r.npz")
    words = ["check", "r.npz", "-w", "W.npz", "--features", "F.npy"]
    ran = CliRunner().invoke(app, [*words, "--calibration", "C.npy"])
    assert (ran.exit_code, "The reach of 12 label sets proven again" in ran.output) == (0, True)
    changed("lower", 3, 99.0).save("r.npz")
    ran = CliRunner().invoke(app, [*words, "--json"])
    assert ran.exit_code == 1
    assert "the reach of label set 3 is not proven" in json.loads(ran.output)["fault"]


def test_a_bar_whose_predictions_are_not_proven_is_refused_even_if_its_value_follows_from_them():
    predicted = replace(PREDICTED, upper=PREDICTED.upper * 0.9)
    refused(
        bar_with(predicted=predicted, value=float(predicted.upper.max())), "is not proven: expected weighted labels"
    )


def test_a_set_at_the_bar_is_not_beyond_it():
    assert not replace(FOUND, lower=np.full(12, FOUND.bar.value)).beyond.any()
