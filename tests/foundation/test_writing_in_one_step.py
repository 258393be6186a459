"""Files and folders are there complete or as they were, whatever happens while they are written."""

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from labelproof.foundation import writing
from labelproof.foundation.writing import recover, remove_folder, replacing, replacing_path, write_folder, write_text


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def write_one(text):
    return lambda draft: (draft / "a").write_text(text)


def fail_after(stream, error):
    stream.write(b"ne")
    raise error


def always(_):
    return True


def test_a_file_is_as_it_was_until_all_is_written(tmp_path):
    place = tmp_path / "a"
    place.write_text("old")
    with replacing(place) as stream:
        stream.write(b"new")
        assert place.read_text() == "old"
    assert place.read_text() == "new"
    assert names(tmp_path) == ["a"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, OSError])
def test_a_file_that_could_not_be_finished_is_as_it_was(tmp_path, error):
    place = tmp_path / "a"
    write_text(place, "old")
    with pytest.raises(error), replacing(place) as stream:
        fail_after(stream, error)
    assert place.read_text() == "old"
    assert names(tmp_path) == ["a"]


def test_a_writer_that_opens_files_itself_is_given_a_path(tmp_path):
    with replacing_path(tmp_path / "a") as draft:
        draft.write_text("new")
        assert not (tmp_path / "a").exists()
    assert names(tmp_path) == ["a"]


def test_a_full_disk_is_told_with_the_name_of_the_file(tmp_path):
    code = f"""
import resource
from labelproof.foundation.writing import write_text
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    write_text({str(tmp_path / "a")!r}, "x" * 2000)
except OSError as error:
    print(error)
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout  # noqa: S603
    assert said == f"{tmp_path / 'a'} cannot be written: File too large\n"
    assert names(tmp_path) == []


def test_errors_of_what_is_read_meanwhile_keep_their_names(tmp_path):
    with pytest.raises(FileNotFoundError, match="missing"), replacing(tmp_path / "a"):
        (tmp_path / "missing").read_text()


def test_a_folder_that_does_not_exist_is_told_by_the_name_of_the_file(tmp_path):
    with pytest.raises(OSError, match="none/a cannot be written: No such file"):
        write_text(tmp_path / "none" / "a", "x")


def test_drafts_of_dead_processes_go_after_a_day_and_no_others(tmp_path):
    old, young, other = (
        tmp_path / f".{name}.{16 * digit}.part" for name, digit in (("a", "0"), ("a", "1"), ("b", "0"))
    )
    for draft in (old, young, other):
        draft.mkdir()
        (draft / "x").write_text("x")
    long_ago = time.time() - 2 * writing.A_DAY
    for path in (old / "x", old, other / "x", other, young):
        os.utime(path, (long_ago, long_ago))
    write_text(tmp_path / "a", "new")
    assert names(tmp_path) == sorted(["a", young.name, other.name])


def test_a_folder_is_removed_as_a_whole(tmp_path, monkeypatch):
    place = tmp_path / "folder"
    remove_folder(place)  # which is not there
    write_folder(place, write_one("old"), may_replace=always, what="one")

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(writing.shutil, "rmtree", interrupt)
        with pytest.raises(KeyboardInterrupt):
            remove_folder(place)
    (draft,) = names(tmp_path)  # of which nobody reads anything
    assert draft.startswith(".folder.")
    assert draft.endswith(".part")
    write_folder(place, write_one("new"), may_replace=always, what="one")
    remove_folder(place)
    assert names(tmp_path) == [draft]


def test_a_folder_is_replaced_as_a_whole(tmp_path):
    place = tmp_path / "folder"
    write_folder(place, write_one("old"), may_replace=always, what="one")
    (place / "other").write_text("gone")
    write_folder(place, write_one("new"), may_replace=always, what="one")
    assert (place / "a").read_text() == "new"
    assert names(place) == ["a"]
    assert names(tmp_path) == ["folder"]


def test_what_is_not_replaced_stays_in_a_folder(tmp_path):
    place = tmp_path / "folder"
    write_folder(place, write_one("old"), may_replace=always, what="one")
    (place / "kept" / "inner").mkdir(parents=True)
    (place / "kept" / "inner" / "x").write_text("x")
    (place / "stale").write_text("gone")
    (place / "link").symlink_to("nowhere")
    write_folder(place, write_one("new"), may_replace=always, what="one", replaced=lambda name: name == "stale")
    assert names(place) == ["a", "kept", "link"]
    assert (place / "a").read_text() == "new"
    assert (place / "kept" / "inner" / "x").read_text() == "x"


def test_a_folder_that_may_not_be_replaced_stays(tmp_path):
    (tmp_path / "a").write_text("mine")
    with pytest.raises(ValueError, match="is in the way: expected a free name, an empty folder or a box to replace"):
        write_folder(tmp_path, write_one("new"), may_replace=lambda _: False, what="a box")
    assert (tmp_path / "a").read_text() == "mine"


def test_a_folder_that_could_not_be_finished_is_as_it_was(tmp_path):
    def fail(draft):
        (draft / "a").write_text("ne")
        raise OSError(28, "No space left on device")

    place = tmp_path / "folder"
    write_folder(place, write_one("old"), may_replace=always, what="one")
    with pytest.raises(OSError, match="folder cannot be written: No space left on device"):
        write_folder(place, fail, may_replace=always, what="one")
    assert (place / "a").read_text() == "old"
    assert names(tmp_path) == ["folder"]


KILLED = """
import os, signal, sys
from pathlib import Path
from labelproof.foundation import writing

