"""Small audits of wide models, computed and proven, for tests of the document and of the pages made from it.

    PYTHONPATH=src python tests/auditing/example_audits.py FOLDER

writes FOLDER/wide (features, bar, pairs, dead labels), FOLDER/no-bar (features alone) and FOLDER/not-tested (no
features), each with audit.json, proofs and report.html.
"""

import sys
from pathlib import Path

import numpy as np

import labelproof as lp

ORGANS = ("heart", "lung", "kidney", "liver", "skin", "bone", "eye", "ear", "brain", "stomach")
FINDINGS = ("stenosis", "infection", "fracture", "neoplasm")


def wide_model(*, seed=0, n_labels=40, d=48):
    """Return weight, bias, names, and a function that draws features with the label sets of their texts."""
    rng = np.random.default_rng(seed)
    names = [f"{what} of the {where}" for where in ORGANS for what in FINDINGS][:n_labels]
    topics = rng.normal(size=(6, d))
    weight = rng.normal(size=(n_labels, d)) * 0.25 + topics[np.arange(n_labels) % 6] * 0.35
    bias = np.full(n_labels, -2.5)
    bias[3], weight[3] = -9.0, weight[3] * 0.1  # a label that is never predicted

    def draw(n, seed):
        own = np.random.default_rng(seed)
        mix = own.dirichlet(np.full(6, 0.4), n)
        features = mix @ topics * 1.6 + own.normal(size=(n, d)) * 0.35
        on = features @ weight.T + bias > 0
        extra = own.random(on.shape) < 0.03  # labels that annotators saw and the model does not
        return features.astype(np.float32), [np.flatnonzero(row).tolist() for row in on ^ extra]

    return weight.astype(np.float32), bias.astype(np.float32), names, draw


def wide_audit(*, n=400, n_held_out=320, **options):
    """Audit a wide model with features of real inputs and a bar."""
    weight, bias, names, draw = wide_model()
    features, sets = draw(n, 1)
    held_out, _ = draw(n_held_out, 2)
    options = {"features": features, "calibration": held_out, **options}
    return lp.audit(layer(weight, bias), sets, label_names=names, data_name="notes-test.jsonl", **options)


def layer(weight, bias):
    facts = {"dtype": "float32", "model": "notes-coder", "kind": "array", "source": "weight"}
    return lp.importers.ImportedLayer(weight.astype(float), bias.astype(float), **facts)


def main(folder):
    from labelproof.report import write_report

    none = {"features": None, "calibration": None}
    for name, options in (("wide", {}), ("no-bar", {"calibration": None}), ("not-tested", none)):
        found = wide_audit(**options)
        found.save(folder / name)
        write_report(folder / name / "report.html", [found.document])
        print(name, "-", found.headline)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
