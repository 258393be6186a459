"""What cannot be verified is refused in one sentence that names the argument, what was expected and what came."""

import numpy as np
import pytest
from scipy import sparse

import labelproof as lp
from labelproof.proof.domains import FORMS
from labelproof.proof.labels import LabelSets

WEIGHT = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
HOLE = np.array([[1.0, 0.0], [0.0, np.nan], [-1.0, -1.0]])


def refuse(message, weight=WEIGHT, labels=((0,),), **options):
    """Expect a ValueError of one line that says exactly this, or begins with it where it ends in '…'."""
    labels = list(labels) if isinstance(labels, tuple) else labels
    with pytest.raises(ValueError, match=r".") as caught:
        lp.verify(weight, labels, **options)
    text = str(caught.value)
    assert "\n" not in text
    if message.endswith("…"):
        assert text.startswith(message[:-1])
    else:
        assert text == message


def status(labels=((0,),), weight=WEIGHT, **options):
    verification = lp.verify(weight, list(labels) if isinstance(labels, tuple) else labels, **options)
    verification.check(n_jobs=1)
    return verification.status.tolist()


# --- weights ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_a_weight_that_is_not_finite_is_refused_with_its_place(value, dtype):
    weight = WEIGHT.astype(dtype)
    weight[2, 1] = value
    refuse(f"weight must be finite, got {value} at index (2, 1)", weight)


@pytest.mark.parametrize("shape", [(6,), (1, 3, 2), (0, 2), (3, 0), (0, 0)])
def test_a_weight_of_another_shape_is_refused(shape):
    refuse(f"weight must have shape (n_labels, d) with n_labels, d ≥ 1, got {shape}", np.ones(shape))


@pytest.mark.parametrize("dtype", [np.complex128, np.str_, np.bytes_, object, np.longdouble, "datetime64[s]"])
def test_a_weight_that_holds_no_real_numbers_of_64_bits_is_refused(dtype):
    weight = np.ones((3, 2), dtype=int).astype(dtype)
    if weight.dtype == np.float64:
        pytest.skip("longdouble is float64 on this platform")
    refuse(f"weight must hold real numbers of at most 64 bits, got dtype {weight.dtype}", weight)


def test_a_weight_that_is_no_array_is_refused():
    for weight in (None, "weights.npy", {}):
        refuse("weight must hold real numbers of at most 64 bits, got dtype …", weight)


@pytest.mark.parametrize("value", [2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63)])
def test_an_integer_that_float64_may_not_hold_is_refused(value):
    weight = np.array([[value, 0], [0, 1]])
    refuse("weight must hold integers of at most 2**53, so that float64 holds them exactly", weight)


def test_integers_and_bools_are_exact_numbers():
    for dtype in (np.int8, np.int16, np.int32, np.int64, int):
        assert status([[0], [], [0, 1, 2]], WEIGHT.astype(dtype)) == [1, 0, 0]
    for dtype in (bool, np.uint8, np.uint64):
        assert status([[0], [0, 1], [0, 2]], np.array([[1, 0], [0, 1], [1, 1]], dtype=dtype)) == [1, 0, 1]
    assert status([[0]], [[1, 0], [0, 1]], bias=[1, -1]) == [1]
    assert status([[0], []], np.array([[2**53]])) == [1, 1]


def test_half_and_single_precision_are_exact_numbers():
    for dtype in (np.float16, np.float32, ">f4", ">f8"):
        weight = np.array([[0.1], [0.2]]).astype(dtype)
        stored = lp.verify(weight, [[0]]).layer.weight
        assert stored.dtype == np.float64
        assert stored.tolist() == weight.astype(np.float64).tolist()


def test_the_weights_are_a_copy():
    weight, bias = WEIGHT.copy(), np.zeros(3)
    verification = lp.verify(weight, [[0]], bias=bias)
    weight[:], bias[:] = -1.0, 7.0
    verification.check()
    assert verification.layer.weight.tolist() == WEIGHT.tolist()


# --- label sets -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [3, -1, 2**40])
def test_a_label_out_of_range_is_refused(wrong):
    refuse(f"labels[1] must hold indices from 0 to 2, got {wrong}", labels=[[0], [1, wrong]])
    refuse(f"labels[0] must hold indices from 0 to 2, got {wrong}", labels=[np.array([wrong])])


def test_a_label_named_twice_is_refused():
    refuse("labels[2] must name each label once, got 1 more than once", labels=[[0], [], [1, 2, 1]])
    twice = sparse.csr_array((np.ones(2), np.array([1, 1]), np.array([0, 2])), shape=(1, 3))
    refuse("labels must name each label of a set once, got a sparse matrix with duplicate entries", labels=twice)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, sparse.csr_matrix, sparse.coo_array])
