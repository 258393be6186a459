"""Where a float linear programme alone goes wrong: HiGHS's tolerance × the eps from which its answer counts as "yes".

    python benchmarks/tolerance_sweep.py

Three layers: a trained one (both verdicts occur), a pure DFT matrix at full load whose sets are argmaxable, and a
float32 one whose sets are not. labelproof's verdicts are proven; the sweep counts where HiGHS disagrees. Writes
benchmarks/results/tolerance_sweep.md and .png.
"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import labelproof as lp
from labelproof.theory.dft import dft_matrix
from peers import solve_by_highs
from weights import load

RESULTS = Path(__file__).parent / "results"
TOLERANCES = [1e-6, 1e-7, 1e-8, 1e-9, 1e-10]
EPS = [0.0, 1e-10, 1e-8, 1e-6, 1e-4]
CELLS = "Each cell counts label sets that can be predicted but were missed / that never can be but were accepted:"


def cases() -> dict[str, tuple[np.ndarray, list[np.ndarray]]]:
    weight, label_sets = load("2000x50")
    rows = [label_sets.indices[label_sets.indptr[i] : label_sets.indptr[i + 1]] for i in range(300)]
    status = lp.verify(weight, rows).status
    mixed = [rows[i] for verdict in (0, 1) for i in np.flatnonzero(status == verdict)[:10]]
    rng = np.random.default_rng(0)
    full = [np.sort(rng.choice(500, 10, replace=False)) for _ in range(10)]
    loaded = [np.sort(rng.choice(1000, 25, replace=False)) for _ in range(10)]
    return {
        "trained 2000×50": (weight, mixed),
        "DFT 500×21, float64, as many labels as it allows": (dft_matrix(500, 10), full),
        "DFT 1000×51, float32, as many labels as it allows": (dft_matrix(1000, 25).astype(np.float32), loaded),
    }


def wrong_answers(weight: np.ndarray, sets: list[np.ndarray], status: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Count, for each tolerance and eps, argmaxable sets that HiGHS misses and unargmaxable ones that it grants."""
    missed, granted = np.zeros((2, len(TOLERANCES), len(EPS)), int)
    for t, tolerance in enumerate(TOLERANCES):
        for e, eps in enumerate(EPS):
            for active, verdict in zip(sets, status, strict=True):
                answer = solve_by_highs(weight, active, eps=eps, tolerance=tolerance, time_limit=20)
                yes = answer.status == "Optimal" and (eps > 0 or answer.eps > 0)  # as one would read the status
                missed[t, e] += verdict == 1 and not yes
                granted[t, e] += verdict == 0 and yes
    return missed, granted


def main() -> None:
    RESULTS.mkdir(exist_ok=True)
    text = [
        "# Why a solver's answer is not a proof\n",
        (
            "Why not simply ask a solver? HiGHS computes in floating point and accepts answers within a tolerance, "
            "so its verdict on a label set can be wrong. Here its answers are compared with proven verdicts, for "
            "several tolerances and several values of eps, the margin that the linear programme demands (`python "
            'benchmarks/tolerance_sweep.py`). The status "Optimal" is read as "can be predicted" (for eps 0, only '
            'with a margin ε > 0). Demanding ε > 0 of every "Optimal" answer would avoid the errors on the trained '
            "layer, where HiGHS returns ε = 0.\n"
        ),
    ]
    found = cases()
    figure, axes = plt.subplots(1, len(found), figsize=(13, 3.9), layout="constrained")
    for axis, (name, (weight, sets)) in zip(axes, found.items(), strict=True):
        v = lp.verify(weight, sets)
        v.check()
        missed, granted = wrong_answers(weight, sets, v.status)
        counts = f"{int((v.status == 1).sum())} sets can be predicted, {int((v.status == 0).sum())} never"
        text += [f"\n## {name} ({counts})\n", f"{CELLS}\n"]
        text += ["| tolerance | " + " | ".join(f"eps {e:g}" for e in EPS) + " |", "|---" * (len(EPS) + 1) + "|"]
        for t, tolerance in enumerate(TOLERANCES):
            cells = [f"{missed[t, e]} / {granted[t, e]}" for e in range(len(EPS))]
            text.append(f"| {tolerance:g} | " + " | ".join(cells) + " |")
        wrong = missed + granted
        axis.imshow(wrong, cmap="OrRd", vmin=0, vmax=len(sets))
        axis.set(title=f"{name}\n{counts}", xlabel="eps", ylabel="tolerance")
        axis.set_xticks(range(len(EPS)), [f"{e:g}" for e in EPS])
        axis.set_yticks(range(len(TOLERANCES)), [f"{t:g}" for t in TOLERANCES])
        for t in range(len(TOLERANCES)):
            for e in range(len(EPS)):
                colour = "white" if wrong[t, e] > 0.6 * len(sets) else "black"
                axis.text(e, t, wrong[t, e], ha="center", va="center", color=colour)
        print(name, counts, wrong.tolist(), flush=True)
    figure.suptitle("Wrong answers of a float linear programme, against proven verdicts")
    figure.savefig(RESULTS / "tolerance_sweep.png", dpi=120)
    (RESULTS / "tolerance_sweep.md").write_text("\n".join(text) + "\n")


if __name__ == "__main__":
    main()
