"""Does a label's own calibration rank labels better, or worse, than the scores as they come from the members?

    LABELPROOF_DATA=... python benchmarks/calibrated_ranking.py [--sets emotions,birds]

A calibration with its own slope and offset for each label changes which labels of an example come first. The members of
the default model are trained on the folds of the training part; their mean is ranked once by calibrated logits and once
by raw scores, that is, with one slope and offset for all labels of a member. All values are out of fold, and test
examples are not looked at. Rows go to results/calibrated_ranking.jsonl; a set that is there is not run again.
"""

import argparse
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from threadpoolctl import threadpool_limits

from calibrated_ranking_report import KS, read, report
from default_outcomes import precisions
from defaults import SETS, Case
from labelproof.training.recipe import members
from labelproof.training.recipe.blending import blend
from labelproof.training.recipe.budget import Budget
from labelproof.training.recipe.calibrating import Calibration, _pooled
from labelproof.training.recipe.folds import Folds, fold_numbers
from labelproof.training.recipe.ledger import Ledger
from labelproof.training.recipe.menu import material_of
from labelproof.training.recipe.searching import search

HERE = Path(__file__).parent
RESAMPLES = 1000
Row = dict[str, Any]


def measure(name: str) -> Row:
    """Return P@1 and P@5 of both rankings on a data set's folds."""
    case = Case.load(name, 0)
    begin = time.process_time()
    folds = Folds(material_of(case.training), case.training.labels, fold_numbers(case.training, seed=0))
    with raw_scores() as raw:
        found = search(folds, Budget(None), Ledger(None, folds), seed=0)
    blended = blend(found.candidates, folds.truth)
    plain = sum(weight * pooled(raw[id(member.logits)], folds.truth, folds.parts) for member, weight in blended.members)
    row: Row = {"set": name, "n": len(case.training), "labels": folds.labels.shape[1], "model": blended.name}
    for k in KS:
        both = [precisions(folds.truth, ranking, k) for ranking in (blended.logits, plain)]
        row[f"precision@{k}"] = compared(*both, folds.parts)
    return row | {"cpu": round(time.process_time() - begin, 1)}


@contextmanager
def raw_scores() -> Iterator[dict[int, Any]]:
    """Keep the scores that members are calibrated from, by the identity of their calibrated logits."""
    kept, original = {}, members.cross_fitted

    def keeping(scores: Any, labels: Any, parts: Any) -> Any:
        logits = original(scores, labels, parts)
        kept[id(logits)] = scores.copy()
        return logits

    members.cross_fitted = keeping
    try:
        yield kept
    finally:
        members.cross_fitted = original


def pooled(scores: Any, labels: Any, parts: Any) -> Any:
    """Return logits with one slope and offset for all labels, those of each part by the others."""
    logits = np.empty(scores.shape, np.float32)
    for part in np.unique(parts):
        held = parts == part
        slope, offset = _pooled(scores[~held], labels[~held])
        every = np.ones(scores.shape[1])
        logits[held] = Calibration(slope * every, offset * every).logits(scores[held])
    return logits


def compared(calibrated: Any, raw: Any, parts: Any) -> Row:
    """Return the means of two rankings, the interval of their difference, and what choosing out of fold gains."""
    gap = raw - calibrated
    drawn = np.random.default_rng(0).poisson(1.0, (RESAMPLES, len(gap)))
    low, high = np.quantile(drawn @ gap / drawn.sum(axis=1), (0.025, 0.975))
    chosen = sum(gap[parts == part].sum() for part in np.unique(parts) if gap[parts != part].mean() > 0) / len(gap)
    values = {"calibrated": calibrated.mean(), "raw": raw.mean(), "low": low, "high": high, "chosen": chosen}
    return {key: round(float(value), 5) for key, value in values.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sets", default="emotions,birds,scene,cal500,hallmarks,corel5k,bibtex,reuters")
    parser.add_argument("--results", type=Path, default=HERE / "results")
    given = parser.parse_args()
    os.environ.setdefault("LABELPROOF_DATA", "../shared/data")
    torch.set_num_threads(1)
    path = given.results / "calibrated_ranking.jsonl"
    known = {row["set"]: row for row in read(path)}
    with threadpool_limits(1):
        for name in given.sets.split(","):
            if name not in known:
                known[name] = measure(name)
                with path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(known[name], ensure_ascii=False) + "\n")
                print(known[name], flush=True)
    rows = [known[name] for name in SETS if name in known]
    (given.results / "calibrated_ranking.md").write_text(report(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
