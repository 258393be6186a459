"""A few damaged files of every kind end in a result or in one sentence; the campaign itself is `make stress`."""

import os
import pickle
import signal
import tempfile
from pathlib import Path

import numpy as np
import pytest
import torch
from changes import changed
from fuzzing import Tally, _too_long, end_of, table
from readers import Reader, readers

from labelproof.errors import DataFormatError

N_CHANGES = 12
MARK = Path(tempfile.gettempdir()) / f"executed-{os.getpid()}"


@pytest.fixture(autouse=True)
def alarm():
    before = signal.signal(signal.SIGALRM, _too_long)
    yield
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("reader", list(readers()), ids=lambda reader: reader.name)
def test_damaged_files_end_in_a_result_or_in_one_sentence(reader, tmp_path):
    path = tmp_path / reader.name
    reader.write(path)
    sound = path.read_bytes()
    assert end_of(reader, path) == ("read", "")
    for number in range(N_CHANGES):
        path.write_bytes(changed(sound, np.random.default_rng([1, number])))
        end, what = end_of(reader, path)
        assert end != "lost", (number, what)


class Evil:
    """What a pickle would execute."""

    def __reduce__(self):
        return open, (str(MARK), "w")


def _as_zip_of_pickle(path):
    np.savez(path, weight=np.array([Evil()], object), header=np.array([Evil()], object))


WAYS_TO_HIDE = [
    lambda path: path.write_bytes(pickle.dumps(Evil())),
    lambda path: np.save(path.open("wb"), np.array([Evil()], object)),
    lambda path: torch.save({"state_dict": {"head.weight": Evil()}, "callbacks": Evil()}, path.open("wb")),
    lambda path: _as_zip_of_pickle(path.open("wb")),
    lambda path: path.write_text(f"!!python/object/apply:builtins.open ['{MARK}', 'w']"),
]


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("reader", list(readers()), ids=lambda reader: reader.name)
def test_nothing_in_a_file_is_executed(reader, tmp_path):
    MARK.unlink(missing_ok=True)
    path = tmp_path / reader.name
    for hide in WAYS_TO_HIDE:
        hide(path)
        end, what = end_of(reader, path)
        assert end in ("refused", "read"), what
        assert not MARK.exists()


def with_lines(message):
    error = DataFormatError("")
    error.args = (message,)  # the error itself would join its lines
    return error


@pytest.mark.parametrize("error", [KeyError("a"), with_lines("two\nlines"), MemoryError()])
def test_other_errors_and_several_lines_are_lost(error, tmp_path):
    def fail(_):
        raise error

    assert end_of(Reader("a", lambda _: None, fail), tmp_path)[0] == "lost"


def test_a_value_error_from_below_is_lost(tmp_path):
    assert end_of(Reader("a", lambda _: None, lambda _: np.ones(2).reshape(3)), tmp_path)[0] == "lost"


def test_the_table_counts_what_was_tried():
    tally = Tally()
    for end in ("read", "refused", "refused", "lost"):
        tally.add(end, 0.5, "here")
    assert table({"a.csv": tally}).splitlines()[-1].split()[:5] == ["a.csv", "4", "1", "2", "1"]
    assert tally.lost == ["here"]
