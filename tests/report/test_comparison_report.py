"""The report of several models: a headline and a figure first, tables, and every audit folded."""

import copy

import pytest
from audit_documents import make_document, make_group, renamed
from axe_playwright_python.sync_playwright import Axe
from reading_pages import Page
from test_report import HOSTILE

from labelproof.report import Difference, Opening, Table, render_report, write_report

TABLE = Table("Scores", ("model", "micro-F1", HOSTILE[1]), (("first", 0.61, "x"), (HOSTILE[0], 0.62, "y")))
GAINED = (Difference(("dog", HOSTILE[1]), 3, (0, 1)), Difference((), 1, (0, -1)))
POINTS = ("A first thing to know.", "A second one.")


def called(document, model):
    document = copy.deepcopy(document)
    document["layer"]["model"], document["explained"] = model, []
    return document


@pytest.fixture(scope="module")
def folder(small, wide, tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    five = [called(one, name) for one, name in zip([small, wide, small, small, small], "abcde", strict=True)]
    opening = Opening("The finding.", tuple(f"what {name} is" for name in "abcde"), POINTS)
    write_report(folder / "five.html", five, opening=opening, tables=[TABLE])
    write_report(folder / "named.html", five[:2], opening=Opening("The finding.", ("what", "who"), gained=GAINED))
    bad = [renamed(called(one, name), HOSTILE) for one, name in zip([small, wide], HOSTILE, strict=False)]
    write_report(folder / "hostile.html", bad, tables=[TABLE], title=HOSTILE[0])
    return folder


def of_verdicts(model, can, cannot, undecided=0):
    status = [1] * can + [0] * cannot + [-1] * undecided
    sets = [[i] for i in range(len(status))]
    group = make_group("data", "Label sets of the data", sets, [1] * len(sets), status)
    return make_document(model, [f"n{i}" for i in range(len(sets))], 2, [group])


@pytest.mark.parametrize(
    ("verdicts", "headline"),
    [
        ([(3, 1), (4, 0)], "a can never predict 1 of 4 label sets (25.0 %); b can predict all."),
        ([(4, 0), (4, 0)], "All 2 models can predict every label set of their data."),
        ([(3, 0, 1), (4, 0)], "No label set was proven to be out of any model’s reach."),
        ([(3, 1), (1, 3)], "b can never predict 3 of 4 label sets (75.0 %), a 1 of 4."),
        ([(3, 1), (3, 1)], "a can never predict 1 of 4 label sets (25.0 %); none of the others does better."),
        ([(4, 0), (2, 2), (4, 0), (4, 0), (4, 0)], "b can never predict 2 of 4 label sets (50.0 %); a, c and 2 others"),
    ],
)
def test_the_headline_says_who_loses_the_most_and_who_nothing(verdicts, headline):
    documents = [of_verdicts(name, *counts) for name, counts in zip("abcde", verdicts, strict=False)]
    assert headline in Page(render_report(documents)).text


def all_possible(document, model, beyond):
    """Return the audit of a wide model, with so many examples beyond its bar."""
    document = called(document, model)
    data = document["groups"][0]
    data["argmaxable"], data["unargmaxable"], data["undecided"] = len(data["labels"]), 0, 0
    data["status"] = [1] * len(data["labels"])
    document["stretch"] |= {"beyond_examples": beyond, "all_examples": 100}
    return document


@pytest.mark.parametrize(
    ("beyond", "headline"),
    [
        ((30, 20), "30.0 % of the examples have label sets beyond the bar of a, 20.0 % beyond that of b."),
        ((7, 7), "7.0 % of the examples have label sets beyond the bar of a, and as many beyond that of the other."),
    ],
)
def test_wide_models_are_compared_by_their_bars(wide, beyond, headline):
    documents = [all_possible(wide, name, count) for name, count in zip("ab", beyond, strict=True)]
    text = Page(render_report(documents)).text
    assert headline in text
    assert "Examples whose label sets lie within each model’s bar" in text
    assert f"{100 - beyond[0]} of 100" in text
    narrow = [documents[0], of_verdicts("c", 3, 1)]
    assert "Label combinations of the data that each model can predict" in Page(render_report(narrow)).text


def test_label_sets_that_stand_for_the_finding_are_named(small):
    documents = [called(small, "narrow"), called(small, "wide")]
    page = Page(render_report(documents, opening=Opening("x", ("y", "z"), gained=GAINED)))
    assert "Exactly these labels and no others" in page.text
    assert "3nevercan predict it" in page.text
    assert "the empty set1neverundecided" in page.text
    plain = Page(render_report(documents, opening=Opening("x", ("y", "z"))))
    assert "Exactly these labels and no others" not in plain.text


def test_an_opening_needs_a_caption_for_each_model(small):
    with pytest.raises(ValueError, match="opening must have 2 captions, one an audit, got 1"):
        render_report([small, small], opening=Opening("x", ("y",)))


def test_where_they_differ_is_by_count_only_where_counts_differ():
    status = [[1] * 20, [0] * 20]
    sets, names = [[i] for i in range(20)], [f"n{i}" for i in range(20)]
    for counts, words in (([1] * 20, "these are 12 of them"), (range(20), "these are the 12 most frequent")):
        groups = [make_group("data", "t", sets, list(counts), one) for one in status]
        documents = [make_document(model, names, 2, [group]) for model, group in zip("ab", groups, strict=True)]
        assert words in Page(render_report(documents)).text


@pytest.mark.parametrize(("width", "height"), [(1280, 900), (390, 844)])
def test_headline_figure_and_points_come_within_three_screens_before_the_tables(visit, width, height):
    with visit("five.html", viewport={"width": width, "height": height}) as page:
        assert page.locator(".headline").inner_text() == "The finding."
        figure = page.locator("figure.contest").bounding_box()
        assert figure["y"] < height / 2
        assert page.locator("table").first.bounding_box()["y"] < 3 * height
        assert page.locator(".contest li").count() == 5
        assert page.evaluate("document.documentElement.scrollHeight") < 10 * height


@pytest.mark.parametrize("name", ["five.html", "named.html", "hostile.html"])
def test_nothing_is_cut_on_a_phone_and_rows_are_stacked(visit, name):
    with visit(name, viewport={"width": 390, "height": 844}) as page:
        page.locator("details.audit").evaluate_all("all => all.forEach(one => { one.open = true; })")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        cut = "[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth + 1)"
        assert page.evaluate(f"{cut}.map(e => e.outerHTML.slice(0, 200))") == []
        assert page.locator("table.stack thead").first.is_hidden()


def test_a_link_unfolds_the_audit_of_its_model(visit):
    with visit("five.html") as page:
        second = page.locator("details.audit").nth(1)
        assert not second.evaluate("one => one.open")
        page.locator(".contest a").nth(1).click()
        page.wait_for_function("document.querySelectorAll('details.audit')[1].open")
        assert page.locator("#audit2 .figures").is_visible()


def test_folded_audits_are_printed_and_folded_again(visit):
    with visit("five.html") as page:
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert page.locator("details.audit[open]").count() == 5
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert page.locator("details.audit[open]").count() == 0


@pytest.mark.parametrize("options", [{"color_scheme": "dark"}, {"viewport": {"width": 390, "height": 800}}])
@pytest.mark.parametrize("name", ["five.html", "named.html"])
def test_axe_finds_nothing(visit, name, options):
    with visit(name, **options) as page:
        found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
        assert [(one["id"], one["impact"], one["nodes"][0]["html"][:200]) for one in found] == []
