"""The explorer of a sentence encoder among 10,000 real inputs: how long its answers take, and what they show.

    LABELPROOF_DATA=… LABELPROOF_ENCODER=… python benchmarks/explorer_inputs.py

Writes benchmarks/results/explorer_inputs.md. The model is that of benchmarks/stretch.py, in a labelproof folder: 2,689
labels on 384 features of a frozen sentence encoder that reads 64 tokens. The combinations are what it predicts for
documents it has not seen, and the questions are those that the page sends: the verdict, the stretch, and a text that
triggers the combination, which the encoder reads.
"""

import os
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from starlette.testclient import TestClient

import labelproof as lp
from labelproof import encoders
from labelproof.auditing.real_inputs import RealInputs
from labelproof.decisions import Threshold
from labelproof.explorer import make_app
from labelproof.importers import read_layer
from labelproof.models import Model
from labelproof.proof.examples import read_examples
from labelproof.proof.regions import make_layer
from labelproof.proof.stretch_bar import predicted_sets
from labelproof.training.heads import LinearHead
from stretch_models import TOKENS, Wide, load_wide, parts_of

RESULTS = Path(__file__).parent / "results"
N, MOST_LABELS = 25, 10


class Page:
    """The explorer as the page asks it; keeps the CPU and wall-clock seconds of each kind of question."""

    def __init__(self, app: object) -> None:
        self.client = TestClient(app, base_url="http://127.0.0.1:8000")
        self.seconds: dict[str, list[tuple[float, float]]] = {}

    def ask(self, path: str, active: list[int]) -> dict:
        """Send a question of the page about one combination."""
        used, start = time.process_time(), time.perf_counter()
        answer = self.client.post(f"/api/{path}", json={"labels": active})
        took = time.process_time() - used, time.perf_counter() - start
        self.seconds.setdefault(path, []).append(took)
        answer.raise_for_status()
        return answer.json()

    def line(self, path: str) -> str:
        """Return two cells of the table of results."""
        cpu, wall = np.array(self.seconds[path]).T
        return (
            f"{1e3 * np.median(cpu):.0f} / {1e3 * cpu.max():.0f} | {1e3 * np.median(wall):.0f} / {1e3 * wall.max():.0f}"
        )


def save_model(trained: Wide, folder: Path) -> None:
    options = {"path": os.environ["LABELPROOF_ENCODER"], "pooling": "mean", "max_tokens": TOKENS}
    encoder = encoders.build("transformer", ["a text"], **options)
    head = LinearHead(trained.weight.shape[1], len(trained.names))
    with torch.no_grad():
        head.output.weight.copy_(torch.from_numpy(trained.weight))
        head.output.bias.copy_(torch.from_numpy(trained.bias))
    Model(encoder, head, tuple(trained.names), Threshold(0.0, scores="logits")).save(folder)


def unseen_sets(trained: Wide) -> list[list[int]]:
    layer = make_layer(trained.weight, bias=trained.bias, ties="inactive")
    found = predicted_sets(layer, read_examples(trained.held_out, layer.d))
    return [active.tolist() for active in found if 1 <= len(active) <= MOST_LABELS][: N + 1]


def main() -> None:
    trained, data = load_wide("mesh_pubmed"), lp.load_dataset("mesh_pubmed")
    train = parts_of("mesh_pubmed", len(data))[0]
    with tempfile.TemporaryDirectory() as place:
        save_model(trained, Path(place) / "mesh")
        source = read_layer(Path(place) / "mesh")
        seen = {row.tobytes() for row in trained.features}
        held_out = np.array([row for row in trained.held_out if row.tobytes() not in seen])
        known = RealInputs(trained.features, "the training part", held_out, rows=train, texts=data.texts)
        used, start = time.process_time(), time.perf_counter()
        app = make_app(source, inputs=known)
        app.state.explorer.warm_up()
        preparing = time.process_time() - used, time.perf_counter() - start
        page = Page(app)
        wanted = unseen_sets(trained)
        for path in ("verdict", "stretch", "trial"):
            page.ask(path, wanted[0])
        page.seconds.clear()
        alike, exact, spliced = [], 0, []
        for active in wanted[1:]:
            page.ask("verdict", active)
            page.ask("stretch", active)
            found = page.ask("trial", active)
            theirs = set(found["predicted"]["labels"])
            alike.append(len(theirs & set(active)) / len(theirs | set(active)))
            exact += theirs == set(active)
            spliced.append(found["is_spliced"])
    n_spliced = sum(spliced)
    text = f"""# The explorer with real inputs loaded

How fast the explorer answers when it also measures how far a label combination is from real inputs (its *stretch*), and
how often the text that it composes really triggers the combination.

`python benchmarks/explorer_inputs.py`: {trained.weight.shape[0]:,} labels × {trained.weight.shape[1]} features of a
frozen sentence encoder (MiniLM, {TOKENS} tokens), {len(trained.features):,} real inputs and
{len(held_out):,} for the bar, {len(wanted) - 1} combinations of up to {MOST_LABELS} labels that the model predicts for
unseen documents. Each line is one request of the page, on a machine shared with other work.

| | CPU ms, median / maximum | wall-clock ms, median / maximum |
|---|---|---|
| verdict, proven | {page.line("verdict")} |
| stretch, proven, with the inputs whose mixture gives it | {page.line("stretch")} |
| a text that triggers it: written, and read by the encoder | {page.line("trial")} |

- Before the first question: {preparing[0]:.1f} s of CPU time ({preparing[1]:.1f} s by the clock) for the layer and the
  bar, once.
- A text that triggers it: for {exact} of {len(alike)} combinations the text shown is predicted exactly so; on average
  its labels have a Jaccard similarity of {np.mean(alike):.2f} with the combination. {n_spliced} of these texts were
  spliced from the inputs of the mixture; the others are inputs of the data. Mixing texts is not the same as mixing
  features; the page therefore shows what the model predicts for the text, and which labels are missing.
"""
    (RESULTS / "explorer_inputs.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
