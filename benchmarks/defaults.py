"""Our model without options against what users would have fitted, on twelve public data sets.

    LABELPROOF_DATA=... python benchmarks/defaults.py [--sets emotions,birds] [--only ours] [--again]

Every finished row goes to FOLDER/rows.jsonl, and its values in resamples of the test examples beside it; FOLDER is
results/defaults, or the one that --folder names. A row that is there is not run again, unless ``--again`` says so,
perhaps with a time ("2027-01-31 12:00") before which rows are too old; the last one counts. ``--only`` takes names of
methods or of groups: ours, peers, or a, b, c and grid. ``--report`` writes results/defaults.md from what is there and
runs nothing. ``--predict`` begins with each peer of (a) and (b) that has no row, and notes how long it would take.

``--libmultilabel PYTHON`` names an interpreter that has LibMultiLabel; without one, its rows are left out.
"""

import argparse
import json
import os
import resource
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
import torch
from sklearn.feature_extraction.text import TfidfVectorizer
from threadpoolctl import threadpool_limits

import labelproof as lp
from default_choice import Material, Scheme, chosen_answer, hold_out, same_folds
from default_outcomes import METRICS, Outcome, resampled, save_resampled
from default_peers import FAMILIES, LINEAR, Clock, OutOfTime, Plan, views_of
from defaults_report import report
from labelproof.data import Dataset, iterative_stratification
from labelproof.models import Model
from labelproof.training import TrainConfig, fit
from labelproof.training.config import DataConfig
from labelproof.training.data_parts import divide, inputs_of
from real_data import peer_values

HERE = Path(__file__).parent
SECONDS = 1800.0  # of CPU, for all peers on a data set
GRID = {"words": (0.3, 1.0, 3.0), "raw": (0.003, 0.01, 0.03), "standardised": (0.001, 0.003, 0.01)}
Row = dict[str, Any]
Method = Callable[["Case", float], tuple[Outcome | None, Row]]


@dataclass(frozen=True)
class Set:
    """A data set: its folder, seeds, the share of the test part where none is given, examples that a label needs.

    Below 3,000 examples there are three seeds, and as many splits where none is given.
    """

    folder: str
    seeds: int = 1
    test: float = 0.2
    min_count: int = 1


SETS = {
    "emotions": Set("emotions", 3),
    "birds": Set("birds", 3),
    "scene": Set("scene", 3),
    "cal500": Set("cal500", 3, test=0.3),
    "hallmarks": Set("hallmarks_of_cancer", 3, test=0.3),
    "corel5k": Set("corel5k"),
    "bibtex": Set("bibtex"),
    "reuters": Set("reuters21578"),
    "delicious": Set("delicious"),
    "debtags": Set("debtags", min_count=10),
    "mesh_pubmed": Set("mesh_pubmed", min_count=20),
    "arxiv": Set("arxiv"),
}


@dataclass(frozen=True, eq=False)
class Case:
    """A data set with its parts under a seed, which is that of folds and models too."""

    name: str
    seed: int
    training: Dataset
    test: Dataset
    places: Any  # of the test examples in the data set
    n_all: int

    @classmethod
    def load(cls, name: str, seed: int) -> "Case":
        """Read the data; where they have no split, the seed makes one."""
        given = SETS[name]
        dataset = lp.load_dataset(given.folder)
        if dataset.split is None:
            shares = {"train": 1 - given.test, "test": given.test}
            split = iterative_stratification(dataset.labels, shares, groups=dataset.groups, seed=seed)
            dataset = dataset.with_split(split)
        parts = divide(dataset, DataConfig(validation=0.0, min_count=given.min_count), seed=seed)
        return cls(name, seed, parts.training, parts.test, np.flatnonzero(dataset.split == "test"), len(dataset))

    @cached_property
    def material(self) -> Material:
        """What peers learn from."""
        return Material(views_of(self.training, self.test), scipy.sparse.csr_matrix(self.training.labels))

    @property
    def facts(self) -> Row:
        """Sizes, for the report."""
        n, n_labels = self.training.labels.shape
        return {"set": self.name, "seed": self.seed, "n": n, "test": len(self.test), "labels": n_labels}


