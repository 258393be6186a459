"""What the page on Keras prints is true: its examples run, and so does its command."""

import re
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest

from labelproof import keras3
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


def test_what_the_room_for_keras_rests_on_needs_no_torch():
    files = (Path(keras3.__file__).parent).glob("*.py")
    needed = {found for file in files for found in re.findall(r"from (labelproof\.\S+) import", file.read_text())}
    modules = sorted(name for name in needed if ".keras3" not in name)
    assert "labelproof.heads.safety" in modules
    code = f"import sys, {', '.join(modules)}\nprint('torch' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert answer.stdout.split() == ["False"]


@pytest.mark.skipif(keras.backend.backend() == "torch", reason="on this backend Keras itself imports torch")
def test_heads_and_their_guarantees_need_no_torch():
    code = (
        "import sys\nfrom labelproof import keras3\n"
        "for head in (keras3.DFTHead(30, 3, 2), keras3.CodeHead(30, 2, 0)):\n"
        "    head.build((None, 40))\n    assert head.guarantee([[1, 2]]).is_safe.all()\n"
        "print('torch' in sys.modules)"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert answer.stdout.split() == ["False"]
