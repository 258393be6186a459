"""Compiled loops work where nothing can be kept on disk, and come from one decorator."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import labelproof
from labelproof.foundation import compilation
from labelproof.foundation.compilation import compiled, compiled_part, plain

ROOT = Path(labelproof.__file__).parent


@pytest.fixture
def nowhere(tmp_path):
    """An environment in which numba may keep compiled code in one place only, which cannot be a folder."""
    (tmp_path / "file").touch()
    return os.environ | {
        "NUMBA_CACHE_DIR": str(tmp_path / "file" / "cache"),
        "NUMBA_CACHE_LOCATOR_CLASSES": "UserProvidedCacheLocator",
    }


def run(path, environment):
    return subprocess.run([sys.executable, str(path)], env=environment, capture_output=True, text=True, check=False)  # noqa: S603


def test_numba_itself_refuses_where_no_folder_can_be_written(tmp_path, nowhere):
    script = tmp_path / "plain_numba.py"
    script.write_text("import numba\n\n@numba.njit(cache=True)\ndef twice(x):\n    return 2 * x\n\ntwice(1)\n")
    done = run(script, nowhere)
    assert done.returncode == 1
    assert "no locator available" in done.stderr


def test_kernels_compile_without_a_folder_and_say_so_once(tmp_path, nowhere):
    script = tmp_path / "metric.py"
    script.write_text(
        "from labelproof import metrics\nprint(metrics.f1_score([[1, 0], [1, 1]], [[1, 0], [0, 1]], average='micro'))\n"
    )
    done = run(script, nowhere)
    assert done.stdout == "0.8\n", done.stderr
    assert done.stderr.count("set NUMBA_CACHE_DIR to a folder that can be written") == 1
    assert len(done.stderr.splitlines()) == 1


def test_a_word_is_said_once(capsys, monkeypatch):
    monkeypatch.setattr(compilation, "_told", [])
    monkeypatch.setattr(compilation, "KERNELS", [])
    monkeypatch.setattr("numba.core.caching.CacheImpl._locator_classes", [])
    monkeypatch.delenv("NUMBA_CACHE_LOCATOR_CLASSES", raising=False)
    kernels = [compiled()(lambda x: x + 1), compiled()(lambda x: x + 2)]
    assert [kernel(1) for kernel in kernels] == [2, 3]
    assert capsys.readouterr().err.count("NUMBA_CACHE_DIR") == 1
    assert all(kernel in compilation.KERNELS for kernel in kernels)


def test_all_of_the_package_compiles_through_this_decorator():
    for path in ROOT.rglob("*.py"):
        if path != Path(compilation.__file__):
            imports = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]
            names = {alias.name for node in imports if node.module == "numba" for alias in node.names}
            assert not names & {"njit", "jit", "vectorize", "guvectorize"}, path


def test_a_part_of_kernels_refuses_to_be_called_by_python():
    @compiled_part()
    def doubled(x):
        return x + x

    @compiled()
    def kernel(x):
        return doubled(x) + 1

    assert kernel(3) == 7
    with pytest.raises(TypeError, match="doubled is a part of kernels, and must be called by compiled code"):
        doubled(3)


def test_no_machine_code_is_made_of_a_part_of_kernels():
    @compiled_part()
    def smallest(values):
        least = values[0]
        for value in values:
            least = min(least, value)
        return least

    @compiled_part()
    def range_of(values):
        return smallest(-values) + smallest(values)

    @compiled()
    def kernel(values):
        return range_of(values) + smallest(values)

    assert kernel(np.array([3.0, 1.0, 2.0])) == -1.0
    libraries = [next(iter(one.overloads.values())).library for one in (smallest, range_of, kernel)]
    assert [type(library).__name__ for library in libraries] == ["Part", "Part", "JITCodeLibrary"]


def test_other_kernels_of_the_process_are_compiled_as_before():
    import numba

    @compiled_part()
    def tripled(x):
        return 3 * x

    @compiled()
    def kernel(x):
        return tripled(x)

    assert kernel(2) == 6
    others = numba.njit(lambda x: x + 4)
    assert others(1) == 5
    assert type(others.overloads[others.signatures[0]].library).__name__ == "JITCodeLibrary"


def test_a_part_that_cannot_be_compiled_leaves_the_compiler_as_it_was():
    import numba

    @compiled_part()
    def broken(x):
        return x.no_such_thing

    @compiled()
    def kernel(x):
        return broken(x)

    with pytest.raises(numba.TypingError):
        kernel(2)
    assert compiled()(lambda x: x + 5)(1) == 6


def test_a_plain_array_is_not_copied():
    array = np.zeros((2, 3))
    assert plain(array) is array


@pytest.mark.parametrize("change", [lambda a: a.T, lambda a: a[:, ::2], lambda a: np.broadcast_to(a[:1], a.shape)])
def test_any_other_array_becomes_plain(change):
    array = change(np.arange(6.0).reshape(2, 3))
    assert plain(array).flags.c_contiguous
    assert plain(array).flags.writeable
    np.testing.assert_array_equal(plain(array), array)


def test_the_time_spent_compiling_is_known_and_does_not_grow_without_compiling(tmp_path):
    script = tmp_path / "first_call.py"
    script.write_text(
        "import labelproof as lp\n"
        "from labelproof.foundation.compilation import seconds_of_compilation\n"
        "for _ in range(3):\n"
        "    print(seconds_of_compilation())\n"
        "    lp.verify([[1.0], [-1.0]], [[0], [0, 1]], n_jobs=1)\n"
    )
    done = run(script, os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "empty")})
    first, second, third = map(float, done.stdout.split())
    assert first == 0.0
    assert second > 0.0
    assert third == second
