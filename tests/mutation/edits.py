"""Small changes to the syntax tree of a function, each of which could be a mistake of ours.

Messages are left alone: string constants, formatted strings and whatever is raised. So are types, decorators,
``strict=True`` (an assertion in itself), the axes of arrays (another one has another shape) and which floating-point
warnings are silent.
"""

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

__all__ = ["Edit", "edits_of", "edits_of_expression"]

COMPARISONS = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
ARITHMETIC = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
PAIRS = [("all", "any"), ("min", "max"), ("minimum", "maximum"), ("zeros", "ones"), ("floor", "ceil")]
NAMES = dict(PAIRS) | {b: a for a, b in PAIRS}
LEFT_ALONE = {"strict", "axis"}
UNWRAPPED = {"abs", "sign", "sort", "sorted", "ceil", "floor"}


@dataclass(frozen=True)
class Edit:
    """One change: a field of a node, or a place in a list that is one, gets another value."""

    parent: ast.AST
    field: str
    place: int | None
    new: ast.AST | None
    statement: ast.AST
    word: str = ""

    @property
    def old(self) -> ast.AST:
        """What the change replaces."""
        value = getattr(self.parent, self.field)
        return value if self.place is None else value[self.place]

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Change the tree for a while."""
        before = self.old
        self._put(self.new)
        try:
            yield
        finally:
            self._put(before)

    def _put(self, node: ast.AST | None) -> None:
        if self.place is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.place] = node

    def text(self) -> str:
        """Return the changed statement on one line, without the block below it."""
        if self.word:
            return f"{self.word}: {_header(self.statement)}"
        with self.applied():
            return _header(self.statement)


def _header(statement: ast.AST) -> str:
    lines = ast.unparse(ast.fix_missing_locations(statement)).splitlines()
    return lines[0] if isinstance(statement, ast.If | ast.For | ast.With | ast.FunctionDef) else " ".join(lines)


def edits_of(function: ast.FunctionDef) -> Iterator[Edit]:
    """Yield every change to the body and the defaults of a function."""
    signature = ast.FunctionDef(function.name, function.args, [ast.Pass()], [], lineno=0)
    for field in ("defaults", "kw_defaults"):
        for place, default in enumerate(getattr(function.args, field)):
            if default is not None:
                yield from _expression(function.args, field, place, signature)
    yield from _block(function, "body", function)


def edits_of_expression(statement: ast.Assign | ast.AnnAssign | ast.AugAssign) -> Iterator[Edit]:
    """Yield every change to the value of an assignment at the top of a module or class."""
    yield from _expression(statement, "value", None, statement)


def _block(owner: ast.AST, field: str, function: ast.FunctionDef) -> Iterator[Edit]:
    for place, statement in enumerate(getattr(owner, field)):
        yield from _statement(owner, field, place, statement, function)


def _statement(owner: ast.AST, field: str, place: int, node: ast.stmt, function: ast.FunctionDef) -> Iterator[Edit]:
    match node:
        case ast.Raise() | ast.Import() | ast.ImportFrom() | ast.Pass() | ast.Expr(value=ast.Constant()):
            return
        case ast.FunctionDef():
            yield from edits_of(node)
            return
        case ast.If():
            for value in (True, False):
                word = f"always {value}"
                yield Edit(node, "test", None, ast.Constant(value), node, word)
        case ast.Return(value=value) if value is not None and not _is_none(value):
            results = [True, False] if _is_bool(function.returns) else [None]
            results = [r for r in results if not (isinstance(value, ast.Constant) and value.value is r)]
            yield from (Edit(node, "value", None, ast.Constant(r), node, f"returns {r}") for r in results)
        case ast.Continue():
            yield Edit(owner, field, place, ast.Break(), node, "break")
        case ast.AugAssign(op=op) if type(op) in ARITHMETIC:
            yield Edit(node, "op", None, ARITHMETIC[type(op)](), node)
    if _can_be_deleted(node):
        yield Edit(owner, field, place, ast.Pass(), node, "deleted")
    for name, value in ast.iter_fields(node):
        if name in ("body", "orelse", "finalbody", "handlers"):
            for inner in value if name == "handlers" else [node]:
                yield from _block(inner, "body" if name == "handlers" else name, function)
        elif not (name in ("targets", "target", "annotation") or _silences(node, name)):
            yield from _inside(node, name, value, node)
    for target in getattr(node, "targets", []):
        if isinstance(target, ast.Subscript):
            yield from _inside(target, "slice", target.slice, node)


def _can_be_deleted(node: ast.stmt) -> bool:
    if isinstance(node, ast.AugAssign):
        return True
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Call)
    if not isinstance(node, ast.Assign):
        return False
    read = {name.id for name in ast.walk(node.value) if isinstance(name, ast.Name)}
    return all(not isinstance(t, ast.Name) or t.id in read for t in node.targets)


def _silences(node: ast.AST, field: str) -> bool:
    return isinstance(node, ast.With) and field == "items" and "errstate" in ast.unparse(node.items[0])


def _inside(parent: ast.AST, field: str, value: object, statement: ast.AST) -> Iterator[Edit]:
    if isinstance(value, ast.AST):
        yield from _expression(parent, field, None, statement)
    elif isinstance(value, list):
        for place, item in enumerate(value):
            if isinstance(item, ast.AST):
                yield from _expression(parent, field, place, statement)


def _expression(parent: ast.AST, field: str, place: int | None, statement: ast.AST) -> Iterator[Edit]:
    value = getattr(parent, field)
    node = value if place is None else value[place]
    if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.keyword) and node.arg in LEFT_ALONE):
        return
    for new in _variants(node):
        if not (_sets_sign(parent, field) and isinstance(new, ast.Constant) and new.value < 0):
            yield Edit(parent, field, place, new, statement)
    if isinstance(node, ast.comprehension):
        for i in range(len(node.ifs)):
            yield Edit(node, "ifs", i, ast.Constant(True), statement)
    if isinstance(node, ast.Compare):
        for i, op in enumerate(node.ops):
            yield from (Edit(node, "ops", i, other(), statement) for other in COMPARISONS[type(op)])
    for name, inner in ast.iter_fields(node):
        yield from _inside(node, name, inner, statement)


def _sets_sign(parent: ast.AST, field: str) -> bool:
    """Whether a sign has its own edit, or none since it is the base of an even power."""
    op = getattr(parent, "op", None)
    return isinstance(op, ast.USub) or (isinstance(op, ast.Pow) and field == "left")


def _variants(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield from (ast.Constant(value + 1), ast.Constant(value - 1))
        case ast.Constant(value=float(value)):
            yield from map(ast.Constant, _other_floats(value))
        case ast.BoolOp(op=op, values=values):
            yield ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
            for i in range(len(values)):
                rest = values[:i] + values[i + 1 :]
                yield ast.BoolOp(op, rest) if len(rest) > 1 else rest[0]
        case ast.UnaryOp(operand=operand):
            yield operand
        case ast.BinOp(left=left, op=op, right=right):
            yield left
            yield right
            if type(op) in ARITHMETIC:
                yield ast.BinOp(left, ARITHMETIC[type(op)](), right)
        case ast.IfExp(body=body, orelse=orelse):
            yield from (body, orelse)
        case ast.Attribute(attr="inf"):
            yield ast.UnaryOp(ast.USub(), node)
        case ast.Attribute(attr="nan"):
            yield ast.Constant(0.0)
        case ast.Call(func=func, args=args, keywords=keywords):
            name = getattr(func, "attr", getattr(func, "id", ""))
            if name in NAMES and isinstance(func, ast.Attribute):
                yield ast.Call(ast.Attribute(func.value, NAMES[name], ast.Load()), args, keywords)
            elif name in NAMES:
                yield ast.Call(ast.Name(NAMES[name], ast.Load()), args, keywords)
            if name in UNWRAPPED and len(args) == 1:
                yield args[0]
        case ast.Slice(lower=lower, upper=upper, step=step):
            yield from (ast.Slice(other, upper, step) for other in _beside(lower, 1))
            yield from (ast.Slice(lower, other, step) for other in _beside(upper, -1))


def _other_floats(value: float) -> list[float]:
    if value == 0:
        return [1.0, -1.0]
    return [value / 2, value * 1e10, -value] + ([1.0] if 1 < value < 1.1 else [])


def _beside(bound: ast.expr | None, step: int) -> Iterator[ast.expr]:
    if bound is None:
        yield ast.Constant(step)
    elif not isinstance(bound, ast.Constant):
        yield ast.BinOp(bound, ast.Add(), ast.Constant(1))
        yield ast.BinOp(bound, ast.Sub(), ast.Constant(1))


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_bool(returns: ast.expr | None) -> bool:
    return isinstance(returns, ast.Name) and returns.id == "bool"
