"""The Python of the pages runs as printed, given the names and files of the reader's own that a page speaks of."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
import torch

import labelproof as lp

DOCS = Path(__file__).parents[2] / "docs"
PAGES = {
    page.stem: blocks
    for page in sorted(DOCS.glob("*.md"))
    if (blocks := re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE))
}
WORDS = ("cough", "fever", "pain", "rash")
ELSEWHERE = {"keras"}  # tests/keras3, in an environment of its own


def table(path, *, text="text", labels="labels", n=80, words=WORDS):
    """Write texts of one or two words, each of which is a label."""
    chosen = [{words[i % len(words)], words[(i // len(words)) % len(words)]} for i in range(n)]
    rows = [f"a {' and '.join(sorted(some))} number {i},{';'.join(sorted(some))}" for i, some in enumerate(chosen)]
    Path(path).write_text("\n".join([f"{text},{labels}", *rows]))


def layer(n_labels=12, d=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_labels, d)), rng.normal(size=n_labels)


def scored(n_labels=4):
    rng = np.random.default_rng(1)
    y_true = rng.random((60, n_labels)) < 0.4
    y_score = 2.0 * y_true - 1 + rng.normal(size=y_true.shape)
    return y_true, y_score


def activations():
    return {"logits": torch.randn(4, 6), "targets": (torch.rand(4, 6) < 0.4).float()}


def audit():
    table("data.csv")
    config = {"encoder": {"kind": "tfidf"}, "head": {"kind": "bottleneck", "d": 2}, "trainer": {"epochs": 1}}
    from labelproof.models import Model
    from labelproof.training import TrainConfig, fit

    model = Model.of(fit(TrainConfig.from_dict(config), lp.load_dataset("data.csv"), progress=False))
    rows = [{"text": f"a {one} and a {two}", "labels": [one, two]} for one in WORDS for two in WORDS if one < two]
    Path("test.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return {"model": model, "labels": [[0], [1, 2], [0, 1, 2, 3]]}


def comparison():
    table("comments.csv", n=400, words=[f"word{i}" for i in range(40)])
    return {}


def data():
    table("comments.csv", text="comment", labels="tags", n=400)
    table("new.csv")
    return {}


def decisions():
    y_true, y_score = scored()
    weight, bias = layer(4, 2)
    return {
        "y_true": y_true,
        "y_score": y_score,
        "new_scores": y_score[:5],
        "weight": weight,
        "bias": bias,
        "label_sets": [[0], [1, 2]],
    }


def encoders():
    from labelproof.encoders import build

    encoder = build("tfidf", ["chest pain since monday", "no pain", "a cough"], hidden=64, ngrams=2)
    folder = Path("encoder")
    folder.mkdir()
    encoder.save_files(folder)
    return {"folder": folder, "weights": encoder.state_dict()}


def explorer():
    weight, bias = layer(4)
    np.savez("W.npz", weight=weight, bias=bias)
    rng = np.random.default_rng(0)
    return {"names": WORDS, "features": rng.normal(size=(50, 3)), "held_out": rng.normal(size=(40, 3))}


def heads():
    from transformers import AutoModelForSequenceClassification, BertConfig

    config = BertConfig(
        vocab_size=20, hidden_size=256, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8, num_labels=8921
    )
    model = AutoModelForSequenceClassification.from_config(config)
    model.save_pretrained("model")
    names = {i: f"label {i}" for i in range(8921)}
    return {
        "AutoModelForSequenceClassification": AutoModelForSequenceClassification,
        "path": "model",
        "names": names,
        "label_sets": [[i, i + 5] for i in range(10)],
    }


def importers():
    weight, bias = layer(4)
    Path("my-model").mkdir()
    linear = torch.nn.Linear(3, 4)
    from safetensors.torch import save_file

    save_file(
        {"classifier.weight": linear.weight.data, "classifier.bias": linear.bias.data}, "my-model/model.safetensors"
    )
    import skops.io
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier
    from transformers import BertConfig, BertForSequenceClassification

    y_true, y_score = scored()

    class FlatModel:
        weights, thresholds, multiclass = weight.T, 0.0, False
        bias = -1.0

    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    return {
        "np": np,
        "skops": skops,
        "estimator": OneVsRestClassifier(LogisticRegression()).fit(y_score, y_true),
        "model": BertForSequenceClassification(BertConfig(vocab_size=20, num_labels=4, **sizes)),
        "W": weight,
        "b": bias,
        "names": np.array(WORDS),
        "m": FlatModel(),
    }


def losses():
    from transformers import Trainer, TrainingArguments

    model, labels = torch.nn.Linear(3, 4), (torch.rand(6, 4) < 0.5).float()
    return {
        "loss": lp.SigmoidF1Loss(empty="memory"),
        "model": model,
        "parts": [(torch.randn(6, 3), labels), (torch.randn(6, 3), labels)],
        "Trainer": Trainer,
        "args": TrainingArguments(output_dir="trainer", report_to=[], use_cpu=True),
        "data": [],
    }


def metrics():
    y_true, y_score = scored(6)
    return {"y_true": y_true, "y_pred": y_score > 0, "y_score": y_score, "logits": y_score}


def report():
    for name, d in (("bottleneck", 2), ("dft", 3)):
        lp.audit(layer(6, d)[0], [[0], [1, 2, 3]]).save(f"audits/{name}")
    return {}


def scale():
    n = 12_400
    ones = np.ones(n, bool), np.arange(n) % 8921, np.arange(n + 1)
    scipy.sparse.save_npz("Y.npz", scipy.sparse.csr_array(ones, shape=(n, 8921)))
    return {"W": layer(8921, 2)[0]}


def stretch():
    weight, bias = layer()
    features = np.random.default_rng(2).normal(size=(500, 3))
    labels = features[:50] @ weight.T + bias > 0
    return {"weight": weight, "bias": bias, "labels": labels, "features": features[:120], "held_out": features[120:]}


def training():
    table("data.csv")
    return {}


def vocabularies():
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    GPT2LMHeadModel(GPT2Config(vocab_size=60, n_positions=8, n_embd=2, n_layer=1, n_head=1)).save_pretrained("my-llm")
    return {}


def nothing():
    return {}


GIVEN = {
    "activations": activations,
    "audit": audit,
    "comparison": comparison,
    "data": data,
    "decisions": decisions,
    "encoders": encoders,
    "explorer": explorer,
    "heads": heads,
    "importers": importers,
    "index": nothing,
    "losses": losses,
    "metrics": metrics,
    "report": report,
    "scale": scale,
    "stretch": stretch,
    "training": training,
    "vocabularies": vocabularies,
    "which_head": nothing,
}


def test_every_page_with_python_is_run():
    assert set(PAGES) == set(GIVEN) | ELSEWHERE


@pytest.mark.parametrize("page", GIVEN)
def test_the_python_of_a_page_runs_as_printed(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)
    monkeypatch.setattr("labelproof.explorer.serve", lambda *_args, **_options: None)  # which runs until Ctrl-C
    names = GIVEN[page]()
    for block in PAGES[page]:
        exec(compile(block, f"{page}.md", "exec"), names)  # noqa: S102 - our own pages
