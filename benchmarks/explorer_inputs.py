"""The explorer among 10,000 real inputs: time of a stretch, and how often a spliced text triggers a combination.

    LABELPROOF_DATA=… LABELPROOF_ENCODER=… python benchmarks/explorer_inputs.py

Writes benchmarks/results/explorer_inputs.md. The model is that of benchmarks/stretch.py: 2,689 labels on 384 features
of a frozen sentence encoder that reads 64 tokens. The combinations are what it predicts for documents it has not seen.
"""

import time
from pathlib import Path

import numpy as np

import labelproof as lp
from labelproof.auditing.real_inputs import RealInputs
from labelproof.explorer.splicing import splices
from labelproof.explorer.stretches import Known, Stretches
from labelproof.proof.regions import make_layer
from stretch_models import encode, load_wide, parts_of

RESULTS = Path(__file__).parent / "results"
N, MOST_LABELS = 25, 10


def alike(a: set[int], b: set[int]) -> float:
    return len(a & b) / max(1, len(a | b))


def main() -> None:
    model, data = load_wide("mesh_pubmed"), lp.load_dataset("mesh_pubmed")
    train = parts_of("mesh_pubmed", len(data))[0]
    layer = make_layer(model.weight, bias=model.bias, ties="inactive")
    known = Stretches(layer, Known(RealInputs(model.features, "the training part")))
    wanted = [tuple(active) for active in known.predicted(model.held_out) if 1 <= len(active) <= MOST_LABELS][: N + 1]
    known.of(wanted.pop())  # compiled code is loaded
    seconds, texts = [], []
    for active in wanted:
        start = time.process_time()
        found = known.of(active)
        seconds.append(time.process_time() - start)
        documents = [data.texts[train[i]] for i in found.examples.tolist()] or [""]
        texts.append(splices(documents, found.weights.tolist() or [1.0]))
    flat = [text for some in texts for text in some]
    start = time.process_time()
    predicted = iter([set(active) for active in known.predicted(encode(flat))])
    a_text = (time.process_time() - start) / len(flat)
    best = [max(alike(set(active), next(predicted)) for _ in some) for active, some in zip(wanted, texts, strict=True)]
    text = f"""# The explorer with real inputs loaded

How fast the explorer answers when it also measures how far a label combination is from real inputs (its *stretch*), and
how often the text that it composes really triggers the combination.

`python benchmarks/explorer_inputs.py`: {model.weight.shape[0]:,} labels × {model.weight.shape[1]} features of a frozen
sentence encoder (64 tokens), {known.n_examples:,} real inputs, {len(wanted)} combinations of up to {MOST_LABELS} labels
that the model predicts for unseen documents. CPU time of one thread, on a shared machine.

- Stretch of a combination, proven, with the inputs whose mixture gives it: median {np.median(seconds):.2f} s,
  maximum {max(seconds):.2f} s.
- "A text that triggers it": for each combination {np.mean([len(some) for some in texts]):.0f} texts are composed from
  pieces of real ones, at {1e3 * a_text:.0f} ms each to encode. For {sum(one == 1 for one in best)} of {len(best)}
  combinations one of the texts was predicted exactly; on average the labels of the best text have a Jaccard similarity
  of {np.mean(best):.2f} with the combination. Mixing texts is not the same as mixing features; the page therefore shows
  what the model predicts for the best text, and which labels are missing.
"""
    (RESULTS / "explorer_inputs.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
