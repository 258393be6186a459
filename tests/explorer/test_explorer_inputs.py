"""The stretch in the explorer: beside the verdict, with the inputs of its mixture by name, and a text made of them."""

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect
from small_explorers import ask, client_of, layer_of, served
from test_explorer_page import open_at

import labelproof as lp
from labelproof.auditing.real_inputs import RealInputs
from labelproof.explorer import make_app
from labelproof.explorer.prover import make_prover
from labelproof.explorer.splicing import splices
from labelproof.importers.assumptions import Reading

WORDS = ("cat", "dog", "bird", "fish")
NAMES = ("cats", "dogs", "birds", "fish \u202eand more")
WEIGHT, BIAS = np.eye(4), np.full(4, -0.3)  # a label is on where its word is more than .3 of a text


def read(texts):
    """Features of a text: how often each word occurs in it, as a share."""
    counts = np.array([[text.split().count(word) for word in WORDS] for text in texts], float)
    return counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)


def texts_of(n, seed):
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(4, 0.3), n)
    return [" ".join(rng.choice(WORDS, 40, p=share)) for share in shares]


@pytest.fixture(scope="module")
def texts():
    return [*texts_of(60, 0), *("<b>cat</b> \u202e" + text for text in texts_of(20, 1))]


def app(texts, *, bar=True, reads="text", names=NAMES, **facts):
    rows = np.arange(len(texts))[::-1].copy()  # so that the order of rows is not taken for granted
    held_out = read(texts_of(320, 5)) + 1e-9 if bar else None
    inputs = RealInputs(read([texts[i] for i in rows]), "some", held_out, rows=rows, texts=texts)
    layer = layer_of(WEIGHT, BIAS, features=read, reads=reads, **facts)
    return make_app(layer, label_names=names, inputs=inputs)


@pytest.fixture(scope="module")
def zoo(texts):
    return client_of(app(texts))


@pytest.fixture(scope="module")
def url(texts):
    with served(app(texts)) as url:
        yield url


def test_the_stretch_is_the_library_s_own(zoo, texts):
    features = read(texts[::-1])
    for labels in ([0], [0, 1], [0, 1, 2], [0, 1, 2, 3]):
        found = ask(zoo, "stretch", labels=labels)
        s = lp.stretch(WEIGHT, [labels], features, bias=BIAS, ties="inactive")
        assert (found["lower"] or np.inf) <= s.upper[0] * (1 + 1e-9)
        assert (found["upper"] or np.inf) >= s.lower[0] * (1 - 1e-9)


def test_the_mixture_is_predicted_as_the_set_and_names_its_inputs(zoo, texts):
    found = ask(zoo, "stretch", labels=[0, 1])
    assert found["place"] == "inside"
    assert sum(one["share"] for one in found["mixture"]) == pytest.approx(1, abs=0.01)
    for one in found["mixture"]:
        start = " ".join(texts[one["row"]].split())[:30].replace("\u202e", "⟨U+202E⟩")
        assert one["text"].startswith(start[:25])
        on = np.flatnonzero(read([texts[one["row"]]])[0] > 0.3).tolist()
        assert one["predicted"]["labels"] == on


def test_a_set_that_shares_cannot_give_lies_beyond_the_bar_with_its_labels(zoo):
    found = ask(zoo, "stretch", labels=[0, 1, 2, 3])  # four shares over .3 cannot add up to 1
    assert found["place"] == "beyond"
    assert sorted(found["conflict"]["on"]) == [0, 1, 2, 3]
    assert sum(found["conflict"]["on_shares"]) == pytest.approx(1, abs=1e-3)
    assert found["names"]["3"] == "fish ⟨U+202E⟩and more"


def test_the_model_says_how_many_inputs_and_where_the_bar_is(zoo, texts):
    model = zoo.get("/api/model").json()
    held_out = read(texts_of(320, 5)) + 1e-9
    s = lp.stretch(WEIGHT, [[0]], read(texts[::-1]), bias=BIAS, ties="inactive", calibration=held_out)
    assert (model["inputs"], model["has_bar"], model["alpha"]) == (80, True, 0.01)
    assert model["bar"] == pytest.approx(s.bar.value, rel=0.01)


