"""How long the explorer's answers take, through HTTP, on trained layers.

    python benchmarks/explorer.py

Writes benchmarks/results/explorer.md. The server runs in a process of its own, as `labelproof explore` starts it; the
requests are those of the page, each for a label set that was not asked about before. Wall time, so other work on the
machine counts.
"""

import http.client
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

from weights import load

RESULTS = Path(__file__).parent / "results"
LAYERS = {"8921x50": 60, "20000x50": 40, "8921x768": 20}
QUICK = 0.15
SERVER = """
import sys, numpy as np
from labelproof.explorer import serve
from labelproof.importers import read_layer
from labelproof.proof.labels import read_label_sets
layer = read_layer(sys.argv[1])
file = np.load(sys.argv[2])
sets = [file["indices"][a:b] for a, b in zip(file["indptr"][:-1], file["indptr"][1:])]
names = [f"code {i:05d}" for i in range(layer.n_labels)]
serve(layer, label_names=names, label_sets=read_label_sets(sets, layer.n_labels))
"""


def main() -> None:
    lines = [
        "# Response times of the explorer\n",
        "How long a user of `labelproof explore` waits for each part of the page. Times are wall-clock milliseconds "
        "(median / 95th percentile / maximum) of the HTTP requests that the page sends "
        "(`python benchmarks/explorer.py`).\n",
        "*Verdict* is what the page shows first: can or never, margin and conflict. *Nearest* is the first search for "
        f"similar label sets that can be predicted, cut off after {QUICK} s, for sets that can never be; *both* is the "
        "time from changing a label to seeing those neighbours. *First to change* finds which decisions are closest to "
        "flipping, for sets that can be predicted. *Similar*: label sets of the data that resemble the question; "
        "*completion*: names offered while typing; *drawing*: the picture of the plane.\n",
        "| layer | sets | of these never | verdict | nearest | both | first to change | similar | completion "
        "| drawing |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, n_sets in LAYERS.items():
        lines.append(_row(name, n_sets))
        print(lines[-1], flush=True)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "explorer.md").write_text("\n".join(lines) + "\n")


def _row(name: str, n_sets: int) -> str:
    weight, labels = load(name)
    with tempfile.TemporaryDirectory() as folder:
        np.savez(f"{folder}/W.npz", weight=weight)
        np.savez(f"{folder}/Y.npz", indptr=labels.indptr, indices=labels.indices)
        command = [sys.executable, "-c", SERVER, f"{folder}/W.npz", f"{folder}/Y.npz"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603
        try:
            address = urlsplit(re.search(r"http://\S+/", process.stdout.readline())[0])
            times = _measure(http.client.HTTPConnection(address.netloc), labels, n_sets)
        finally:
            process.terminate()
            process.wait()
    cells = [
        _shown(times[kind]) for kind in ("verdict", "nearest", "shown", "first", "similar", "completion", "drawing")
    ]
    return f"| {name} | {n_sets} | {len(times['nearest'])} | {' | '.join(cells)} |"


def _measure(connection: http.client.HTTPConnection, labels, n_sets: int) -> dict[str, list[float]]:
    times = {kind: [] for kind in ("verdict", "nearest", "shown", "first", "similar", "completion", "drawing")}

    def ask(kind: str, path: str, question: dict | None = None) -> dict:
        body = None if question is None else json.dumps(question)
        start = time.perf_counter()
        headers = {} if body is None else {"content-type": "application/json"}
        connection.request("GET" if body is None else "POST", path, body, headers)
        response = connection.getresponse()
        answer = json.loads(response.read())
        times[kind].append(1e3 * (time.perf_counter() - start))
        assert response.status == 200, answer
        return answer

    for i in range(n_sets):
        active = labels.indices[labels.indptr[i] : labels.indptr[i + 1]].tolist()
        verdict = ask("verdict", "/api/verdict", {"labels": active})
        can = verdict["status"] == "argmaxable"
        question = {"labels": active, "seconds": 3.0 if can else QUICK, "page": "benchmark"}
        found = ask("first" if can else "nearest", "/api/explanation", question)
        if not can:
            times["shown"].append(times["verdict"][-1] + times["nearest"][-1])
        ask("similar", "/api/similar", {"labels": active, "limit": 9})
        ask("completion", f"/api/labels?limit=12&q=code%200{i % 9}")
        anchors = [active] if can else [one["labels"] for one in found["nearest"][:1]]
        if anchors:
            ask("drawing", "/api/drawing", {"labels": active, "anchors": anchors})
    return times


def _shown(times: list[float]) -> str:
    if not times:
        return "–"
    return f"{np.median(times):.0f} / {np.quantile(times, 0.95):.0f} / {max(times):.0f}"


if __name__ == "__main__":
    main()
