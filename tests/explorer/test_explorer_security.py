"""Who may ask the explorer, and how much: every guard is tripped here."""

import http.client
import json
from urllib.parse import urlsplit

import numpy as np
import pytest
from small_explorers import TRIANGLE, app_of, ask, client_of, served

from labelproof.explorer.app import STATIC
from labelproof.explorer.guard import HEADERS
from labelproof.explorer.requests import MOST_BYTES, MOST_LABELS

QUESTIONS = {
    "/api/verdict": {"labels": [0]},
    "/api/explanation": {"labels": [0], "seconds": 0.1, "page": "a"},
    "/api/similar": {"labels": [0], "limit": 3},
    "/api/verdicts": {"sets": [[0]]},
    "/api/drawing": {"labels": [0], "anchors": [[0]]},
}


def assert_refused(response, status, sentence):
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/json"
    assert list(response.json()) == ["error"]
    assert sentence in response.json()["error"]
    assert_strict(response)


def assert_strict(response):
    for name in ("content-security-policy", "x-content-type-options", "referrer-policy", "x-frame-options"):
        assert response.headers[name] == HEADERS[name]
    assert "access-control-allow-origin" not in response.headers


# Who asks


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8000", "127.0.0.1.evil.example:8000", "", "[::1", "a:b:c"]
)
@pytest.mark.parametrize("path", ["/", "/api/model", "/explorer.js"])
def test_a_foreign_host_is_refused_so_that_no_name_can_be_rebound_to_this_machine(pets, host, path):
    assert_refused(pets.get(path, headers={"host": host}), 421, "the header Host must be the address of this explorer")


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost:8000", "LOCALHOST", "[::1]:8000", "127.0.0.1"])
def test_this_machines_own_names_are_let_in(pets, host):
    assert pets.get("/api/model", headers={"host": host}).status_code == 200


def test_two_hosts_are_one_too_many():
    with served(app_of(TRIANGLE)) as url:
        connection = http.client.HTTPConnection(urlsplit(url).netloc)
        connection.putrequest("GET", "/api/model", skip_host=True)
        connection.putheader("Host", urlsplit(url).netloc)
        connection.putheader("Host", "evil.example")
        connection.endheaders()
        assert connection.getresponse().status in (400, 421)
        connection.close()


def test_the_address_that_was_asked_for_is_let_in_and_others_are_not():
    client = client_of(app_of(TRIANGLE, host="192.168.1.7"))
    assert client.get("/api/model", headers={"host": "192.168.1.7:80"}).status_code == 200
    assert client.get("/api/model", headers={"host": "192.168.1.8:80"}).status_code == 421


def test_on_all_addresses_numbers_are_let_in_but_no_names():
    client = client_of(app_of(TRIANGLE, host="0.0.0.0"))  # noqa: S104
    assert client.get("/api/model", headers={"host": "10.0.0.5:80"}).status_code == 200
    assert client.get("/api/model", headers={"host": "rebound.example:80"}).status_code == 421


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:9999", "https://127.0.0.1:8000", ""]
)
@pytest.mark.parametrize("path", QUESTIONS)
def test_a_foreign_origin_is_refused(pets, origin, path):
    response = pets.post(path, json=QUESTIONS[path], headers={"origin": origin})
    assert_refused(response, 403, "the header Origin must be this page's")


def test_the_pages_own_origin_is_let_in(pets):
    assert (
        pets.post("/api/verdict", json={"labels": []}, headers={"origin": "http://127.0.0.1:8000"}).status_code == 200
    )


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_questions_of_other_sites_are_refused_even_without_an_origin(pets, site):
    assert_refused(
        pets.get("/api/model", headers={"sec-fetch-site": site}), 403, "only the explorer's own page may ask"
    )
    assert pets.get("/", headers={"sec-fetch-site": site}).status_code == 200  # a link to the page is no question


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"])
def test_other_methods_are_refused(pets, method):
    assert_refused(pets.request(method, "/api/verdict"), 405, "the method must be GET or POST")


def test_a_preflight_of_another_site_gets_no_permission(pets):
    asked = {"origin": "http://evil.example", "access-control-request-method": "POST"}
    response = pets.request("OPTIONS", "/api/verdict", headers=asked)
    assert response.status_code == 403
    assert not [name for name in response.headers if name.startswith("access-control")]


# What is answered with


@pytest.mark.parametrize("path", [*STATIC, "/api/model", "/api/labels?q=c", "/nowhere", "/api/verdict"])
def test_every_answer_has_the_headers_that_keep_a_browser_strict(pets, path):
    assert_strict(pets.get(path))