def test_a_text_is_spliced_and_the_model_asked(zoo):
    found = ask(zoo, "trial", labels=[0, 1])
    assert (found["added"], found["removed"]) == ([], [])
    assert found["predicted"]["labels"] == [0, 1]
    (features,) = read([found["text"]])
    assert (features > 0.3).tolist() == [True, True, False, False]


def test_inputs_that_are_predicted_so_are_counted(zoo, texts):
    for labels in ([0], [0, 1], [0, 1, 2, 3]):
        wanted = [i for i in range(4) if i in labels]
        rows = [i for i, on in enumerate(read(texts) > 0.3) if np.flatnonzero(on).tolist() == wanted]
        found = ask(zoo, "stretch", labels=labels)
        assert found["n_same"] == len(rows)
        assert found["same"] is None if not rows else found["same"]["row"] in rows


def test_an_input_of_the_data_serves_where_no_splice_does(texts):
    def only_whole(given):
        """Read nothing in a text that is none of the data's."""
        return read(given) * np.array([text in texts for text in given])[:, None]

    layer = layer_of(WEIGHT, BIAS, features=only_whole, reads="text")
    inputs = RealInputs(read(texts), "some", rows=np.arange(len(texts)), texts=texts)
    found = ask(client_of(make_app(layer, inputs=inputs)), "trial", labels=[0, 1])
    assert (found["is_spliced"], found["added"], found["removed"]) == (False, [], [])


def test_without_inputs_texts_or_a_reader_of_texts_it_says_so(texts):
    bare = client_of(make_app(layer_of(WEIGHT, BIAS)))
    response = bare.post("/api/stretch", json={"labels": [0]})
    assert (response.status_code, "was started without" in response.json()["error"]) == (400, True)
    assert bare.get("/api/model").json()["inputs"] == 0
    numbers = client_of(app(texts, reads="features", bar=False))
    assert ask(numbers, "stretch", labels=[0])["can_write"] is False
    assert numbers.post("/api/trial", json={"labels": [0]}).status_code == 400
    assert numbers.get("/api/model").json()["has_bar"] is False


def test_features_that_hardly_vary_are_held_within_their_range():
    rng = np.random.default_rng(0)
    features = np.hstack([rng.normal(size=(200, 2)), np.full((200, 1), 1e-9)])
    weight, bias = np.array([[1.0, 0.0, 1.0], [-1.0, 0.0, 1.0]]), np.full(2, -1.0)  # both on where the last is over 1
    narrow = client_of(make_app(layer_of(weight, bias), inputs=RealInputs(features, "some")))
    free = client_of(make_app(layer_of(weight, bias)))
    asked = client_of(make_app(layer_of(weight, bias), inputs=RealInputs(features, "some"), domain=None))
    statuses = [ask(client, "verdict", labels=[0, 1])["status"] for client in (narrow, free, asked)]
    assert statuses == ["unargmaxable", "argmaxable", "argmaxable"]


def test_a_model_that_gives_one_label_is_asked_for_one(texts):
    client = client_of(app(texts, bar=False, rule="topk", size=1))
    assert ask(client, "verdict", labels=[0, 1])["status"] == "size"
    found = ask(client, "stretch", labels=[0])
    assert all(len(one["predicted"]["labels"]) == 1 for one in found["mixture"])


def test_splices_keep_to_the_weights():
    long = [" ".join([word] * 300) for word in ("a", "b")]
    for text in splices(long, [3.0, 1.0])[:3]:
        assert text.split().count("a") == pytest.approx(3 * text.split().count("b"), rel=0.1)
    assert len(set(splices(long, [3.0, 1.0]))) == len(splices(long, [3.0, 1.0]))
    assert splices([""], [1.0]) == [""]


# In the browser