def test_labels_other_than_zero_and_one_are_refused(kind):
    for row, wrong in [([1, -1, 1], -1), ([0, 2, 0], 2), ([0.5, 0.0, 1.0], 0.5), ([1.0, np.nan, 0.0], np.nan)]:
        refuse(f"labels must be 0 or 1, got {wrong} (for ±1 labels pass labels > 0)", labels=kind(np.array([row])))


@pytest.mark.parametrize("shape", [(1, 2), (1, 4), (3,), (1, 3, 1), (0, 4), (0,), ()])
def test_labels_of_another_width_are_refused(shape):
    message = f"labels must have shape (n_sets, 3) to match the weight's 3 rows, got {shape}"
    refuse(message, labels=np.zeros(shape))
    if len(shape) == 2:
        refuse(message, labels=sparse.csr_array(np.zeros(shape)))


@pytest.mark.parametrize("dtype", [np.complex128, np.str_, object])
def test_labels_of_another_kind_are_refused(dtype):
    labels = np.array([[1, 0, 0]]).astype(dtype)
    refuse(f"labels must be bool or 0/1, got an array of dtype {labels.dtype}", labels=labels)


@pytest.mark.parametrize(
    "wrong",
    [[True, False, True], [0.0, 1.0], [0.5], 0, [[1]], ["a"], "ab", {0}, None, [2**70]],
    ids=repr,
)
def test_a_list_that_holds_no_index_lists_is_refused(wrong):
    message = "labels[1] must be a list of label indices (0/1 rows go into an array, not a list), got "
    refuse(message + repr(wrong), labels=[[0], wrong])


def test_ragged_lists_are_refused():
    refuse("labels[0] must be a list of label indices, got [0, [1]]", labels=[[0, [1]]])
    refuse(
        "labels[1] must be a list of label indices (0/1 rows go into an array, not a list), got [[1], [2]]",
        labels=[[0], [[1], [2]]],
    )


@pytest.mark.parametrize("labels", [None, 5, "0 1", {0}], ids=repr)
def test_labels_that_are_no_list_and_no_array_are_refused(labels):
    refuse("labels must have shape (n_sets, 3) to match the weight's 3 rows, got ()", labels=labels)


@pytest.mark.parametrize(
    "labels",
    [[], (), np.zeros((0, 3)), np.zeros((0, 3), dtype=bool), sparse.csr_array((0, 3)), sparse.coo_array((0, 3))],
    ids=["list", "tuple", "float", "bool", "csr", "coo"],
)
@pytest.mark.parametrize("rule", ["sigmoid", "topk", "sparsemax"])
def test_no_sets_at_all_give_an_empty_result(labels, rule):
    verification = lp.verify(WEIGHT, labels, rule=rule, bias=np.ones(3))
    assert len(verification) == 0
    assert verification.status.tolist() == []
    assert verification.status.dtype == np.int8
    assert verification.margin.tolist() == []
    assert verification[:] == []
    assert list(verification) == []
    verification.check()
    with pytest.raises(IndexError):
        _ = verification[0]


@pytest.mark.parametrize(
    "labels",
    [[[]], [()], [np.array([])], [np.array([], dtype=bool)], np.zeros((1, 3)), sparse.csr_array((1, 3))],
    ids=["list", "tuple", "float", "bool", "dense", "csr"],
)
def test_the_empty_label_set_is_a_set_like_any_other(labels):
    assert status(labels) == [0]
    assert status(labels, ties="inactive") == [1]
    assert status(labels, bias=-np.ones(3)) == [1]
    assert status(labels, rule="topk") == [1]
    assert status(labels, rule="sparsemax") == [0]


def test_a_zero_that_a_sparse_matrix_stores_is_no_label():
    stored = sparse.csr_array((np.array([1.0, 0.0]), np.array([1, 2]), np.array([0, 2])), shape=(1, 3))
    assert [active.tolist() for active in lp.verify(WEIGHT, stored).label_sets] == [[1]]
    assert stored.nnz == 2


def test_the_order_in_which_a_set_is_listed_does_not_matter():
    for labels in ([[2, 0]], [(0, 2)], [np.array([2, 0], dtype=np.uint8)], [range(0, 3, 2)]):
        assert [active.tolist() for active in lp.verify(WEIGHT, labels).label_sets] == [[0, 2]]


# --- bias and thresholds ----------------------------------------------------------------------------------


def test_a_bias_of_another_shape_is_refused():
    for bias in (np.zeros(2), np.zeros((1, 3)), np.zeros((3, 1)), np.float64(0.0), []):
        refuse(f"bias must have shape (3,) to match the weight's rows, got {np.shape(bias)}", bias=bias)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_bias_that_is_not_finite_is_refused(value):
    refuse(f"bias must be finite, got {value} at index (1,)", bias=np.array([0.0, value, 0.0]))


