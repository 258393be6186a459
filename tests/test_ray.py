"""What runs on a Ray cluster gives the same, bit for bit, as on threads, also when a worker is killed.

All tests share one cluster of two workers; ``pytest --dist loadgroup`` gives them to one process.
"""

import os
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression

import labelproof as lp
from labelproof.auditing import advice, explained
from labelproof.cli.engine_options import EngineOptions
from labelproof.errors import DataFormatError, MissingPackageError
from labelproof.foundation import on_ray
from labelproof.foundation.engines import of_blocks
from labelproof.losses import SigmoidF1Loss
from labelproof.proof.stretch_store import ARRAYS
from labelproof.search import engines
from labelproof.search import in_parts as verdicts_in_parts
from labelproof.stretching import measuring_in_parts
from labelproof.training import dense_svm
from labelproof.training.svm_blocks import solutions
from running_verbs import assert_refused, report, run

pytestmark = pytest.mark.xdist_group("ray")
TUTORIAL = Path(__file__).parents[1] / "docs" / "tutorials" / "cluster.md"
RNG = np.random.default_rng(2)
WEIGHT = RNG.standard_normal((40, 6))
FEATURES = RNG.standard_normal((300, 6))
SETS = FEATURES @ WEIGHT.T > 0
SETS[::3] ^= RNG.random((100, 40)) < 0.1


@pytest.fixture(scope="module")
def cluster():
    if find_spec("ray") is None:
        pytest.skip("Ray is not installed")
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=100 * 2**20)
    yield ray
    ray.shutdown()


@pytest.fixture
def home(tmp_path):
    np.savez(tmp_path / "W.npz", weight=WEIGHT)
    np.save(tmp_path / "Y.npy", SETS)
    np.save(tmp_path / "F.npy", FEATURES)
    return tmp_path


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.usefixtures("cluster")
def test_the_tutorial_prints_what_its_page_shows(tmp_path, monkeypatch):
    if not TUTORIAL.is_file():
        pytest.skip("the documentation is not in this distribution")
    monkeypatch.syspath_prepend(str(TUTORIAL.parents[2]))
    from website.tutorials import mismatches

    assert list(mismatches(TUTORIAL.read_text(encoding="utf-8"), tmp_path)) == []


@pytest.mark.usefixtures("cluster")
def test_a_task_that_kills_every_worker_ends_in_one_sentence(monkeypatch):
    monkeypatch.setattr(on_ray, "TRIES", 0)

    def die(asked, block, n_jobs, advance):
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(OSError, match=r"^the cluster could not do a task, tried 1 times: "):
        list(of_blocks(die, None, [[1]], "ray", n_blocks=1))


@pytest.mark.usefixtures("cluster")
def test_what_a_task_raises_is_raised_as_if_it_were_here():
    def refuse(asked, block, n_jobs, advance):
        raise DataFormatError(f"{asked}: expected another block than {block}")

    def need_too_much(asked, block, n_jobs, advance):
        raise MemoryError("no room for a block")

    with pytest.raises(DataFormatError, match=r"^all: expected another block than \[1\]$"):
        list(of_blocks(refuse, "all", [[1], [2]], "ray", n_blocks=2))
    with pytest.raises(MemoryError, match=r"^no room for a block$"):
        list(of_blocks(need_too_much, "all", [[1]], "ray", n_blocks=1))


@pytest.mark.usefixtures("cluster")
def test_workers_get_what_is_asked_in_arrays_of_their_own():
    def change(asked, block, n_jobs, advance):
        asked[0] += len(block)  # which Ray's own arrays refuse
        return n_jobs, float(asked[1])

    blocks = [np.arange(2), np.arange(3)]
    found = list(of_blocks(change, np.array([0.0, 7.0]), blocks, "ray", n_blocks=2))
    assert [block.tolist() for block, _ in found] == [[0, 1], [0, 1, 2]]
    assert [answer for _, answer in found] == [(1, 7.0)] * 2


@pytest.mark.usefixtures("cluster")
def test_a_cluster_of_which_a_worker_is_killed_gives_the_same_files(home, monkeypatch):
    decide, killed, third = engines._evidence, home / "killed", SETS[60].sum()

    def dying(question, block, n_jobs, advance):
        if len(block[0]) == third and not killed.exists():
            killed.write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)
        return decide(question, block, n_jobs, advance)

    monkeypatch.setattr(engines, "_evidence", dying)
    v = lp.verify_in_parts(WEIGHT, SETS, home / "ray", part_size=30, engine="ray")
    assert int(killed.read_text()) != os.getpid()
    monkeypatch.undo()
    lp.verify_in_parts(WEIGHT, SETS, home / "local", part_size=30)
    assert set(v.status.tolist()) == {0, 1}
    assert content(home / "ray") == content(home / "local")
    words = ("verify", home / "W.npz", "-l", home / "Y.npy", "-o", home / "cli", "--part-size", 30)
    assert run(*words, "--engine", "ray").exit_code == 0
    assert content(home / "cli") == content(home / "local")


