"""How any audit is run from the command line, and what it ends in: a folder with a page, JSON, or words."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labelproof.cli.console import progress_wanted
from labelproof.cli.engines import connected
from labelproof.cli.outputs import require_writable_folder
from labelproof.foundation.optional_packages import need

__all__ = ["Running"]


@dataclass(frozen=True)
class Running:
    """The options that go with every audit: what to require and explain, where to run, and where results go."""

    output: Path | None
    explain: int
    fail_under: float | None
    time_limit: float | None
    jobs: int | None
    engine: str
    address: str | None
    as_json: bool

    def options(self) -> dict[str, Any]:
        """Return what all functions of `labelproof.auditing` take, once the cluster of a Ray engine is connected."""
        limit = {} if self.time_limit is None else {"time_limit": self.time_limit}  # else that of the function
        where = {"n_jobs": self.jobs, "engine": connected(self.engine, self.address), "progress": progress_wanted()}
        return {"fail_under": self.fail_under, **where, **limit}

    def require_room(self) -> None:
        """Refuse a folder or a report that could not be written, before the work is done."""
        if self.output is None:
            return
        need("jinja2", "a report")
        place = self.output
        if place.exists() and not (place / "audit.json").is_file() and (not place.is_dir() or any(place.iterdir())):
            raise ValueError(f"--output must be a new or empty folder, or one with an earlier audit, got {place}")
        require_writable_folder(place)

    @property
    def saved(self) -> str | None:
        """The folder as ``--json`` names it."""
        return None if self.output is None else str(self.output)
