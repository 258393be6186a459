"""Results pages in Markdown, from stored rows alone: tables, the list of claims, where the numbers come from."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

NOT_RUN = "not run yet"
THEORY = "theory"  # the data of a fact that a paper proves
MARK = "●"  # the place of a claim that is not about data
VERDICTS = ("holds", "does not hold", "undecided", NOT_RUN)


@dataclass(frozen=True)
class Claim:
    """What a paper says, its figure, ours, the verdict, how many seeds it rests on, and on which data it was tried.

    ``seeds`` and ``data`` are None where none are needed.
    """

    claim: str
    paper: str
    ours: str
    holds: str
    seeds: int | None = None
    data: str | None = None

    @classmethod
    def judged(cls, claim: str, paper: str, ours: str, holds: bool | None) -> "Claim":
        """Return a claim whose verdict is computed; None where there is nothing to judge it by."""
        return cls(claim, paper, ours, {True: "holds", False: "**does not hold**", None: NOT_RUN}[holds])


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table in Markdown; all columns but the first are numbers."""
    lines = ["| " + " | ".join(columns) + " |", "|" + "|".join(["---", *["---:"] * (len(columns) - 1)]) + "|"]
    lines += ["| " + " | ".join(_cell(value) for value in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def claim_table(claims: Iterable[Claim]) -> str:
    """Return the claims as a table, those that were run first."""
    ordered = sorted(claims, key=lambda one: one.holds == NOT_RUN)
    rows = [[one.claim, one.data, one.paper, one.ours, one.seeds, one.holds] for one in ordered]
    return table(["claim", "data", "paper", "our result", "seeds", "holds?"], rows).replace("---:", "---")


def read_claims(page: Path) -> list[Claim]:
    """Return the claims of a page's list."""
    rows = page.read_text(encoding="utf-8").split("\n## Claims\n", 1)[1].split("\n## ", 1)[0].splitlines()
    found = []
    for row in [row for row in rows if row.startswith("| ")][1:]:
        claim, data, paper, ours, seeds, holds = (cell.strip() for cell in row.strip("| ").split(" | "))
        number = None if seeds == "–" else int(seeds)
        found.append(Claim(claim, paper, ours, holds, number, None if data == "–" else data))
    return found


def digest(claims: Iterable[Claim]) -> str:
    """Return one line for each claim: for which data it holds, for which it does not, and where it is open."""
    by_text: dict[str, dict[str, list[str]]] = {}
    for one in claims:
        by_text.setdefault(one.claim, {}).setdefault(one.holds.strip("*"), []).append(one.data or MARK)
    rows = [[text, *(", ".join(found.get(name, [])) for name in VERDICTS)] for text, found in by_text.items()]
    used = [i for i, name in enumerate(VERDICTS, 1) if name != NOT_RUN or any(row[i] for row in rows)]
    columns = ["claim", *(VERDICTS[i - 1] for i in used)]
    return table(columns, [[row[0], *(row[i] for i in used)] for row in rows]).replace("---:", "---")


def as_facts(claims: Iterable[Claim]) -> list[Claim]:
    """Mark claims as facts that a paper proves, which are counted apart."""
    return [replace(one, data=THEORY if one.data is None else f"{THEORY}: {one.data}") for one in claims]


def is_fact(claim: Claim) -> bool:
    """Return whether a claim is a fact that a paper proves."""
    return claim.data is not None and claim.data.startswith(THEORY)


def facts_line(facts: Sequence[Claim], which: str) -> str:
    """Say how many of some facts were confirmed; one by one they are in the list of claims."""
    held = sum(one.holds == "holds" for one in facts)
    return (
        f"Besides, {len(facts)} facts {which} were tried on small examples:\n"
        f"{'all' if held == len(facts) else held} hold. They are at the end of the list."
    )


def provenance(
    runs: Sequence[Any], command: str, repeated: Sequence[dict[str, Any]] = (), parts: Sequence[str] = ()
) -> str:
    """Say by which command, code and packages the runs were made, how long they took, and whether some were repeated.

    ``runs`` have ``code`` and ``seconds``, as records of training runs or as rows; ``repeated`` are rows of
    `experiments.repeat`; ``parts`` are those that the command can run alone.
    """
    pairs = [(_of(run, "code"), _of(run, "seconds")) for run in runs]
    lines = [f"`{command}` runs what is missing; stored results are not computed again."]
    if parts:
        lines[0] += f" `{command} --only PART` runs one part: {', '.join(parts)}."
    lines += ["Data sets are read from the folder that the environment variable `LABELPROOF_DATA` names", ""]
    lines[-2] += " ([formats](../data.md))."
    if pairs:
        minutes = f"{sum(s for _, s in pairs) / 60:.0f} minutes in total on one core of a busy machine"
        lines += [f"{len(pairs)} stored runs, {minutes}, made with:", ""]
        codes = {tuple(sorted((k, str(v)) for k, v in code.items())) for code, _ in pairs}
        lines += ["- " + ", ".join(f"{name} {value}" for name, value in code) for code in sorted(codes)]
    if repeated:
        differing = sum(bool(row["result"]["differing"]) for row in repeated)
        names = ", ".join(sorted({row["setting"]["data"] for row in repeated}))
        lines += ["", f"{len(repeated)} random ones of the stored runs on {names} were trained again with their seed"]
        lines[-1] += f" (`python -m experiments.repeat {command.rsplit('.', 1)[-1]}`): "
        lines[-1] += f"{differing} gave other numbers." if differing else "all numbers are the same, to the last digit."
    return "\n".join(lines) + "\n"


def write_page(path: Path, template: Path, parts: dict[str, str]) -> None:
    """Write a page: the template's sentences, with {{name}} replaced by what the code made of the rows."""
    text = template.read_text(encoding="utf-8")
    for name, part in parts.items():
        slot = f"{{{{{name}}}}}"
        if slot not in text:
            raise ValueError(f"{template.name} must have a place {slot}, got none")
        text = text.replace(slot, part.rstrip())
    if "{{" in text:
        raise ValueError(f"{template.name} must have its places filled, got {text[text.index('{{') :][:30]!r}")
    note = f"<!-- Written by the experiments: edit {template.parent.name}/{template.name} instead. -->\n\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(note + text, encoding="utf-8")


def _of(run: Any, name: str) -> Any:
    return run[name] if isinstance(run, dict) else getattr(run, name)


def _cell(value: Any) -> str:
    return "–" if value is None else f"{value:.4f}" if isinstance(value, float) else str(value)