@pytest.mark.usefixtures("cluster")
def test_a_process_in_which_other_libraries_were_at_work_writes_the_files_of_a_fresh_one(home):
    use_torch_and_scikit_learn()
    lp.verify_in_parts(WEIGHT, SETS, home / "used", part_size=30)
    for name, more in (("fresh", {}), ("in memory that is not zero at first", {"MALLOC_PERTURB_": "85"})):
        words = ("verify", home / "W.npz", "-l", home / "Y.npy", "-o", home / name, "--part-size", "30")
        command = [sys.executable, "-m", "labelproof", *map(str, words)]
        subprocess.run(command, check=True, capture_output=True, env={**os.environ, **more})  # noqa: S603
        assert content(home / name) == content(home / "used")


def use_torch_and_scikit_learn():
    """Start the threads of both, of their BLAS and of numba, and leave their numbers behind in memory."""
    points = torch.randn(400, 400, requires_grad=True)
    SigmoidF1Loss()(points @ points.T, (points > 1).float()).backward()
    LogisticRegression().fit(FEATURES, SETS[:, 0])
    KMeans(3, n_init=1).fit(FEATURES)


@pytest.mark.usefixtures("cluster")
def test_kept_verdicts_are_those_of_threads_also_when_a_worker_is_killed(tmp_path, monkeypatch):
    monkeypatch.setattr(verdicts_in_parts, "part_size_of", lambda _: 30)
    decide, killed = engines._evidence, tmp_path / "killed"

    def dying(question, block, n_jobs, advance):
        if not killed.exists():
            killed.write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)
        return decide(question, block, n_jobs, advance)

    with monkeypatch.context() as patch:
        patch.setattr(engines, "_evidence", dying)
        lp.verify(WEIGHT, SETS, engine="ray", keep=tmp_path / "ray")
    lp.verify(WEIGHT, SETS, keep=tmp_path / "local")
    (far,), (near,) = ((tmp_path / name).iterdir() for name in ("ray", "local"))
    assert far.name == near.name
    assert content(far) == content(near)
    assert len(content(far)) == 11
    monkeypatch.setattr(engines, "_evidence", None)  # there is nothing left to decide
    assert lp.verify(WEIGHT, SETS, keep=tmp_path / "ray").status.tolist() == lp.load_parts(near, WEIGHT).status.tolist()


@pytest.mark.usefixtures("cluster")
def test_verdicts_in_memory_are_those_of_threads():
    found = lp.verify(WEIGHT, SETS, engine="ray")
    found.check(n_jobs=1)
    assert found.status.tolist() == lp.verify(WEIGHT, SETS).status.tolist()
    assert len(lp.verify(WEIGHT, [], engine="ray")) == 0


@pytest.mark.usefixtures("cluster")
def test_the_stretch_is_that_of_threads(home, monkeypatch):
    monkeypatch.setattr(measuring_in_parts, "PART", 40)
    how = {"calibration": RNG.standard_normal((310, 6))}
    local, far = (lp.stretch(WEIGHT, SETS[:99], FEATURES, engine=engine, **how) for engine in ("local", "ray"))
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(far, name), getattr(local, name))
    assert far.bar.value == local.bar.value
    told = report("stretch", home / "W.npz", "-l", home / "Y.npy", "-f", home / "F.npy", "--engine", "ray", "--json")
    assert told["upper"][:99] != [None] * 99
    assert told["sets"] == len(SETS)


@pytest.mark.usefixtures("cluster")
def test_parts_that_a_cluster_measured_are_kept_for_threads(tmp_path, monkeypatch):
    monkeypatch.setattr(measuring_in_parts, "PART", 40)
    far = lp.stretch(WEIGHT, SETS[:99], FEATURES, engine="ray", keep=tmp_path / "kept")
    assert len(list((tmp_path / "kept").iterdir())) == 3
    monkeypatch.setattr(measuring_in_parts, "find_evidence", None)  # there is nothing left to measure
    again = lp.stretch(WEIGHT, SETS[:99], FEATURES, keep=tmp_path / "kept")
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(again, name), getattr(far, name))


@pytest.mark.usefixtures("cluster")
def test_an_audit_is_that_of_threads(home, monkeypatch):
    for room in (explained, advice):
        monkeypatch.setattr(room, "SECONDS", 60.0)  # nothing ends for want of time
    weight, sets = WEIGHT[:8, :3], SETS[:60, :8]
    how = {"features": FEATURES[:, :3], "n_explained": 4, "pairs": 5}
    local, far = (dict(lp.audit(weight, sets, engine=engine, **how).document) for engine in ("local", "ray"))
    assert len(local["explained"]) == 4
    assert far.pop("seconds") > 0 < local.pop("seconds")
    assert far == local
    np.savez(home / "W.npz", weight=weight)
    np.save(home / "Y.npy", sets)
    words = ("audit", home / "W.npz", "-l", home / "Y.npy", "-f", home / "F.npy", "-o", home / "audit")
    told = report(*words[:4], "--explain", 1, "-o", home / "audit", "--engine", "ray", "--json")
    assert told["headline"].startswith(local["headline"].split(" can never")[0])


