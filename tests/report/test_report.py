"""The report as a file: what it says, that it is closed to what label names could smuggle in, and how it is written."""

import base64
import copy
import hashlib
import json
import re
import sys
import unicodedata

import pytest
from audit_documents import big_document, make_document, make_group, renamed
from reading_pages import Page

from labelproof.report import Table, render_report, rendering, set_table, write_report
from labelproof.report.model_differences import agreement

HOSTILE = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(2)>",
    "<!--<script>",
    '" onmouseover="alert(3)',
    "{{ 7 * 7 }}{% raw %}",
    "a\u2028b\u2029c",
    "exe.\u202etxt\u2066",
    "nul\x00 and \x1b[31m",
    "lone \ud800 surrogate",
    "]]><svg/onload=alert(4)>",
    "&lt;b&gt; &amp;",
    "שלום עולם",
    "   ",
]


@pytest.fixture(scope="module")
def page(full):
    return Page(render_report([full]))


def test_the_page_loads_nothing_and_runs_nothing_but_its_own_script(page):
    for tag, attributes in page.elements:
        assert not {"src", "srcset", "style", "action", "data"} & set(attributes), (tag, attributes)
        assert not [name for name in attributes if name.startswith("on")]
        assert attributes.get("href", "#").startswith("#")
    assert not {"link", "iframe", "object", "embed", "base", "img"} & {tag for tag, _ in page.elements}


def test_the_policy_names_the_hashes_of_the_style_and_of_the_script(page):
    meta = next(its for tag, its in page.elements if its.get("http-equiv") == "Content-Security-Policy")
    policy = dict(part.split(" ", 1) for part in meta["content"].split("; "))
    assert policy["default-src"] == policy["base-uri"] == policy["form-action"] == "'none'"
    scripts = [text for tag, its, text in page.raw if tag == "script" and "type" not in its]
    for texts, source in ((page.inline("style"), "style-src"), (scripts, "script-src")):
        digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts]
        assert [f"'sha256-{digest}'" for digest in digests] == [policy[source]]


def test_hostile_names_do_not_change_what_the_page_is_made_of(full, page):
    hostile = renamed(full, HOSTILE)
    for i, part in enumerate(("model", "kind", "source", "domain", "domain_reason", "sha256")):
        hostile["layer"][part] = HOSTILE[i % 4]
    hostile["headline"] = hostile["check_command"] = hostile["data"]["name"] = f"{HOSTILE[0]}. 2 are lost."
    hostile["groups"][3]["names"] = HOSTILE[:4]
    hostile["advice"][0] = {"title": HOSTILE[1], "text": HOSTILE[2]}
    hostile["explained"][0]["sentences"] = HOSTILE[: len(full["explained"][0]["sentences"])]
    other = Page(render_report([hostile], title=HOSTILE[1]))
    assert other.shape() == page.shape()
    assert other.comments == []
    assert HOSTILE[0] in other.text
    assert HOSTILE[4] in other.text


def test_hostile_names_cannot_leave_the_data_of_the_script(full):
    (data,) = Page(render_report([renamed(full, HOSTILE)])).inline("script", type="application/json")
    assert not set("<>&\u2028\u2029") & set(data)
    names = json.loads(data)["names"]
    assert HOSTILE[0] in names
    assert HOSTILE[11] in names


