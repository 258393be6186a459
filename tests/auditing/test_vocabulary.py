"""The audit of a vocabulary: every token, those that are never first, and what keeps them from it."""

import json
from dataclasses import replace

import numpy as np
import pytest

import labelproof as lp
from labelproof.auditing import audit_vocabulary, read_document
from labelproof.errors import DataFormatError
from labelproof.importers import layer_of, read_layer
from labelproof.report import render_findings, vocabulary_page

SQUARE = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0], [0.25, 0.125]])
NAMES = ["a", "b", "c", "d", "inner"]


def test_a_token_inside_the_others_is_never_first():
    found = audit_vocabulary(SQUARE, token_names=NAMES)
    document = found.document
    assert (document["can"], document["undecided"]) == (4, [])
    (never,) = document["never"]
    assert (never["token"], never["twins"], never["together"]) == (4, [], None)
    shares = {one["token"]: one["share"] for one in never["rivals"]}
    mean = sum(share * SQUARE[token] for token, share in shares.items())
    np.testing.assert_allclose(mean, SQUARE[4], atol=1e-3)  # shares have four digits
    assert sum(shares.values()) == pytest.approx(1.0, abs=1e-3)
    assert never["rivals"][0]["token"] == max(shares, key=shares.get)  # which three it is depends on rounding
    assert never["nearest"][0] == 0
    assert "inner (token 4) never scores above all of 3 others, whatever the input" in never["sentence"]
    found.verification.check()


def test_a_bias_can_lift_a_token_from_within():
    lifted = audit_vocabulary_of(bias=[0.0, 0.0, 0.0, 0.0, 0.5])
    assert lifted.document["never"] == []
    assert lifted.document["headline"] == "Every one of the 5 tokens can be ranked first by the output layer."
    sunk = audit_vocabulary_of(bias=[0.0, 0.0, 0.0, 0.0, -0.5])
    (never,) = sunk.document["never"]
    assert sum(one["share"] for one in never["rivals"]) == pytest.approx(1.0, abs=1e-3)
    sunk.verification.check()


def audit_vocabulary_of(bias):
    return audit_vocabulary(replace(layer_of(SQUARE), bias=np.array(bias)), token_names=NAMES)


def test_tokens_with_the_same_weights_tie_at_best():
    rows = np.concatenate([SQUARE, SQUARE[[0, 4, 4]]])
    found = audit_vocabulary(rows)
    by_token = {one["token"]: one for one in found.document["never"]}
    assert by_token.keys() == {0, 4, 5, 6, 7}
    assert (by_token[0]["twins"], by_token[0]["together"]) == ([5], 1)
    assert (by_token[4]["twins"], by_token[4]["together"]) == ([6, 7], 0)
    assert by_token[5]["sentence"] == (
        "#5 (token 5) has exactly the weights of #0: it can tie for the first place, and never has it alone."
    )
    assert by_token[4]["sentence"].endswith("of #6 and 1 more: no input ranks them first, even together.")
    assert "All of these have exactly the weights of another token" in found.document["headline"]
    found.twins.check()


def test_what_is_saved_can_be_checked_and_read_again(tmp_path):
    rows = np.concatenate([SQUARE, SQUARE[:1]]).astype(np.float32)
    found = audit_vocabulary(rows, token_names=[*NAMES, "again"])
    found.save(tmp_path / "audit")
    layer = read_layer(tmp_path / "audit")
    assert layer.label_names[5] == "again"
    for name in ("tokens", "twins"):
        lp.load_verification(tmp_path / "audit" / f"proofs-{name}.npz", layer.weight).check()
    assert json.loads((tmp_path / "audit" / "audit.json").read_text()) == found.document
    with pytest.raises(DataFormatError, match="got that of a vocabulary, whose report"):
        read_document(tmp_path / "audit")
    found.save(tmp_path / "audit")  # over an earlier one
    audit_vocabulary(SQUARE[:4]).save(tmp_path / "audit")
    assert not (tmp_path / "audit" / "proofs-twins.npz").exists()


def test_the_page_names_tokens_and_rivals_and_hides_nothing():
    names = ["<b>", "b", "c", "d", "in\u202ener"]
    page = render_findings(vocabulary_page(audit_vocabulary(SQUARE, token_names=names).document))
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    assert "in⟨U+202E⟩ner" in page
    assert "Tokens that are never first" in page
    assert "labels" not in page.split("</style>")[1].replace('class="labels"', "")
    twins = render_findings(vocabulary_page(audit_vocabulary(np.concatenate([SQUARE, SQUARE[:1]])).document))
    assert "Tokens with the same weights" in twins
    assert "first together with them" in twins


def test_a_share_can_be_required():
    assert audit_vocabulary(SQUARE, fail_under=0.8).document["passed"]
    assert not audit_vocabulary(SQUARE, fail_under=0.81).document["passed"]


def test_time_may_run_out():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 40))
    document = audit_vocabulary(0.01 * rows[:1] + 0 * rows + rows.mean(axis=0), time_limit=0.0).document
    assert document["can"] + len(document["never"]) + len(document["undecided"]) == 300
    assert render_findings(vocabulary_page(document))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fail_under": 2.0}, "fail_under must be a share from 0 to 1, got 2.0"),
        ({"n_explained": -1}, "n_explained must not be negative, got -1"),
        ({"token_names": ["a"]}, "token_names must hold 5 names, one for each row, got 1"),
    ],
)
def test_bad_arguments_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        audit_vocabulary(SQUARE, **options)
