"""A Parquet file stores what repeats once: a small one can unpack to more than any memory."""

import pytest

from labelproof.data import load_dataset
from labelproof.data.parquet import BATCH_ROWS, _rows_of_a_batch, iter_parquet_rows
from labelproof.data.textfile import Limits
from labelproof.errors import DataFormatError

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def bomb(tmp_path):
    """Two thousand rows of one text of a million letters, in some kilobytes."""
    text = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * 2000, pyarrow.int32()), ["x" * 10**6])
    labels = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * 2000, pyarrow.int32()), ["a"])
    path = tmp_path / "bomb.parquet"
    table = pyarrow.table({"text": text, "labels": labels})
    parquet.write_table(table, path, store_schema=False, compression="zstd")
    return path


def test_a_file_that_unpacks_to_too_much_is_refused(bomb):
    assert bomb.stat().st_size < 50_000
    limits = Limits(free_bytes=10**7)
    with pytest.raises(DataFormatError, match=r"^bomb\.parquet: expected to unpack to at most 10,\d+,\d+ bytes"):
        list(iter_parquet_rows(bomb, limits))
    with pytest.raises(DataFormatError, match="expected to unpack to at most"):
        load_dataset(bomb, limits=limits)


def test_a_file_within_the_limits_is_read(bomb):
    rows = iter_parquet_rows(bomb, Limits(free_bytes=2**32))
    assert next(rows)[1] == {"text": "x" * 10**6, "labels": "a"}


class Metadata:
    """Of a file with row groups of these sizes."""

    def __init__(self, *sizes):
        self.sizes, self.num_row_groups = sizes, len(sizes)

    def row_group(self, i):
        return type("Group", (), {"total_byte_size": self.sizes[i]})


@pytest.mark.parametrize(
    ("sizes", "rows"), [((), BATCH_ROWS), ((1000, 10), BATCH_ROWS), ((10, 2**25), 64), ((2**40,), 1), ((-(2**25),), 64)]
)
def test_fewer_rows_are_unpacked_at_once_where_one_may_be_large(sizes, rows):
    assert _rows_of_a_batch(Metadata(*sizes)) == rows
