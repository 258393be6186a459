"""Models for the benchmarks of the stretch: features of real texts, and a linear head trained on them.

Features come from a frozen sentence encoder (mean of the last hidden states, 64 tokens) whose folder the environment
variable LABELPROOF_ENCODER names, and are kept in build/stretch; LABELPROOF_DATA names the folder of the data sets. The
heads are plain linear layers with a bias, trained by Adam on the cross entropy, with one threshold tuned on a tenth of
the training examples and folded into the bias. Reuters and debtags have TF-IDF features and one support vector machine
a label, delicious its own 500 features. For time, arxiv and debtags are random parts; packages of one source stay
together.
"""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp

__all__ = ["LEAST_EXAMPLES", "Wide", "encode", "load_wide", "parts_of"]

FOLDER = Path(__file__).parent.parent / "build" / "stretch"
TOKENS, BATCH = 64, 32
EPOCHS = 10
LEAST_EXAMPLES = {"mesh_pubmed": 10, "arxiv": 10, "debtags": 20}
N_TRAIN = {"mesh_pubmed": 10_000, "arxiv": 5_000, "debtags": 8_000}
N_TEST = {"mesh_pubmed": 3_000, "arxiv": 3_000, "debtags": 3_000}
ASIDE = ("role::", "implemented-in::")  # tags of debtags that say what a package is made of


@dataclass(frozen=True, eq=False)
class Wide:
    """A head with features: of the training examples, on which stretches rest, and of examples never used."""

    weight: np.ndarray  # (n_labels, d)
    bias: np.ndarray
    features: np.ndarray  # (n_train, d)
    train_labels: sp.csr_matrix
    held_out: np.ndarray  # (n_test, d)
    test_labels: sp.csr_matrix
    names: list[str]


def encode(texts: list[str]) -> np.ndarray:
    """Return the features of texts, (n, d)."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    folder = os.environ.get("LABELPROOF_ENCODER")
    if folder is None:
        raise SystemExit("LABELPROOF_ENCODER must name the folder of a sentence encoder, such as all-MiniLM-L6-v2")
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    features = np.empty((len(texts), model.config.hidden_size), np.float32)
    order = np.argsort([len(text) for text in texts], kind="stable")
    with torch.inference_mode():
        for start in range(0, len(texts), BATCH):
            some = order[start : start + BATCH]
            batch = tokenizer(
                [texts[i] for i in some], truncation=True, max_length=TOKENS, padding=True, return_tensors="pt"
            )
            mask = batch["attention_mask"][:, :, None].float()
            hidden = model(**batch).last_hidden_state
            features[some] = ((hidden * mask).sum(1) / mask.sum(1)).numpy()
    return features


def load_wide(name: str) -> Wide:
    """Return the model of a data set, made on the first call."""
    if name in ("delicious", "reuters21578", "debtags"):
        return _load_split(name)
    FOLDER.mkdir(parents=True, exist_ok=True)
    features, labels, names = _features(name)
    train, test = parts_of(name, len(features))
    counts = np.asarray((labels > 0).sum(axis=0)).ravel()
    kept = np.flatnonzero(counts >= LEAST_EXAMPLES[name])
    labels = labels[:, kept]
    path = FOLDER / f"{name}-head.npz"
    if not path.exists():
        weight, bias = _train(features[train], labels[train])
        np.savez(path, weight=weight, bias=bias)
    head = np.load(path)
    return Wide(
        head["weight"],
        head["bias"],
        features[train],
        labels[train],
        features[test],
        labels[test],
        [names[i] for i in kept],
    )


def _load_split(name: str) -> Wide:
    """Return the model of a data set that has a training and a test part."""
    import labelproof as lp

    FOLDER.mkdir(parents=True, exist_ok=True)
    data = _debtags() if name == "debtags" else lp.load_dataset(name)
    train, test = data.part("train"), data.part("test")
    labels, wanted = sp.csr_matrix(train.labels), sp.csr_matrix(test.labels)
    if name == "delicious":
        features, held_out = (np.asarray(_dense(part.features), np.float32) for part in (train, test))
    else:
        features, held_out = _tfidf(list(train.texts), list(test.texts))
    path = FOLDER / f"{name}-head.npz"
    if not path.exists():
        weight, bias = _train(features, labels) if name == "delicious" else _svms(features, labels)
        np.savez(path, weight=weight, bias=bias)
    with np.load(path) as head:
        return Wide(head["weight"], head["bias"], features, labels, held_out, wanted, list(data.label_names))


def _debtags():
    """Return packages in two parts, each source in one of them, with the tags that are frequent enough."""
    import labelproof as lp

    data = lp.load_dataset("debtags")
    kept = [
        tag
        for tag, count in zip(data.label_names, data.label_counts().tolist(), strict=True)
        if count >= LEAST_EXAMPLES["debtags"] and not tag.startswith(ASIDE)
    ]
    data = data.restrict_to(kept, unknown="drop")
    rng = np.random.default_rng(0)
    _, source = np.unique(np.asarray(data.groups), return_inverse=True)
    place = rng.permutation(source.max() + 1)[source]
    order = np.lexsort((rng.random(len(data)), place))
    n_train, n_test = N_TRAIN["debtags"], N_TEST["debtags"]
    train = order[:n_train]
    rest = order[n_train:]
    test = rest[~np.isin(place[rest], place[train])][:n_test]
    chosen = np.concatenate([train, test])
    split = np.array(["train"] * len(train) + ["test"] * len(test))
    return data.select(chosen).with_split(split).drop_rare_labels(2)


def _dense(matrix):
    return matrix.toarray() if sp.issparse(matrix) else matrix


def _tfidf(train: list[str], test: list[str]) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(sublinear_tf=True, min_df=5, stop_words="english")
    return vectorizer.fit_transform(train), vectorizer.transform(test)


def _svms(features: sp.csr_matrix, labels: sp.csr_matrix) -> tuple[np.ndarray, np.ndarray]:
    from sklearn.svm import LinearSVC

    wanted = labels.toarray() > 0
    machines = [LinearSVC(C=1.0).fit(features, column) for column in wanted.T]
    return np.vstack([one.coef_ for one in machines]), np.concatenate([one.intercept_ for one in machines])


def _features(name: str) -> tuple[np.ndarray, sp.csr_matrix, list[str]]:
    import labelproof as lp

    path = FOLDER / f"{name}-features.npy"
    data = lp.load_dataset(name)
    if name == "arxiv":  # a random part of each: training and test are of different months
        rng = np.random.default_rng(0)
        train, test = data.part("train"), data.part("test")
        train = train.select(np.sort(rng.choice(len(train), N_TRAIN[name], replace=False)))
        test = test.select(np.sort(rng.choice(len(test), N_TEST[name], replace=False)))
        texts = [*train.texts, *test.texts]
        labels = sp.vstack([sp.csr_matrix(train.labels), sp.csr_matrix(test.labels)]).tocsr()
    else:
        texts, labels = list(data.texts), sp.csr_matrix(data.labels)
    if not path.exists():
        np.save(path, encode(texts))
    return np.load(path), labels, list(data.label_names)


def parts_of(name: str, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of the training and of the test part."""
    if name == "arxiv":
        return np.arange(N_TRAIN[name]), np.arange(N_TRAIN[name], n)
    order = np.random.default_rng(0).permutation(n)
    return order[: N_TRAIN[name]], order[N_TRAIN[name] : N_TRAIN[name] + N_TEST[name]]


