"""The report of a wide model: the stretch first, examples by name, pairs, dead labels; and what was not tested."""

import copy
import re
from html import unescape
from itertools import pairwise

import pytest
from audit_documents import renamed, stretched
from axe_playwright_python.sync_playwright import Axe
from reading_pages import Page
from test_report import HOSTILE

from labelproof.report import render_report, write_report
from labelproof.report.stretch_picture import stretch_histogram
from labelproof.report.summary import size_rows

LONG = ["W" * 300, "one_name_without_any_place_to_break_it_" * 8]


@pytest.fixture(scope="module")
def page(wide):
    return Page(render_report([wide]))


@pytest.fixture(scope="module")
def folder(wide, not_tested, tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    write_report(folder / "wide.html", [wide])
    write_report(folder / "untested.html", [not_tested])
    write_report(folder / "hostile.html", [hostile(wide)])
    return folder


def hostile(document):
    document = renamed(document, HOSTILE + LONG)
    facts = document["stretch"]
    for one in facts["instructive"]:
        one["text"] = HOSTILE[0]
    facts["instructive"][0]["predicted"] = [0, 1, 6]
    facts["pairs"] = [{**pair, "labels": [k % 14, k % 14 + 1]} for k, pair in enumerate(facts["pairs"])]
    facts["dead"][0] = {"label": 1, "examples": 3, "reason": HOSTILE[2]}
    facts["source"] = facts["held_out"] = facts["bar"]["statement"] = facts["bar"]["assumption"] = HOSTILE[3]
    document["outside"]["unknown"][0]["name"] = HOSTILE[0]
    document["outside"]["frequent"][0] = [HOSTILE[1]]
    document["not_tested"] = [{"what": HOSTILE[0], "command": HOSTILE[6]}]
    return document


# What it says


def test_the_finding_is_the_headline_and_the_rest_stands_below(wide, page):
    first, rest = wide["headline"].split(". ", 1)
    html = render_report([wide])
    assert re.search(r'<p class="headline"><bdi>(.*?)</bdi>', html)[1].replace("&#39;", "'") == first + "."
    assert rest in page.text
    assert page.text.index(rest) < page.text.index("The bar is from what the model predicts for 1,500 held-out inputs")


def test_the_figure_is_the_stretch_with_the_bar(wide, page):
    assert ("svg", "bar 1.50") in [("svg", text) for text in page.texts]
    facts = wide["stretch"]
    assert f"Orange: {facts['beyond_examples']:,} examples beyond it." in page.text
    assert "≤ 1 %" in page.text
    assert (
        f"of them were predicted exactly, among {facts['predicted']:,} inputs not marked as training data" in page.text
    )


def test_examples_pairs_and_dead_labels_are_called_by_name(wide, page):
    names, facts = wide["label_names"], wide["stretch"]
    assert "A note on a patient, in a few words …" in page.text
    assert "The model predicts no label" in page.text
    assert f"{names[0]} , {names[1]}".replace(" ,", ",") in page.text
    assert "Of 400 pairs of labels that occur together in the data, 210 are switched on together by no" in page.text
    assert "these are the 24 most frequent" in page.text
    assert "3 labels of 60 are predicted for none of 6,000 inputs, though examples have 2 of them" in page.text
    assert "off at every mixture of the inputs" in page.text
    assert "zoster (3 examples)" in page.text
    assert facts["check_command"] in page.text


def test_the_bar_is_stated_with_its_assumption_and_its_hashes(wide, page):
    bar = wide["stretch"]["bar"]
    for words in (bar["statement"], bar["assumption"], bar["sha256"], wide["stretch"]["sha256"], "the test part"):
        assert words in page.text


def test_without_a_bar_the_edge_is_that_of_all_mixtures(small):
    document = stretched(small, bar=None)
    text = Page(render_report([document])).text
    assert "all mixtures" in text
    assert "beyond the bar" not in text.replace(document["headline"].split(".", 2)[1], "")
    assert "beyond all mixtures of real inputs" in text


def test_what_was_not_tested_comes_with_its_command(not_tested):
    text = Page(render_report([not_tested])).text
    command = not_tested["not_tested"][0]["command"]
    assert text.index("Not tested") < text.index(command) < text.index("By number of active labels")
    assert "cannot be predicted, whatever the input" not in text  # nothing is lost, so nothing is counted


def test_the_most_frequent_come_first_only_where_some_are_more_frequent(not_tested, small):
    assert "most frequent" not in Page(render_report([not_tested])).text
    assert "those that cannot be predicted first, the most frequent first" in Page(render_report([small])).text


def test_pairs_say_which_of_their_labels_are_never_predicted(wide):
    document = copy.deepcopy(wide)
    facts, names = document["stretch"], document["label_names"]
    facts["dead"] = [{"label": label, "examples": 1, "reason": ""} for label in (3, 4)]
    facts["pairs"] = [{"labels": pair, "examples": 9, "lower": 1.5} for pair in ([1, 2], [1, 3], [3, 4])]
    text = " ".join(Page(render_report([document])).text.split())
    assert f"{names[1]}, {names[2]}91.50" in text
    assert f"{names[1]}, {names[3]} {names[3]} is never predicted91.50" in text
    assert f"{names[3]}, {names[4]} both are never predicted91.50" in text


def test_names_with_commas_are_set_apart_by_semicolons(wide, chromium, tmp_path):
    names = [f"{name}, of all kinds" if i % 2 else name for i, name in enumerate(wide["label_names"])]
    document = {**copy.deepcopy(wide), "label_names": names}
    document["stretch"]["pairs"] = [{"labels": pair, "examples": 9, "lower": 1.5} for pair in ([0, 2], [0, 1])]
    text = Page(render_report([document])).text
    assert f"{names[0]}, {names[2]}" in text
    assert f"{names[0]}; {names[1]}" in text
    write_report(tmp_path / "commas.html", [document])
    page = chromium.new_page()
    page.goto((tmp_path / "commas.html").as_uri())
    shown = page.locator("table.verdicts td.labels").all_inner_texts()
    page.close()
    with_commas = [cell for cell in shown if "of all kinds" in cell]
    assert with_commas
    assert all("; " in cell for cell in with_commas if cell.count("of the") > 1)


def test_numbers_of_labels_count_what_lies_within_the_bar(wide):
    data = wide["groups"][0]
    rows = size_rows(data)
    assert sum(row.argmaxable for row in rows) == sum(
        not beyond and status == 1 for beyond, status in zip(data["beyond"], data["status"], strict=True)
    )
    assert sum(row.sets for row in rows) == len(data["labels"])
    assert sum(row.argmaxable for row in size_rows({**data, "beyond": None})) == data["argmaxable"]
    html = render_report([wide])
    assert "Label sets within the bar (orange: beyond it)" in html


def test_an_infinite_bar_has_nothing_beyond_it(wide):
    document = copy.deepcopy(wide)
    document["stretch"]["bar"]["value"] = None
    html = render_report([document])
    assert "The bar</dt><dd>∞" in html


def test_hostile_names_do_not_change_what_the_page_is_made_of(wide):
    plain = copy.deepcopy(wide)
    plain["not_tested"] = [{"what": "x", "command": "y"}]
    plain["stretch"]["instructive"][0]["predicted"] = [0, 1, 6]
    plain["stretch"]["pairs"] = hostile(wide)["stretch"]["pairs"]
    plain["stretch"]["dead"] = hostile(wide)["stretch"]["dead"]
    found = Page(render_report([hostile(wide)]))
    assert found.shape() == Page(render_report([plain])).shape()
    assert found.comments == []
    assert HOSTILE[0] in found.text


# The picture


@pytest.mark.parametrize(
    ("values", "edge"),
    [([0.0], 0.0), ([0.0, 0.0], None), ([None], 1.0), ([1e-9, 1e9], 1.5), ([0.3, None], None), ([1.5], 1.5)],
)
def test_any_stretch_has_a_picture_inside_its_frame(values, edge):
    svg = stretch_histogram(values, [3] * len(values), edge, "bar", "d")
    for x, width in re.findall(r'<rect class="can(?:not)?" x="([^"]+)" y="[^"]+" width="([^"]+)"', svg):
        assert 39 <= float(x) <= float(x) + float(width) <= 409
    assert svg.count("<rect") == len(set(values))
    assert "nan" not in svg


@pytest.mark.parametrize("largest", [4.4, 4.5, 4.6, 5.0, 60.0])
def test_words_below_the_picture_stand_apart(largest):
    svg = stretch_histogram([0.4, largest, 10 * largest, None], [1, 1, 1, 1], 1.5, "bar", "d")
    words = re.findall(r'<text class="tick" x="([^"]+)" y="[^"]+" text-anchor="middle">([^<]+)<', unescape(svg))
    edges = sorted((float(x) - 3.5 * len(text), float(x) + 3.5 * len(text)) for x, text in words)
    assert all(right < left for (_, right), (left, _) in pairwise(edges))


def test_what_is_at_the_bar_is_not_beyond_it_unless_it_is():
    svg = stretch_histogram([1.49, 1.51], [1, 1], 1.5, "bar", "d")
    assert svg.index('class="can"') < svg.index('class="cannot"')


# In the browser


def test_the_table_of_label_sets_sorts_by_stretch_with_infinity_on_top(visit, wide):
    with visit("wide.html") as page:
        page.locator("th[data-key=stretch] button").click()
        place = page.locator("table.verdicts th").evaluate_all("h => h.findIndex(x => x.dataset.key === 'stretch')")
        cells = page.locator(f"table.verdicts tbody td:nth-child({place + 1})").all_inner_texts()
        assert set(cells) == {"∞"}
        page.locator("th[data-key=stretch] button").click()
        least = min(x for x in wide["groups"][0]["stretch_lower"] if x is not None)
        cell = page.locator(f"table.verdicts tbody td:nth-child({place + 1})").first.inner_text()
        assert float(cell) == pytest.approx(least, abs=0.01)


def test_the_script_writes_the_stretch_as_the_page_does(visit):
    def cells(page):
        return page.locator("table.verdicts td.stretch").all_inner_texts()

    with visit("wide.html", java_script_enabled=False) as plain:
        before = cells(plain)
    with visit("wide.html") as page:
        assert cells(page) == before[:20]


def test_the_first_screen_holds_headline_figure_and_numbers(visit):
    with visit("wide.html") as page:
        for part in (".headline", "figure.first", ".figures"):
            box = page.locator(part).bounding_box()
            assert box["y"] + box["height"] <= 900


def test_more_pairs_unfold(visit):
    with visit("wide.html") as page:
        page.locator("summary", has_text="14 more rows").click()
        assert page.locator("details.more-rows[open] tr").count() == 15


@pytest.mark.parametrize("name", ["wide.html", "untested.html", "hostile.html"])
@pytest.mark.parametrize("width", [320, 390, 768])
def test_no_page_scrolls_sideways_and_nothing_is_cut(visit, name, width):
    with visit(name, viewport={"width": width, "height": 800}) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        cut = "[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth + 1).length"
        assert width == 768 or page.evaluate(cut) == 0


def test_hostile_names_run_nothing(visit):
    with visit("hostile.html") as page:
        assert page.locator("main img, main script:not([type]), main iframe").count() == 0
        page.wait_for_timeout(200)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("wide.html", {"color_scheme": "light"}),
        ("wide.html", {"color_scheme": "dark", "viewport": {"width": 390, "height": 800}}),
        ("untested.html", {"color_scheme": "dark"}),
    ],
)
def test_axe_finds_nothing(visit, name, options):
    with visit(name, **options) as page:
        found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
        assert [(one["id"], one["impact"], one["nodes"][0]["html"][:200]) for one in found] == []