def test_a_bias_of_no_real_numbers_is_refused():
    for bias in (np.zeros(3, dtype=complex), np.array(["0", "0", "0"]), np.zeros(3, dtype=object)):
        refuse(f"bias must hold real numbers of at most 64 bits, got dtype {bias.dtype}", bias=bias)
    refuse("bias must hold integers of at most 2**53, so that float64 holds them exactly", bias=np.array([0, 2**60, 0]))


@pytest.mark.parametrize("value", [0.0, 1.0, -0.5, 1.5])
def test_a_threshold_that_is_no_probability_inside_the_unit_interval_is_refused(value):
    message = f"thresholds must be probabilities strictly between 0 and 1, got {value}"
    refuse(message, thresholds=value)
    refuse(message, thresholds=np.array([0.5, value, 0.5]))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_threshold_that_is_not_finite_is_refused(value):
    refuse(f"thresholds must be finite, got {value} at index (2,)", thresholds=np.array([0.5, 0.5, value]))
    refuse(f"thresholds must be finite, got {value} …", thresholds=value)


def test_thresholds_of_another_shape_are_refused():
    for shape in [(2,), (1,), (3, 1), (1, 3), (0,)]:
        message = f"thresholds must be one number or have shape (3,), got {shape}"
        refuse(message, thresholds=np.full(shape, 0.5))


def test_thresholds_of_no_real_numbers_are_refused():
    for thresholds in (np.full(3, 0.5 + 0j), np.array(["0.5"] * 3), "0.5"):
        dtype = np.asarray(thresholds).dtype
        refuse(f"thresholds must hold real numbers of at most 64 bits, got dtype {dtype}", thresholds=thresholds)


@pytest.mark.parametrize("rule", ["topk", "sparsemax"])
def test_thresholds_with_another_rule_are_refused(rule):
    refuse(f"thresholds go with rule='sigmoid' only, got rule={rule!r}", thresholds=0.5, rule=rule)


def test_one_threshold_stands_for_all_labels():
    for thresholds in (0.25, np.float32(0.25), np.array(0.25), [0.25] * 3):
        assert status([[], [0, 1, 2]], thresholds=thresholds) == [0, 1]


# --- domain -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("low", "high", "feature"),
    [(1.0, 0.0, 0), ([0.0, 2.0], [1.0, 1.0], 1), (0.0, [1.0, -5e-324], 1), (np.inf, np.inf, 0), (-np.inf, -np.inf, 0)],
)
def test_a_box_with_nothing_inside_is_refused(low, high, feature):
    a, b = np.broadcast_to(low, 2)[feature], np.broadcast_to(high, 2)[feature]
    refuse(f"domain must have low ≤ high, got low={a} and high={b} for feature {feature}", domain=(low, high))


def test_a_box_with_nan_is_refused():
    refuse("domain's low must not be NaN", domain=(np.nan, 1.0))
    refuse("domain's high must not be NaN", domain=(0.0, [1.0, np.nan]))


def test_a_box_of_another_shape_is_refused():
    for shape in [(1,), (3,), (2, 1), (0,)]:
        refuse(f"domain's low must be one number or have shape (2,), got {shape}", domain=(np.zeros(shape), 1.0))
        refuse(f"domain's high must be one number or have shape (2,), got {shape}", domain=(-1.0, np.zeros(shape)))


@pytest.mark.parametrize(
    "domain",
    ["positive", "", "None", 5, 1.0, (1.0,), (0.0, 1.0, 2.0), (), {"low": 0}, np.array([0.0, 1.0])],
    ids=repr,
)
def test_a_domain_of_another_kind_is_refused(domain):
    refuse(f"domain must be {FORMS}, got {domain!r}", domain=domain)


def test_a_box_may_be_open_to_infinity_or_a_point():
    assert status([[0, 1], []], domain=(-np.inf, np.inf)) == status([[0, 1], []])
    assert status([[0, 1]], domain=[0, 1]) == [1]
    assert status([[0, 1], [2]], domain=([1, 1], [1.0, 1.0])) == [1, 0]


# --- the other options ------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", ["softmax", "Sigmoid", "", None, 1, ["sigmoid"]], ids=repr)
def test_an_unknown_rule_is_refused(rule):
    refuse(f"rule must be 'sigmoid', 'topk' or 'sparsemax', got {rule!r}", rule=rule)


@pytest.mark.parametrize("ties", ["closed", "Open", "", None, True], ids=repr)
def test_an_unknown_way_with_ties_is_refused(ties):
    refuse(f"ties must be 'open' or 'inactive', got {ties!r}", ties=ties)


@pytest.mark.parametrize("engine", ["cloud", "Local", "", None, 1], ids=repr)
def test_an_unknown_engine_is_refused(engine):
    refuse("engine must be …", engine=engine)