rename, count = Path.rename, 0
def counted(self, target):
    global count
    count += 1
    if count == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
    return rename(self, target)
Path.rename = counted
writing.write_folder(sys.argv[1], lambda draft: (draft / "a").write_text("new"), may_replace=lambda _: True, what="one")
"""


def killed_before_rename(place, number):
    ended = subprocess.run([sys.executable, "-c", KILLED, str(place), str(number)], check=False)  # noqa: S603
    return ended.returncode == -signal.SIGKILL


def test_a_process_killed_between_the_two_renames_loses_nothing(tmp_path):
    place = tmp_path / "folder"
    write_folder(place, write_one("old"), may_replace=always, what="one")
    assert killed_before_rename(place, 2)
    assert not place.exists()  # this is the moment
    recover(place)
    assert (place / "a").read_text() == "old"
    assert killed_before_rename(place, 2)
    write_folder(place, write_one("newest"), may_replace=always, what="one")  # as well as recover does
    assert (place / "a").read_text() == "newest"
    assert not [name for name in names(tmp_path) if name.endswith(".old")]


def test_a_process_killed_before_the_first_rename_leaves_the_folder(tmp_path):
    place = tmp_path / "folder"
    write_folder(place, write_one("old"), may_replace=always, what="one")
    assert killed_before_rename(place, 1)
    assert (place / "a").read_text() == "old"


def test_a_folder_that_a_reader_brings_back_meanwhile_is_replaced_all_the_same(tmp_path, monkeypatch):
    place = tmp_path / "folder"
    write_folder(place, write_one("old"), may_replace=always, what="one")
    rename = type(place).rename

    def disturbed(self, target):
        if self.name.endswith(".part"):
            monkeypatch.setattr(type(place), "rename", rename)
            recover(place)
        return rename(self, target)

    monkeypatch.setattr(type(place), "rename", disturbed)
    write_folder(place, write_one("new"), may_replace=always, what="one")
    assert (place / "a").read_text() == "new"
    assert names(tmp_path) == ["folder"]


def test_a_folder_that_cannot_take_its_place_leaves_the_one_before(tmp_path, monkeypatch):
    place = tmp_path / "folder"
    write_folder(place, write_one("old"), may_replace=always, what="one")
    rename = type(place).rename

    def refused(self, target):
        if self.name.endswith(".part"):
            raise OSError(16, "Device or resource busy")
        return rename(self, target)

    monkeypatch.setattr(type(place), "rename", refused)
    with pytest.raises(OSError, match="folder cannot be written: Device or resource busy"):
        write_folder(place, write_one("new"), may_replace=always, what="one")
    assert (place / "a").read_text() == "old"


def test_nothing_is_recovered_where_nothing_was_lost(tmp_path):
    recover(tmp_path / "none")
    recover("a\0b")
    assert names(tmp_path) == []


def test_a_file_system_that_is_read_only_is_told_with_the_name_of_the_file(tmp_path, monkeypatch):
    def refuse(path, *_, **__):
        raise OSError(errno.EROFS, "Read-only file system", str(path))

    monkeypatch.setattr("builtins.open", refuse)
    monkeypatch.setattr(Path, "unlink", refuse)  # it says so even of a draft that is not there
    with pytest.raises(OSError, match=r"kept\.txt cannot be written: Read-only file system"):
        write_text(tmp_path / "kept.txt", "new")
