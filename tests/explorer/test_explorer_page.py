"""The page in a real browser: typing, keys, verdicts, links, the drawing, and what screen readers need."""

import re

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect
from small_explorers import PETS, TRIANGLE, app_of, served

NEVER = "This combination can never be predicted."
CAN = "This combination can be predicted."
HOSTILE = [
    '<img src=x onerror="window.attacked=1">',
    "</script><script>window.attacked=1</script>",
    "\u202eevil\u202c and \u2066lost",
    "a" * 400,
    "{{7*7}} ${7*7} javascript:alert(1)",
    "\x00\x1b[31m\n\n<b>bold</b>",
]


@pytest.fixture(scope="module")
def pets_url():
    with served(app_of(TRIANGLE, [[0], [0, 1], [0, 1, 2], [0, 1, 2], [2]], names=PETS)) as url:
        yield url


@pytest.fixture(scope="module")
def many_url():
    """An explorer of 300 labels on 6 features, with data."""
    rng = np.random.default_rng(0)
    weight = rng.standard_normal((300, 6))
    given = rng.standard_normal((20, 6)) @ weight.T > 0
    names = [f"{kind} number {i}" for i, kind in enumerate(np.resize(["fever", "ulcer", "asthma"], 300))]
    with served(app_of(weight, given, names=names)) as url:
        yield url


def open_at(page, url, address=""):
    page.goto("about:blank")
    page.goto(url + address)
    settle(page)


def settle(page):
    """Wait until all answers are shown."""
    page.wait_for_selector("#verdict .lead")
    page.wait_for_selector("body:not([aria-busy])")


def headline(page):
    return page.locator("#verdict .headline")


def chips(page, state):
    return page.locator(f".chip.{state} .switch").all_inner_texts()


def type_label(page, text):
    page.locator("#query").press_sequentially(text)
    expect(page.locator("#options [role=option]").first).to_be_visible()


# Typing and keys


def test_typing_and_enter_adds_labels_and_the_verdict_follows(page, pets_url):
    open_at(page, pets_url)
    expect(headline(page)).to_have_text("The empty combination can be predicted.")
    for name in PETS:
        type_label(page, name[:2])
        page.keyboard.press("Enter")
        expect(page.locator("#query")).to_have_value("")
    expect(headline(page)).to_have_text(NEVER)
    assert chips(page, "on") == list(PETS)
    expect(page.locator("#verdict")).to_contain_text("3 decisions contradict each other")
    expect(page.locator("#verdict")).to_contain_text("2 of the 5 examples of the data have exactly this combination")


def test_enter_adds_even_when_typed_faster_than_the_server_answers(page, pets_url):
    open_at(page, pets_url)
    page.locator("#query").fill("dog")
    page.keyboard.press("Enter")
    page.wait_for_selector(".chip")
    assert chips(page, "on") == ["dog"]


def test_arrows_move_through_the_matches_and_escape_closes_them(page, many_url):
    open_at(page, many_url)
    type_label(page, "ulcer number 1")
    query, options = page.locator("#query"), page.locator("#options [role=option]")
    expect(options.filter(has_not_text="ulcer number 1")).to_have_count(0)  # as those of a shorter text might be
    expect(query).to_have_attribute("aria-expanded", "true")
    expect(query).to_have_attribute("aria-activedescendant", "option-0")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    expect(query).to_have_attribute("aria-activedescendant", "option-1")
    expect(options.nth(1)).to_have_attribute("aria-selected", "true")
    assert page.locator("[role=option][aria-selected=true]").count() == 1
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    expect(query).to_have_attribute("aria-activedescendant", f"option-{options.count() - 1}")
    chosen = options.last.locator(".name").inner_text()
    page.keyboard.press("Escape")
    expect(page.locator("#options")).to_be_hidden()
    expect(query).to_have_attribute("aria-expanded", "false")
    expect(query).to_have_value("ulcer number 1")
    page.keyboard.press("ArrowDown")
    expect(page.locator("#options")).to_be_visible()
    expect(query).to_have_attribute("aria-activedescendant", "option-0")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    page.wait_for_selector(".chip")
    assert chips(page, "on") == [chosen]


