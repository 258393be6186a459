"""Results that are no training runs, one JSON object a line, appended as they come and never computed twice."""

import json
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

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
