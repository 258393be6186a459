"""The site turns links between files of the repository into links between its pages, and lists the pages there are."""

from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(not (ROOT / "website").is_dir(), reason="the site is not in this distribution")


@pytest.fixture
def hooks(monkeypatch):
    pytest.importorskip("mkdocs", reason="needs labelproof[docs]")
    monkeypatch.syspath_prepend(str(ROOT))
    from website import hooks

    return hooks


def turned(hooks, text, page="audit.md"):
    known = {
        *hooks.pages_from_elsewhere().values(),
        *(str(path.relative_to(ROOT / "docs")) for path in ROOT.glob("docs/*")),
    }
    there = SimpleNamespace(get_file_from_path=lambda place: place if place in known else None)
    return hooks.on_page_markdown(text, SimpleNamespace(file=SimpleNamespace(src_uri=page), meta={}), there)


@pytest.mark.parametrize(
    ("page", "text", "expected"),
    [
        ("audit.md", "[figures](../benchmarks/results/audit.md#x)", "[figures](performance/audit.md#x)"),
        ("tutorials/guarantee.md", "[a](../../benchmarks/results/fair.md)", "[a](../performance/fair.md)"),
        ("performance/fair.md", "![growth](fair.png)", "![growth](fair.png)"),
        ("performance/fair.md", "[audit](../../docs/audit.md)", "[audit](../audit.md)"),
        (
            "audit.md",
            "[stretch](stretch.md), [site](https://example.org/a)",
            "[stretch](stretch.md), [site](https://example.org/a)",
        ),
        ("architecture.md", "[a test](../tests/test_architecture.py)", "a test"),
        ("project/CONTRIBUTING.md", "[rooms](docs/architecture.md)", "[rooms](../architecture.md)"),
    ],
)
def test_links_lead_to_pages_of_the_site_and_code_is_named_only(page, text, expected, hooks):
    assert turned(hooks, text, page) == expected


@pytest.mark.parametrize(
    ("page", "text", "hidden"),
    [
        ("fair.md", "# One\n\n| a |\n", ["toc"]),
        ("fair.md", "# One\n\n## Two\n", None),
        ("why.md", "# One\n", ["navigation"]),
    ],
)
def test_a_page_without_sections_gives_the_place_of_its_contents_to_its_tables(page, text, hidden, hooks):
    shown = SimpleNamespace(file=SimpleNamespace(src_uri=page), meta={})
    hooks.on_page_markdown(text, shown, SimpleNamespace(get_file_from_path=lambda _: None))
    assert shown.meta.get("hide") == hidden


def test_the_navigation_has_the_pages_that_there_are_and_no_others(hooks):
    config = hooks.on_config(SimpleNamespace(nav=[{"Guide": [{"Gone": "no_such_page.md"}, "why.md"]}]))
    listed = set(hooks._pages(config.nav))
    assert "no_such_page.md" not in listed
    assert {path.name for path in (ROOT / "docs").glob("*.md")} == listed


def test_every_page_of_measurements_is_listed_once(hooks):
    listed = list(hooks._pages(hooks._performance()))
    assert len(listed) == len(set(listed))
    assert {f"performance/{path.name}" for path in (ROOT / "benchmarks" / "results").glob("*.md")} < set(listed)
