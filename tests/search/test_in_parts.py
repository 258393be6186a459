"""A run to disk: the same whatever interrupts it, and however many threads do it."""

import errno
import fcntl
import os
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import labelproof as lp
from labelproof.errors import DataFormatError
from labelproof.proof import parts
from labelproof.proof.labels import LabelSets, read_label_sets
from labelproof.search import engines, in_parts, whitened
from labelproof.search.findings import join

RNG = np.random.default_rng(3)
WEIGHT = RNG.standard_normal((30, 5))
SETS = WEIGHT @ RNG.standard_normal((5, 95)) > RNG.standard_normal((30, 95)) * 0.3  # (30, 95): some can be predicted
SETS = SETS.T


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return the files of a run that nothing interrupted."""
    folder = tmp_path_factory.mktemp("whole") / "results"
    v = lp.verify_in_parts(WEIGHT, SETS, folder, part_size=10, n_jobs=1)
    assert set(v.status.tolist()) == {0, 1}
    return content(folder)


@pytest.mark.parametrize("n_jobs", [2, 3, 16])
def test_the_files_do_not_depend_on_the_number_of_threads(n_jobs, whole, tmp_path):
    lp.verify_in_parts(WEIGHT, SETS, tmp_path / "r", part_size=10, n_jobs=n_jobs)
    assert content(tmp_path / "r") == whole


def test_what_was_lost_is_computed_again_and_nothing_else(whole, tmp_path, monkeypatch):
    folder = tmp_path / "r"
    lp.verify_in_parts(WEIGHT, SETS, folder, part_size=10)
    for part in (2, 7):
        (folder / f"part-00000{part}.npz").unlink()
    written = []
    write = in_parts.write_part
    monkeypatch.setattr(in_parts, "write_part", lambda *args: (written.append(args[1]), write(*args)))
    lp.verify_in_parts(WEIGHT, SETS, folder)
    assert written == [2, 7]
    assert content(folder) == whole


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_full_disk_loses_no_part_and_the_same_call_goes_on(n_jobs, whole, tmp_path, monkeypatch):
    folder = tmp_path / "r"
    saves = np.savez_compressed

    def save(stream, **arrays):
        if len(list(folder.glob("part-*"))) == 4:
            stream.write(b"half of it")
            raise OSError(errno.ENOSPC, "No space left on device")
        saves(stream, **arrays)

    monkeypatch.setattr(np, "savez_compressed", save)
    with pytest.raises(OSError, match="No space left"):
        lp.verify_in_parts(WEIGHT, SETS, folder, part_size=10, n_jobs=n_jobs)
    kept = content(folder)
    assert len(kept) == 5
    assert kept.items() <= whole.items()
    monkeypatch.setattr(np, "savez_compressed", saves)
    lp.verify_in_parts(WEIGHT, SETS, folder, n_jobs=n_jobs)
    assert content(folder) == whole


def test_drafts_of_a_killed_process_are_cleared_away(whole, tmp_path):
    folder = tmp_path / "r"
    folder.mkdir()
    (folder / ".run.json.0123.part").write_bytes(b"{")
    lp.verify_in_parts(WEIGHT, SETS, folder, part_size=10)
    (folder / ".part-000003.npz.0123.part").write_bytes(b"half of it")
    lp.verify_in_parts(WEIGHT, SETS, folder)
    assert content(folder) == whole


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    (tmp_path / ".part-of-it.part").write_text("more")
    with pytest.raises(DataFormatError, match=r"expected a folder that labelproof verify wrote, got no run\.json"):
        lp.verify_in_parts(WEIGHT, SETS, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"thesis.txt", ".part-of-it.part"}


def test_two_processes_do_not_write_to_one_folder(tmp_path):
    handle = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    with pytest.raises(DataFormatError, match="another process is writing to this folder"):
        lp.verify_in_parts(WEIGHT, SETS, tmp_path)
    os.close(handle)
    lp.verify_in_parts(WEIGHT, SETS, tmp_path)


# Another run than the one in the folder


def other_run(folder, weight=WEIGHT, sets=SETS, **options):
    lp.verify_in_parts(WEIGHT, SETS, folder, part_size=10)
    before = content(folder)
    with pytest.raises(DataFormatError) as told:
        lp.verify_in_parts(weight, sets, folder, **options)
    assert content(folder) == before
    return str(told.value)


def test_other_label_sets_are_refused(tmp_path):
    other = SETS.copy()
    other[94, 0] ^= True
    assert "holds a run with other label sets: name another folder" in other_run(tmp_path / "r", sets=other)


def test_more_label_sets_are_refused(tmp_path):
    assert "another number of label sets" in other_run(tmp_path / "r", sets=np.concatenate([SETS, SETS]))


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"part_size": 11}, "holds a run with another part size"),
        ({"time_limit": 1}, "holds a run with another time limit"),
        ({"sample": 95}, "holds a run with another sample"),
        ({"label_names": [str(i) for i in range(30)]}, "holds a run with another label name"),
        ({"rule": "topk"}, "part-000000.npz: made for another classifier: expected rule topk, got sigmoid: delete it"),
        ({"bias": np.ones(30)}, "part-000000.npz: made for another classifier: expected its offset, got another"),
        ({"radius": True}, "part-000000.npz: expected box 10000.0 and eps 1e-08, got None and 1e-08"),
        ({"eps": 0.5}, "part-000000.npz: expected box None and eps 0.5, got None and 1e-08"),
    ],
    ids=str,
)
def test_other_options_are_refused(options, what, tmp_path):
    assert what in other_run(tmp_path / "r", **options)


def test_other_weights_are_refused(tmp_path):
    assert "made for another classifier: expected weight_sha256" in other_run(tmp_path / "r", weight=WEIGHT + 1)


def test_a_part_of_other_label_sets_is_refused_and_can_be_computed_anew(whole, tmp_path):
    for name, sets in (("r", SETS), ("other", ~SETS)):
        lp.verify_in_parts(WEIGHT, sets, tmp_path / name, part_size=10)
    (tmp_path / "other" / "part-000004.npz").replace(tmp_path / "r" / "part-000004.npz")
    with pytest.raises(
        DataFormatError, match=r"part-000004\.npz: expected the label sets of this run, got others: dele"
    ):
        lp.verify_in_parts(WEIGHT, SETS, tmp_path / "r")
    (tmp_path / "r" / "part-000004.npz").unlink()
    lp.verify_in_parts(WEIGHT, SETS, tmp_path / "r")
    assert content(tmp_path / "r") == whole


# Arguments


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"part_size": 0}, "part_size must be an integer of at least 1, got 0"),
        ({"label_names": ["a"]}, "label_names must hold 30 names, one for each label, got 1"),
        ({"engine": "cloud"}, "engine must be 'local' or 'ray', got 'cloud'"),
        ({"n_jobs": 0}, "n_jobs must be a positive number of threads, got 0"),
    ],
    ids=str,
)
def test_wrong_arguments_are_refused_before_anything_is_written(options, what, tmp_path):
    with pytest.raises(ValueError, match=what):
        lp.verify_in_parts(WEIGHT, SETS, tmp_path / "r", **options)
    assert not (tmp_path / "r").exists()


def test_more_parts_than_can_be_read_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "MOST_PARTS", 3)
    with pytest.raises(ValueError, match=f"part_size must make at most 3 parts of {len(SETS)} label sets, got 5 in"):
        lp.verify_in_parts(WEIGHT, SETS, tmp_path / "r", part_size=5)
    assert not (tmp_path / "r").exists()


def test_no_label_sets_are_refused(tmp_path):
    with pytest.raises(ValueError, match="labels must hold at least one label set, got none"):
        lp.verify_in_parts(WEIGHT, [], tmp_path / "r")


def test_label_sets_may_be_sparse_or_mapped(whole, tmp_path):
    lp.verify_in_parts(WEIGHT, sp.csr_array(SETS), tmp_path / "sparse", part_size=10)
    sets = read_label_sets(SETS, 30)
    np.save(tmp_path / "indptr.npy", sets.indptr)
    np.save(tmp_path / "indices.npy", sets.indices.astype(np.int32))
    arrays = (np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in ("indptr", "indices"))
    lp.verify_in_parts(WEIGHT, LabelSets(30, *arrays), tmp_path / "mapped", part_size=10)
    assert content(tmp_path / "sparse") == content(tmp_path / "mapped") == whole


def test_parts_are_smaller_for_larger_layers():
    def size(n_labels, d):
        layer = lp.verify(np.eye(2), [[0]]).layer
        return engines.part_size_of(replace(layer, weight=np.broadcast_to(0.0, (n_labels, d))))

    assert size(8921, 50) == 10_000
    assert 256 <= size(8921, 768) < 1000
    assert size(1_000_000, 1000) == 256


@pytest.mark.parametrize("options", [{}, {"radius": True}, {"time_limit": 0}, {"rule": "sparsemax"}], ids=str)
def test_answers_to_blocks_join_into_the_answer_to_all(options):
    sets = read_label_sets(SETS, 30)
    blocks = [sets.slice(0, 40), sets.slice(40, 41), sets.slice(41, 95)]
    answers = [lp.verify(WEIGHT, block, **options) for block in blocks]
    v = join(answers[0].layer, sets, answers)
    v.check(n_jobs=1)
    for i in (0, 39, 40, 41, 94):
        part, place = (0, i) if i < 40 else (1, 0) if i == 40 else (2, i - 41)
        assert v.status[i] == answers[part].status[place]
        np.testing.assert_equal(v.radius[i], answers[part].radius[place])
    assert v.reasons.keys() == set(np.flatnonzero(v.status == -1).tolist())


def test_what_candidates_need_is_computed_once_for_all_parts(tmp_path, monkeypatch):
    prepared = []
    prepare = whitened._prepare
    monkeypatch.setattr(whitened, "_prepare", lambda layer: (prepared.append(layer), prepare(layer))[1])
    weight = np.random.default_rng(0).standard_normal((2000, 12))
    sets = [[i, i + 1] for i in range(30)]
    v = lp.verify_in_parts(weight, sets, tmp_path / "r", rule="topk", part_size=10)
    assert len(prepared) == 1
    whole = lp.verify(weight, sets, rule="topk")
    assert v.status.tolist() == whole.status.tolist()
    np.testing.assert_array_equal(np.concatenate([part.points for part in v.parts()]), whole.points)