def test_backspace_in_an_empty_field_removes_the_last_label(page, pets_url):
    open_at(page, pets_url, "#labels=0,1,2")
    page.locator("#query").focus()
    page.keyboard.press("Backspace")
    expect(page.locator(".chip")).to_have_count(2)
    assert chips(page, "on") == ["cat", "dog"]
    type_label(page, "bi")
    page.keyboard.press("Backspace")
    page.keyboard.press("Backspace")
    expect(page.locator(".chip")).to_have_count(2)  # that was for the letters


def test_a_match_can_be_clicked_and_nonsense_matches_nothing(page, pets_url):
    open_at(page, pets_url)
    type_label(page, "do")
    page.locator("#options [role=option]", has_text="dog").click()
    page.wait_for_selector(".chip")
    assert chips(page, "on") == ["dog"]
    page.locator("#query").fill("zzzz")
    expect(page.locator("#options")).to_have_text("No label matches.")
    page.keyboard.press("Enter")
    assert chips(page, "on") == ["dog"]


# Chips


def test_chips_switch_on_and_off_and_keep_the_focus(page, pets_url):
    open_at(page, pets_url, "#labels=0,1,2")
    switch = page.locator(".chip .switch", has_text="bird")
    switch.focus()
    page.keyboard.press("Space")
    expect(headline(page)).to_have_text(CAN)
    assert (chips(page, "on"), chips(page, "off")) == (["cat", "dog"], ["bird"])
    expect(switch).to_have_attribute("aria-pressed", "false")
    expect(switch).to_be_focused()
    page.keyboard.press("Space")
    expect(headline(page)).to_have_text(NEVER)
    page.locator(".chip .remove").first.click()
    expect(page.locator(".chip")).to_have_count(2)
    page.locator("#clear").click()
    expect(page.locator(".chip")).to_have_count(0)
    expect(page.locator("#query")).to_be_focused()


# What is said


def test_a_contradiction_shows_its_labels_and_the_nearest_ways_out(page, pets_url):
    open_at(page, pets_url, "#labels=0,1,2")
    assert sorted(page.locator("#why .pair .left .name").all_inner_texts()) == sorted(PETS)
    near = page.locator("#near .row")
    expect(near).to_have_count(3)
    expect(near.first).to_contain_text("1 change, the fewest possible")
    page.locator("#near .row", has_text="without bird").click()
    expect(headline(page)).to_have_text(CAN)
    assert (chips(page, "on"), chips(page, "off")) == (["cat", "dog"], ["bird"])
    assert page.url.endswith("#labels=0,1&off=2")


def test_a_label_that_is_never_on_stands_in_the_way_alone(page):
    with served(app_of([[0.0, 0.0], [1.0, 0.0]], names=["mute", "loud"])) as url:
        open_at(page, url, "#labels=0,1")
        expect(page.locator("#why")).to_contain_text("mute is never on: its logit is the same for every input.")
        expect(page.locator("#facts")).to_contain_text("1 label never on · no data")
        expect(page.locator("#similar")).to_be_hidden()
        assert page.locator("#verdict p").all_inner_texts() == [
            NEVER,
            "No input gives exactly this combination: one decision is impossible.",
        ]


def test_labels_that_change_first_can_be_followed(page, pets_url):
    open_at(page, pets_url, "#labels=0,1")
    expect(page.locator("#why h2")).to_have_text("Which labels change first")
    rows = page.locator("#why .flips li")
    expect(rows).to_have_count(3)
    expect(rows.nth(2)).to_contain_text("never changes alone")
    page.locator("#why button.row", has_text="dog").click()
    expect(headline(page)).to_have_text("This label alone can be predicted.")
    assert (chips(page, "on"), chips(page, "off")) == (["cat"], ["dog"])


