"""Folders of parts: what is read is what was proven, and nobody can pass something else off as it."""

import json
import shutil

import numpy as np
import pytest

import labelproof as lp
from labelproof.errors import CertificateError, DataFormatError
from labelproof.proof import parts
from labelproof.proof.labels import read_label_sets

RNG = np.random.default_rng(8)
WEIGHT = RNG.standard_normal((12, 3))
BIAS = RNG.standard_normal(12)
SETS = [np.flatnonzero(WEIGHT @ x > 0).tolist() for x in RNG.standard_normal((25, 3))]  # all can be predicted
SETS[3::4] = [np.flatnonzero(RNG.random(12) < 0.5).tolist() for _ in SETS[3::4]]  # hardly any can


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made") / "results"
    lp.verify_in_parts(WEIGHT, SETS, folder, part_size=10)
    return folder


@pytest.fixture
def folder(made, tmp_path):
    """Return a copy to tamper with."""
    return shutil.copytree(made, tmp_path / "results")


def rewrite_part(path, *, arrays=None, **fields):
    """Write a part again with other arrays, or other fields in its header."""
    with np.load(path) as archive:
        content = dict(archive)
    header = json.loads(content["header"].tobytes()) | fields
    content["header"] = np.frombuffer(json.dumps(header).encode(), np.uint8)
    np.savez_compressed(path, **(content | (arrays or {})))


def rewrite_run(folder, **fields):
    path = folder / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))


def check(folder, weight=WEIGHT, **options):
    lp.load_parts(folder, weight, **options).check(n_jobs=1)


def test_parts_hold_the_verdicts_of_each_block_in_order(folder):
    v = lp.load_parts(folder, WEIGHT)
    v.check()
    blocks = [SETS[:10], SETS[10:20], SETS[20:]]
    expected = [lp.verify(WEIGHT, block) for block in blocks]
    assert v.status.tolist() == np.concatenate([part.status for part in expected]).tolist()
    assert [len(part) for part in v.parts()] == [10, 10, 5]
    for part, own in zip(v.parts(), expected, strict=True):
        np.testing.assert_array_equal(part.points, own.points)
        np.testing.assert_array_equal(part.conflict_rows, own.conflict_rows)
    assert set(v.status.tolist()) == {0, 1}


def test_a_certificate_is_found_by_the_number_of_its_set(folder):
    v, whole = lp.load_parts(folder, WEIGHT), lp.verify(WEIGHT, SETS)
    assert len(v) == 25
    for i in (0, 9, 10, 24, -1):
        assert type(v[i]) is type(whole[i])
    with pytest.raises(IndexError):
        v[25]


def test_each_part_is_a_result_by_itself(folder):
    lp.load_verification(folder / "part-000001.npz", WEIGHT).check()


OPTIONS = {
    "bias": {"bias": BIAS},
    "thresholds": {"bias": BIAS, "thresholds": 0.3},
    "top-k": {"rule": "topk"},
    "nonnegative": {"domain": "nonnegative"},
    "upper bounds alone": {"domain": (-np.inf, 2.0), "bias": BIAS},
    "a ball": {"domain": ("ball", 2.0), "bias": BIAS},
    "radii": {"radius": True, "box": 10.0},
}


@pytest.mark.parametrize("name", OPTIONS)
def test_every_kind_of_classifier_survives(name, tmp_path):
    options = OPTIONS[name]
    v = lp.verify_in_parts(WEIGHT, SETS, tmp_path / "r", part_size=10, **options)
    loaded = lp.load_parts(tmp_path / "r", WEIGHT, bias=options.get("bias"))
    loaded.check(n_jobs=1)
    assert loaded.status.tolist() == lp.verify(WEIGHT, SETS, **options).status.tolist()
    assert lp.verify_in_parts(WEIGHT, SETS, tmp_path / "r", **options).run == v.run