def test_the_policy_allows_the_pages_own_files_and_nothing_else(pets):
    rules = dict(part.split(" ", 1) for part in pets.get("/").headers["content-security-policy"].split("; "))
    assert rules["default-src"] == "'none'"
    own = {"script-src", "style-src", "img-src", "connect-src"}
    assert {name for name, value in rules.items() if value == "'self'"} == own
    assert rules["frame-ancestors"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert "unsafe" not in str(rules)


def test_a_failure_is_one_sentence_without_its_details():
    app = app_of(TRIANGLE)
    app.state.explorer.model = lambda: 1 / 0
    response = client_of(app).get("/api/model")
    assert_refused(response, 500, "the explorer failed to answer")
    assert "division" not in response.text


# What can be read


@pytest.mark.parametrize(
    "path",
    ["/../app.py", "/..%2fapp.py", "/%2e%2e/%2e%2e/etc/passwd", "/static/index.html", "/explorer.js/",
     "/explorer.js%00", "/docs", "/redoc", "/openapi.json", "//etc/passwd", "/api", "/api/", "/api/verdict/../model/x"],
)  # fmt: skip
def test_only_the_files_of_a_fixed_table_are_served(pets, path):
    assert_refused(pets.get(path), 404, "Not Found")


def test_no_path_leads_out_of_the_folder_over_a_raw_socket_either():
    with served(app_of(TRIANGLE)) as url:
        for path in ("/../../../../etc/passwd", "/static/../app.py", "/%2e%2e/%2e%2e/pyproject.toml"):
            connection = http.client.HTTPConnection(urlsplit(url).netloc)
            connection.request("GET", path)
            response = connection.getresponse()
            assert response.status == 404
            assert json.loads(response.read()) == {"error": "Not Found"}
            connection.close()


# How much can be asked


def test_a_body_that_is_too_long_is_refused(pets):
    response = pets.post("/api/verdict", content=b" " * (MOST_BYTES + 1), headers={"content-type": "application/json"})
    assert_refused(response, 413, f"a request must have at most {MOST_BYTES} bytes")


def test_a_body_that_does_not_tell_its_length_is_refused_when_it_gets_too_long(pets):
    parts = (b" " * 1000 for _ in range(MOST_BYTES // 1000 + 1))
    assert_refused(pets.post("/api/verdict", content=parts), 413, "a request must have at most")


@pytest.mark.parametrize("length", ["-1", "x", "9" * 5000])
def test_a_length_that_is_no_number_or_endless_is_refused(length):
    response = client_of(app_of(TRIANGLE)).post("/api/verdict", content=b"{}", headers={"content-length": length})
    assert_refused(response, 413, "a request must have at most")


def test_too_many_labels_are_refused(pets):
    response = pets.post("/api/verdict", json={"labels": list(range(MOST_LABELS + 1))})
    assert_refused(response, 422, "labels is not as expected")


@pytest.mark.parametrize(
    ("path", "change"),
    [
        ("/api/verdict", {"labels": [-1]}),
        ("/api/verdict", {"labels": [2**40]}),
        ("/api/verdict", {"labels": [0.0]}),
        ("/api/verdict", {"labels": ["0"]}),
        ("/api/verdict", {"labels": [True]}),
        ("/api/verdict", {"labels": None}),
        ("/api/verdict", {"labels": [[0]]}),
        ("/api/verdict", {"surprise": 1}),
        ("/api/explanation", {"seconds": 0}),
        ("/api/explanation", {"seconds": 1e9}),
        ("/api/explanation", {"seconds": "inf"}),
        ("/api/explanation", {"page": "x" * 41}),
        ("/api/explanation", {"page": "<b>"}),
        ("/api/explanation", {"page": ""}),
        ("/api/similar", {"limit": 0}),
        ("/api/similar", {"limit": 10_000}),
        ("/api/verdicts", {"sets": [[0]] * 25}),
        ("/api/verdicts", {"sets": [[0], list(range(MOST_LABELS + 1))]}),
        ("/api/drawing", {"anchors": [[0]] * 4}),
    ],
)
def test_every_list_text_and_number_has_a_limit(pets, path, change):
    assert pets.post(path, json=QUESTIONS[path]).status_code == 200
    response = pets.post(path, json=QUESTIONS[path] | change)
    assert_refused(response, 422, "is not as expected")
    assert len(response.json()["error"]) < 300


@pytest.mark.parametrize("labels", [[3], [0, 0], [0, 1, 1]])
def test_labels_that_the_model_has_not_or_that_come_twice_are_refused(pets, labels):
    assert_refused(pets.post("/api/verdict", json={"labels": labels}), 400, "labels must")


@pytest.mark.parametrize("query", ["limit=0", "limit=51", "limit=x", "q=" + "a" * 201])
def test_completion_has_limits_too(pets, query):
    assert_refused(pets.get(f"/api/labels?{query}"), 422, "is not as expected")


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b'{"labels": [NaN]}', b"\xff\xfe", b"[" * 50_000])
def test_a_body_that_is_no_question_is_refused(pets, body):
    response = pets.post("/api/verdict", content=body, headers={"content-type": "application/json"})
    assert response.status_code in (400, 422)
    assert_refused(response, response.status_code, "")


def test_a_question_in_plain_text_which_a_foreign_form_could_send_is_refused(pets):
    response = pets.post("/api/verdict", content=b'{"labels": [0]}', headers={"content-type": "text/plain"})
    assert_refused(response, 422, "is not as expected")


def test_hostile_names_come_back_as_json_with_their_controls_as_symbols():
    name = "</script><script>alert(1)</script>\u202e\x00"
    client = client_of(app_of(np.eye(2), names=[name, "  "], model="mo\u202edel"))
    response = client.get("/api/labels", params={"q": "script"})
    shown = "</script><script>alert(1)</script>⟨U+202E⟩⟨U+0000⟩"
    assert response.headers["content-type"] == "application/json"
    assert response.json()[0]["name"] == shown
    assert ask(client, "verdict", labels=[0, 1])["names"] == {"0": shown, "1": "label 1 (no name)"}
    assert client.get("/api/labels", params={"q": shown}).json()[0]["name"] == shown  # as a person copies it
    assert client.get("/api/model").json()["model"] == "mo⟨U+202E⟩del"
