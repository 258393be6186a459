"""Parquet files, read in batches of rows by pyarrow, which is needed for them alone."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from labelproof.data.textfile import require_file
from labelproof.errors import DataFormatError
from labelproof.foundation.optional_packages import need

__all__ = ["iter_parquet_rows"]

BATCH_ROWS = 1024


def iter_parquet_rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield where each row stands, and its values by the names of the columns."""
    need("pyarrow", f"reading {path.name}")
    import pyarrow
    import pyarrow.parquet

    require_file(path)
    first = 1
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(BATCH_ROWS):
                for row, values in enumerate(batch.to_pylist(), first):
                    yield f"{path.name}, row {row}", values
                first += batch.num_rows
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        what = str(error).splitlines()[0]
        raise DataFormatError(f"{path.name}: damaged, or not a Parquet file ({what})") from error