# Methods: each returns an outcome, or None, and what the row says of it


def ours(case: Case, budget: str | None) -> tuple[Outcome, Row]:
    """Fit what `labelproof train --data` does without options; each F1 has its own rule."""
    fast, config = (_recipe(case, b) for b in ("fast", budget))
    fit(fast, case.training.select(np.arange(60)), progress=False)  # compiled code is loaded
    begin = time.process_time()
    fitted = fit(config, case.training, progress=False)
    model = Model.of(fitted)
    logits = model.logits(inputs_of(case.test, model.encoder.input_kind))
    seconds = time.process_time() - begin
    micro, macro = (model.for_metric(metric).rule.decide(logits) for metric in ("micro-f1", "macro-f1"))
    blend = next((row for row in fitted.tried if row["member"] == "blend"), {})
    held = {metric: blend[metric] for metric in METRICS if metric in blend}
    return Outcome(micro, macro, logits, logits), {"cpu": seconds, "held out": held, "notes": fitted.notes}


def _recipe(case: Case, budget: str | None) -> TrainConfig:
    head = {"kind": "auto"} | ({} if budget is None else {"budget": budget})
    return TrainConfig.from_dict({"head": head, "trainer": {"seed": case.seed, "accelerator": "cpu"}})


def peer(
    case: Case, seconds: float | None, *, family: str, schemes: Callable[[Dataset, int], Scheme]
) -> tuple[Outcome | None, Row]:
    """Fit a scikit-learn classifier, its options and thresholds chosen by a scheme; without seconds, begin with it."""
    plans = FAMILIES[family].plans(list(case.material.views), len(case.training))
    making = sum(case.material.views[view].seconds for view in {plan.view for plan in plans})
    if seconds is not None and seconds <= making:
        return None, {"cpu": 0.0, "skipped": "the peers' time was used up"}
    begin = time.process_time()
    try:
        clock = Clock(0.0 if seconds is None else seconds - making)
        answer = chosen_answer(FAMILIES[family], case.material, schemes(case.training, case.seed), clock)
    except OutOfTime as problem:
        begun = time.process_time() - begin + making
        return None, {"cpu": begun, "skipped": str(problem), "predicted": begun + problem.seconds}
    row = {"held out": answer.held_out, "chosen": answer.chosen, "notes": answer.notes}
    return answer.outcome, {"cpu": time.process_time() - begin + making, **row}


def libmultilabel(case: Case, interpreter: str) -> tuple[Outcome, Row]:
    """Train LibMultiLabel's default: one-vs-rest, C = 1; its own TF-IDF of texts; a label is active above 0."""
    begin = time.process_time(), _children()
    if case.training.texts is not None:
        words = TfidfVectorizer()
        features = {"training": words.fit_transform(case.training.texts), "test": words.transform(case.test.texts)}
    else:
        parts = {"training": case.training, "test": case.test}
        features = {part: scipy.sparse.csr_matrix(data.features).astype(float) for part, data in parts.items()}
    (scores,) = peer_values(interpreter, features, case.training.labels)
    seconds = time.process_time() - begin[0] + _children() - begin[1]
    return Outcome(scores > 0, scores > 0, scores, scores), {"cpu": seconds}


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def svm_grid(case: Case) -> tuple[None, Row]:
    """Time scikit-learn's plain grid: three values of C on the folds, and the first of them on all examples."""
    material, family = case.material, FAMILIES["linear SVM"]
    name = next(iter(material.views))
    view, begin = material.views[name], time.process_time()
    for cost in GRID[name]:
        for kept, held in same_folds(case.training, case.seed).parts:
            plan = Plan(name, (("C", cost),))
            family.fit(plan, view.training[kept], material.labels[kept], [view.training[held]], Clock(np.inf))
    family.fit(Plan(name, (("C", GRID[name][1]),)), view.training, material.labels, [view.test], Clock(np.inf))
    return None, {"cpu": time.process_time() - begin + view.seconds}


