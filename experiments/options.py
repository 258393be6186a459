"""What the commands of all experiments have in common: their options, and where results, pictures and pages go."""

import argparse
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Places:
    """Where an experiment writes: into the repository, or all below one folder."""

    name: str
    out: Path | None

    @property
    def results(self) -> Path:
        """The folder of stored rows."""
        return ROOT / "experiments" / self.name / "results" if self.out is None else self.out / self.name

    @property
    def page(self) -> Path:
        """The page."""
        return (ROOT / "docs" / "results" if self.out is None else self.out) / f"{self.name}.md"

    def picture(self, name: str) -> Path:
        """Return the file of a picture."""
        path = self.page.parent / "pictures" / f"{self.name}_{name}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        return path


def parsed(name: str, parts: tuple[str, ...], words: list[str] | None) -> argparse.Namespace:
    """Read the command line of an experiment; ``only`` is always a list of parts, none of them for ``--page``."""
    parser = argparse.ArgumentParser(prog=f"python -m experiments.{name}")
    parser.add_argument("--smoke", action="store_true", help="a version of seconds, on generated data")
    parser.add_argument(
        "--only", nargs="*", choices=parts, default=list(parts), help="these parts; none: the page alone"
    )
    parser.add_argument("--out", type=Path, default=None, help="folder for all results, instead of the repository")
    options = parser.parse_args(words)
    if options.smoke and options.out is None:
        parser.error("--smoke must say --out, so that its results do not mix with real ones")
    return options
