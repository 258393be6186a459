"""Parquet files, read in batches of rows by pyarrow, which is needed for them alone."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from labelproof.data.columns import Columns, read_rows
from labelproof.data.examples import Example
from labelproof.errors import DataFormatError

__all__ = ["iter_parquet"]

BATCH_ROWS = 1024


def iter_parquet(path: Path, columns: Columns) -> Iterator[Example]:
    """Yield the examples of a Parquet file."""
    return read_rows(_rows(path), columns, source=path.name)


def _rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError("Parquet files need pyarrow, which is not installed") from error
    if not path.is_file():
        raise DataFormatError(f"{path}: no such file")
    first = 1
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(BATCH_ROWS):
                for row, values in enumerate(batch.to_pylist(), first):
                    yield f"{path.name}, row {row}", values
                first += batch.num_rows
    except (pyarrow.ArrowException, OSError) as error:
        what = str(error).splitlines()[0]
        raise DataFormatError(f"{path.name}: damaged, or not a Parquet file ({what})") from error
