"""The pages of the reference: every public name with its signature, shapes and examples, from its docstring.

Docstrings are read from the running objects, since several families fill in what their members share.
"""

import inspect
import re
from functools import cache
from importlib import import_module
from types import FunctionType
from typing import Any

import labelproof
from website.docstrings import as_markdown

__all__ = ["PAGES", "public_names", "reference_pages"]

# What a page is called, what one finds there, and the packages whose public names it has.
PAGES = {
    "verify": ("Verify and explain", "Which label sets an output layer can predict, with proofs.", ()),
    "audit": ("Audit", "A trained model and its data; output layers read from other tools' files.", ("importers",)),
    "heads": ("Heads", "Output layers for torch, with and without a guarantee.", ("heads",)),
    "activations": ("Activations and attention", "Sparsemax, entmax, and attention with them.", ("activations",)),
    "losses": ("Losses", "Losses for multi-label training, as torch modules.", ("losses",)),
    "functional": ("Losses as functions", "The same losses as functions of tensors.", ("functional",)),
    "decisions": ("Decision rules", "From scores to label sets: thresholds, top k, calibration.", ("decisions",)),
    "metrics": ("Metrics", "Metrics with stated definitions, for dense and sparse arrays.", ("metrics",)),
    "data": ("Data", "Reading, splitting and describing data sets.", ("data",)),
    "encoders": ("Encoders", "From texts, images or columns to features.", ("encoders",)),
    "models": ("Models", "The scikit-learn estimator, and models in folders.", ("models",)),
    "training": ("Training", "Training by a configuration, sweeps, metrics for Lightning.", ("training",)),
    "pictures": ("Pictures", "Drawings of regions, label sets and attention.", ("pictures",)),
    "errors": ("Errors", "What is raised when a file, a proof or an installation is at fault.", ()),
}
HOMES = {"auditing": "audit"}  # of names of the package itself, where the page is not called as their room
HIDDEN = {"extra_repr"}  # methods that only other tools call


@cache
def all_pages() -> dict[str, tuple[str, str, tuple[str, ...]]]:
    """Return the pages, with one more for each public package that none of them has, if what it needs is installed."""
    pages: dict[str, tuple[str, str, tuple[str, ...]]] = dict(PAGES)
    for room in sorted(labelproof._ROOMS - {room for _, _, rooms in PAGES.values() for room in rooms}):
        try:
            package = import_module(f"labelproof.{room}")
            for name in package.__all__:
                getattr(package, name)
        except ImportError:
            continue
        pages[room] = (room.capitalize(), (package.__doc__ or "").split("\n")[0], (room,))
    return pages


@cache
def public_names() -> dict[str, dict[str, Any]]:
    """Return the objects of every page by the name that a user types, each object once."""
    pages: dict[str, dict[str, Any]] = {page: {} for page in all_pages()}
    for name, module in sorted(labelproof._HOME.items(), key=lambda pair: pair[0].lower()):
        room = module.split(".")[1]
        pages[HOMES.get(room, room if room in pages else "verify")][f"lp.{name}"] = getattr(labelproof, name)
    for page, (_, _, rooms) in all_pages().items():
        for room in rooms:
            package = import_module(f"labelproof.{room}")
            known = {id(thing) for thing in pages[page].values()}
            new = {f"lp.{room}.{name}": getattr(package, name) for name in package.__all__}
            pages[page] |= {name: thing for name, thing in new.items() if id(thing) not in known}
    return pages


@cache
def reference_pages() -> dict[str, str]:
    """Return the text of every page of the reference, by its place in the site."""
    rows = [f"| [{title}]({page}.md) | {meaning} |" for page, (title, meaning, _) in all_pages().items()]
    index = [
        "# Reference",
        "",
        "`import labelproof as lp` is assumed throughout.",
        "",
        "| page | what it has |",
        "|---|---|",
        *rows,
        "",
    ]
    pages = {"reference/index.md": "\n".join(index)}
    for page, things in public_names().items():
        title, meaning, _ = all_pages()[page]
        parts = [f"# {title}\n\n{meaning}", *(_entry(name, thing) for name, thing in things.items())]
        pages[f"reference/{page}.md"] = _linked("\n\n".join(parts) + "\n")
    return pages


def _linked(text: str) -> str:
    """Turn public names that are written as code in a sentence, such as `verify`, into links to their entries."""
    places = {
        name.split(".")[-1]: f"{page}.md#{name.replace('.', '').lower()}"
        for page, things in reversed(public_names().items())
        for name in things
    }

    def link(code: re.Match[str]) -> str:
        place = places.get(code[1])
        return f"[`{code[1]}`]({place})" if place else code[0]

    return re.sub(r"(?<![`\[])`(\w+)`(?!`)(?! \()(?!:)", link, text)


def _entry(name: str, thing: Any) -> str:
    if isinstance(thing, dict):
        return f"## {name}\n\nA dictionary with the keys {', '.join(f'`{key}`' for key in thing)}."
    if not callable(thing):
        return f"## {name}\n\nA `{type(thing).__name__}`."
    parts = [f"## {name}", _signature(name, thing), as_markdown(inspect.getdoc(thing) or "")]
    if inspect.isclass(thing):
        parts += [_member(key, thing) for key in _members(thing)]
    return "\n\n".join(part for part in parts if part)


def _members(owner: type) -> list[str]:
    """Return the public methods and properties that some class of ours defines and documents."""
    found: dict[str, None] = {}
    for base in owner.__mro__:
        if base.__module__.startswith("labelproof"):
            found |= {
                key: None
                for key, value in vars(base).items()
                if key not in HIDDEN
                and not key.startswith("_")
                and isinstance(value, FunctionType | property | classmethod | staticmethod)
                if inspect.getdoc(value if isinstance(value, property | FunctionType) else value.__func__)
            }
    return list(found)


def _member(name: str, owner: type) -> str:
    thing = inspect.getattr_static(owner, name)
    if isinstance(thing, property):
        return f"### {name} {{ .member }}\n\n{as_markdown(inspect.getdoc(thing) or '')}"
    bound = getattr(owner, name)
    drop_self = isinstance(thing, FunctionType)
    parts = [
        f"### {name}() {{ .member }}",
        _signature(name, bound, drop_self),
        as_markdown(inspect.getdoc(bound) or ""),
    ]
    return "\n\n".join(parts)


def _signature(name: str, thing: Any, drop_self: bool = False) -> str:
    if inspect.isclass(thing) and issubclass(thing, Exception):
        return ""
    try:
        signature = inspect.signature(thing)
    except ValueError:
        return ""
    parameters = [value.replace(annotation=inspect.Parameter.empty) for value in signature.parameters.values()]
    shown = inspect.Signature(parameters[1:] if drop_self else parameters)
    line = f"{name}{shown}"
    if len(line) > 80:  # what a column of the site holds
        line = f"{name}(\n" + "".join(f"    {part},\n" for part in _words(shown)) + ")"
    return f"```python\n{line}\n```"


def _words(signature: inspect.Signature) -> list[str]:
    """Return the parameters as they are written, with the bare star and slash where they belong."""
    words: list[str] = []
    for value in signature.parameters.values():
        if value.kind is value.KEYWORD_ONLY and not any(word.startswith("*") for word in words):
            words.append("*")
        words.append(str(value))
    return words
