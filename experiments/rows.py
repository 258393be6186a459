"""Stored results, one JSON object a line, appended as they come and never computed twice.

Training runs belong to their data to the last digit. Features that are computed from texts differ there between
machines, so that a sweep begins anew on another one; a page has the runs of one machine alone.
"""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from labelproof.training import RunRecord, read_records
from labelproof.training.run_records import code_version

Row = dict[str, Any]


def read_rows(path: Path) -> list[Row]:
    """Return the rows of a file, none where it does not exist; a line cut short is left out."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]


def compute_missing(path: Path, settings: Iterable[Row], compute: Callable[..., Row]) -> list[Row]:
    """Append a row for each setting that the file does not have yet; return the rows of all settings."""
    done = {json.dumps(row["setting"], sort_keys=True): row for row in read_rows(path)}
    found = []
    for setting in settings:
        key = json.dumps(setting, sort_keys=True)
        if key not in done:
            begin = time.process_time()
            result = compute(**setting)
            seconds = round(time.process_time() - begin, 3)
            done[key] = {"setting": setting, "result": result, "seconds": seconds, "code": code_version()}
            path.parent.mkdir(parents=True, exist_ok=True)
            whole = "".join(json.dumps(row) + "\n" for row in read_rows(path))
            path.write_text(whole + json.dumps(done[key], allow_nan=False) + "\n", encoding="utf-8")
        found.append(done[key])
    return found


def read_runs(path: Path) -> list[RunRecord]:
    """Return the training runs of a file; where data of one name differ, those with the most runs, else the newest."""
    records = read_records(path)
    counts = Counter(map(_data_of, records))
    kept = dict(sorted(counts, key=counts.__getitem__))  # by name, the last one
    return [record for record in records if _data_of(record) in kept.items()]


def _data_of(record: RunRecord) -> tuple[str, str]:
    return str(record.config["data"]["path"]), record.data["digest"]
