"""Use an installed labelproof as a stranger would: `python tests/packaging/smoke.py PYTHON`, run by `make package`.

PYTHON is the interpreter of an environment that holds the wheel and what it needs, without extras.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

FILES = """
import numpy as np
np.savez("W.npz", weight=np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]]))
open("sets.txt", "w").write("0\\n0 1\\n0 1 2\\n")
"""
NO_TORCH = """
import importlib.util, sys, labelproof as lp
assert importlib.util.find_spec("torch") is None, "the core must do without torch"
assert "site-packages" in lp.__file__, lp.__file__
assert lp.verify([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]], [[0], [0, 1, 2]]).status.tolist() == [1, 0]
assert len(lp.load_dataset("debian_packages")) == 5893
try:
    lp.DFTHead
except ImportError as error:
    assert "labelproof[torch]" in str(error), error
else:
    raise AssertionError("a head without torch")
print("imports, verifies and reads its data without torch")
"""
SIZE = """
import pathlib, sysconfig
root = pathlib.Path(sysconfig.get_path("purelib"))
sizes = {}
for file in root.rglob("*"):
    if file.is_file():
        sizes[file.relative_to(root).parts[0]] = sizes.get(file.relative_to(root).parts[0], 0) + file.stat().st_size
whole = sum(size for name, size in sizes.items() if not name.startswith(("pip", "setuptools", "_distutils", "pkg_res")))
largest = sorted(sizes.items(), key=lambda item: -item[1])[:4]
print(f"installed: {whole / 1e6:.0f} MB,", ", ".join(f"{name} {size / 1e6:.0f}" for name, size in largest))
"""


def main(python: str) -> None:
    """Import, verify, read the shipped data, run the verbs of the core, check types, and weigh the installation."""
    inside = Path(python).absolute()
    with tempfile.TemporaryDirectory() as folder:
        say(folder, inside, "-c", FILES)
        print(say(folder, inside, "-c", NO_TORCH))
        command = inside.parent / "labelproof"
        print(say(folder, command, "--version"))
        print(say(folder, command, "count", "8921", "50"))
        print(say(folder, command, "verify", "W.npz", "--labels", "sets.txt", "-o", "result.npz"))
        print(say(folder, command, "check", "result.npz", "--weights", "W.npz"))
        program = Path(__file__).with_name("typed_program.py")
        print(say(folder, sys.executable, "-m", "mypy", "--strict", "--python-executable", inside, program))
        print(say(folder, inside, program))
    print(say(".", inside, "-c", SIZE))


def say(folder: str, *command: object) -> str:
    """Run a command in a folder and return what it says; it must succeed."""
    done = subprocess.run([str(part) for part in command], cwd=folder, capture_output=True, text=True)  # noqa: S603
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))[:200]}\n{done.stdout}{done.stderr}")
    return done.stdout.strip()


if __name__ == "__main__":
    main(*sys.argv[1:])
