"""The reference has every public name, each with its parameters, shapes where it has arrays, and a running example."""

import importlib
import inspect
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(not (ROOT / "website").is_dir(), reason="the site is not in this distribution")


@pytest.fixture
def reference(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    from website import reference

    return reference


def documented(reference):
    """Every public function and class but for exceptions, whose docstrings say when they are raised."""
    for things in reference.public_names().values():
        for name, thing in things.items():
            if callable(thing) and not (inspect.isclass(thing) and issubclass(thing, Exception)):
                yield name, thing, thing.__doc__ or ""


def has_parameters(thing):
    try:
        return bool(set(inspect.signature(thing).parameters) - {"args", "kwargs"})
    except ValueError:
        return False


def named_parameters(thing):
    every = inspect.signature(thing).parameters.values()
    return [one.name for one in every if one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL) and one.name[0] != "_"]


def test_every_public_name_has_a_running_example(reference):
    assert [name for name, _, text in documented(reference) if ">>>" not in text] == []


@pytest.mark.parametrize("room", ["auditing", "comparison", "explorer", "pages", "report"])
def test_rooms_that_have_no_page_give_out_no_name_without_a_running_example(room):
    module = importlib.import_module(f"labelproof.{room}")
    things = {name: getattr(module, name) for name in module.__all__}
    assert [name for name, thing in things.items() if callable(thing) and ">>>" not in (thing.__doc__ or "")] == []


def test_every_public_name_explains_its_parameters_or_names_its_twin_that_does(reference):
    explained = re.compile(
        r"(Parameters|Attributes)\n\s+-{3,}|[Ss]ee `\w+` for\s+the|see there|options are (explained|those of)"
    )
    assert [n for n, thing, text in documented(reference) if has_parameters(thing) and not explained.search(text)] == []


def test_every_parameter_is_explained_or_left_to_a_twin_by_name(reference):
    by_twin = re.compile(r"[Ss]ee `\w+` for\s+the|which explains the other|see there|options are (explained|those of)")
    lacking = {
        name: words
        for name, thing, text in documented(reference)
        if has_parameters(thing) and not by_twin.search(text)
        if (words := [one for one in named_parameters(thing) if not re.search(rf"\b{one}\b", text)])
    }
    assert lacking == {}


def test_functions_of_arrays_state_shapes_or_name_their_twin_that_does(reference):
    shape = re.compile(r"\((\.\.\.|…|\w+), ?(\w+)?\)|[Aa]s (for|in|given to) `\w+`|options are (explained|those of)")
    of_arrays = {"labels", "y_true", "y_score", "y_pred", "weight", "logits", "features"}
    functions = [(name, thing, text) for name, thing, text in documented(reference) if inspect.isfunction(thing)]
    takes = [(name, text) for name, thing, text in functions if of_arrays & set(inspect.signature(thing).parameters)]
    takes = [(name, text) for name, text in takes if name != "lp.load_dataset"]  # there they are names of columns
    assert len(takes) > 40
    assert [name for name, text in takes if not shape.search(text)] == []


def test_every_public_name_is_on_a_page_once_and_links_lead_to_entries(reference):
    pages = reference.reference_pages()
    headings = {page: re.findall(r"^## (\S+)$", text, re.MULTILINE) for page, text in pages.items()}
    assert sorted(name for page in headings.values() for name in page) == sorted(
        name for things in reference.public_names().values() for name in things
    )
    for text in pages.values():
        for page, anchor in re.findall(r"\]\((\w+\.md)#([^)]+)\)", text):
            assert anchor in {name.replace(".", "").lower() for name in headings[f"reference/{page}"]}


def test_a_docstring_becomes_a_list_and_code(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    from website.docstrings import as_markdown

    text = "Add.\n\nParameters\n----------\na : int\n    One.\nb\n\nExamples\n--------\n>>> 1 + 1  # doctest: +SKIP\n2"
    expected = "Add.\n\n**Parameters**\n\n- `a` (int): One.\n- `b`\n\n**Examples**\n\n```pycon\n>>> 1 + 1\n2\n```"
    assert as_markdown(text) == expected
