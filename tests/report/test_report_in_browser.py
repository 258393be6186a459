"""The report as people meet it: in Chromium, opened from disk."""

import copy

import pytest
from audit_documents import renamed
from axe_playwright_python.sync_playwright import Axe
from test_report import HOSTILE

from labelproof.report import Table, write_report

TABLE = Table("Scores", ("model", "micro-F1"), (("first", 0.61), ("second", 0.62)))
LONG = ["W" * 300, "\u05d0" * 300, "one_name_without_any_place_to_break_it_" * 8]


@pytest.fixture(scope="module")
def folder(full, small, tmp_path_factory):
    """Reports of one model, of two, and of labels with hostile and with endless names."""
    folder = tmp_path_factory.mktemp("reports")
    first, second = copy.deepcopy(full), copy.deepcopy(small)
    first["explained"] = first["explained"][:1]  # axe takes its time
    second["explained"] = []
    write_report(folder / "one.html", [full])
    write_report(folder / "two.html", [first, second], tables=[TABLE])
    hostile = renamed(full, HOSTILE + LONG)
    hostile["groups"][3]["names"] = HOSTILE[:4]
    write_report(folder / "hostile.html", [hostile], title=HOSTILE[1])
    return folder


def rows(page):
    return [" ".join(text.split()) for text in page.locator("table.verdicts tbody tr").all_inner_texts()]


def column(page, key):
    place = page.locator("table.verdicts thead th").evaluate_all(
        f"heads => heads.findIndex(h => h.dataset.key === '{key}')"
    )
    return page.locator(f"table.verdicts tbody td:nth-child({place + 1})").all_inner_texts()


def test_it_opens_from_disk_and_shows_the_first_label_sets(visit, full):
    with visit("one.html") as page:
        assert page.locator(".headline").inner_text() == full["headline"].split(". ")[0] + "."
        assert page.locator(".rest").inner_text() == full["headline"].split(". ")[1]
        assert len(rows(page)) == 20
        assert page.locator(".status").inner_text().startswith("1–20 of 240 label sets")


def test_the_script_shows_the_same_rows_as_the_page_without_it(visit):
    with visit("one.html", java_script_enabled=False) as page:
        before = rows(page)
        assert page.locator("form.controls").is_hidden()
    with visit("one.html") as page:
        assert before[:20] == rows(page)
        page.locator("[name=next]").first.click()
        assert before[20:40] == rows(page)
    assert len(before) == 100


def test_heads_sort_by_click_and_by_key(visit, full):
    with visit("one.html") as page:
        head = page.locator("th[data-key=examples]")
        head.locator("button").click()
        counts = sorted(full["groups"][0]["counts"], reverse=True)
        assert column(page, "examples") == [f"{count:,}" for count in counts[:20]]
        assert head.get_attribute("aria-sort") == "descending"
        head.locator("button").focus()
        page.keyboard.press("Enter")
        assert column(page, "examples") == ["1"] * 20
        assert head.get_attribute("aria-sort") == "ascending"
        assert page.locator("th[data-key=verdict]").get_attribute("aria-sort") == "none"