@pytest.mark.parametrize("n_jobs", [0, -1, 0.5])
def test_a_number_of_threads_that_is_not_positive_is_refused(n_jobs):
    refuse(f"n_jobs must be a positive number of threads, got {n_jobs}", n_jobs=n_jobs)


@pytest.mark.parametrize("time_limit", [-1, -1e-9, np.nan, -np.inf])
def test_a_time_limit_that_is_no_time_is_refused(time_limit):
    refuse(f"time_limit must be a number of seconds, got {time_limit}", time_limit=time_limit)


def test_bad_input_is_refused_even_where_there_is_nothing_to_verify():
    refuse("weight must be finite, got nan at index (1, 1)", HOLE, labels=[])
    refuse("rule must be 'sigmoid', 'topk' or 'sparsemax', got 'max'", labels=[], rule="max")
    refuse("n_jobs must be a positive number of threads, got 0", labels=[], n_jobs=0)
    refuse("time_limit must be a number of seconds, got nan", labels=[], time_limit=np.nan)


# --- refused too late, or not at all ----------------------------------------------------------------------

UNCLEAR = {
    "weight is one integer": ("weight", {"weight": 3}),
    "weight is ragged": ("weight", {"weight": [[1.0, 2.0], [1.0]]}),
    "bias is one integer": ("bias", {"bias": 0}),
    "bias is ragged": ("bias", {"bias": [1.0, [2.0], 3.0]}),
    "thresholds is one integer": ("thresholds", {"thresholds": 0}),
    "rule is an array": ("rule", {"rule": np.array(["topk", "topk"])}),
    "low is a word": ("domain", {"domain": ("small", 1.0)}),
    "low is a number in a string": ("domain", {"domain": ("0", 1.0)}),
    "high is ragged": ("domain", {"domain": (0.0, [1.0, [2.0]])}),
    "high is complex": ("domain", {"domain": (0.0, 1j)}),
    "high is an integer that float64 does not hold": ("domain", {"domain": (0, 2**53 + 1)}),
    "high is an integer that is too large": ("domain", {"domain": (0, 10**400)}),
    "n_jobs is a string": ("n_jobs", {"n_jobs": "2"}),
    "n_jobs is NaN": ("n_jobs", {"n_jobs": np.nan}),
    "n_jobs is no whole number": ("n_jobs", {"n_jobs": 1.5}),
    "time_limit is a string": ("time_limit", {"time_limit": "1"}),
    "labels of another layer": ("labels", {"labels": LabelSets(9, np.array([0, 1]), np.array([7]))}),
}


@pytest.mark.parametrize("name", UNCLEAR)
def test_what_is_refused_is_refused_in_a_clear_sentence(name):
    argument, wrong = UNCLEAR[name]
    with pytest.raises(ValueError, match=rf"^{argument}.* must "):
        lp.verify(**({"weight": WEIGHT, "labels": [[0]]} | wrong))


def test_an_infinite_time_limit_is_none():
    assert status(time_limit=np.inf) == [1]


def test_the_box_is_a_copy():
    low = np.zeros(2)
    layer = lp.verify(WEIGHT, [[0]], domain=(low, 1.0)).layer
    low[:] = 5.0
    assert layer.low.tolist() == [0.0, 0.0]


def test_a_thread_that_flushes_subnormal_numbers_is_refused(monkeypatch):
    monkeypatch.setattr("labelproof.proof.regions.np.array", lambda _: np.zeros(1))
    with pytest.raises(RuntimeError, match="flushes subnormal numbers to zero"):
        lp.verify(np.eye(2), [[0]])


def test_sparse_weights_are_taken_and_bad_numbers_in_them_are_named():
    weight = np.array([[1.0, 0.0], [0.0, -2.0], [0.0, 0.0]])
    for stored in (sparse.csr_array(weight), sparse.csc_matrix(weight.astype(np.float32))):
        v = lp.verify(stored, [[0], [2]])
        assert v.status.tolist() == lp.verify(weight, [[0], [2]]).status.tolist()
        v.check()
    weight[1, 1] = np.nan
    with pytest.raises(ValueError, match=r"weight must be finite, got nan at index \(1, 1\)"):
        lp.verify(sparse.csr_array(weight), [[0]])
    twice = sparse.csr_array((np.ones(3), np.array([0, 1, 1]), np.array([0, 1, 3])), shape=(2, 2))
    assert lp.verify(sparse.csr_array((3, 2)), [[]]).status.tolist() == [0]
    refuse("weight must hold each entry once, got a sparse matrix with duplicate entries", twice)
    refuse("weight must have shape (n_labels, d) with n_labels, d ≥ 1, got (0, 3)", sparse.csr_array((0, 3)))
