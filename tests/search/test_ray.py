"""Verification on a Ray cluster of two workers, one of which is killed: the same files as on threads, bit for bit."""

import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest

import labelproof as lp
from labelproof.errors import MissingPackageError
from labelproof.search import on_ray

CODE = '''
import os, signal, sys
from pathlib import Path
import numpy as np
import ray
import labelproof as lp
from labelproof.search import on_ray

home = Path(sys.argv[1])
rng = np.random.default_rng(2)
weight = rng.standard_normal((40, 6))
sets = rng.standard_normal((300, 6)) @ weight.T > 0
sets[::3] ^= rng.random((100, 40)) < 0.1
ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=100 * 2**20)
answer, done = on_ray._answer, []


def dying(question, indptr, indices):
    """Kill the worker in the middle of the third task, once."""
    if indices[0] == sets_third and not (home / "killed").exists():
        (home / "killed").write_text(str(os.getpid()))
        os.kill(os.getpid(), signal.SIGKILL)
    return answer(question, indptr, indices)


sets_third = int(np.flatnonzero(sets[60])[0])
on_ray._answer = dying
v = lp.verify_in_parts(weight, sets, home / "ray", part_size=30, engine="ray")
assert (home / "killed").exists()
on_ray._answer = answer
v.check(n_jobs=1)
lp.verify_in_parts(weight, sets, home / "local", part_size=30, engine="local")
assert set(v.status.tolist()) == {0, 1}
for path in (home / "local").iterdir():
    assert path.read_bytes() == (home / "ray" / path.name).read_bytes(), path
in_memory = lp.verify(weight, sets, engine="ray")
assert in_memory.status.tolist() == v.status.tolist()
in_memory.check(n_jobs=1)
assert len(lp.verify(weight, [], engine="ray")) == 0

np.savez(home / "W.npz", weight=weight)
np.save(home / "Y.npy", sets)
from labelproof.cli import app
words = ["verify", home / "W.npz", "-l", home / "Y.npy", "-o", home / "cli", "--part-size", "30", "--engine", "ray"]
try:
    app([str(word) for word in words], prog_name="labelproof")
except SystemExit as end:
    assert not end.code
for path in (home / "local").iterdir():
    assert path.read_bytes() == (home / "cli" / path.name).read_bytes(), path
ray.shutdown()
print("all is well")
'''


@pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed")
def test_a_cluster_of_which_a_worker_is_killed_gives_the_same_files(tmp_path):
    done = subprocess.run([sys.executable, "-c", CODE, tmp_path], capture_output=True, text=True, check=False)  # noqa: S603
    assert done.stdout.endswith("all is well\n"), done.stdout + done.stderr


def test_without_ray_one_sentence_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr("labelproof.foundation.optional_packages.find_spec", lambda _: None)
    with pytest.raises(
        MissingPackageError, match=r"the engine 'ray' needs the package ray: pip install 'labelproof\[ray\]'"
    ):
        lp.verify(np.eye(2), [[0]], engine="ray")
    with pytest.raises(MissingPackageError):
        on_ray.connect("auto")