def test_the_hash_of_label_sets_does_not_depend_on_the_blocks():
    sets = read_label_sets(SETS, 12)

    def digest(*ends):
        found = parts.LabelDigest()
        for start, stop in zip((0, *ends), (*ends, 25), strict=True):
            found.update(sets.slice(start, stop))
        return found.hexdigest()

    assert digest() == digest(1) == digest(10, 20) != parts.LabelDigest().hexdigest()


def test_moving_a_label_to_the_next_set_changes_the_hash():
    one, other = (parts.LabelDigest() for _ in range(2))
    one.update(read_label_sets([[0, 1], [2]], 3))
    other.update(read_label_sets([[0], [1, 2]], 3))
    assert one.hexdigest() != other.hexdigest()


# What does not hold


def test_a_run_that_is_not_complete_is_not_proven_but_what_is_there_is(folder):
    (folder / "part-000001.npz").unlink()
    v = lp.load_parts(folder, WEIGHT)
    assert v.missing == [1]
    assert v.status[10:20].tolist() == [-1] * 10
    with pytest.raises(
        CertificateError, match=r"expected 3 parts, got 2, whose verdicts hold, and no part-000001\.npz"
    ):
        v.check()
    with pytest.raises(DataFormatError, match=r"expected 3 parts, got no part-000001\.npz: verify again"):
        v[12]


def test_a_forged_verdict_is_found_and_named(folder):
    path = folder / "part-000002.npz"
    points = np.load(path)["points"].copy()
    points[-1] *= -1
    rewrite_part(path, arrays={"points": points})
    with pytest.raises(CertificateError, match=r"part-000002\.npz \(label sets 20 to 24\): label set \d is not proven"):
        check(folder)


def test_a_part_of_another_classifier_is_refused(folder, tmp_path):
    other = WEIGHT.copy()
    other[0, 0] += 1
    lp.verify_in_parts(other, SETS, tmp_path / "other", part_size=10)
    shutil.copy(tmp_path / "other" / "part-000001.npz", folder)
    with pytest.raises(DataFormatError, match=r"part-000001\.npz: made for another classifier: expected weight_sha256"):
        check(folder)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"rule": "topk"}, "expected rule sigmoid, got topk"),
        ({"ties": "inactive"}, "expected ties open, got inactive"),
        ({"domain": "nonnegative"}, "expected its low, got another"),
        ({"domain": (-1e300, np.inf)}, "expected its low, got another"),
        ({"thresholds": 0.3}, "expected its offset, got another"),
        ({"domain": ("ball", 9.0)}, "expected its ball_ends, got another"),
    ],
    ids=str,
)
def test_a_part_with_other_assumptions_is_refused(options, what, folder, tmp_path):
    lp.verify_in_parts(WEIGHT, SETS, tmp_path / "other", part_size=10, **options)
    shutil.copy(tmp_path / "other" / "part-000002.npz", folder)
    with pytest.raises(DataFormatError, match=f"part-000002.npz: made for another classifier: {what}"):
        check(folder)


def test_a_part_with_other_radii_is_refused(tmp_path):
    for box in (10.0, 20.0):
        lp.verify_in_parts(WEIGHT, SETS, tmp_path / str(box), part_size=10, radius=True, box=box)
    shutil.copy(tmp_path / "20.0" / "part-000001.npz", tmp_path / "10.0")
    with pytest.raises(CertificateError, match=r"part-000001\.npz: expected box 10\.0 as in the first part, got 20\.0"):
        check(tmp_path / "10.0")


def test_parts_in_another_order_are_refused(folder):
    first, second = folder / "part-000000.npz", folder / "part-000001.npz"
    first.rename(folder / "aside")
    second.rename(first)
    (folder / "aside").rename(second)
    with pytest.raises(CertificateError, match="expected the label sets that the run was begun with, got others"):
        check(folder)


def test_a_part_given_twice_is_refused(folder):
    shutil.copy(folder / "part-000000.npz", folder / "part-000001.npz")
    with pytest.raises(CertificateError, match="expected the label sets that the run was begun with, got others"):
        check(folder)


