"""labelproof demo: the main job from end to end, on made-up data."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelproof.cli.console import console, percent, print_json, progress_wanted, table
from labelproof.cli.options import AsJson

if TYPE_CHECKING:
    from rich.table import Table

    from labelproof.cli.synthetic import Problem
    from labelproof.verification import Verification

__all__ = ["demo"]


def demo(
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Folder for the weights, labels and proofs.", show_default=False),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the made-up data.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Fit a bottleneck layer to made-up data, verify 1,000 label sets with proof, and compare a DFT layer."""
    from labelproof.cli import summary
    from labelproof.cli.synthetic import fitted_problem

    out = console()
    if not as_json:
        out.print("Fitting a bottleneck output layer to made-up documents; then: which label sets can it predict?\n")
    start = time.perf_counter()
    problem = fitted_problem(seed=seed)
    fit_seconds = time.perf_counter() - start
    runs = _runs(problem, seed)
    v = runs[0].verification
    if output is not None:
        _save(problem, v, output)
    if as_json:
        layers = [
            {"layer": run.name, "d": run.verification.layer.d, **summary.counts(run.verification), **run.seconds()}
            for run in runs
        ]
        print_json({"n_labels": v.layer.n_labels, "fit_seconds": round(fit_seconds, 3), "layers": layers})
        return
    out.print(_layers_table(runs))
    out.print(
        f"\nThe bottleneck was fitted to {problem.n_train:,} documents in {fit_seconds:.1f} s. "
        "The DFT layer, with the labels in random order, needs no fitting. "
        f"The {len(v):,} label sets are those of other documents; for the bottleneck:\n"
    )
    out.print(summary.verdict_table(v))
    _print_conflict(v, problem)
    if output is not None:
        _print_next_steps(output)


@dataclass(frozen=True, eq=False)
class _Run:
    name: str
    verification: "Verification"
    verify_seconds: float
    check_seconds: float

    def seconds(self) -> dict[str, float]:
        return {"verify_seconds": round(self.verify_seconds, 3), "check_seconds": round(self.check_seconds, 3)}


def _runs(problem: "Problem", seed: int) -> list[_Run]:
    """Verify the label sets for the fitted layer and for a DFT layer of about the same width."""
    import numpy as np

    from labelproof.verification.cyclic import dft_matrix

    n_labels, d = problem.weight.shape
    order = np.random.default_rng(seed).permutation(n_labels)  # labels that occur together, far apart on the circle
    dft = dft_matrix(n_labels, d // 2)[order]
    return [
        _verify_and_check("bottleneck, fitted", problem.weight, problem.label_sets),
        _verify_and_check(f"DFT, ≤ {d // 2} labels", dft, problem.label_sets),
    ]


def _verify_and_check(name: str, weight: Any, label_sets: list[list[int]]) -> _Run:
    import labelproof

    labelproof.verify(weight, label_sets[:1])  # so that compiling is not timed
    start = time.perf_counter()
    v = labelproof.verify(weight, label_sets, progress=progress_wanted())
    verified = time.perf_counter()
    v.check()
    return _Run(name, v, verified - start, time.perf_counter() - verified)


def _layers_table(runs: list[_Run]) -> "Table":
    from labelproof.cli import summary

    lines = table("output layer", "features", "argmaxable", "share", "verified in", "checked in")
    for run in runs:
        found = summary.counts(run.verification)
        lines.add_row(
            run.name,
            f"{run.verification.layer.d}",
            f"{found['argmaxable']:,} of {found['sets']:,}",
            percent(found["argmaxable"], found["sets"]),
            f"{run.verify_seconds:.1f} s",
            f"{run.check_seconds:.1f} s",
        )
    return lines


def _print_conflict(v: "Verification", problem: "Problem", most: int = 6) -> None:
    """Show the proof that the smallest of the unargmaxable label sets is one."""
    from labelproof.verification import Unargmaxable

    verdicts = [(len(v.label_sets[i]), i) for i in range(len(v)) if v.status[i] == 0]
    if not verdicts:
        return
    i = min(verdicts)[1]
    certificate, active = v[i], set(v.label_sets[i].tolist())
    assert isinstance(certificate, Unargmaxable)  # noqa: S101 - its status is 0
    multipliers = dict(zip(certificate.conflict, certificate.multipliers, strict=True))
    total = sum(multipliers.values())
    lines = table("label", "wanted", "multiplier / sum of all")
    chosen = sorted(multipliers, key=lambda label: (label not in active, -multipliers[label]))
    for label in chosen[:most]:
        wanted = "on" if label in active else "off"
        lines.add_row(problem.label_names[label], wanted, f"{multipliers[label] / total:.4f}")
    rest = sum(multipliers[label] for label in chosen[most:]) / total
    lines.add_row(f"and {len(chosen) - most} more, wanted off", "", f"{rest:.4f}")
    names = ", ".join(f"‘{problem.label_names[label]}’" for label in sorted(active))
    out = console()
    out.print(f"\nFor example, no input gives just the labels {names}.")
    out.print(
        f"The proof: take the weights of {len(multipliers)} labels, negated where the label should be off, each times "
        "its multiplier. They add up to exactly 0, and so do the logits: they cannot all have the sign they need.\n"
    )
    out.print(lines)


def _print_next_steps(folder: Path) -> None:
    out = console()
    files = f"{folder}/weight.npy --labels {folder}/labels.txt --label-names {folder}/names.txt"
    out.print(f"\nWritten to {folder}. Next:", soft_wrap=True)
    out.print(f"  labelproof verify {files}", soft_wrap=True)
    out.print(f"  labelproof check {folder}/result.npz --weights {folder}/weight.npy", soft_wrap=True)


def _save(problem: "Problem", v: "Verification", folder: Path) -> None:
    import numpy as np

    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "weight.npy", problem.weight)
    (folder / "names.txt").write_text("\n".join(problem.label_names) + "\n", encoding="utf-8")
    sets = "\n".join(" ".join(map(str, active)) for active in problem.label_sets)
    (folder / "labels.txt").write_text(sets + "\n", encoding="utf-8")
    v.save(folder / "result.npz", label_names=problem.label_names)
