"""The page that says what has to be believed: short, and true where it can be run."""

import doctest
from pathlib import Path

import labelproof

PAGE = Path(labelproof.__file__).parent / "proof" / "README.md"


def test_the_page_has_at_most_eighty_lines():
    assert len(PAGE.read_text(encoding="utf-8").splitlines()) <= 80


def test_the_certificate_by_hand_is_what_the_library_gives():
    text = PAGE.read_text(encoding="utf-8").replace("```", "")
    outcome = doctest.DocTestRunner().run(doctest.DocTestParser().get_doctest(text, {}, "README", str(PAGE), 0))
    assert outcome.attempted >= 4
    assert outcome.failed == 0


def test_every_file_of_the_core_is_named_on_the_page():
    text = PAGE.read_text(encoding="utf-8")
    assert not [path.name for path in PAGE.parent.glob("[!_]*.py") if f"`{path.name}`" not in text]
