"""Imports point one way: each package may use only those on the lines above its own."""

import ast
import subprocess
import sys
from pathlib import Path

import labelproof

ROOT = Path(labelproof.__file__).parent
LAYERS = [
    {"errors"},
    {"arrayfiles", "parallel"},
    {"simplex"},
    {"verification", "metrics", "data"},
    {"decisions"},
    {"heads", "activations"},
    {"losses"},
    {"functional"},
    {"encoders"},
    {"training"},
    {"models"},
    {"importers"},
    {"auditing"},
    {"report", "explorer"},
    {"comparison"},
    {"cli"},
    {"__init__", "__main__"},
]
WITHOUT_TORCH = {"errors", "arrayfiles", "parallel", "simplex", "verification", "metrics", "data", "decisions"}
WITHOUT_TORCH |= {"__init__"}


def room(path):
    return path.relative_to(ROOT).with_suffix("").parts[0]


def imported_modules(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} must import absolutely"
            yield node.module


def test_every_room_is_in_the_order():
    rooms = {room(path) for path in ROOT.rglob("*.py")}
    assert rooms <= set().union(*LAYERS)


def test_imports_point_one_way():
    height = {name: i for i, layer in enumerate(LAYERS) for name in layer}
    for path in ROOT.rglob("*.py"):
        for module in imported_modules(path):
            parts = module.split(".")
            if parts[0] == "labelproof" and len(parts) > 1 and parts[1] != room(path):
                assert height[parts[1]] < height[room(path)], f"{path} must not import {module}"


def test_what_needs_no_torch_does_not_import_it():
    for path in ROOT.rglob("*.py"):
        if room(path) in WITHOUT_TORCH:
            assert "torch" not in {module.split(".")[0] for module in imported_modules(path)}, path


def test_the_trusted_code_uses_none_of_the_search():
    trusted = {"labels", "regions", "proofs", "brackets"}
    for name in trusted:
        modules = set(imported_modules(ROOT / "verification" / f"{name}.py"))
        own = {module.removeprefix("labelproof.verification.") for module in modules if "verification" in module}
        assert own <= trusted, f"{name} must rest on trusted code alone, got {own - trusted}"


def test_importing_labelproof_imports_nothing_heavy():
    code = "import sys, labelproof; print(*sorted({'numpy', 'scipy', 'numba', 'flint', 'torch'} & set(sys.modules)))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert answer.stdout.strip() == ""
