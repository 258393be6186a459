"""Parquet files, read in batches of rows by pyarrow, which is needed for them alone."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from labelproof.data.textfile import LIMITS, Limits, require_file
from labelproof.errors import DataFormatError
from labelproof.foundation.optional_packages import need

__all__ = ["iter_parquet_rows"]

BATCH_ROWS = 1024
BATCH_BYTES = 2**31  # a value may be as large as all values of its row group, and each row may repeat it


def iter_parquet_rows(path: Path, limits: Limits = LIMITS) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield where each row stands, and its values by the names of the columns.

    Values that repeat are stored once, so a small file can hold more than any memory: it may unpack to no more than
    any other compressed file.
    """
    need("pyarrow", f"reading {path.name}")
    import pyarrow
    import pyarrow.parquet

    require_file(path)
    first, unpacked = 1, 0
    most = max(limits.free_bytes, limits.expansion * path.stat().st_size)
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(_rows_of_a_batch(file.metadata)):
                unpacked += batch.nbytes
                if unpacked > most:
                    raise DataFormatError(f"{path.name}: expected to unpack to at most {most:,} bytes, got more")
                for row, values in enumerate(batch.to_pylist(), first):
                    yield f"{path.name}, row {row}", values
                first += batch.num_rows
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError, MemoryError) as error:
        what = str(error).splitlines()[0] if str(error) else "out of memory"
        raise DataFormatError(f"{path.name}: damaged, or not a Parquet file ({what})") from error


def _rows_of_a_batch(metadata: Any) -> int:
    """Return how many rows to unpack at once, by the size of the largest row group as the file tells it."""
    groups = (metadata.row_group(i) for i in range(metadata.num_row_groups))
    largest = max((abs(group.total_byte_size) for group in groups), default=0)
    return int(min(BATCH_ROWS, max(1, BATCH_BYTES // max(largest, 1))))
