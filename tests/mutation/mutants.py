"""All mutants of a module: where they are, which lines they change, and how they take the place of the live code."""

import ast
import copy
import hashlib
import importlib
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from edits import Edit, edits_of, edits_of_expression

__all__ = ["Mutant", "mutants_of"]


@dataclass(frozen=True)
class Mutant:
    """A function, a field's default or an assignment of a module, with one change.

    ``lines`` are those whose execution can show the change; None if any test may.
    """

    module: str
    path: tuple[str, ...]
    node: ast.stmt
    edit: Edit
    name: str
    lines: range | None

    @property
    def key(self) -> str:
        """A hash of the code and the change."""
        return hashlib.sha256(f"{ast.dump(self.node)}\n{self.name}".encode()).hexdigest()[:16]

    def apply(self) -> None:
        """Change the imported module for good: this process is lost for other mutants."""
        module = importlib.import_module(self.module)
        with self.edit.applied():
            changed = copy.deepcopy(self.node)
        if isinstance(changed, ast.FunctionDef):
            _replace_function(module, self.path, changed)
        elif len(self.path) > 1:
            _replace_default(module, self.path, changed)
        else:
            _replace_globals(module, changed)


def mutants_of(module: str) -> Iterator[Mutant]:
    """Yield the mutants of a module by their place in it."""
    path = importlib.import_module(module).__file__
    assert path is not None
    names: Counter[str] = Counter()
    for where, node in _places(ast.parse(Path(path).read_text()).body, ()):
        edits = edits_of(node) if isinstance(node, ast.FunctionDef) else edits_of_expression(node)
        for edit in edits:
            name = f"{module.rpartition('.')[2]}.{'.'.join(where)} | {edit.text()}"
            names[name] += 1
            if names[name] > 1:
                name += f" ({names[name]})"
            yield Mutant(module, where, node, edit, name, _lines(node, edit))


def _places(body: list[ast.stmt], outer: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for node in body:
        match node:
            case ast.ClassDef():
                yield from _places(node.body, (*outer, node.name))
            case ast.FunctionDef(name=name) if "overload" not in map(ast.unparse, node.decorator_list):
                yield (*outer, name), node
            case ast.AnnAssign(target=ast.Name(id=name), value=value) if outer and isinstance(value, ast.Constant):
                yield (*outer, name), node
            case ast.Assign(targets=[target]) | ast.AugAssign(target=target) if not outer and _has_numbers(node):
                yield (ast.unparse(target),), node


def _has_numbers(node: ast.stmt) -> bool:
    """Whether an assignment is more than a list of names or a name for a type."""
    return any(isinstance(c, ast.Constant) and isinstance(c.value, int | float) for c in ast.walk(node))


def _lines(node: ast.stmt, edit: Edit) -> range | None:
    if not isinstance(node, ast.FunctionDef):
        return None
    statement = edit.statement
    if isinstance(statement, ast.FunctionDef):  # a default
        return range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1)
    last: int = statement.end_lineno or statement.lineno  # type: ignore[attr-defined]
    blocks = [block[0].lineno for name in ("body", "orelse") if (block := getattr(statement, name, None))]
    return range(statement.lineno, max(statement.lineno + 1, min([last + 1, *blocks])))  # type: ignore[attr-defined]


def _replace_function(module: ModuleType, path: tuple[str, ...], node: ast.FunctionDef) -> None:
    node.decorator_list = []
    made: dict[str, Any] = {}
    tree = ast.fix_missing_locations(ast.Module([node], []))
    exec(compile(tree, module.__file__ or "", "exec"), module.__dict__, made)  # noqa: S102 - our own code, changed
    function, new = _plain(_find(module, path)), made[node.name]
    function.__code__, function.__defaults__ = new.__code__, new.__defaults__
    function.__kwdefaults__ = new.__kwdefaults__


def _find(module: ModuleType, path: tuple[str, ...]) -> Any:
    found: Any = module
    for name in path:
        found = vars(found)[name]
    return found


def _plain(found: Any) -> FunctionType:
    """Return the function inside a property, a cached property or a context manager."""
    for name in ("fget", "func", "__func__", "__wrapped__"):
        found = getattr(found, name, None) or found
    assert isinstance(found, FunctionType), found
    return found


def _replace_default(module: ModuleType, path: tuple[str, ...], node: ast.stmt) -> None:
    assert isinstance(node, ast.AnnAssign)
    assert node.value is not None
    cls, name = _find(module, path[:-1]), path[-1]
    value = ast.literal_eval(node.value)
    init = cls.__init__
    with_default = [f for f in cls.__dataclass_fields__ if _has_default(cls, f)]
    defaults = list(init.__defaults__)
    defaults[with_default.index(name)] = value
    init.__defaults__ = tuple(defaults)
    setattr(cls, name, value)


def _has_default(cls: type, name: str) -> bool:
    fields: dict[str, Any] = cls.__dataclass_fields__  # type: ignore[attr-defined]
    return type(fields[name].default).__name__ != "_MISSING_TYPE"


def _replace_globals(module: ModuleType, node: ast.stmt) -> None:
    """Give the changed names their new values wherever the package has imported them."""
    before = dict(vars(module))
    tree = ast.fix_missing_locations(ast.Module([node], []))
    exec(compile(tree, module.__file__ or "", "exec"), module.__dict__)  # noqa: S102 - our own code, changed
    package = module.__name__.partition(".")[0]
    for other in [m for name, m in sys.modules.items() if name.partition(".")[0] == package]:
        for name, value in before.items():
            if vars(other).get(name) is value and vars(module)[name] is not value:
                setattr(other, name, vars(module)[name])