def _train(features: np.ndarray, labels: sp.csr_matrix) -> tuple[np.ndarray, np.ndarray]:
    import torch

    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    order = rng.permutation(len(features))
    val, train = order[: len(order) // 10], order[len(order) // 10 :]
    head = torch.nn.Linear(features.shape[1], labels.shape[1])
    prior = np.asarray(labels[train].mean(axis=0)).ravel().clip(1e-5)
    with torch.no_grad():
        head.weight.mul_(0.1)
        head.bias.copy_(torch.tensor(np.log(prior / (1 - prior)), dtype=torch.float32))
    inputs, optimiser = torch.from_numpy(features), torch.optim.Adam(head.parameters(), lr=5e-3)
    wanted, best, since = labels[val].toarray() > 0, (-1.0, 0.0, np.empty(0), np.empty(0)), 0
    for _ in range(EPOCHS):
        for some in torch.from_numpy(rng.permutation(train)).split(128):
            target = torch.from_numpy(labels[some.numpy()].toarray().astype(np.float32))
            loss = torch.nn.functional.binary_cross_entropy_with_logits(head(inputs[some]), target, reduction="sum")
            optimiser.zero_grad()
            (loss / len(some)).backward()
            optimiser.step()
        with torch.no_grad():
            logits = head(inputs[val]).numpy()
        scores = [(_micro_f1(logits > cut, wanted), cut) for cut in np.linspace(-3, 1, 33)]
        score, cut = max(scores)
        since += 1
        if score > best[0]:
            best, since = (score, cut, head.weight.detach().numpy().copy(), head.bias.detach().numpy().copy()), 0
        if since >= 3:
            break
    print(f"micro-F1 on the validation part: {best[0]:.3f}, threshold at the logit {best[1]:.2f}")
    return best[2], (best[3] - best[1]).astype(np.float32)


def _micro_f1(predicted: np.ndarray, wanted: np.ndarray) -> float:
    return float(2 * (predicted & wanted).sum() / (predicted.sum() + wanted.sum()))
