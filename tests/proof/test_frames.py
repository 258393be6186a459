"""What holds the evidence of a result: each array that does not fit is refused, and each certificate read right."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from labelproof.errors import CertificateError
from labelproof.proof.certificates import Argmaxable, Unargmaxable, Undecided
from labelproof.proof.labels import LabelSets, read_label_sets
from labelproof.proof.radius_bounds import Radii
from labelproof.proof.regions import make_layer
from labelproof.proof.result import Verification

TRIANGLE = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])


def result(**changes):
    """Five sets of the triangle: two by floats, one by fractions, one conflict, one undecided."""
    fields = {
        "layer": make_layer(TRIANGLE),
        "label_sets": read_label_sets([[0], [0, 1], [1], [0, 1, 2], [2]], 3),
        "status": np.array([1, 1, 1, 0, -1], np.int8),
        "points": np.array([[1.0, 1.0], [2.0, -1.0]]),
        "point_of": np.array([1, 0, -1, -1, -1]),
        "conflict_ptr": np.array([0, 0, 0, 0, 3, 3]),
        "conflict_rows": np.array([0, 1, 2]),
        "fractions": {2: (Fraction(-1, 3), Fraction(2, 3))},
        "reasons": {4: "no time"},
    }
    return Verification(**(fields | changes))


def test_a_sound_result_has_no_fault_and_passes():
    verification = result()
    assert verification._frame_fault() is None
    verification.check(n_jobs=1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"status": np.array([1, 1, 1, 0, -2], np.int8)}, "expected a status of 1, 0 or -1"),
        ({"status": np.array([1, 1, 1, 0, 2], np.int8)}, "expected a status of 1, 0 or -1"),
        ({"label_sets": read_label_sets([[0], [0, 1], [1], [0, 1, 2]], 3)}, "expected arrays for 4 label sets"),
        ({"label_sets": read_label_sets([[0]] * 6, 3)}, "expected arrays for 6 label sets"),
        ({"point_of": np.array([1, 0, -1, -1])}, "expected arrays for 5 label sets"),
        ({"point_of": np.array([1, 0, -1, -1, -1, -1])}, "expected arrays for 5 label sets"),
        ({"conflict_ptr": np.array([0, 0, 0, 0, 3])}, "expected arrays for 5 label sets"),
        ({"conflict_ptr": np.array([0, 0, 0, 0, 3, 3, 3])}, "expected arrays for 5 label sets"),
        (
            {"label_sets": LabelSets(4, *(lambda s: (s.indptr, s.indices))(result().label_sets))},
            "ascending labels below 3",
        ),
        (
            {"label_sets": LabelSets(3, np.array([0, 1, 3, 4, 7, 8]), np.array([0, 1, 0, 1, 0, 1, 2, 2]))},
            "ascending labels",
        ),
        ({"points": np.ones((2, 3))}, r"expected witnesses of shape \(…, 2\)"),
        ({"points": np.ones(2)}, r"expected witnesses of shape \(…, 2\)"),
        ({"points": np.ones((2, 2, 1))}, r"expected witnesses of shape \(…, 2\)"),
        ({"points": np.ones((2, 2), np.float32)}, r"expected witnesses of shape \(…, 2\)"),
        ({"conflict_rows": np.array([0.0, 1.0, 2.0])}, "expected row numbers as integers"),
        ({"conflict_rows": np.array([[0, 1, 2]])}, "expected row numbers as integers"),
        ({"point_of": np.array([1.0, 0.0, -1.0, -1.0, -1.0])}, "expected row numbers as integers"),
        ({"conflict_ptr": np.array([1, 1, 1, 1, 3, 3])}, "expected ends of conflicts"),
        ({"conflict_ptr": np.array([0, 0, 0, 0, 2, 2])}, "expected ends of conflicts"),
        ({"conflict_ptr": np.array([0, 0, 1, 0, 3, 3])}, "expected ends of conflicts"),
        ({"point_of": np.array([2, 0, -1, -1, -1])}, "label set 0 is not proven: expected a witness, got none"),
        ({"point_of": np.array([1, 0, -2, -1, -1])}, "label set 2 is not proven: expected a witness, got none"),
        ({"point_of": np.array([1, -1, -1, -1, -1])}, "label set 1 is not proven: expected a witness, got none"),
        ({"fractions": {}}, "label set 2 is not proven: expected a witness, got none"),
        ({"reasons": {}}, "label set 4: expected a reason why it is undecided"),
        ({"fractions": {2: [Fraction(-1), Fraction(1)]}}, "label set 2 is not proven: expected a witness of fractions"),
        ({"fractions": {2: (-1.0, Fraction(1))}}, "label set 2 is not proven: expected a witness of fractions"),
        ({"fractions": {2: (Fraction(-1), 1.0)}}, "label set 2 is not proven: expected a witness of fractions"),
    ],
)
def test_an_array_that_does_not_fit_is_refused(changes, message):
    with pytest.raises(CertificateError, match=message):
        result(**changes).check(n_jobs=1)


def test_whole_numbers_are_fractions_too_and_witnesses_at_both_ends_are_found():
    result(fractions={2: (-1, 2)}).check(n_jobs=1)
    result(points=np.array([[2.0, -1.0], [1.0, 1.0]]), point_of=np.array([0, 1, -1, -1, -1])).check(n_jobs=1)


def test_certificates_are_read_from_the_arrays():
    verification = result()
    assert len(verification) == 5
    kinds = [Argmaxable, Argmaxable, Argmaxable, Unargmaxable, Undecided]
    assert [type(certificate) for certificate in verification] == kinds
    assert [type(certificate) for certificate in verification[1:4]] == kinds[1:4]
    assert verification[0].witness.tolist() == [2.0, -1.0]
    assert verification[2].witness == (Fraction(-1, 3), Fraction(2, 3))
    assert verification[-1].reason == "no time"
    assert (verification[3].conflict, verification[3].extra, verification[3].multipliers) == ((0, 1, 2), (), (1, 1, 1))
    with pytest.raises(IndexError):
        verification[5]


def test_rows_that_are_no_labels_are_named_apart():
    layer = make_layer(np.array([[1.0]]), domain=(2.0, 3.0))
    verification = Verification(
        layer,
        read_label_sets([[]], 1),
        np.zeros(1, np.int8),
        np.empty((0, 1)),
        np.array([-1]),
        np.array([0, 3]),
        np.array([0, 1, 4]),
        {},
        {},
    )
    verification.check(n_jobs=1)
    assert (verification[0].conflict, verification[0].extra) == ((0,), ("scale", "low[0]"))
    assert (verification[0].multipliers, verification[0].extra_multipliers) == ((1,), (2, 1))


def test_margins_are_there_for_argmaxable_sets_alone():
    verification = result()
    margins = verification.margin
    assert np.isnan(margins).tolist() == [False, False, False, True, True]
    assert margins[:3].tolist() == pytest.approx([certificate.margin for certificate in verification[:3]])
    assert np.isnan(verification.radius).all()
    assert np.isnan(verification.radius_upper).all()
    assert verification.eps_argmaxable.tolist() == [False] * 5


def test_without_evidence_nothing_can_be_read_or_checked():
    verification = result(certified=False)
    for read in (lambda: verification[0], lambda: verification.margin, lambda: verification.check(n_jobs=1)):
        with pytest.raises(CertificateError, match="no evidence was kept: verify with certify=True"):
            read()


def with_radii(**changes):
    fields = {
        "box": 2.0,
        "sets": np.array([0, 1, 2]),
        "lower": np.zeros(3),
        "upper": np.full(3, np.inf),
        "centers": np.zeros((3, 2)),
        "ptr": np.zeros(4, np.int64),
        "rows": np.empty(0, np.int64),
        "multipliers": np.empty(0),
    }
    return result(radii=Radii(**(fields | changes)), eps=0.5)


def test_radii_within_a_ball_are_refused():
    verification = with_radii()
    assert verification.radii.frame_fault(verification.layer) is None
    ball = make_layer(TRIANGLE, domain=("ball", 9.0))
    fault = verification.radii.frame_fault(ball)
    assert fault == "expected no radii with features in a ball, got some"


def test_a_conflict_that_brings_multipliers_is_one_with_the_domain():
    verification = result(multipliers={3: (Fraction(1), Fraction(2), Fraction(3))})
    assert (verification[3].extra, verification[3].multipliers) == (("domain",), (1, 2, 3))
    fault = result(multipliers={3: [Fraction(1)] * 3})._frame_fault()
    assert fault == "label set 3 is not proven: expected a tuple of multipliers, got list"


def test_radii_are_spread_over_the_sets_that_have_them():
    verification = with_radii(lower=np.array([0.25, 0.5, 1.0]), upper=np.array([1.0, 2.0, 3.0]))
    assert verification.radius.tolist()[:3] == [0.25, 0.5, 1.0]
    assert np.isnan(verification.radius[3:]).all()
    assert verification.radius_upper.tolist()[:3] == [1.0, 2.0, 3.0]
    assert verification.eps_argmaxable.tolist() == [False, True, True, False, False]
    assert verification[1].radius == 0.5
    assert result().eps == 1e-8
    assert (result().certified, result().radii) == (True, None)


def test_radii_are_checked_with_the_rest():
    with_radii().check(n_jobs=1)
    with pytest.raises(CertificateError, match="the radius of label set 1 is not proven"):
        with_radii(lower=np.array([0.0, 0.1, 0.0])).check(n_jobs=1)
    with pytest.raises(CertificateError, match="expected a radius for each argmaxable label set"):
        with_radii(sets=np.array([0, 1, 3])).check(n_jobs=1)
    with pytest.raises(CertificateError, match="expected a radius for each argmaxable label set"):
        with_radii(sets=np.array([0, 1])).check(n_jobs=1)
    with pytest.raises(CertificateError, match="expected bounds and centres"):
        with_radii(lower=np.zeros(2)).check(n_jobs=1)


def many(n, wrong=()):
    """As many sets, all of the first label, of which some have the witness of another."""
    point_of = np.isin(np.arange(n), wrong).astype(np.int64)
    return replace(
        result(),
        label_sets=read_label_sets([[0]] * n, 3),
        status=np.ones(n, np.int8),
        points=np.array([[2.0, -1.0], [1.0, 1.0]]),
        point_of=point_of,
        conflict_ptr=np.zeros(n + 1, np.int64),
        conflict_rows=np.empty(0, np.int64),
        fractions={},
        reasons={},
    )


@pytest.mark.parametrize("n", [1, 63, 64, 65, 128, 129])
def test_no_set_is_left_out_of_a_check(n):
    many(n).check(n_jobs=1)
    for i in {0, n // 2, n - 1}:
        with pytest.raises(CertificateError, match=f"^label set {i} is not proven: label 1"):
            many(n, [i]).check(n_jobs=1)
    with pytest.raises(CertificateError, match=f"^label set {n // 2} is not proven"):
        many(n, range(n // 2, n)).check(n_jobs=2)


def test_a_check_asks_for_subnormal_numbers(monkeypatch):
    def refuse():
        raise RuntimeError("flushed")

    monkeypatch.setattr("labelproof.proof.result.require_subnormals", refuse)
    with pytest.raises(RuntimeError, match="flushed"):
        result().check(n_jobs=1)


def test_the_progress_of_a_check_counts_every_set(monkeypatch):
    steps = []

    class Bar:
        def __init__(self, title, total, show):
            self.told = (title, total, show)

        def __enter__(self):
            steps.append(self.told)
            return steps.append

        def __exit__(self, *_):
            return False

    monkeypatch.setattr("labelproof.proof.result.progress_bar", Bar)
    many(130).check(n_jobs=1)
    assert steps == [("checking", 130, False), 64, 64, 2]