def test_what_is_not_known_comes_last_in_either_direction(visit, full):
    known = sum(margin is not None for margin in full["groups"][0]["margin"])
    with visit("one.html") as page:
        for _ in range(2):
            page.locator("th[data-key=margin] button").click()
            assert "–" not in column(page, "margin")
            for _ in range(known // 20):
                page.locator("[name=next]").click()
            assert column(page, "margin")[known % 20 :] == ["–"] * (20 - known % 20)


def test_search_finds_the_sets_in_which_all_words_occur(visit, full):
    names, group = full["label_names"], full["groups"][0]
    text = [" ".join(names[i] for i in labels).lower() for labels in group["labels"]]
    expected = [t for t in text if "kidney" in t and "ulcer" in t and "acute" in t]
    with visit("one.html") as page:
        page.get_by_role("searchbox").fill("Kidney ulcer  ACUTE")
        assert f"{len(expected)} label sets" in page.locator(".status").inner_text()
        assert page.locator(".count[data-status=all]").inner_text() == str(len(expected))
        page.get_by_role("searchbox").fill("no label is called so")
        assert page.locator(".status").inner_text() == "No label set is like that."
        assert rows(page) == []


def test_the_filter_shows_one_verdict(visit, full):
    with visit("one.html") as page:
        page.get_by_role("radio", name="can ", exact=False).last.check()
        assert {text.split()[0] for text in column(page, "verdict")} == {"can"}
        assert f"of {full['groups'][0]['argmaxable']} label sets" in page.locator(".status").inner_text()
        page.get_by_role("radio", name="cannot").check()
        assert {text.split()[0] for text in column(page, "verdict")} == {"cannot"}


def test_other_groups_have_their_own_columns(visit):
    with visit("one.html") as page:
        page.locator("[name=group]").select_option("Required label sets")
        heads = [text.split()[0] for text in page.locator("table.verdicts th").all_inner_texts()]
        assert heads[:3] == ["Verdict", "Requirement", "Label"]
        assert len(rows(page)) == 4
        page.get_by_role("searchbox").fill("stroke")
        assert len(rows(page)) == 1
        page.locator("[name=group]").select_option("All pairs of labels")
        page.get_by_role("searchbox").fill("")
        assert "of 435 label sets" in page.locator(".status").inner_text()


def test_why_leads_to_the_picture_of_the_conflict(visit):
    with visit("one.html") as page:
        page.locator("a.why").first.click()
        assert page.locator(":target").get_attribute("id") == "audit1-why-0"
        assert page.locator(":target").locator(".pulls li").count() > 2


def test_long_label_sets_unfold(visit):
    with visit("one.html") as page:
        more = page.locator("button.more").first
        named, hidden = 6, int(more.inner_text().split()[1])
        more.click()
        assert page.locator(".names:focus bdi").count() == named + hidden


def test_hostile_names_are_shown_as_text(visit):
    with visit("hostile.html") as page:
        assert page.locator("h1").inner_text() == HOSTILE[1]
        page.locator("[name=group]").select_option("1")
        page.get_by_role("searchbox").fill("</script>")
        assert HOSTILE[0] in rows(page)[0]
        page.get_by_role("searchbox").fill("onerror")
        assert HOSTILE[1] in rows(page)[0]
        page.wait_for_timeout(200)  # for what a picture that does not load would run
        assert page.locator("main img, main script:not([type]), main iframe").count() == 0


def test_a_script_that_is_not_the_page_s_own_does_not_run(visit, folder):
    text = (folder / "one.html").read_text(encoding="utf-8")
    injected = '<img src="data:,x" onerror="document.title = 1"><script>document.title = 2</script></body>'
    (folder / "injected.html").write_text(text.replace("</body>", injected), encoding="utf-8")
    with pytest.raises(AssertionError, match="Content Security Policy"), visit("injected.html") as page:
        assert "labelproof audit" in page.title()


def test_dark_and_light_follow_the_system(visit):
    def brightness(page):
        colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(map(int, colour.removeprefix("rgb(").removesuffix(")").split(", ")))

    with visit("one.html", color_scheme="light") as light, visit("one.html", color_scheme="dark") as dark:
        assert brightness(dark) < 120 < 600 < brightness(light)


@pytest.mark.parametrize("name", ["one.html", "two.html", "hostile.html"])
@pytest.mark.parametrize("width", [320, 390, 768])
def test_no_page_scrolls_sideways(visit, name, width):
    with visit(name, viewport={"width": width, "height": 800}) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_it_prints_the_first_hundred_rows_and_no_controls(visit):
    with visit("one.html") as page:
        page.emulate_media(media="print")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert len(rows(page)) == 100
        for hidden in ("form.controls", "nav.pages", "nav.contents"):
            assert page.locator(hidden).is_hidden()
        assert page.locator(".histogram").first.is_visible()
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert len(rows(page)) == 20
        assert page.pdf(format="A4").startswith(b"%PDF-")


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("two.html", {"color_scheme": "light"}),
        ("one.html", {"color_scheme": "dark"}),
        ("one.html", {"viewport": {"width": 390, "height": 800}}),
    ],
)
def test_axe_finds_nothing(visit, name, options):
    with visit(name, **options) as page:
        found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
        assert [(one["id"], one["impact"], one["nodes"][0]["html"][:200]) for one in found] == []
