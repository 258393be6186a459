"""Imports point one way, and nothing that decides a proof ever imports what searches for one."""

import ast
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import labelproof

ROOT = Path(labelproof.__file__).parent
LAYERS = [
    {"errors"},
    {"foundation"},
    {"parallel", "proof"},
    {"simplex", "search"},
    {"theory", "explaining", "stretching", "metrics", "data"},
    {"decisions"},
    {"heads", "activations"},
    {"losses"},
    {"functional", "keras3"},
    {"encoders"},
    {"training"},
    {"models"},
    {"importers"},
    {"auditing", "pages"},
    {"report", "explorer"},
    {"comparison", "pictures"},
    {"cli"},
    {"__init__", "__main__"},
]
WITHOUT_TORCH = {"errors", "foundation", "parallel", "proof", "simplex", "search", "theory", "explaining", "stretching"}
WITHOUT_TORCH |= {"metrics", "data", "decisions", "__init__"}
COMPUTED = "a module whose name is computed"
SEARCHING = {"search", "theory", "explaining", "stretching", "parallel"}


def room(path):
    return path.relative_to(ROOT).with_suffix("").parts[0]


def home_of(name):
    """Return the module that ``labelproof.name`` stands for, whether it is one or comes out of one."""
    return labelproof._HOME.get(name, f"labelproof.{name}")


def imports_of(tree):
    """Yield every module that some code imports, wherever in it: late imports and names of the package included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports must be absolute"
            names = [alias.name for alias in node.names]
            if node.module == "labelproof":
                yield from (home_of(name) for name in names)
            else:
                yield node.module
                yield from (full for name in names if (full := f"{node.module}.{name}") and is_module(full))
        elif isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) == "import_module":
            yield node.args[0].value if isinstance(node.args[0], ast.Constant) else COMPUTED


def is_module(name):
    return name.startswith("labelproof.") and file_of(name) is not None


def file_of(module):
    place = ROOT.joinpath(*module.split(".")[1:])
    return next((path for path in (place.with_suffix(".py"), place / "__init__.py") if path.is_file()), None)


def imported_modules(path):
    return set(imports_of(ast.parse(path.read_text())))


def closure(paths):
    """Return every module of the package that some files can ever import, with those that its parents import."""
    seen, new = set(), list(paths)
    while new:
        path = new.pop()
        if path in seen:
            continue
        seen.add(path)
        for module in imported_modules(path):
            parts = module.split(".")
            if parts[0] == "labelproof":
                names = [".".join(parts[:i]) for i in range(2, len(parts) + 1)]
                new += [found for name in names if (found := file_of(name)) is not None]
    return {str(path.relative_to(ROOT)) for path in seen}


def test_every_room_is_in_the_order():
    rooms = {room(path) for path in ROOT.rglob("*.py")}
    assert rooms == set().union(*LAYERS)


def test_imports_point_one_way():
    height = {name: i for i, layer in enumerate(LAYERS) for name in layer}
    for path in ROOT.rglob("*.py"):
        for module in imported_modules(path):
            parts = module.split(".")
            if parts[0] == "labelproof" and len(parts) > 1 and parts[1] != room(path):
                assert height[parts[1]] < height[room(path)], f"{path} must not import {module}"


def test_a_module_gives_its_neighbours_only_what_it_declares():
    """A few modules of the trusted core share private parts, since a proof on disk has one form."""
    shared = {"proof", "search", "training/recipe", "encoders/views"}
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            home = file_of(node.module) if isinstance(node, ast.ImportFrom) and is_module(node.module or "") else None
            if home is None or home.name == "__init__.py" or "/".join(home.relative_to(ROOT).parts[:-1]) in shared:
                continue
            undeclared = {alias.name for alias in node.names} - declared_by(home)
            assert not undeclared, f"{path} imports {undeclared} of {home}"


def declared_by(path):
    """Return what the ``__all__`` of a module lists."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and any(getattr(target, "id", "") == "__all__" for target in node.targets):
            return {element.value for element in node.value.elts}
    return set()


def test_what_needs_no_torch_does_not_import_it():
    for path in ROOT.rglob("*.py"):
        if room(path) in WITHOUT_TORCH:
            assert "torch" not in {module.split(".")[0] for module in imported_modules(path)}, path


def test_only_the_room_for_keras_imports_it_but_for_readers_of_live_models():
    for path in ROOT.rglob("*.py"):
        imported = {module.split(".")[0] for module in imported_modules(path)}
        if room(path) == "keras3":
            assert "torch" not in imported, path
        elif path.name != "keras_models.py":
            assert "keras" not in imported, path


def test_late_imports_and_names_of_the_package_count_as_imports():
    code = "def f():\n    from labelproof import verify, explaining\n    import labelproof.search.exact\n"
    found = set(imports_of(ast.parse(code)))
    assert found == {"labelproof.search.verifier", "labelproof.explaining", "labelproof.search.exact"}
    assert set(imports_of(ast.parse("from labelproof.search import propose"))) >= {"labelproof.search.propose"}
    assert set(imports_of(ast.parse("import_module('labelproof.search')"))) == {"labelproof.search"}


def test_nothing_that_a_proof_rests_on_can_import_the_search():
    reached = {name.split("/")[0].removesuffix(".py") for name in closure((ROOT / "proof").glob("*.py"))}
    assert reached == {"proof", "foundation", "errors"}


def test_nothing_that_a_proof_rests_on_computes_what_it_imports():
    for name in closure((ROOT / "proof").glob("*.py")):
        assert COMPUTED not in imported_modules(ROOT / name), name


def test_the_closure_sees_through_other_modules():
    assert "search/engine.py" in closure([ROOT / "explaining" / "explain.py"])
    assert "foundation/threads.py" in closure([ROOT / "proof" / "result.py"])


def test_the_standalone_checker_needs_the_standard_library_alone():
    for module in imported_modules(ROOT / "proof" / "standalone.py"):
        assert module.split(".")[0] in sys.stdlib_module_names, module


def test_check_runs_in_a_process_that_has_never_imported_the_search(tmp_path):
    import numpy as np

    weight = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
    np.savez(tmp_path / "w.npz", weight=weight)
    labelproof.verify(weight, [[0], [0, 1, 2]], radius=True).save(tmp_path / "v.npz")
    code = (
        "import sys\nfrom labelproof.cli import main\n"
        "sys.argv = ['labelproof', 'check', 'v.npz', '--weights', 'w.npz']\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code\n"
        "print(*sorted(m for m in sys.modules if m.startswith('labelproof.') or m in ('numba', 'torch')))"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)  # noqa: S603
    loaded = answer.stdout.splitlines()[-1].split()
    assert "labelproof.proof.result" in loaded
    assert not [module for module in loaded if module.split(".")[1:2] and module.split(".")[1] in SEARCHING]
    assert not {"numba", "torch"} & set(loaded)


def test_importing_labelproof_imports_nothing_heavy():
    code = "import sys, labelproof; print(*sorted({'numpy', 'scipy', 'numba', 'flint', 'torch'} & set(sys.modules)))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert answer.stdout.strip() == ""


def test_every_name_of_the_package_is_where_it_says():
    assert set(labelproof.__all__) == set(labelproof._HOME) | labelproof._ROOMS
    for module in {*labelproof._HOME.values(), *(f"labelproof.{name}" for name in labelproof._ROOMS)}:
        assert find_spec(module) is not None, module
