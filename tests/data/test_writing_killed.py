"""Data and names of labels are two files: a process that is killed leaves both, or no data, never a mixture."""

import json
import subprocess
import sys

import numpy as np
import pytest

from labelproof.data import Dataset, load_dataset, save_dataset
from labelproof.errors import DataFormatError

# Saves data in processes that are killed before each rename in turn, and prints what they leave.
KILLED = """
import json, os, signal, shutil, sys
from pathlib import Path
import numpy as np
from labelproof.data import Dataset, save_dataset

home, file, *names = sys.argv[1:]
for moment in (1, 2, 3):
    work = Path(home, str(moment))
    shutil.copytree(Path(home, "before"), work)
    child = os.fork()
    if not child:
        replace, calls = os.replace, []
        def counted(*given):
            calls.append(given)
            if len(calls) == moment:
                os.kill(os.getpid(), signal.SIGKILL)
            replace(*given)
        os.replace = counted
        save_dataset(Dataset(np.eye(2), names, features=np.full((2, 1), 2.0)), work / file)
        os._exit(0)
    os.waitpid(child, 0)
    left = {path.name: path.read_text() for path in work.iterdir() if not path.name.startswith(".")}
    print(json.dumps(left, sort_keys=True))
"""
OLD, NEW = (Dataset(np.eye(2), names, features=np.full((2, 1), x)) for names, x in (("ab", 1.0), ("cd", 2.0)))


def left_by_kills(home, file, names):
    (home / "before").mkdir()
    save_dataset(OLD, home / "before" / file)
    command = [sys.executable, "-c", KILLED, home, file, *names]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603
    return [json.loads(line) for line in told.splitlines()]


@pytest.mark.parametrize("file", ["x.svm", "x.txt"])
def test_a_kill_between_the_two_files_leaves_no_data_with_the_names_of_others(tmp_path, file):
    first, second, done = left_by_kills(tmp_path, file, "cd")
    assert first == {"x.labels.txt": "a\nb\n"}
    assert second == {"x.labels.txt": "c\nd\n"}
    assert set(done) == {file, "x.labels.txt"}
    with pytest.raises((DataFormatError, FileNotFoundError), match=r"x\."):
        load_dataset(tmp_path / "2" / file)
    save_dataset(NEW, tmp_path / "2" / file)
    again = load_dataset(tmp_path / "2" / file, index_names=(tmp_path / "2" / "x.labels.txt").read_text().split())
    assert again.label_sets() == [("c",), ("d",)]


def test_data_stay_until_the_new_take_their_place_where_the_names_are_the_same(tmp_path):
    first, second, done = left_by_kills(tmp_path, "x.svm", "ab")
    before = {"x.labels.txt": "a\nb\n", "x.svm": (tmp_path / "before" / "x.svm").read_text()}
    assert first == second == before
    assert done["x.svm"] != before["x.svm"]