def test_the_stretch_stands_beside_the_verdict(page, url):
    page.set_viewport_size({"width": 1280, "height": 900})
    open_at(page, url, "#labels=0,1")
    stretch = page.locator("#verdict .stretch")
    expect(stretch).to_contain_text("bar ")
    expect(stretch).to_contain_text("some mixture of real inputs is predicted so")
    headline, box = page.locator("#verdict .headline").bounding_box(), stretch.bounding_box()
    assert box["x"] > headline["x"] + 400
    assert abs(box["y"] - headline["y"]) < 60
    expect(page.locator("#inputs h2")).to_have_text("Real inputs whose mixture gives it")
    assert page.locator("#inputs .row.input").count() >= 1


def test_beyond_the_bar_the_labels_that_keep_it_away_are_shown(page, url):
    open_at(page, url, "#labels=0,1,2,3")
    expect(page.locator("#verdict .headline")).to_have_text(
        "This combination can be predicted, but lies beyond the bar."
    )
    expect(page.locator("#verdict .stretch")).to_contain_text("beyond the bar")
    expect(page.locator("#verdict .stretch")).to_contain_text("together get at most 1 %")
    expect(page.locator("#inputs")).to_contain_text("contradict each other at every real input")
    assert page.locator("#inputs .pair .left .name").count() == 4


def test_a_text_is_written_at_a_click(page, url):
    open_at(page, url, "#labels=0,1")
    page.get_by_role("button", name="Write a text that triggers it").click()
    expect(page.locator(".trial")).to_contain_text("the model predicts exactly this combination for it")
    assert "cat" in page.locator(".trial blockquote").inner_text()
    page.locator(".chip .switch").first.click()
    expect(page.locator(".trial blockquote")).to_have_count(0)  # the text was for another combination


def test_a_text_that_gives_something_else_says_what(page, url):
    def otherwise(route):
        answer = route.fetch().json() | {"predicted": {"labels": [0, 3]}, "added": [3], "removed": [1]}
        route.fulfill(json=answer | {"names": answer["names"] | {"3": "fish"}})

    page.route("**/api/trial", otherwise)
    open_at(page, url, "#labels=0,1")
    page.get_by_role("button", name="Write a text that triggers it").click()
    expect(page.locator(".trial")).to_contain_text("The model predicts something else for the closest text found:")
    expect(page.locator(".trial")).to_contain_text("cats, fish · missing: dogs")


def test_where_no_mixture_leads_no_text_is_offered(page, url):
    open_at(page, url, "#labels=0,1,2,3")
    expect(page.locator("#inputs h2")).to_have_text("No mixture of real inputs leads there")
    expect(page.get_by_role("button", name="Write a text")).to_have_count(0)


def test_texts_of_inputs_are_text(page, url):
    open_at(page, url, "#labels=0")
    page.get_by_role("button", name="Write a text that triggers it").click()
    page.wait_for_selector(".trial blockquote")
    assert page.locator("main b, main img, main script").count() == 0
    assert "\u202e" not in page.locator("main").inner_text()


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_axe_finds_nothing(chromium, url, scheme, width):
    context = chromium.new_context(color_scheme=scheme, viewport={"width": width, "height": 844}, bypass_csp=True)
    opened = context.new_page()
    open_at(opened, url, "#labels=0,1")
    opened.get_by_role("button", name="Write a text").click()
    opened.wait_for_selector(".trial blockquote")
    found = Axe().run(opened)
    assert found.violations_count == 0, found.generate_report()
    assert opened.evaluate("document.documentElement.scrollWidth <= innerWidth")
    context.close()


def test_features_that_hardly_vary_are_held_where_they_are():
    """Bounds 1e-33 apart would leave the search no room: every combination was undecided, or had a margin of 0."""
    features = np.random.default_rng(0).normal(size=(300, 4))
    features[:, 2] *= 1e-33
    weight = np.random.default_rng(1).normal(size=(5, 4))
    prover = make_prover(layer_of(weight, bias=np.full(5, -0.5)), Reading(), inputs=RealInputs(features, "made"))
    assert prover.n_steady == 1
    assert prover.layer.low[2] == prover.layer.high[2]
    found = prover.verdict((0, 1)).certificate
    assert found.margin > 1e-3
    assert found.witness[2] == prover.layer.low[2]