def methods(interpreter: str | None) -> Iterator[tuple[str, str, Method]]:
    """Yield group and name of each method, and the function of a case and of the seconds that are left for peers."""
    yield "ours", "ours", lambda case, _: ours(case, None)
    yield "ours", "fast", lambda case, _: ours(case, "fast")
    yield "grid", "SVM grid", lambda case, _: svm_grid(case)
    for kind in LINEAR:
        yield "a", f"{kind} (hold-out)", partial(peer, family=kind, schemes=hold_out)
    if interpreter:
        yield "c", "LibMultiLabel", lambda case, _: libmultilabel(case, interpreter)
    for kind in FAMILIES:
        yield "b", kind, partial(peer, family=kind, schemes=same_folds)


# Runs


def run(name: str, seed: int, folder: Path, given: argparse.Namespace) -> None:
    """Run the methods of a case that are wanted and not there yet."""
    known = {row["method"]: row for row in rows(folder) if (row["set"], row["seed"]) == (name, seed)}
    if not given.predict:
        known = {method: row for method, row in known.items() if "predicted" not in row}
    spent = {row["method"]: row["cpu"] for row in known.values() if row["group"] in ("a", "b")}
    case = None
    for group, method, function in methods(given.libmultilabel):
        there = method in known and (given.again is None or known[method]["when"] >= given.again)
        if there or not wanted(group, method, ["a", "b"] if given.predict else given.only):
            continue
        case = case or Case.load(name, seed)
        spent.pop(method, None)
        left = max(given.seconds / SETS[name].seeds - sum(spent.values()), 0.0)
        outcome, found = function(case, None if given.predict else left)
        row = {**case.facts, "group": group, "method": method, "when": now(), "limit": given.seconds, **found}
        if "predicted" in row:
            row["left"] = left
        if outcome is not None:
            row |= outcome.values(case.test.labels)
            values = resampled(outcome, case.test.labels, case.places, case.n_all)
            save_resampled(folder / f"{name}.npz", f"{seed} {method}", values)
        if group in ("a", "b"):
            spent[method] = row["cpu"]
        record(folder, row)


def now() -> str:
    return time.strftime("%Y-%m-%d %H:%M")


def wanted(group: str, method: str, only: list[str]) -> bool:
    return not only or method in only or group in only or ("peers" in only and group != "ours")


def rows(folder: Path) -> list[Row]:
    path = folder / "rows.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def record(folder: Path, row: Row) -> None:
    rounded = {key: round(value, 5) if isinstance(value, float) else value for key, value in row.items()}
    with (folder / "rows.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(rounded, ensure_ascii=False) + "\n")
    print({key: value for key, value in rounded.items() if key not in ("held out", "notes")}, flush=True)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sets", default=",".join(SETS), help="by default all")
    parser.add_argument("--only", default="", help="methods or groups: ours, peers, a, b, c, grid")
    parser.add_argument("--again", nargs="?", const=now(), metavar="WHEN", help="run rows from before then once more")
    parser.add_argument("--report", action="store_true", help="write the report alone")
    parser.add_argument("--predict", action="store_true", help="note how long the peers would take that have no row")
    parser.add_argument("--seeds", type=int, default=3, help="at most so many")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of CPU for the peers on a data set")
    parser.add_argument("--folder", type=Path, default=HERE / "results/defaults")
    parser.add_argument("--results", type=Path, default=HERE / "results")
    parser.add_argument("--libmultilabel", metavar="PYTHON")
    given = parser.parse_args(arguments)
    given.only = [word for word in given.only.split(",") if word]
    given.folder.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("LABELPROOF_DATA", "../shared/data")
    torch.set_num_threads(1)
    with threadpool_limits(1):
        for name in [] if given.report else given.sets.split(","):
            for seed in range(min(SETS[name].seeds, given.seeds)):
                run(name, seed, given.folder, given)
    (given.results / "defaults.md").write_text(report(rows(given.folder), given.folder), encoding="utf-8")


if __name__ == "__main__":
    main()