def test_no_character_of_the_page_is_hidden(full):
    text = render_report([renamed(full, HOSTILE)], title="a\u202eb\ud800")
    hidden = {c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")}
    assert hidden == {"\n"}
    assert "exe.⟨U+202E⟩txt⟨U+2066⟩" in text
    assert "lone ⟨U+D800⟩ surrogate" in text
    text.encode("utf-8")


def test_the_end_of_a_very_long_name_is_left_out(full):
    text = Page(render_report([renamed(full, ["W" * 10**6])])).text
    assert f"{'W' * 159}…" in text
    assert "W" * 160 not in text


def test_a_name_of_spaces_is_called_by_its_number(full):
    assert "label 12 (no name)" in Page(render_report([renamed(full, HOSTILE)])).text


def test_without_a_script_the_first_hundred_label_sets_are_there(small):
    html = render_report([small])
    body = html[html.index("<tbody>", html.index('class="rows verdicts"')) :].split("</tbody>")[0]
    verdicts = re.findall(r'class="verdict (\w+)"', body)
    assert len(verdicts) == 100
    assert verdicts == ["cannot"] * small["groups"][0]["unargmaxable"] + ["can"] * (100 - verdicts.count("cannot"))


def test_the_data_of_the_script_are_the_audit_s_own(small):
    (text,) = Page(render_report([small])).inline("script", type="application/json")
    data, group = json.loads(text), small["groups"][0]
    columns = [column["key"] for column in data["groups"][0]["columns"]]
    values = dict(zip(columns, data["groups"][0]["values"], strict=True))
    shown = {
        tuple(data["names"][i] for i in labels): (status, count)
        for labels, (status, _), count in zip(values["labels"], values["verdict"], values["examples"], strict=True)
    }
    names = small["label_names"]
    assert shown == {
        tuple(names[i] for i in labels): (status, count)
        for labels, status, count in zip(group["labels"], group["status"], group["counts"], strict=True)
    }


def test_every_explained_set_leads_to_its_picture(small):
    page = Page(render_report([small]))
    ids = [its["id"] for _, its in page.elements if "id" in its]
    assert len(ids) == len(set(ids))
    links = {its["href"][1:] for tag, its in page.elements if tag == "a" and its.get("class") == "why"}
    assert links == {f"audit1-why-{i}" for i in range(len(small["explained"]))} <= set(ids)


def test_everything_that_an_audit_holds_is_said(full, page):
    for words in (
        full["headline"],
        "4 required label sets cannot be shown",
        "at least 90 % were required",
        "22.0–50.0 %",
        "40 of 34,220",
        "valve repair follow-up",
        "Logits are computed in bfloat16",
        "possible on paper only",
        "An estimate: with 14 features",
        "classifier.weight of model.safetensors",
        full["check_command"],
        "must be on",
        "Nearest sets that can be predicted",
        "1,200 examples (lines)",
    ):
        assert words in page.text, words


def test_what_an_audit_does_not_hold_is_not_mentioned(small):
    text = Page(render_report([small])).text
    for words in ("Requirements", "Reach", "arithmetic of serving", "What would help", "undecided", "Never on"):
        assert words not in text, words


def test_an_audit_of_no_label_sets_has_a_page():
    document = make_document("empty", ["a", "b"], 2, [make_group("data", "Label sets of the data", [], [], [])])
    assert "0 label sets" in Page(render_report([document])).text


def test_undecided_sets_are_counted_apart():
    group = make_group("data", "Label sets of the data", [[0], [1], []], [5, 2, 1], [1, -1, 0])
    text = Page(render_report([make_document("m", ["a", "b"], 1, [group])])).text
    assert "undecided: time ran out" in text
    assert "of the examples have a label set without a proof that it can37.5 %" in text
    assert "the empty set" in text


def test_a_conflict_without_shares_is_told_without_bars(small):
    other = copy.deepcopy(small)
    other["explained"][0].update(shares=[], extra=["low[3]", "sum_le"])
    text = Page(render_report([other])).text
    assert "one of them at least fails. Also part of it: the lower bound of feature 3, the sum of the scores." in text


@pytest.mark.parametrize(
    ("extra", "layer", "words"),
    [
        ([], {}, "The weighted sum is zero for every input."),
        (["scale"], {"bias": True}, "is below zero for every input. Also part of it: the biases."),
        (
            ["scale"],
            {"bias": False, "thresholds": "0.3"},
            "is below zero for every input. Also part of it: the thresholds.",
        ),
        (
            ["scale", "high[7]"],
            {"bias": False},
            "for every input within the bounds. Also part of it: the upper bound of fe",
        ),
        (["low[1]"], {"bias": False}, "is zero or less for every input within the bounds."),
    ],
)
def test_a_conflict_says_what_takes_part_beside_labels(small, extra, layer, words):
    other = copy.deepcopy(small)
    other["explained"][0]["extra"] = extra
    other["layer"].update(layer)
    assert words in Page(render_report([other])).text


def test_a_conflict_of_one_label_is_told_as_such(small):
    other = copy.deepcopy(small)
    other["explained"] = other["explained"][:1]
    other["explained"][0].update(on=[3], off=[], shares=[0.0], extra=[])
    assert "Whatever the input, this label cannot be as required." in Page(render_report([other])).text


def test_models_are_put_side_by_side(small, full):
    other = copy.deepcopy(small)
    other["layer"]["model"] = "second"
    page = Page(render_report([full, other]))
    assert "2 models side by side" in page.text
    assert {"audit1", "audit2"} <= {its.get("id") for tag, its in page.elements if tag == "article"}
    ids = [its["id"] for _, its in page.elements if "id" in its]
    assert len(ids) == len(set(ids))
    assert "not met" in page.text


def test_tables_stand_above_the_audits(small):
    table = Table("Scores", ("model", "F1", "sets"), (("a<b", 0.61234, 12345), ("c", None, 7)), note="Tuned.")
    text = Page(render_report([small], title="Mine", tables=[table])).text
    assert "modelF1sets a<b0.612312,345 c–7 Tuned." in text
    assert text.index("Tuned.") < text.index("By number of active labels")
    assert "Mine" in text


def test_the_largest_audit_has_a_report_of_five_megabytes_at_most():
    assert len(render_report([big_document()]).encode()) <= 5_000_000


def test_a_page_lists_what_matters_most_of_too_many_sets(monkeypatch):
    monkeypatch.setattr(set_table, "MOST_SETS", 3)
    group = make_group("data", "Label sets of the data", [[0], [1], [2], [0, 1]], [9, 8, 7, 1], [1, 1, 1, 0])
    document = make_document("m", ["a", "b", "c"], 2, [group])
    page = Page(render_report([document]))
    (data,) = page.inline("script", type="application/json")
    assert json.loads(data)["groups"][0]["values"][0] == [[0, ""], [1, ""], [1, ""]]
    assert "label sets of a group at most; audit.json holds all" in page.text


def test_a_report_replaces_an_earlier_one(small, tmp_path):
    path = tmp_path / "report.html"
    path.write_text("before")
    write_report(path, [small])
    assert path.read_text(encoding="utf-8") == render_report([small])
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


def test_a_report_that_cannot_be_put_in_place_leaves_nothing(small, tmp_path):
    (tmp_path / "report.html").mkdir()
    with pytest.raises(OSError, match=r"report\.html"):
        write_report(tmp_path / "report.html", [small])
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


def test_a_report_of_nothing_is_refused():
    with pytest.raises(ValueError, match="documents must hold at least one audit, got none"):
        render_report([])


def test_rows_of_a_table_must_match_its_columns():
    with pytest.raises(ValueError, match=r"rows must have 2 cells to match columns, got 1"):
        Table("t", ("a", "b"), (("x",),))


def test_without_jinja2_one_sentence_says_what_to_install(small, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    rendering._environment.cache_clear()
    with pytest.raises(ImportError, match=r"a report needs the package jinja2: pip install 'labelproof\[audit\]'"):
        render_report([small])


def three_models():
    """Audits of the same labels, the third of them in another order."""
    sets, names = [[0], [1], [0, 1], [2]], ["a", "b", "c"]

    def audit(sets, status, names=names):
        return make_document("m", names, 2, [make_group("data", "Label sets of the data", sets, [1, 5, 9, 2], status)])

    return [
        audit(sets, [1, 1, 0, 1]),
        audit(sets, [1, 0, 0, -1]),
        audit([[2], [1], [1, 2], [0]], [1, 1, 0, 1], ["c", "b", "a"]),
    ]


def test_models_are_compared_on_the_label_sets_by_name():
    found = agreement(three_models())
    assert (found.sets, found.everyone, found.no_one, found.differing) == (4, 1, 1, 2)
    assert [(one.labels, one.examples, one.status) for one in found.differences] == [
        (("b",), 5, (1, 0, 1)),
        (("c",), 2, (1, -1, 1)),
    ]


def test_models_without_a_common_label_set_are_not_compared():
    first, second, _ = three_models()
    second["label_names"] = ["x", "y", "z"]
    assert agreement([first, second]) is None
    assert "Where they differ" not in render_report([first, second])


def test_labels_of_one_name_are_not_compared():
    first, second, _ = three_models()
    second["label_names"] = ["a", "a", "c"]
    assert agreement([first, second]) is None


def test_one_model_is_not_compared():
    assert agreement(three_models()[:1]) is None
