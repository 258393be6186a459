"""What a wheel and an sdist hold: every file that the code reads, and the terms of code and data."""

import tarfile
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

import labelproof as lp

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    (path,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path_factory.mktemp("dist")))
    with zipfile.ZipFile(path) as archive:
        yield archive


def test_the_wheel_holds_every_file_of_the_package(wheel):
    inside = {name for name in wheel.namelist() if name.startswith("labelproof/")}
    package = ROOT / "src" / "labelproof"
    ours = {path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    assert inside == {path.relative_to(package.parent).as_posix() for path in ours}
    for name in ("py.typed", "data/shipped/debian_packages/packages.jsonl.xz", "report/static/report.js"):
        assert f"labelproof/{name}" in inside
    kinds = {Path(name).suffix for name in inside}
    assert kinds >= {".py", ".typed", ".xz", ".css", ".js", ".j2"}


def test_the_wheel_states_version_terms_and_pythons(wheel):
    (name,) = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
    fields = Parser().parsestr(wheel.read(name).decode())
    assert fields["Version"] == PROJECT["version"] == lp.__version__
    assert fields["License-Expression"] == PROJECT["license"]
    assert fields["Requires-Python"] == PROJECT["requires-python"]
    terms = [name for name in wheel.namelist() if "/licenses/" in name]
    assert [Path(name).name for name in sorted(terms)] == ["LICENSE", "NOTICE.md"]
    required = [line for line in fields.get_all("Requires-Dist") if "extra ==" not in line]
    assert len(required) == len(PROJECT["dependencies"])
    assert not any(line.startswith("torch") for line in required)


def test_the_wheel_is_small(wheel):
    assert sum(entry.compress_size for entry in wheel.infolist()) < 3_000_000


def test_the_sdist_can_be_built_and_tested_from(tmp_path):
    (path,) = SdistBuilder(str(ROOT)).build(directory=str(tmp_path))
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert names >= {"pyproject.toml", "Makefile", "constraints.txt", "README.md", "src/labelproof/py.typed"}
    assert names >= {"tests/packaging/test_wheel.py", "conftest.py", "mkdocs.yml", "website/hooks.py"}
    assert names >= {"benchmarks/results/fair.md", "experiments/summary.py"}  # which tests read
    assert not any("/.venv" in name or name.startswith((".venv", "build/")) for name in names)
