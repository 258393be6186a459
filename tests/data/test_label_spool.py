"""Label sets read in blocks are those that are read as a whole, and so are the complaints."""

import json
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from labelproof.data import label_sets_on_disk, label_spool, read_label_file
from labelproof.errors import DataFormatError

RNG = np.random.default_rng(4)
MATRIX = RNG.random((57, 9)) < 0.3
MATRIX[11] = False
NAMES = [f"label {i}" for i in range(9)]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(label_spool, "SETS_AT_ONCE", 10)
    monkeypatch.setattr(label_spool, "NUMBERS_AT_ONCE", 50)


def lists():
    return [np.flatnonzero(row).tolist() for row in MATRIX]


WRITERS = {
    "matrix.npy": lambda path: np.save(path, MATRIX),
    "numbers.npy": lambda path: np.save(path, MATRIX.astype(">f4")),
    "columns.npy": lambda path: np.save(path, np.asfortranarray(MATRIX)),
    "dense.npz": lambda path: np.savez(path, labels=MATRIX),
    "sparse.npz": lambda path: sp.save_npz(path, sp.csr_array(MATRIX)),
    "stored.npz": lambda path: sp.save_npz(path, sp.csr_array(MATRIX), compressed=False),
    "zeros.npz": lambda path: sp.save_npz(path, with_stored_zeros()),
    "columns.npz": lambda path: sp.save_npz(path, sp.csc_array(MATRIX)),
    "lists.npz": lambda path: np.savez(path, indptr=sp.csr_array(MATRIX).indptr, indices=sp.csr_array(MATRIX).indices),
    "indices.txt": lambda path: path.write_text("".join(" ".join(map(str, one)) + "\n" for one in lists())),
    "names.txt": lambda path: path.write_text("".join("; ".join(NAMES[i] for i in one) + "\n" for one in lists())),
    "lists.jsonl": lambda path: path.write_text("".join(f"{json.dumps(one)}\n" for one in lists())),
    "objects.jsonl": lambda path: path.write_text("".join(json.dumps({"labels": one}) + "\n" for one in lists())),
    "columns.jsonl": lambda path: path.write_text("".join(f"{json.dumps(one)}\n" for one in rows_of_bits())),
    "table.csv": lambda path: np.savetxt(path, MATRIX, "%d", ","),
}


def with_stored_zeros():
    matrix = sp.csr_array(np.ones_like(MATRIX, np.int8))
    matrix.data[:] = MATRIX.ravel()
    return matrix


def rows_of_bits():
    return [dict(zip(NAMES, map(int, row), strict=True)) for row in MATRIX]


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("names", [None, NAMES, list("876543210")], ids=["unnamed", "named", "numbered"])
def test_what_is_read_in_blocks_is_what_is_read_as_a_whole(name, names, tmp_path):
    WRITERS[name](tmp_path / name)
    whole = outcome(read_label_file, tmp_path / name, label_names=names, n_labels=9)
    blocks = outcome(label_sets_on_disk, tmp_path / name, n_labels=9, label_names=names, scratch=tmp_path)
    assert blocks == whole
    assert [path.name for path in tmp_path.iterdir()] == [name]


def outcome(read, path, **options):
    """Return names and label sets, or what is wrong."""
    try:
        found = read(path, **options)
    except DataFormatError as error:
        return str(error)
    return found.names, [active.tolist() for active in found.sets]


DAMAGES = {
    "label out of range.txt": "0 1\n" * 30 + "9\n",
    "unknown name.txt": "label 1\n" * 30 + "label x\n",
    "no list.jsonl": "[0]\n" * 30 + "7\n",
    "no labels.jsonl": '{"labels": [0]}\n' * 30 + '{"tags": [0]}\n',
    "twice.txt": "0 1\n" * 30 + "3 3\n",
}


@pytest.mark.parametrize("name", DAMAGES)
def test_what_is_wrong_is_told_as_in_a_file_read_as_a_whole(name, tmp_path):
    (tmp_path / name).write_text(DAMAGES[name])
    with pytest.raises(DataFormatError) as whole:
        read_label_file(tmp_path / name, label_names=NAMES, n_labels=9)
    with pytest.raises(DataFormatError) as blocks:
        label_sets_on_disk(tmp_path / name, 9, label_names=NAMES)
    if "labels[" not in str(whole.value):  # the number of a set within its block
        assert str(blocks.value) == str(whole.value)


@pytest.mark.parametrize(
    ("arrays", "what"),
    [
        ({"indptr": [0, 2, 1, 3], "indices": [0, 1, 2]}, "expected indptr to ascend from 0 to 3"),
        ({"indptr": [1, 2, 3], "indices": [0, 1, 2]}, "expected indptr to ascend from 0 to 3"),
        ({"indptr": [0, 2], "indices": [0, 1, 2]}, "expected indptr to ascend from 0 to 3"),
        ({"indptr": [0, 2, 3], "indices": [0.0, 1.0, 2.0]}, "expected a list of integers as indices"),
        ({"indptr": [0, 2, 3], "indices": [0, 9, 2]}, ""),
        ({"indptr": [0, 2, 3], "indices": [0, -1, 2]}, ""),
        ({"indptr": [0, 2, 3], "indices": [1, 1, 2]}, "name each label of a set once"),
    ],
    ids=str,
)
def test_wrong_index_lists_are_refused(arrays, what, tmp_path):
    np.savez(tmp_path / "y.npz", **{name: np.array(values) for name, values in arrays.items()})
    with pytest.raises(DataFormatError, match=rf"^y\.npz: .*{what}"):
        label_sets_on_disk(tmp_path / "y.npz", 9)


def test_a_truncated_file_is_refused(tmp_path):
    sp.save_npz(tmp_path / "y.npz", sp.csr_array(MATRIX), compressed=False)
    content = (tmp_path / "y.npz").read_bytes()
    for place in range(100, len(content), 97):
        damaged = bytearray(content)
        damaged[place] ^= 255
        (tmp_path / "y.npz").write_bytes(damaged)
        found = outcome(label_sets_on_disk, tmp_path / "y.npz", n_labels=9)
        assert isinstance(found, tuple) or found.startswith("y.npz: ")
    (tmp_path / "y.npz").write_bytes(content[:-30])
    with pytest.raises(DataFormatError, match=r"^y\.npz: damaged, or not a file of this kind"):
        label_sets_on_disk(tmp_path / "y.npz", 9)


def test_a_matrix_of_another_width_is_refused(tmp_path):
    for name, save in (("y.npy", np.save), ("y.npz", lambda path, matrix: sp.save_npz(path, sp.csr_array(matrix)))):
        save(tmp_path / name, MATRIX)
        with pytest.raises(DataFormatError, match=r"labels must have shape \(n_sets, 8\)"):
            label_sets_on_disk(tmp_path / name, 8)


def test_memory_does_not_grow_with_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(label_spool, "SETS_AT_ONCE", 1000)
    matrix = sp.random_array((100_000, 50), density=0.1, rng=RNG, format="csr")
    matrix.data[:] = 1
    sp.save_npz(tmp_path / "y.npz", matrix, compressed=False)
    indptr, size = matrix.indptr.nbytes, (tmp_path / "y.npz").stat().st_size
    del matrix
    tracemalloc.start()
    found = label_sets_on_disk(tmp_path / "y.npz", 50)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(found.sets) == 100_000
    assert peak - 4 * indptr < 0.3 * size