def test_similar_sets_of_the_data_get_their_verdicts(page, pets_url):
    open_at(page, pets_url, "#labels=0,1")
    rows = page.locator("#similar .row")
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text("2 shared, 67 % alike · 2 examples")
    assert rows.first.locator(".verdict").inner_text() == "never"
    assert rows.nth(1).locator(".verdict").inner_text() == "can"
    rows.first.click()
    expect(headline(page)).to_have_text(NEVER)


def test_a_search_for_sets_far_away_says_what_it_found(page, many_url):
    labels = ",".join(str(i) for i in range(0, 60, 2))
    open_at(page, many_url, f"#labels={labels}")
    expect(headline(page)).to_have_text(NEVER)
    expect(page.locator("#near .searching")).to_have_count(0)
    assert page.locator("#near .row").count() >= 1
    expect(page.locator("#why")).to_contain_text("asked to be on")
    expect(page.locator("#drawing h2")).to_have_text("A slice through the inputs")


# Links


def test_a_link_opens_its_combination_again(page, pets_url):
    open_at(page, pets_url, "#labels=2,0&off=1")
    assert (chips(page, "on"), chips(page, "off")) == (["bird", "cat"], ["dog"])
    expect(headline(page)).to_have_text(CAN)
    page.reload()
    settle(page)
    assert (chips(page, "on"), chips(page, "off")) == (["bird", "cat"], ["dog"])


def test_back_and_forward_go_through_the_combinations(page, pets_url):
    open_at(page, pets_url, "#labels=0,1,2")
    page.locator(".chip .switch", has_text="cat").click()
    expect(headline(page)).to_have_text(CAN)
    page.go_back()
    expect(headline(page)).to_have_text(NEVER)
    page.go_forward()
    expect(headline(page)).to_have_text(CAN)
    assert chips(page, "off") == ["cat"]


@pytest.mark.parametrize("address", ["#labels=0,0,1,99,-3,x,1e9", "#labels=0,1&off=1,0", "#labels=00,1&other=<b>"])
def test_a_wrong_link_is_read_as_far_as_it_makes_sense(page, pets_url, address):
    open_at(page, pets_url, address)
    assert (chips(page, "on"), chips(page, "off")) == (["cat", "dog"], [])
    expect(headline(page)).to_have_text(CAN)


# The drawing


def test_the_plane_has_six_regions_and_a_click_goes_to_one(page, pets_url):
    open_at(page, pets_url, "#labels=0,1")
    regions = page.locator("#drawing .region")
    expect(regions).to_have_count(6)
    expect(page.locator("#drawing .region.current")).to_have_count(1)
    expect(page.locator("#drawing .disc").first).to_be_visible()
    box = page.locator("#drawing svg.plane").bounding_box()
    x, y = box["x"] + 0.4 * box["width"], box["y"] + 0.1 * box["height"]  # x < 0 < y and x + y > 0: dog alone
    page.mouse.move(x, y)
    expect(page.locator("#drawing .said")).to_have_text("dog.")
    page.mouse.click(x, y)
    expect(headline(page)).to_have_text("This label alone can be predicted.")
    assert chips(page, "on") == ["dog"]


def test_regions_can_be_reached_by_keys(page, pets_url):
    open_at(page, pets_url, "#labels=0,1")
    page.locator("#drawing .region[tabindex='0']").focus()
    expect(page.locator("#drawing .said")).to_contain_text("This combination.")
    page.keyboard.press("ArrowDown")
    expect(page.locator("#drawing .region[tabindex='0']")).to_have_count(1)
    expect(page.locator("#drawing .said")).not_to_contain_text("This combination.")
    chosen = page.locator("#drawing .said bdi").all_inner_texts()
    page.keyboard.press("Enter")
    settle(page)
    assert chips(page, "on") == chosen


def test_in_many_dimensions_a_slice_is_drawn(page, many_url):
    open_at(page, many_url)
    expect(page.locator("#drawing")).to_be_hidden()  # at 0 all labels are off, and nowhere else
    page.locator("#similar .row", has=page.locator(".verdict.can")).first.click()
    expect(page.locator("#drawing h2")).to_have_text("A slice through the inputs")
    assert page.locator("#drawing .region").count() > 5
    expect(page.locator("#drawing")).to_contain_text("A plane cut out of 6 dimensions")