def test_a_part_of_another_size_is_refused(folder):
    shutil.copy(folder / "part-000002.npz", folder / "part-000001.npz")
    with pytest.raises(DataFormatError, match=r"part-000001\.npz: expected 10 label sets, got 5"):
        check(folder)
    with pytest.raises(DataFormatError, match=r"part-000001\.npz: expected status of 10 label sets, got others"):
        _ = lp.load_parts(folder, WEIGHT).status


def test_a_part_too_many_is_refused(folder):
    shutil.copy(folder / "part-000002.npz", folder / "part-000003.npz")
    with pytest.raises(CertificateError, match=r"expected 3 parts of 25 label sets, got also part-000003\.npz"):
        check(folder)


def test_a_damaged_part_is_refused(folder):
    content = (folder / "part-000001.npz").read_bytes()
    (folder / "part-000001.npz").write_bytes(content[: len(content) // 2])
    with pytest.raises(DataFormatError, match=r"part-000001\.npz: damaged, or not a file of this kind"):
        check(folder)


def test_verdicts_without_evidence_are_not_proven(folder):
    rewrite_part(folder / "part-000001.npz", certified=False)
    with pytest.raises(CertificateError, match=r"part-000001\.npz .*: no evidence was kept"):
        check(folder)


def test_a_run_may_have_just_as_many_parts_as_can_be_listed(folder, monkeypatch):
    monkeypatch.setattr(parts, "MOST_PARTS", 3)
    assert parts.read_run(folder).n_parts == 3
    check(folder)


@pytest.mark.parametrize(
    ("fields", "error", "what"),
    [
        ({"n_sets": 26}, DataFormatError, r"part-000002\.npz: expected 6 label sets, got 5"),
        ({"n_sets": 24}, DataFormatError, r"part-000002\.npz: expected 4 label sets, got 5"),
        ({"n_sets": 20}, CertificateError, r"expected 2 parts of 20 label sets, got also part-000002\.npz"),
        ({"n_sets": 31}, DataFormatError, r"part-000002\.npz: expected 10 label sets, got 5"),
        ({"part_size": 9}, DataFormatError, "expected 9 label sets, got 10"),
        ({"labels_sha256": "0" * 64}, CertificateError, "expected the label sets that the run was begun with"),
        ({"n_sets": 0}, DataFormatError, r"run\.json: damaged.* \(n_sets: expected a positive number, got 0\)"),
        ({"n_sets": 2.5}, DataFormatError, r"n_sets: expected a positive number, got 2\.5"),
        ({"part_size": True}, DataFormatError, "part_size: expected a positive number, got True"),
        ({"n_sets": 10**12}, DataFormatError, "part_size must make at most 1,000,000 parts of 1,000,000,000,000 label"),
        (
            {"n_sets": 10**18, "part_size": 10**17},
            DataFormatError,
            r"part-000000\.npz: expected 10+ label sets, got 10",
        ),
        ({"format": "another"}, DataFormatError, "expected version 1 of 'labelproof run', got 1 of 'another'"),
        ({"version": 2}, DataFormatError, "expected version 1 of 'labelproof run', got 2 of"),
        ({"label_names": "abc"}, DataFormatError, "label_names: expected a list of names"),
        ({"label_names": ["a", 1]}, DataFormatError, "label_names: expected a list of names"),
        ({"sample": {"of": -1, "seed": 0}}, DataFormatError, "sample: expected how many label sets it is of"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_run_file_that_lies_is_found(fields, error, what, folder):
    rewrite_run(folder, **fields)
    with pytest.raises(error, match=what):
        check(folder)


def test_a_folder_of_something_else_is_refused(tmp_path):
    with pytest.raises(DataFormatError, match=r"expected a folder that labelproof verify wrote, got no run\.json"):
        lp.load_parts(tmp_path, WEIGHT)
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(DataFormatError, match=r"run\.json: damaged, or not a file of this kind"):
        lp.load_parts(tmp_path, WEIGHT)


def test_a_run_without_a_part_says_so(folder):
    for path in folder.glob("part-*"):
        path.unlink()
    with pytest.raises(DataFormatError, match="expected 3 parts, got none yet"):
        lp.load_parts(folder, WEIGHT)


def test_other_weights_are_refused(folder):
    with pytest.raises(DataFormatError, match="made for another weight of the same shape"):
        lp.load_parts(folder, WEIGHT + 1)


def test_what_was_proven_is_what_is_counted_whatever_happens_to_the_files(folder):
    v = lp.load_parts(folder, WEIGHT)
    v.check()
    expected = v.status.tolist()
    rewrite_part(folder / "part-000000.npz", arrays={"status": np.zeros(10, np.int8)})
    assert v.status.tolist() == expected
    assert lp.load_parts(folder, WEIGHT).status.tolist() != expected


def test_a_run_of_one_set_in_parts_of_one_is_read_with_its_names(tmp_path):
    run = parts.Run(1, 1, "0" * 64, label_names=["a", "b"])
    parts.write_run(tmp_path, run)
    assert parts.read_run(tmp_path) == run


def test_other_labels_have_another_hash():
    digests = set()
    for labels in ([[0]], [[1]], [[0, 1]]):
        digest = parts.LabelDigest()
        digest.update(read_label_sets(labels, 2))
        digests.add(digest.hexdigest())
    assert len(digests) == 3


def test_a_glance_at_a_part_has_a_number_for_each_of_its_sets(folder):
    v = lp.load_parts(folder, WEIGHT)
    names = {"status", "indptr", "conflict_ptr"}
    for part, size in enumerate((10, 10, 5)):
        found = v.glance(part, names)
        assert {name: len(array) for name, array in found.items()} == {
            "status": size,
            "indptr": size + 1,
            "conflict_ptr": size + 1,
        }
    for name in sorted(names):
        rewrite_part(folder / "part-000002.npz", arrays={name: np.zeros(2, np.int64)})
        with pytest.raises(DataFormatError, match=f"part-000002.npz: expected {name} of 5 label sets, got others"):
            v.glance(2, {name})
    np.savez(folder / "part-000002.npz", header=np.zeros(1, np.uint8))
    with pytest.raises(DataFormatError, match=r"part-000002\.npz: expected status of 5 label sets, got others"):
        v.glance(2, {"status"})


def test_sets_of_parts_that_are_missing_are_undecided_after_a_check_too(folder):
    v = lp.load_parts(folder, WEIGHT)
    (folder / "part-000001.npz").unlink()
    with pytest.raises(CertificateError, match=r"no part-000001\.npz: verify again"):
        v.check(n_jobs=1)
    assert v.status[10:20].tolist() == [-1] * 10
    assert (v.status[:10] >= 0).all()


def test_what_a_check_has_proven_is_not_read_again(folder):
    v = lp.load_parts(folder, WEIGHT)
    v.check(n_jobs=1)
    for path in folder.glob("part-*"):
        path.unlink()
    assert (v.status >= 0).all()


def test_bounds_that_bound_nothing_are_none_and_others_must_agree(tmp_path):
    nothing = {"low": np.full(2, -np.inf), "high": np.full(2, np.inf)}
    assert parts._no_bound("low", nothing["low"]) is parts._no_bound("high", nothing["high"]) is None
    assert parts._no_bound("low", nothing["high"]) is nothing["high"]
    low = {3: [-np.inf, -9.0, -9.0], 4: [-np.inf, -9.0, -8.0]}
    for name, domain in (("half", (-np.inf, 9.0)), ("other half", (-9.0, np.inf)), ("box", (low[3], [9.0] * 3))):
        lp.verify_in_parts(WEIGHT, SETS[:4], tmp_path / name, part_size=2, domain=domain)
        check(tmp_path / name)
    lp.verify_in_parts(WEIGHT, SETS[:4], tmp_path / "other box", part_size=2, domain=(low[4], [9.0] * 3))
    shutil.copy(tmp_path / "other box" / "part-000001.npz", tmp_path / "box")
    with pytest.raises(DataFormatError, match="made for another classifier: expected its low, got another"):
        check(tmp_path / "box")
