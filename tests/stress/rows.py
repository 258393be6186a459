"""A line of the table of `make stress`: what a campaign tried, and what became of it."""

import resource
from dataclasses import dataclass, field

__all__ = ["Row", "peak_memory", "table"]


@dataclass
class Row:
    """One campaign. ``faults`` says of each case that was lost what was wrong with it."""

    campaign: str
    tried: int = 0
    passed: int = 0
    worst: float = 0.0  # seconds; 0 where nobody measured
    memory: int = 0  # bytes at the peak
    faults: list[str] = field(default_factory=list)
    note: str = ""

    def add(self, fault: str = "", seconds: float = 0.0, memory: int = 0) -> None:
        """Count a case."""
        self.tried += 1
        self.passed += not fault
        self.worst, self.memory = max(self.worst, seconds), max(self.memory, memory)
        if fault:
            self.faults.append(fault)

    @property
    def lost(self) -> int:
        """How many did not pass."""
        return self.tried - self.passed


def peak_memory() -> int:
    """Return the most bytes that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def table(rows: list[Row]) -> str:
    """Return one line for each campaign.

    >>> print(table([Row("a", 2000, 2000, 0.5, 2**30)]))
    campaign      tried   passed    lost   worst time   peak memory
    a             2,000    2,000       0       0.50 s      1,024 MB
    """
    wide = max([len(row.campaign) for row in rows] + [8]) + 2
    lines = [f"{'campaign':<{wide}} {'tried':>8} {'passed':>8} {'lost':>7} {'worst time':>12} {'peak memory':>13}"]
    for row in rows:
        worst = f"{row.worst:>10.2f} s" if row.worst else f"{'–':>12}"
        numbers = f"{row.tried:>8,} {row.passed:>8,} {row.lost:>7,} {worst} {row.memory / 2**20:>10,.0f} MB"
        lines.append(f"{row.campaign:<{wide}} {numbers}{f'  {row.note}' if row.note else ''}")
    return "\n".join(lines)