def test_a_slice_can_be_laid_through_another_combination(page, many_url):
    open_at(page, many_url)
    page.locator("#similar .row", has=page.locator(".verdict.can")).first.click()
    page.wait_for_selector("#slicing:not([hidden])")
    settle(page)
    expect(page.locator("#drawing .witness")).to_have_count(2)  # one in the plane, one in the legend
    page.locator("#slice").select_option(index=1)
    expect(page.locator("#drawing svg .witness")).to_have_count(2)
    expect(page.locator("#drawing .legend")).to_contain_text("inputs the plane goes through")
    page.locator("#slice").select_option(index=0)
    expect(page.locator("#drawing svg .witness")).to_have_count(1)


# Hostile names


def test_hostile_names_are_text_everywhere(page):
    with served(app_of(np.eye(6, 3) - 0.4, [[0, 1], list(range(6))], names=HOSTILE)) as url:
        for labels in ("0,1,2", "0,1,2,3,4,5", "2"):
            open_at(page, url, f"#labels={labels}")
        page.locator("#query").fill("img")
        expect(page.locator("#options [role=option]").first).to_contain_text('<img src=x onerror="window.attacked=1">')
        page.keyboard.press("Escape")
        assert page.evaluate("window.attacked") is None
        assert page.locator("main img, main script, main b, main a").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert page.locator(".chip .switch bdi").all_inner_texts() == ["⟨U+202E⟩evil⟨U+202C⟩ and ⟨U+2066⟩lost"]
        shown = page.locator(".chip bdi").first
        assert shown.evaluate("e => getComputedStyle(e).unicodeBidi") == "isolate"


def test_a_script_that_is_not_the_pages_own_does_not_run(chromium, pets_url):
    opened = chromium.new_page()
    opened.goto(pets_url)
    refused = opened.evaluate(
        """() => {
            const script = document.createElement("script");
            try { script.textContent = "window.attacked = 1"; } catch (error) { return error.name; }
            document.body.append(script);
            return window.attacked ?? "no";
        }"""
    )
    assert refused in ("TypeError", "no")
    assert (
        opened.evaluate("() => { try { document.body.innerHTML = '<b>x</b>'; } catch (e) { return e.name; } }")
        == "TypeError"
    )
    opened.close()


def test_when_the_server_is_gone_the_page_says_so(chromium):
    opened = chromium.new_page()
    with served(app_of(TRIANGLE, names=PETS)) as url:
        open_at(opened, url, "#labels=0,1")
    opened.locator(".chip .switch").first.click()
    expect(opened.locator("#trouble")).to_have_text("The explorer does not answer; is it still running?")
    opened.close()


# Everyone


@pytest.mark.parametrize(
    ("scheme", "width", "labels"),
    [("light", 1200, "0,1"), ("dark", 1200, "0,1,2"), ("light", 380, "0,1,2"), ("dark", 380, "0,1")],
)
def test_axe_finds_nothing(chromium, pets_url, scheme, width, labels):
    context = chromium.new_context(color_scheme=scheme, viewport={"width": width, "height": 800}, bypass_csp=True)
    opened = context.new_page()
    open_at(opened, pets_url, f"#labels={labels}&off=")
    opened.locator("#query").fill("d")
    opened.wait_for_selector("#options [role=option]")
    found = Axe().run(opened)
    assert found.violations_count == 0, found.generate_report()
    assert opened.evaluate("document.documentElement.scrollWidth <= innerWidth"), "the page must not scroll sideways"
    context.close()


def test_the_verdict_is_announced_and_has_a_shape_besides_its_colour(page, pets_url):
    open_at(page, pets_url, "#labels=0,1,2")
    expect(page.locator("#verdict")).to_have_attribute("aria-live", "polite")
    shape = headline(page).evaluate("e => getComputedStyle(e, '::before').clipPath")
    assert shape.startswith("polygon")
    assert re.search("can never", page.title())
