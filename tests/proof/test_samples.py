"""What verdicts on a random sample tell of all label sets."""

import numpy as np
import pytest
from scipy.stats import binomtest, hypergeom

import labelproof as lp
from labelproof.proof.samples import Sample, choose_sets, read_sample


def verdicts(yes, no, undecided=0):
    return np.array([1] * yes + [0] * no + [-1] * undecided, np.int8)


@pytest.mark.parametrize(("yes", "n"), [(0, 5), (1, 1), (5, 5), (17, 40), (999, 1000)])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_the_interval_is_that_of_clopper_and_pearson(yes, n, confidence):
    expected = binomtest(yes, n).proportion_ci(confidence, method="exact")
    np.testing.assert_allclose(lp.share_interval(verdicts(yes, n - yes), confidence=confidence), expected, rtol=1e-9)


def test_undecided_sets_make_the_interval_wider_on_both_sides():
    low, high = lp.share_interval(verdicts(10, 10, 5))
    assert low == pytest.approx(lp.share_interval(verdicts(10, 15))[0])
    assert high == pytest.approx(lp.share_interval(verdicts(15, 10))[1])


@pytest.mark.parametrize(("of", "size"), [(30, 8), (200, 20), (60, 60)])
def test_the_share_lies_within_with_the_promised_probability_whatever_it_is(of, size):
    bounds = [lp.share_interval(verdicts(k, size - k), confidence=0.9) for k in range(size + 1)]
    for total in range(of + 1):
        inside = [low <= total / of <= high for low, high in bounds]
        assert hypergeom(of, total, size).pmf(np.arange(size + 1)) @ inside >= 0.9


def test_a_sample_is_of_different_sets_in_order_and_the_same_again():
    chosen = choose_sets(1000, 400, seed=7)
    assert (np.diff(chosen) > 0).all()
    assert 0 <= chosen[0] < chosen[-1] < 1000
    assert choose_sets(1000, 3, seed=0).tolist() == [511, 636, 848]
    assert choose_sets(10001, 201, seed=0)[:3].tolist() == [26, 52, 81]
    assert chosen.tolist() == choose_sets(1000, 400, seed=7).tolist() != choose_sets(1000, 400, seed=8).tolist()


def test_verify_decides_the_sample_and_remembers_it(tmp_path):
    weight, sets = np.random.default_rng(0).standard_normal((9, 3)), [[i % 9] for i in range(50)]
    v = lp.verify(weight, sets, sample=7, seed=3)
    assert [active.tolist() for active in v.label_sets] == [sets[i] for i in choose_sets(50, 7, seed=3)]
    assert (v.sample.of, v.sample.seed) == (50, 3)
    v.save(tmp_path / "r.npz")
    assert lp.load_verification(tmp_path / "r.npz", weight).sample == v.sample
    assert lp.verify(weight, sets).sample is None


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"sample": 0}, "sample must be an integer of at least 1, got 0"),
        ({"sample": 3}, "sample must be at most the number of label sets, 2, got 3"),
        ({"sample": 1, "seed": -1}, "seed must be an integer of at least 0, got -1"),
    ],
    ids=str,
)
def test_samples_that_cannot_be_are_refused(options, what):
    with pytest.raises(ValueError, match=what):
        lp.verify(np.eye(2), [[0], [1]], **options)


@pytest.mark.parametrize("confidence", [0, 1, -1, 95])
def test_a_confidence_that_is_no_probability_is_refused(confidence):
    with pytest.raises(ValueError, match="confidence must be a probability between 0 and 1"):
        lp.share_interval(verdicts(1, 1), confidence=confidence)


def test_no_verdicts_tell_nothing():
    with pytest.raises(ValueError, match="status must hold at least one verdict, got none"):
        lp.share_interval(verdicts(0, 0))


def test_a_sample_may_be_of_all_sets_and_the_interval_is_of_95_percent():
    assert choose_sets(5, 5, seed=0).tolist() == [0, 1, 2, 3, 4]
    assert lp.share_interval(verdicts(3, 4)) == lp.share_interval(verdicts(3, 4), confidence=0.95)


def test_what_a_file_says_of_a_sample_is_read():
    assert read_sample(None) is None
    assert read_sample({"of": 1, "seed": 0}) == Sample(1, 0)


@pytest.mark.parametrize(
    "raw",
    [
        *([], "of", 3, {}, {"of": 1}, {"seed": 0}, {"of": 0, "seed": 0}, {"of": 1, "seed": -1}),
        *({"of": 1.0, "seed": 0}, {"of": True, "seed": 0}, {"of": 1, "seed": 0.0}, {"of": 1, "seed": "0"}),
    ],
    ids=str,
)
def test_what_is_no_sample_is_refused(raw):
    with pytest.raises(ValueError, match=r"^sample: expected how many label sets it is of, and a seed$"):
        read_sample(raw)
