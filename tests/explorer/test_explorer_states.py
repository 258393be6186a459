"""The page while it searches, when it ends without an answer, and when there is little to show."""

import json

import numpy as np
import pytest
from playwright.sync_api import expect
from small_explorers import PETS, TRIANGLE, app_of, served
from test_explorer_page import headline, open_at

SEARCHING = "#near .searching"


@pytest.fixture(scope="module")
def far_url():
    """An explorer of 300 labels on 6 features, without data."""
    with served(app_of(np.random.default_rng(0).standard_normal((300, 6)))) as url:
        yield url


FAR = "#labels=" + ",".join(str(i) for i in range(0, 60, 2))


def answer_thorough_questions(page, answer):
    """Answer quick searches as the server does, and the thorough one otherwise."""

    def handle(route):
        if json.loads(route.request.post_data)["seconds"] < 1:
            route.continue_()
        else:
            answer(route)

    page.route("**/api/explanation", handle)


def test_the_search_for_nearer_sets_ends_when_it_is_cancelled(page, far_url):
    answer_thorough_questions(page, lambda route: route.fulfill(json={"is_cancelled": True}))
    open_at(page, far_url, FAR)
    expect(page.locator("#near")).to_contain_text("Proven: every combination that can be predicted differs in at least")
    expect(page.locator(SEARCHING)).to_have_count(0)


def test_the_reason_counts_the_decisions_that_the_page_ends_with(page, far_url):
    """A longer search may find a smaller conflict: then the sentence above it must not speak of the first one."""

    def smaller(route):
        found = route.fetch().json()
        found["conflict"] |= {"on": [0, 2], "on_shares": [0.5, 0.3], "off": [1], "off_shares": [0.2]}
        route.fulfill(json=found | {"names": found["names"] | {"0": "a", "1": "b", "2": "c"}})

    answer_thorough_questions(page, smaller)
    open_at(page, far_url, FAR)
    expect(page.locator("#verdict .lead")).to_contain_text("3 decisions contradict each other")
    expect(page.locator("#why .balance .name")).to_have_count(3)


def test_the_search_for_nearer_sets_ends_when_it_fails(chromium, far_url):
    opened = chromium.new_page()
    answer_thorough_questions(opened, lambda route: route.fulfill(status=500, json={"error": "no luck"}))
    open_at(opened, far_url, FAR)
    expect(opened.locator("#trouble")).to_have_text("No luck.")
    expect(opened.locator(SEARCHING)).to_have_count(0)
    opened.close()


def test_the_search_for_nearer_sets_ends_when_nobody_answers(page, far_url):
    page.clock.install()
    answer_thorough_questions(page, lambda _: None)
    page.goto(far_url + FAR)
    page.wait_for_selector(SEARCHING)
    page.clock.run_for(20_000)
    expect(page.locator(SEARCHING)).to_have_count(0)
    expect(page.locator("body")).not_to_have_attribute("aria-busy", "true")


def test_the_empty_combination_is_not_said_to_be_impossible(page):
    with served(app_of(TRIANGLE, [[0], []], names=PETS)) as url:
        open_at(page, url)
        assert page.locator("#verdict p").all_inner_texts()[::2] == [
            "The empty combination can be predicted.",
            "1 of the 2 examples of the data has no label.",
        ]
        expect(page.locator("#verdict")).to_contain_text("Some input gets none of the 3 labels")


def test_an_empty_combination_that_never_comes_says_so(page):
    with served(app_of([[0.0], [1.0]], bias=[1.0, 0.0], names=["noise", "loud"])) as url:
        open_at(page, url)
        expect(headline(page)).to_have_text("The empty combination can never be predicted.")
        expect(page.locator("#verdict")).to_contain_text("No input gets none of the 2 labels: one decision is")


@pytest.mark.parametrize("is_found", [True, False])
def test_the_right_side_is_used_when_a_combination_is_impossible(page, far_url, is_found):
    page.set_viewport_size({"width": 1280, "height": 900})

    def nothing_near(route):
        answer = route.fetch().json()
        route.fulfill(json=answer | {"nearest": [], "least_distance": 2})

    if not is_found:
        page.route("**/api/explanation", nothing_near)
    open_at(page, far_url, FAR)
    right = page.locator("#drawing" if is_found else "#near").bounding_box()
    assert right["x"] > 1280 * 0.5
    assert right["x"] + right["width"] > 1280 * 0.9
    assert page.locator("#why").bounding_box()["y"] == right["y"]
