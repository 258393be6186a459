"""What stands between labels is guessed on clear evidence only, and told; where it is doubtful the file is refused."""

import itertools
import json

import pytest

from labelproof.data import load_dataset
from labelproof.data.separators import SeparatorGuess
from labelproof.errors import DataFormatError

THINGS = ("animal", "fruit", "vehicle")


def write(path, cells):
    path.write_text("text,labels\n" + "".join(f'some text,"{cell}"\n' for cell in cells))
    return path


def sets(mark):
    return [mark.join(chosen) for k in (1, 2, 3) for chosen in itertools.combinations(THINGS, k)]


@pytest.mark.parametrize(("mark", "told"), [(", ", ","), (",", ","), (" / ", "/"), ("/", "/"), (" ", " "), ("  ", " ")])
def test_a_clear_separator_is_guessed_and_told(tmp_path, mark, told):
    path = write(tmp_path / "a.csv", sets(mark))
    with pytest.warns(SeparatorGuess, match=f"labels are split at '{told}', which gives 3 of them in place of 7"):
        data = load_dataset(path)
    assert data.label_names == THINGS
    assert data.label_sets() == [tuple(sorted(cell.split(mark))) for cell in sets(mark)]
    assert data.separator == told


@pytest.mark.parametrize(
    "cells",
    [
        ["machine learning", "databases", "computer vision", "databases"],  # blanks within names
        ["New York", "New Orleans", "York", "Boston"],  # a part that recurs proves nothing
        ["Paris", "Lancaster, PA", "London"],  # one name with a comma
        ["a;b", "a", "b, c", "b, d"],  # semicolons are there
        ["cat"],
        ["", "", ""],
    ],
)
def test_names_that_may_be_so_stay_whole(tmp_path, cells):
    data = load_dataset(write(tmp_path / "a.csv", cells))
    assert set(data.label_names) == {name for cell in cells for name in cell.split(";") if name}
    assert data.separator is None


@pytest.mark.parametrize(
    "cells",
    [
        ["fruit, vehicle", "fruit, animal", "animal, vehicle", "vehicle, ship"],  # no label stands alone
        [f"{a}, {b}" for a in ("trade", "policy", "tax") for b in ("foreign", "home", "joint")],
        ["Lancaster, PA", "Lancaster, UK", "Paris"],
        ["tcp/ip", "udp/ip", "http"],
        [f"{a} {b}" for a in ("red", "green", "blue") for b in ("car", "bus", "van")],
    ],
)
def test_what_nobody_could_tell_is_refused_with_the_remedy(tmp_path, cells):
    path = write(tmp_path / "a.csv", cells)
    with pytest.raises(DataFormatError, match=r"a.csv: every row has one label, .* separator= is needed"):
        load_dataset(path)
    assert set(load_dataset(path, separator=";|").label_names) == set(cells)


def test_who_says_the_separator_is_believed(tmp_path):
    path = write(tmp_path / "a.csv", sets(", "))
    assert load_dataset(path, separator=",").label_names == THINGS
    assert load_dataset(path, separator=";|").n_labels == 7


def test_lists_of_labels_are_never_split(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(json.dumps({"text": "x", "labels": [cell]}) for cell in sets(", ")))
    assert load_dataset(path).n_labels == 7
