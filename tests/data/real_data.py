"""Where the real data is, and why a test is skipped where it is not."""

import os
from pathlib import Path

import pytest


def folder_of(name):
    """The folder of a data set under LABELPROOF_DATA; the test is skipped where there is none."""
    root = os.environ.get("LABELPROOF_DATA")
    if not root:
        pytest.skip("LABELPROOF_DATA is not set")
    folder = Path(root) / name
    if not folder.is_dir():
        pytest.skip(f"{name} is not under LABELPROOF_DATA")
    return folder


def figures(data):
    """n, labels, cardinality, most labels on one example, distinct label sets."""
    sizes = data.labels.sum(axis=1)
    return len(data), data.n_labels, round(float(sizes.mean()), 3), int(sizes.max()), len(set(data.label_sets()))
