"""Results of a stretch, made by hand: what check refuses, what a file must hold, and what a bar rests on."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom
from standalone_stretch_cases import FEATURES, WEIGHT, example, with_bar

import labelproof as lp
from labelproof.errors import CertificateError, DataFormatError
from labelproof.proof import stretch_result
from labelproof.proof.examples import read_examples
from labelproof.proof.labels import LabelSets
from labelproof.proof.regions import make_layer
from labelproof.proof.stretch_bar import Bar, bar_rank, bar_value, least_alpha, predicted_sets, statement
from labelproof.proof.stretch_result import Stretch
from labelproof.proof.stretch_store import load_stretch

BIAS = np.array([-1.0, -1.0, 0.25])
NAMES = ["lower", "upper", "mixture_ptr", "mixture_examples", "mixture_weights", "weighted_ptr", "weighted_labels"]
NAMES += ["multipliers", "conflict_ptr", "conflict_rows"]


def stretch_of(arrays, layer, examples, prefix=""):
    sets = LabelSets(layer.n_labels, arrays[f"{prefix}indptr"], arrays[f"{prefix}indices"])
    return Stretch(layer, sets, examples, **{name: arrays[prefix + name] for name in NAMES})


def made(**changes):
    """The example, whose first upper bound is a little above the 2.5 of its mixture."""
    _, arrays = example()
    layer = make_layer(np.array(WEIGHT), bias=BIAS, ties="inactive")
    examples = read_examples(np.array(FEATURES), 2)
    s = stretch_of(arrays | {"upper": np.array([2.5 + 1e-12, np.inf, 0.0])}, layer, examples)
    return replace(s, **changes)


def made_with_bar(calibration=None, **changes):
    """The same with a bar of 8 predictions of {0}, of which one lies beyond."""
    s = made()
    fields, arrays = with_bar()
    arrays["bar_upper"] += 1e-12
    fields |= {"value": 2.5 + 1e-12} | changes
    if calibration is not None:
        fields["sha256"] = read_examples(calibration, 2).sha256
    return replace(s, bar=Bar(**fields, predicted=stretch_of(arrays, s.layer, s.examples, "bar_")))


def refused(s, message, **options):
    with pytest.raises(CertificateError) as caught:
        s.check(n_jobs=1, **options)
    assert message in str(caught.value)


# One set after the other


def test_the_example_is_proven():
    for exact in (False, True):
        made().check(n_jobs=1, exact=exact)
    s = made()
    assert len(s) == 3
    assert s[0] == s[-3] == s[:1][0]
    assert (s[0].lower, s[0].mixture, s[0].weighted, s[0].conflict) == (0.25, {3: 2.5}, {0: 1.5}, ())
    assert [one.upper for one in s[1:]] == [math.inf, 0.0]
    with pytest.raises(IndexError):
        s[3]
    held = made(conflict_ptr=np.array([0, 0, 3, 3]), conflict_rows=np.array([0, 2, 3]))
    assert held[1].conflict == (0, 2)  # the third row is the scale


def test_bounds_are_proven_for_every_set_and_the_first_wrong_one_is_named():
    for exact in (False, True):
        wrong = np.array([0.25, 0.0, 0.5])
        refused(made(lower=wrong), "the stretch of label set 2 is not proven: expected weighted labels", exact=exact)
        refused(made(lower=wrong + np.array([1, 0, 0])), "the stretch of label set 0 is not proven", exact=exact)
    refused(made(upper=np.array([2.5, np.inf, 0.0])), "expected an upper bound of at least 2.5000000000000004, got 2.5")
    refused(made(upper=np.array([-1.0, np.inf, 0.0])), "expected an upper bound of at least")
    refused(made(upper=np.array([3.0, 9.0, 0.0])), "label set 1 is not proven: label 0: expected a positive logit")
    made(upper=np.array([3.0, np.inf, 0.5])).check()


def test_a_wrong_upper_bound_is_not_saved_by_a_right_lower_one_nor_the_other_way():
    both = {"lower": np.array([0.75, 0.0, 0.0]), "upper": np.array([1.0, np.inf, 0.0])}
    refused(made(**both), "expected an upper bound")
    refused(made(lower=both["lower"]), "prove the lower bound 0.75")
    refused(made(upper=both["upper"]), "expected an upper bound")


def test_lower_bounds_come_from_their_own_evidence():
    """z_0(c) = −½ and at most 1½ is gained: a third."""
    made(lower=np.array([0.333333333, 0.0, 0.0])).check()
    third = float(np.nextafter(1 / 3, 0))
    refused(made(lower=np.array([third, 0.0, 0.0])), "prove the lower bound 0.333")  # floats are not that sharp
    made(lower=np.array([third, 0.0, 0.0])).check(exact=True)
    refused(made(lower=np.array([np.nextafter(1 / 3, 1), 0.0, 0.0])), "prove the lower bound", exact=True)
    refused(made(lower=np.array([0.25, 0.25, 0.0])), "label set 1 is not proven")
    refused(made(lower=np.array([0.25, np.inf, 0.0])), "label set 1 is not proven: expected weighted labels")


def infinite(**changes):
    """One label that is off for every input like the examples: a feature of 0 in all of them is wanted above 0."""
    layer = make_layer(np.array([[0.0, 1.0], [0.0, -1.0]]), ties="inactive")
    examples = read_examples(np.array([[1.0, 0.0], [2.0, 0.0]]), 2)
    none = np.empty(0, np.int64)
    arrays = {"indptr": np.array([0, 1]), "indices": np.array([0]), "lower": np.array([np.inf])}
    arrays |= {"upper": np.array([np.inf]), "mixture_ptr": np.array([0, 0]), "mixture_examples": none}
    arrays |= {"mixture_weights": np.empty(0), "weighted_ptr": np.array([0, 1]), "weighted_labels": np.array([0])}
    arrays |= {"multipliers": np.array([1.0]), "conflict_ptr": np.array([0, 0]), "conflict_rows": none}
    return replace(stretch_of(arrays, layer, examples), **changes)


def test_an_infinite_bound_comes_from_weighted_labels_or_from_a_conflict():
    for exact in (False, True):
        infinite().check(exact=exact)  # G(c) = 0, nothing is gained, and the row is strict
        refused(infinite(multipliers=np.array([0.0])), "prove the lower bound inf", exact=exact)
        rows = {"conflict_ptr": np.array([0, 3]), "weighted_ptr": np.array([0, 0])}
        rows |= {"weighted_labels": np.empty(0, np.int64), "multipliers": np.empty(0)}
        high = 2 + 3 + 2 + 1  # 0 − x_1 ≥ 0
        infinite(**(rows | {"conflict_ptr": np.array([0, 2]), "conflict_rows": np.array([0, high])})).check(exact=exact)
        wrong = rows | {"conflict_rows": np.array([0, 1, high])}
        refused(infinite(**wrong), "expected rows with one linear dependence", exact=exact)
        free = rows | {"conflict_ptr": np.array([0, 2]), "conflict_rows": np.array([0, high - 1])}
        refused(infinite(**free), "expected a conflict of different rows of the system", exact=exact)
    finite = infinite(lower=np.array([7.0]))
    refused(finite, "prove the lower bound 7.0")  # in floats G(c) = 0 proves nothing
    finite.check(exact=True)


def test_sets_are_checked_some_at_a_time(monkeypatch):
    monkeypatch.setattr(stretch_result, "AT_ONCE", 2)
    made().check()
    refused(made(lower=np.array([0.25, 0.0, 0.5])), "label set 2")
    monkeypatch.setattr(stretch_result, "AT_ONCE", 1)
    refused(made(lower=np.array([0.25, 0.0, 0.5])), "label set 2")


def test_the_centre_is_checked():
    s = made()
    refused(replace(s, examples=replace(s.examples, centre=np.array([0.5, 0.75]))), "expected the mean of the features")


# Frames


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"lower": np.zeros(2)}, "expected bounds of 3 label sets, got 2 lower and 3 upper ones"),
        ({"upper": np.zeros(2)}, "expected bounds of 3 label sets, got 3 lower and 2 upper ones"),
        ({"upper": np.zeros((3, 1))}, "expected bounds of 3 label sets"),
        ({"lower": np.array([0.0, np.nan, 0.0])}, "expected bounds of at least 0, got others"),
        ({"upper": np.array([9.0, np.nan, 0.0])}, "expected bounds of at least 0, got others"),
        ({"lower": np.array([0.25, -0.5, 0.0])}, "expected bounds of at least 0, got others"),
        ({"mixture_examples": np.array([3.0])}, "expected integers with a weight each as mixture"),
        ({"mixture_examples": np.array([[3]]), "mixture_weights": np.array([[2.5]])}, "a weight each as mixture"),
        ({"mixture_weights": np.array([2.5, 1.0])}, "expected integers with a weight each as mixture"),
        ({"weighted_labels": np.array([0.0])}, "expected integers with a weight each as weighted labels"),
        ({"multipliers": np.empty(0)}, "expected integers with a weight each as weighted labels"),
        ({"conflict_rows": np.empty(0)}, "expected integers with a weight each as conflict"),
        ({"mixture_ptr": np.array([0, 1, 1])}, "expected ends of each mixture that ascend from 0 to 1"),
        ({"mixture_ptr": np.array([0, 1, 1, 1, 1])}, "expected ends of each mixture"),
        ({"mixture_ptr": np.array([1, 1, 1, 1])}, "expected ends of each mixture"),
        ({"mixture_ptr": np.array([0, 1, 1, 0])}, "expected ends of each mixture"),
        ({"mixture_ptr": np.array([0, 1, 0, 1])}, "expected ends of each mixture"),
        ({"mixture_ptr": np.array([0, 2, 1, 1])}, "expected ends of each mixture"),
        ({"weighted_ptr": np.array([0, 1, 1, 2])}, "expected ends of each weighted labels"),
        ({"conflict_ptr": np.array([0, 0, 0, 1])}, "expected ends of each conflict"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(changes, message):
    refused(made(**changes), message)


@pytest.mark.parametrize(
    ("n_labels", "indptr", "indices"),
    [
        (4, [0, 1, 3, 3], [0, 0, 2]),
        (2, [0, 1, 2, 2], [0, 0]),
        (3, [0, 1, 3, 3], [0, 2, 0]),
        (3, [0, 1, 3, 3], [0, 0, 3]),
    ],
)
def test_label_sets_that_are_none_are_refused(n_labels, indptr, indices):
    sets = LabelSets(n_labels, np.array(indptr), np.array(indices))
    refused(made(label_sets=sets), "expected ")
    fewer = LabelSets(3, np.array([0, 1, 3]), np.array([0, 0, 2]))
    refused(made(label_sets=fewer), "expected bounds of 2 label sets")


# Bars


def test_a_bar_rests_on_its_predictions():
    s = made_with_bar()
    s.check(n_jobs=1)
    s.check(n_jobs=1, exact=True)
    assert s.beyond.tolist() == [False, False, False]
    far = replace(s, lower=np.array([0.25, 3.0, 2.5]))
    assert far.beyond.tolist() == [False, True, False]
    refused(made_with_bar(n=7), "the bar is not proven: expected bounds of 7 predictions and their rank, got 8, 1")
    refused(made_with_bar(rank=2), "the bar is not proven: expected bounds of 8 predictions and their rank, got 8, 2")
    refused(made_with_bar(alpha=0.6), "their rank, got 8, 1")
    refused(made_with_bar(value=3.0), "the bar is not proven: expected 2.500000000001, got 3.0")
    wrong = replace(s.bar.predicted, lower=np.full(8, 0.5))
    refused(replace(s, bar=replace(s.bar, predicted=wrong)), "the stretch of label set 0 is not proven")
    with pytest.raises(ValueError, match="a bar needs held-out inputs"):
        _ = made().beyond


def test_a_bar_of_another_layer_or_of_other_examples_is_refused():
    s = made_with_bar()
    message = "the bar is not proven: expected predictions of this layer, among these examples"
    for changes in ({"layer": replace(s.layer)}, {"examples": read_examples(np.array(FEATURES), 2)}):
        refused(replace(s, bar=replace(s.bar, predicted=replace(s.bar.predicted, **changes))), message)


def test_the_inputs_of_a_bar_are_predicted_again():
    held_out = np.array([[3.0 + i, 0.25] for i in range(8)])  # z = (2 + i, -0.5, -2.6 − i)
    s = made_with_bar(held_out)
    s.check(calibration=held_out, n_jobs=1)
    refused(s, "expected the inputs that it was made from, got others", calibration=held_out + 1)
    other = held_out.copy()
    other[5, 1] = 9.0
    forged = replace(s, bar=replace(s.bar, sha256=read_examples(other, 2).sha256))
    refused(forged, "expected the sets that are predicted for its inputs, got others", calibration=other)
    none = np.array([[-3.0, -9.0]] * 8)  # other labels, and as many of them
    forged = replace(s, bar=replace(s.bar, sha256=read_examples(none, 2).sha256))
    refused(forged, "expected the sets that are predicted for its inputs, got others", calibration=none)
    forged.check(n_jobs=1)


def test_what_a_layer_predicts(monkeypatch):
    from labelproof.proof import examples as module

    rng = np.random.default_rng(0)
    weight, bias, inputs = rng.normal(size=(4, 3)), rng.normal(size=4), rng.normal(size=(9, 3))
    for numbers in (1, 6, 2**22):
        monkeypatch.setattr(module, "BLOCK_NUMBERS", numbers)
        for b in (None, bias):
            z = inputs @ weight.T + (0 if b is None else b)
            found = predicted_sets(make_layer(weight, bias=b), read_examples(inputs, 3))
            assert [active.tolist() for active in found] == [np.flatnonzero(row > 0).tolist() for row in z]
            assert found.is_sound()
            for k in (1, 3, 4):
                found = predicted_sets(make_layer(weight, bias=b, rule="topk"), read_examples(inputs, 3), k=k)
                assert [active.tolist() for active in found] == np.sort(np.argsort(-z, axis=1)[:, :k]).tolist()
    found = predicted_sets(make_layer(np.eye(3)), read_examples(np.array([[0.0, 1e-300, -1.0]]), 3))
    assert [active.tolist() for active in found] == [[1]]  # 0 is not positive
    ties = predicted_sets(make_layer(np.eye(3), rule="topk"), read_examples(np.array([[1.0, 1.0, 0.0]]), 3), k=1)
    assert [active.tolist() for active in ties] == [[0]]
    for k in (None, 0, 5):
        with pytest.raises(ValueError, match=rf"k must be given with rule='topk', from 1 to 4 labels, got {k}"):
            predicted_sets(make_layer(weight, rule="topk"), read_examples(inputs, 3), k=k)


def test_the_rank_is_the_largest_with_at_most_five_percent():
    for n in (1, 2, 5, 59, 60, 100, 299, 1000):
        for alpha in (0.01, 0.05, 0.1, 0.5, 0.95, 0.99):
            allowed = [r for r in range(n) if binom.cdf(r, n, alpha) <= 0.05]
            if (n, alpha) == (1, 0.95):
                allowed = []  # as a float, 0.95 leaves a little more than 1/20
            if allowed:
                assert bar_rank(n, alpha) == max(allowed)
            else:
                with pytest.raises(
                    ValueError, match=rf"^calibration must hold at least \d.* for alpha={alpha}, got {n}"
                ):
                    bar_rank(n, alpha)
    for alpha in (0.0, 1.0, -0.5, 2.0, math.nan):
        with pytest.raises(ValueError, match=r"^alpha must be a share between 0 and 1, got"):
            bar_rank(1000, alpha)
    with pytest.raises(ValueError, match=r"at least 2,995 inputs for alpha=0.001, got 2,994: with these, alpha can be"):
        bar_rank(2994, 0.001)


def test_the_least_alpha_has_four_digits_and_suffices():
    for n in (1, 2, 10, 58, 59, 299, 2994, 10**4):
        alpha = least_alpha(n)
        exact = -math.expm1(math.log(0.05) / n)
        assert exact * (1 - 1e-9) <= alpha <= min(1.0, exact * (1 + 1e-3))
        assert alpha == float(f"{alpha:.4g}")
        if alpha < 1:
            assert bar_rank(n, alpha) == 0
    assert least_alpha(0) == 1.0


def test_the_bar_is_the_next_largest_after_the_rank():
    upper = np.random.default_rng(1).permutation(100).astype(float)
    assert bar_rank(100, 0.1) == 4
    assert bar_value(upper, 0.1) == 95.0
    assert statement(0.0125).endswith("at most 1.25 % of this model's predictions.")
    assert made_with_bar().bar.statement == statement(0.5)
    assert "each further bar costs another 5 %" in made_with_bar().bar.assumption


# Files


def stored(tmp_path, s=None):
    (s or made_with_bar()).save(tmp_path / "s.npz")
    with np.load(tmp_path / "s.npz") as file:
        arrays = dict(file)
    return json.loads(arrays.pop("header").tobytes()), arrays


def load(tmp_path, header, arrays, weight=WEIGHT, features=FEATURES, bias=BIAS):
    content = {"header": np.frombuffer(json.dumps(header).encode(), np.uint8)} | arrays
    np.savez(tmp_path / "t.npz", **{name: array for name, array in content.items() if array is not None})
    return load_stretch(tmp_path / "t.npz", np.array(weight), np.array(features), bias=bias)


def test_a_file_holds_all_of_a_result(tmp_path):
    s = made_with_bar()
    header, arrays = stored(tmp_path, s)
    assert {name: header[name] for name in ("format", "version", "n_labels", "d", "n_examples", "rule", "ties")} == {
        "format": "labelproof stretch",
        "version": 1,
        "n_labels": 3,
        "d": 2,
        "n_examples": 4,
        "rule": "sigmoid",
        "ties": "inactive",
    }
    assert header["written_by"].startswith("labelproof ")
    again = load(tmp_path, header, arrays)
    again.check(n_jobs=1)
    for name in NAMES:
        np.testing.assert_array_equal(getattr(again, name), getattr(s, name))
        np.testing.assert_array_equal(getattr(again.bar.predicted, name), getattr(s.bar.predicted, name))
    assert (again.bar.value, again.bar.alpha, again.bar.n, again.bar.rank, again.bar.sha256, again.bar.k) == (
        2.5 + 1e-12,
        0.5,
        8,
        1,
        "",
        None,
    )
    assert again.bar.predicted.layer is again.layer
    assert again.bar.predicted.bar is None
    header, arrays = stored(tmp_path, made())
    assert header["bar"] is None
    assert not any(name.startswith("bar_") for name in arrays)
    assert load(tmp_path, header, arrays).bar is None


def test_thresholds_are_kept(tmp_path):
    weight, features = np.array([[1.0], [2.0]]), np.array([[1.0], [-1.0], [0.5]])
    s = lp.stretch(weight, [[0], [1]], features, thresholds=[0.3, 0.6])
    header, arrays = stored(tmp_path, s)
    again = load(tmp_path, header, arrays, weight, features, None)
    np.testing.assert_array_equal(again.layer.theta, s.layer.theta)
    again.check()
    for theta in (np.zeros(3), np.zeros(2, np.float32), np.array([0.0, np.nan])):
        with pytest.raises(DataFormatError, match="theta: expected one finite number a label"):
            load(tmp_path, header, arrays | {"theta": theta}, weight, features, None)
    with pytest.raises(DataFormatError, match="made with another bias"):
        load(tmp_path, header, arrays | {"theta": np.zeros(2)}, weight, features, None)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"format": "other"}, "expected the format 'labelproof stretch', version 1, got 'other', version 1"),
        ({"version": 2}, "version 1, got 'labelproof stretch', version 2"),
        ({"n_labels": 3.0}, "n_labels: expected a whole number"),
        ({"d": "2"}, "d: expected a whole number"),
        ({"n_examples": None}, "n_examples: expected a whole number"),
        ({"n_examples": 5}, "made for features of 5 examples, got 4"),
        ({"rule": "sparsemax"}, "rule: expected sigmoid or topk"),
        ({"ties": "closed"}, "ties: expected a known treatment of ties"),
        ({"n_labels": 4}, r"made for a weight of shape (4, 2), got (3, 2)"),
        ({"d": 3}, r"made for a weight of shape (3, 3), got (3, 2)"),
        ({"weight_sha256": "0"}, "made for another weight of the same shape"),
        ({"weight_sha256": None}, "weight_sha256: expected a hash"),
        ({"features_sha256": None}, "features_sha256: expected a hash"),
        ({"features_sha256": "0"}, "made for other features"),
        ({"bar": {}}, "t.npz"),
        ({"bar": 3}, "t.npz"),
    ],
)
def test_headers_that_do_not_fit_are_refused(tmp_path, fields, message):
    header, arrays = stored(tmp_path)
    with pytest.raises(DataFormatError) as caught:
        load(tmp_path, header | fields, arrays)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"value": 3}, "bar's value: expected another type"),
        ({"alpha": "0.5"}, "bar's alpha: expected another type"),
        ({"n": 8.0}, "bar's n: expected another type"),
        ({"rank": None}, "bar's rank: expected another type"),
        ({"sha256": None}, "bar's sha256: expected another type"),
        ({"k": "1"}, "bar's k: expected another type"),
        ({"alpha": 0.0}, "bar: expected a share and a number"),
        ({"alpha": 1.0}, "bar: expected a share and a number"),
        ({"value": math.nan}, "bar: expected a share and a number"),
    ],
)
def test_bars_that_are_none_are_refused(tmp_path, fields, message):
    header, arrays = stored(tmp_path)
    with pytest.raises(DataFormatError) as caught:
        load(tmp_path, header | {"bar": header["bar"] | fields}, arrays)
    assert message in str(caught.value)
    assert load(tmp_path, header | {"bar": header["bar"] | {"k": 1}}, arrays).bar.k == 1


@pytest.mark.parametrize("name", [*NAMES, "indptr", "indices", "bar_lower", "bar_indptr"])
def test_arrays_of_other_types_are_refused(tmp_path, name):
    header, arrays = stored(tmp_path)
    array = arrays[name]
    other = np.float32 if array.dtype == np.float64 else np.int32
    for changed in (array.astype(other), array[:, None], None):
        with pytest.raises(DataFormatError, match=f"{name}: expected an array of {array.dtype} with one axis"):
            load(tmp_path, header, arrays | {name: changed})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"centre": np.zeros(3)}, "centre: expected one number a feature"),
        ({"centre": np.zeros(2, np.float32)}, "centre: expected one number a feature"),
        ({"centre": np.array([0.5, np.inf])}, "centre: expected finite numbers"),
        ({"centre": None}, "t.npz"),
        ({"header": np.zeros(3)}, "header: expected bytes of JSON"),
        ({"header": np.zeros((3, 1), np.uint8)}, "header: expected bytes of JSON"),
        ({"header": np.frombuffer(b"{", np.uint8)}, "t.npz"),
        ({"header": None}, "expected a result of labelproof stretch, got another .npz file"),
        ({"indices": np.array([0, 2, 0])}, "indices: expected ascending labels in each set"),
        ({"offset_error": None}, "offset: expected two arrays"),
        ({"offset": np.zeros(3)}, "made with another bias"),
        ({"lower": np.array([0.25, -1.0, 0.0])}, "expected bounds of at least 0"),
        ({"mixture_ptr": np.zeros(4, np.int64)}, "expected ends of each mixture"),
        ({"bar_mixture_ptr": np.zeros(9, np.int64)}, "expected ends of each mixture"),
    ],
)
def test_damaged_files_are_told_in_one_sentence(tmp_path, changes, message):
    header, arrays = stored(tmp_path)
    with pytest.raises(DataFormatError) as caught:
        load(tmp_path, header, arrays | changes)
    assert message in str(caught.value)


@pytest.mark.parametrize("name", ["format", "n_labels", "rule", "bar", "weight_sha256", "features_sha256"])
def test_headers_that_lack_a_field_are_refused(tmp_path, name):
    header, arrays = stored(tmp_path)
    del header[name]
    with pytest.raises(DataFormatError, match=r"t\.npz"):
        load(tmp_path, header, arrays)


def test_a_file_is_of_this_classifier_and_these_features(tmp_path):
    header, arrays = stored(tmp_path)
    for changes, message in [
        ({"weight": np.array(WEIGHT) + 1}, "made for another weight of the same shape"),
        ({"weight": np.array(WEIGHT)[:2]}, "made for a weight of shape"),
        ({"bias": BIAS + 1}, "made with another bias"),
        ({"bias": None}, "made with a bias, got none"),
        ({"features": np.array(FEATURES) * 2}, "made for other features"),
        ({"features": np.array(FEATURES)[:3]}, "made for features of 4 examples, got 3"),
    ]:
        with pytest.raises(DataFormatError, match=message):
            load(tmp_path, header, arrays, **changes)
    other = arrays | {"centre": np.array([0.5, 0.6])}
    refused(load(tmp_path, header, other), "expected the mean of the features as centre")
