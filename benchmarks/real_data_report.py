"""The report of real_data.py: one table for each data set, and how far the models are apart."""

from collections.abc import Iterator
from typing import Any

__all__ = ["report"]

ORDER = ("bibtex", "delicious", "reuters21578", "arxiv", "debtags", "mesh_pubmed")
OTHERS = ("logistic regression", "linear SVM")
MODELS = ("labelproof", "labelproof, network", *OTHERS, "LibMultiLabel")
COLUMNS = (
    ("micro-F1", lambda row: row["global"]["micro-f1"]),
    ("macro-F1", lambda row: row["per label"]["macro-f1"]),
    ("micro-F1 at ½", lambda row: row["½"]["micro-f1"]),
    ("macro-F1 at ½", lambda row: row["½"]["macro-f1"]),
    ("P@1", lambda row: row["precision@1"]),
    ("P@3", lambda row: row["precision@3"]),
    ("P@5", lambda row: row["precision@5"]),
)
HEADER = """\
# Trained models on real data

How good are labelproof's models compared with the linear classifiers that one would use otherwise? All models of a
data set have the same training, validation and test parts and the same features (given ones, or TF-IDF with the
vocabulary of the configuration). Run all of it with `LABELPROOF_DATA=... python benchmarks/real_data.py
--libmultilabel PYTHON`, or one of our models with `labelproof train benchmarks/configs/NAME.yaml -o FOLDER`. For the
model that `labelproof train` finds without any options, see [the default model](defaults.md).

- **labelproof**: the model of the configuration, one seed: a network with one hidden layer and the head named in the
  table, or one support vector machine per label (`head: svm`) on the terms themselves. Options were chosen on the
  validation part alone; what was tried is in [real_data_trials.jsonl](real_data_trials.jsonl). Where support vector
  machines were chosen, the best network is shown as well.
- **logistic regression**: scikit-learn's OneVsRestClassifier(LogisticRegression) with liblinear; C from 0.1, 0.3, 1,
  3, 10, 30 and 100 (arxiv: 3, 10 and 30), chosen by micro-F1 on the validation part, on 50 or 100 random labels where
  there are more. Labels without a training example (two of arxiv) are never predicted; scikit-learn would give them
  the constant score 0.
- **linear SVM**: OneVsRestClassifier(LinearSVC), squared hinge loss with a bias; C from 0.01, 0.03, 0.1, 0.3, 1 and 3
  in the same way. Its scores are not logits: "at ½" means a score above 0.
- **LibMultiLabel**: its linear one-vs-rest method with default options (L2-regularised squared hinge loss, C = 1),
  trained with its own package, without a bias. "At ½" means a score above 0.

*micro-F1* uses one threshold for all labels, tuned on the validation part. *macro-F1* uses one threshold per label,
tuned there and shrunk towards the common one (5 positives). *At ½* means labels with a probability above ½, without
threshold tuning. P@k is defined as in `labelproof.metrics`. *Can be predicted*: label sets of the test part that our
output layer can predict with the tuned threshold, each with a proof (distinct sets; 1,000 random ones where there are
more; for layers with over 10,000 features, 10 sets with 200 labels or more, and none with 1,000 or more); a linear
head gets nonnegative features. *CPU*: seconds of one core for training, including the choice of C for our support
vector machines, on a shared machine.
"""
READING = """
## What the tables show

- In micro-F1 labelproof is 0.6 to 2.6 points better than logistic regression, and equal to the linear SVM or up to 1.5
  points better. It is never more than 0.2 points behind in P@k; in macro-F1 it is behind the SVM only on debtags
  (0.8).
- Which kind of model is better depends on the features. On TF-IDF (reuters, arxiv, debtags, mesh_pubmed) the
  validation parts choose support vector machines: the network is 0.7 to 3.5 points behind in micro-F1 and 5 to 9 in
  macro-F1, since rare labels share its hidden features with frequent ones. On given binary features (bibtex,
  delicious) the network is 1.4 and 1.5 points better than any linear model.
- On texts neither the loss alone nor the hidden layer alone makes the difference: the network on mesh_pubmed with the
  squared hinge loss had a validation micro-F1 of 0.527 (0.544 with cross entropy), and one linear layer on reuters,
  trained by AdamW with the squared hinge loss, had 0.838 on the test part where the SVM has 0.884. What matters is to
  reach the optimum under an L2 penalty, which early stopping does not replace.
- LibMultiLabel trains the same SVM without a bias and with C = 1: its P@1 on mesh_pubmed is 0.1 points above ours; on
  given binary features its C is far too large.
- The label sets that can never be predicted are those of arxiv that contain one of the two labels without a training
  example.
"""


