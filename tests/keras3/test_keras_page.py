"""What the page on Keras prints is true: its examples run, and so does its command."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from running_verbs import report

PAGE = Path(__file__).parents[2] / "docs" / "keras.md"


@pytest.mark.filterwarnings("ignore:the head has")
def test_the_examples_run_as_printed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(blocks) == 3
    names = {}
    for block in blocks:
        exec(block, names)  # noqa: S102 - our own page
    labels = "\n".join(" ".join(map(str, np.flatnonzero(row))) for row in names["y"])
    Path("labels.txt").write_text(labels + "\n")
    found = report("audit", "model.keras", "--labels", "labels.txt")
    assert found["layer"]["kind"] == "Keras file"
    assert found["layer"]["source"] == f"{names['head'].name} of model.keras"


def test_nothing_here_imports_torch():
    code = (
        "import sys\nfrom labelproof import keras3\n"
        "head = keras3.DFTHead(30, 3, 2)\nhead.build((None, 20))\n"
        "assert head.guarantee([[1, 2]]).is_safe.all()\n"
        "assert keras3.CodeHead(30, 2, 0).witness.__name__\n"
        "print('torch' in sys.modules)"
    )
    environment = {"KERAS_BACKEND": "numpy", "PATH": "", "PYTHONPATH": ":".join(sys.path)}
    answer = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    assert answer.stdout.split() == ["False"]
