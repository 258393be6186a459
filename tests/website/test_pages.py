"""Links of the documentation lead somewhere, and what pages call by name is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(not (ROOT / "docs").is_dir(), reason="the documentation is not in this distribution")
LINK = re.compile(r"\]\(([^)\s#]*)(#[^)\s]*)?\)")
PAGES = [
    path.relative_to(ROOT)
    for pattern in ("*.md", "docs/**/*.md", "benchmarks/results/*.md", "src/labelproof/**/*.md")
    for path in sorted(ROOT.glob(pattern))
]


def anchors(page):
    """Return the anchors of a page's headings, as GitHub and the site both make them."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```", "", page, flags=re.MULTILINE | re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_every_link_of_a_page_leads_to_a_file_and_a_heading(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for target, anchor in LINK.findall(re.sub(r"^```.*?^```|`[^`\n]+`", "", text, flags=re.MULTILINE | re.DOTALL)):
        if re.match(r"[a-z]+:", target):
            continue
        there = (ROOT / page).parent / target if target else ROOT / page
        assert there.exists(), f"{page}: {target}"
        if anchor and there.suffix == ".md":
            assert anchor[1:] in anchors(there.read_text(encoding="utf-8")), f"{page}: {target}{anchor}"


def test_no_page_loads_anything_from_elsewhere():
    for page in PAGES:
        text = (ROOT / page).read_text(encoding="utf-8")
        assert not re.search(r"!\[[^\]]*\]\(https?:|<(script|link|iframe|img)[^>]+https?:", text), page