def report(rows: list[dict[str, Any]], trials: list[dict[str, Any]]) -> str:
    """Return the report of all results so far, and of what was tried on validation data."""
    names = [name for name in ORDER if name in {row["name"] for row in rows}]
    lines = [HEADER]
    for name in names:
        lines += section([row for row in rows if row["name"] == name])
    lines += [READING, *tried(trials)]
    return "\n".join(lines) + "\n"


def section(rows: list[dict[str, Any]]) -> Iterator[str]:
    by_model = {row["model"]: row for row in rows}
    facts = rows[0]
    yield f"\n## {facts['name']}\n"
    sizes = ", ".join(f"{facts[part]:,} for {part}" for part in ("training", "validation", "test"))
    yield f"{facts['labels']:,} labels, {facts['cardinality']} per training example on average; examples: {sizes}.\n"
    yield f"| | {' | '.join(title for title, _ in COLUMNS)} | can be predicted | CPU |"
    yield "|---" * (len(COLUMNS) + 3) + "|"
    for model in MODELS:
        if model in by_model:
            row = by_model[model]
            values = " | ".join(f"{value(row):.4f}" for _, value in COLUMNS)
            yield f"| {described(row)} | {values} | {proven(row)} | {seconds(row)} |"
    for other in OTHERS:
        if "labelproof" in by_model and other in by_model:
            ours, theirs = by_model["labelproof"], by_model[other]
            points = [f"{title} {100 * (value(ours) - value(theirs)):+.1f}" for title, value in COLUMNS]
            yield f"\nlabelproof minus {other}, in percentage points: {', '.join(points)}."


def tried(trials: list[dict[str, Any]]) -> Iterator[str]:
    """List the configurations whose scores on the validation part were compared."""
    yield "\n## What was tried\n"
    yield "Options were chosen by micro-F1 on the validation part: all configurations, with their scores there.\n"
    yield "| data | hidden | dropout | head | loss | lr | decay | batch | epochs | micro-F1 | P@1 | P@5 |"
    yield "|---" * 12 + "|"
    for row in trials:
        config = row["config"]
        head, trainer, encoder = config["head"], config["trainer"], config["encoder"]
        size = "".join(f" {name} {head[name]}" for name in ("d", "slack") if name in head)
        if head["kind"] == "svm":
            cells = [row["name"], "none", "–", f"svm C {head['C']:g}", "squared hinge", *"––––"]
        else:
            cells = [row["name"], encoder["hidden"], encoder["dropout"], f"{head['kind']}{size}"]
            cells += [config["loss"]["kind"], trainer["lr"], trainer["weight_decay"], trainer["batch_size"]]
            cells += [row["epochs"]]
        values = [f"{row[metric]:.4f}" for metric in ("micro-f1", "precision@1", "precision@5")]
        yield f"| {' | '.join(map(str, [*cells, *values]))} |"


def described(row: dict[str, Any]) -> str:
    if "C" in row:
        return f"{row['model']}, C = {row['C']:g}"
    if not row["model"].startswith("labelproof"):
        return str(row["model"])
    head, hidden = dict(row["config"]["head"]), row["config"]["encoder"].get("hidden")
    if head["kind"] == "svm":
        return f"labelproof: svm, C = {head['C']:g}"
    options = ", ".join(f"{name} {value:g}" for name, value in head.items() if name in ("d", "k", "slack"))
    loss = row["config"]["loss"]["kind"]
    return f"labelproof: {hidden} hidden, {head['kind']}{f' ({options})' if options else ''}, {loss}"


def proven(row: dict[str, Any]) -> str:
    if "sets" not in row:
        return "–"
    undecided = f", {row['undecided']:,} undecided" if row["undecided"] else ""
    return f"{row['argmaxable']:,} of {row['sets']:,}{undecided}"


def seconds(row: dict[str, Any]) -> str:
    return f"{row['CPU seconds']:.0f} s" if "CPU seconds" in row else "–"
