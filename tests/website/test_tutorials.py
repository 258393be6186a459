"""The tutorials run as printed, and print what their pages show."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TUTORIALS = ROOT / "docs" / "tutorials"
pytestmark = pytest.mark.skipif(not TUTORIALS.is_dir(), reason="the documentation is not in this distribution")


@pytest.fixture
def tutorials(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    from website import tutorials

    return tutorials


OF_SECONDS = ("best_model", "continuous_integration", "vocabulary_and_index")


def each_tutorial():
    for path in sorted(TUTORIALS.glob("*.md")):
        if path.stem != "cluster":  # which is in test_ray.py
            yield pytest.param(path.stem, marks=() if path.stem in OF_SECONDS else pytest.mark.slow)


@pytest.mark.parametrize("name", list(each_tutorial()))
def test_a_tutorial_prints_what_its_page_shows(name, tutorials, tmp_path):
    page = (TUTORIALS / f"{name}.md").read_text(encoding="utf-8")
    assert list(tutorials.mismatches(page, tmp_path)) == []


def test_what_a_page_does_not_show_as_it_is_printed_is_told(tutorials, tmp_path):
    blocks = "```python\nprint(1)\n```\n\nwords\n\n```python\nprint('a\\nc')\n```\n\n{}```text\nb\nc\n```\n"
    assert list(tutorials.mismatches(blocks.format(""), tmp_path)) == [
        "line 1: printed 1\n",
        "line 7: expected\nb\nc\n\ngot\na\nc\n",
    ]
    assert len(list(tutorials.mismatches(blocks.format("<!-- varies -->\n\n"), tmp_path))) == 1


def test_another_word_and_a_far_number_are_noticed_and_a_near_one_is_not(tutorials):
    assert tutorials.differences("F1 0.95 of 1,000", "F1  0.93 of 1,040") is None
    assert "expected about 1,000, got 2,000" in tutorials.differences("F1 0.95 of 1,000", "F1 0.95 of 2,000")
    assert "expected\nF1" in tutorials.differences("F1 0.95", "F2: 0.95")
    assert tutorials.differences("any\nF1 0.95", "other\nF1 0.2", words_of_last_line=True) is None
    assert "PASS" in tutorials.differences("any\nPASS", "any\nFAIL", words_of_last_line=True)


def test_a_command_that_fails_without_a_word_fails_the_tutorial(tutorials, tmp_path):
    with pytest.raises(RuntimeError, match="ended with 2"):
        list(tutorials.run("```console\n$ labelproof verify nothing.npz\n```\n", tmp_path))


def test_only_a_block_right_after_the_code_is_its_output(tutorials):
    page = "```python\na\n```\n\n```text\n1\n```\n\n```python\nb\n```\n\nwords\n\n```text\n2\n```\n"
    page += "\n```python\nc\n```\n\n<!-- varies -->\n\n```text\n3\n```\n"
    found = [(step.shown, step.varies) for step in tutorials.steps(page)]
    assert found == [("1\n", False), (None, False), ("3\n", True)]