@pytest.mark.usefixtures("cluster")
def test_an_explanation_is_that_of_threads(home):
    lost = np.flatnonzero(SETS[int(np.flatnonzero(lp.verify(WEIGHT, SETS).status == 0)[0])][:8]).tolist()
    how = {"label_names": list("abcdefgh"), "time_limit": 60.0}
    near, far = (lp.explain(WEIGHT[:8, :3], lost, engine=engine, **how) for engine in ("local", "ray"))
    assert str(far) == str(near)
    assert far.to_dict() == near.to_dict()
    told = report("explain", home / "W.npz", "--set", "0,1", "--time-limit", 1, "--engine", "ray", "--json")
    assert told["verdict"] in ("argmaxable", "unargmaxable")


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("kind", ["sparse", "dense"])
def test_support_vector_machines_are_those_of_threads(kind, monkeypatch):
    X = RNG.standard_normal((90, 12))
    Y = sp.csr_array(X @ RNG.standard_normal((12, 150)) > 0.5)
    monkeypatch.setattr(dense_svm, "MOST_NUMBERS", 90 * 40)
    features = sp.csr_array(np.where(X > 0.5, X, 0)) if kind == "sparse" else X
    how = {"tolerance": 1e-2, "n_jobs": 1}
    near, far = (list(solutions(features, Y, [0.1, 1.0], engine=engine, **how)) for engine in ("local", "ray"))
    for one, other in zip(near, far, strict=True):
        for found, expected in zip(one, other, strict=True):
            np.testing.assert_array_equal(found, expected)


@pytest.mark.usefixtures("cluster")
def test_a_head_of_support_vector_machines_is_trained_on_the_cluster():
    from labelproof.training import TrainConfig, fit

    data = lp.Dataset(SETS, tuple(f"l{i}" for i in range(40)), features=FEATURES.astype(np.float32))
    sections = {"head": {"kind": "svm"}, "encoder": {"hidden": None}}
    near, far = (
        fit(TrainConfig.from_dict({**sections, "trainer": {"engine": engine}}), data, progress=False)
        for engine in ("local", "ray")
    )
    assert far.config.head.C == near.config.head.C
    np.testing.assert_array_equal(far.head.weight.numpy(force=True), near.head.weight.numpy(force=True))


def test_without_ray_one_sentence_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr("labelproof.foundation.optional_packages.find_spec", lambda _: None)
    with pytest.raises(
        MissingPackageError, match=r"the engine 'ray' needs the package ray: pip install 'labelproof\[ray\]'"
    ):
        lp.verify(np.eye(2), [[0]], engine="ray")
    with pytest.raises(MissingPackageError):
        on_ray.connect("auto")


def test_what_ray_prints_from_a_thread_of_its_own_is_no_result(capsys, monkeypatch):
    monkeypatch.setattr(on_ray, "connect", lambda _: None)
    monkeypatch.setattr(sys, "stdout", sys.stdout)  # to be as it was after this test, before capsys closes it
    assert EngineOptions("ray", "auto").connected() == "ray"
    ray = Thread(target=print, args=("a worker died",))
    ray.start()
    ray.join()
    print("a verdict")
    assert sys.stdout.encoding
    assert capsys.readouterr() == ("a verdict\n", "a worker died\n")


@pytest.mark.parametrize("verb", ["verify", "audit", "stretch", "explain"])
def test_an_address_goes_with_ray_only_and_other_engines_are_refused(home, verb):
    words = {
        "verify": ("-l", home / "Y.npy"),
        "audit": ("-l", home / "Y.npy"),
        "stretch": ("-l", home / "Y.npy", "-f", home / "F.npy"),
        "explain": ("--set", "1"),
    }[verb]
    assert_refused(run(verb, home / "W.npz", *words, "--address", "auto"), "--address goes with --engine ray")
    assert_refused(
        run(verb, home / "W.npz", *words, "--engine", "cloud"), "engine must be 'local' or 'ray', got 'cloud'"
    )


@pytest.mark.parametrize("ask", [lp.audit, lp.explain, lambda *words, **how: lp.stretch(*words, np.eye(2), **how)])
def test_functions_refuse_engines_that_there_are_not(ask):
    with pytest.raises(ValueError, match="engine must be 'local' or 'ray', got 'cloud'"):
        ask(np.eye(2), [0] if ask is lp.explain else [[0]], engine="cloud")


def test_only_support_vector_machines_are_trained_on_a_cluster():
    from labelproof.training import TrainConfig, fit

    data = lp.Dataset(np.eye(3, dtype=bool), ("a", "b", "c"), features=np.eye(3, dtype=np.float32))
    config = TrainConfig.from_dict({"head": {"kind": "linear"}, "trainer": {"engine": "ray"}})
    with pytest.raises(ValueError, match=r"trainer.engine 'ray' goes with head.kind svm only, got linear"):
        fit(config, data)
