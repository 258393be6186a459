"""The audit of an index: which documents no query vector returns together, by width and by depth."""

import json
import os
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import labelproof as lp
from labelproof.auditing import audit_index, read_document
from labelproof.auditing.index import cut, default_widths
from labelproof.auditing.qrels import read_document_names, read_qrels
from labelproof.errors import DataFormatError
from labelproof.report import index_page, render_findings

CROSS = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])


def depths_by_enumeration(points, relevant):
    """Return the least k for which some superset of k documents is possible."""
    others = [i for i in range(len(points)) if i not in relevant]
    for more in range(len(others) + 1):
        supersets = [[*relevant, *some] for some in combinations(others, more)]
        if (lp.verify(points, supersets, rule="topk").status == 1).any():
            return len(relevant) + more
    raise AssertionError("all documents together are always possible")


@pytest.mark.parametrize("seed", range(4))
def test_depths_are_those_that_enumeration_finds(seed):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(9, 2))
    relevant = [sorted(rng.choice(9, 2, replace=False).tolist()) for _ in range(6)]
    found = audit_index(points, relevant, widths=[2], depths=[8])
    expected = {tuple(one): depths_by_enumeration(points, one) for one in relevant}
    v, depths = found.verifications[2], found.depths[2]
    for i, rows in enumerate(v.label_sets):
        assert depths.least[i] == depths.most[i] == expected[tuple(rows.tolist())]
    for proof in (v, *depths.proofs):
        proof.check()


def test_opposite_documents_are_never_the_best_two():
    document = audit_index(CROSS, [[0, 2], [0, 1], [0, 1]], queries=["far", "near", "too"], depths=[3]).document
    (impossible,) = document["impossible"]
    assert (impossible["queries"], impossible["documents"], impossible["least"], impossible["most"]) == (
        ["far"], [0, 2], 3, 3
    )  # fmt: skip
    assert impossible["sentence"].startswith("No query vector ranks document 0 and document 2 above all others: one of")
    assert impossible["sentence"].endswith("But among its best 3 documents some vector has them all.")
    assert document["index"]["n_sets"] == 2
    at_top, at_three = document["widths"][0]["depths"]
    assert (at_top["possible"], at_top["impossible"], at_three["possible"]) == (2, 1, 3)


def test_the_sweep_says_how_far_vectors_may_be_cut():
    rng = np.random.default_rng(1)
    points = rng.normal(size=(30, 24))
    pairs = [sorted(rng.choice(30, 2, replace=False).tolist()) for _ in range(60)]
    document = audit_index(points, pairs, widths=[24, 2, 16], depths=[]).document
    assert [row["width"] for row in document["widths"]] == [2, 16, 24]
    assert document["narrowest"] == 16
    lost = document["widths"][0]["depths"][0]["impossible"]
    assert lost > 0
    assert f"Cut to 16 numbers nothing is lost; cut to 2, {lost} queries are impossible." in document["headline"]
    assert {one["width"] for one in document["impossible"]} == {2}
    words = render_findings(index_page(document)).split("</style>")[1]
    assert words.count("<circle") == 3
    assert "label" not in words.replace("aria-label", "").replace("labelproof", "").replace('class="labels"', "")


def test_nothing_is_said_of_wide_indexes_but_that_small_sets_fit():
    rng = np.random.default_rng(1)
    document = audit_index(rng.normal(size=(200, 128)), [[0, 1], [5, 6]], widths=[128]).document
    assert any("small sets of documents are nearly always possible" in note for note in document["notes"])
    assert document["headline"] == "At width 128 some query vector returns the relevant documents of each of 2 queries."


def test_cosine_normalises_once_and_proves_what_is_stored(tmp_path):
    rng = np.random.default_rng(2)
    points = (rng.normal(size=(20, 4)) * rng.uniform(0.1, 10, size=(20, 1))).astype(np.float32)
    relevant = [[i] for i in range(20)]
    plain = audit_index(points, relevant, widths=[4])
    found = audit_index(points, relevant, cosine=True, widths=[2, 4])
    assert (found.verifications[4].status == 1).all()  # every point of a sphere is a vertex of their hull
    assert not (plain.verifications[4].status == 1).all()
    found.save(tmp_path / "audit")
    for width in (2, 4):
        stored = np.load(tmp_path / "audit" / f"layer-{width}.npz")["weight"]
        assert stored.dtype == np.float32
        np.testing.assert_array_equal(stored, cut(points, width, cosine=True))
        np.testing.assert_allclose(np.linalg.norm(stored, axis=1), 1.0, rtol=1e-6)
        lp.load_verification(tmp_path / "audit" / f"proofs-{width}.npz", stored).check()
    assert json.loads((tmp_path / "audit" / "audit.json").read_text()) == found.document
    with pytest.raises(DataFormatError, match="got that of an index"):
        read_document(tmp_path / "audit")


def test_documents_with_the_same_vector_are_told():
    document = audit_index(np.concatenate([CROSS, CROSS[:1]]), [[0]], depths=[2]).document
    assert any(note.startswith("2 documents have exactly the vector of another one") for note in document["notes"])
    assert document["impossible"][0]["sentence"] == (
        "No query vector ranks document 0 above all others: document 4 always scores as high as it, or higher. "
        "But among its best 2 documents some vector has it."
    )


def test_a_share_can_be_required():
    assert not audit_index(CROSS, [[0, 2], [0, 1]], fail_under=0.51).document["passed"]
    assert audit_index(CROSS, [[0, 2], [0, 1]], fail_under=0.5).document["passed"]


@pytest.mark.parametrize(
    ("embeddings", "relevant", "options", "message"),
    [
        (np.array([[1.0, np.nan], [0.0, 1.0]]), [[0]], {}, "embeddings must be finite, got nan in row 0, column 1"),
        (np.ones(3), [[0]], {}, r"embeddings must be numbers of shape \(n_documents, d\), got float64 of shape \(3,\)"),
        (np.array([["a"]]), [[0]], {}, "embeddings must be numbers"),
        (CROSS, [[0]], {"widths": [3]}, "widths must be from 1 to the index's 2 numbers a vector, got 3"),
        (CROSS, [[0]], {"widths": []}, "widths must be from 1 to the index's 2 numbers a vector, got none"),
        (CROSS, [[0]], {"depths": [0]}, "depths must be positive numbers of documents, got 0"),
        (CROSS, [[]], {}, "relevant must hold at least one query, and a document for each"),
        (CROSS, [[0]], {"queries": ["a", "b"]}, "queries must hold 1 names, got 2"),
        (CROSS, [[0]], {"document_names": ["a"]}, "document_names must hold 4 names, got 1"),
        (CROSS, [[0]], {"cosine": True, "widths": [1]}, "no zero vector under cosine, got row 1 at width 1"),
        (CROSS, [[0]], {"fail_under": -0.1}, "fail_under must be a share from 0 to 1, got -0.1"),
    ],
)
def test_bad_arguments_are_refused(embeddings, relevant, options, message):
    with pytest.raises(ValueError, match=message):
        audit_index(embeddings, relevant, **options)


def test_default_widths_are_powers_of_two_and_the_full_one():
    assert default_widths(64) == [4, 8, 16, 32, 64]


# Files


def write(path, text):
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    "text",
    [
        "q1 0 0 1\nq1 0 2 0\nq1 0 3 2\nq2 0 1 1\n",
        "q1\t0\t0\t1\nq1\t0\t3\t1\nq2\t0\t1\t1\n",
        "query-id\tcorpus-id\tscore\nq1\t0\t1\nq1\t3\t1\nq2\t1\t1\n\n",
    ],
)
def test_qrels_come_as_trec_and_beir_write_them(tmp_path, text):
    found = read_qrels(write(tmp_path / "q.tsv", text), 4)
    assert found.queries == ("q1", "q2")
    assert [rows.tolist() for rows in found.sets] == [[0, 3], [1]]


def test_qrels_come_as_json_lines_with_names(tmp_path):
    lines = [{"query-id": "q", "corpus-id": name, "score": 1} for name in ("b c", "a")]
    path = write(tmp_path / "q.jsonl", "\n".join(map(json.dumps, lines)))
    names = read_document_names(write(tmp_path / "d.jsonl", '{"_id": "a"}\n{"id": "x"}\n{"_id": "b c"}\n'), 3)
    assert read_qrels(path, 3, document_names=names).sets[0].tolist() == [0, 2]


def test_queries_without_a_relevant_document_are_left_out(tmp_path):
    found = read_qrels(write(tmp_path / "q.tsv", "q1 0 0 0\nq2 0 1 1\n"), 4)
    assert (found.queries, found.n_without) == (("q2",), 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "q.tsv: expected lines of query, 0, document and relevance, got an empty file"),
        ("q 0 9 1\nq 0 8 1\n", r"q.tsv: expected a row from 0 to 3, got '9' in line 1 and 1 more"),
        ("q 0 -1 1\n", "expected a row from 0 to 3, got '-1' in line 1"),
        ("q 0 1 yes\n", "line 1: expected a number as relevance, got 'yes'"),
        ("q 0 1 1\nq 0 1 1\n", "line 2: expected each document once for a query, got '1' again"),
        ("q 0\n", "line 1: expected query, 0, document and relevance, got 2 columns"),
        ("q 0 1 0\n", "expected a relevance above 0 somewhere, got none"),
    ],
)
def test_bad_qrels_are_refused(tmp_path, text, message):
    with pytest.raises(DataFormatError, match=message):
        read_qrels(write(tmp_path / "q.tsv", text), 4)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "line 1: expected JSON"),
        ("[1]", "line 1: expected an object, got list"),
        ('{"query-id": "q", "score": 1}', "line 1: expected query-id, corpus-id and score, got no corpus-id"),
    ],
)
def test_bad_json_lines_are_refused(tmp_path, text, message):
    with pytest.raises(DataFormatError, match=message):
        read_qrels(write(tmp_path / "q.jsonl", text), 4)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("d.txt", "a\nb\n", "d.txt: expected 3 documents, one per row, got 2"),
        ("d.txt", "a\nb\na\n", "d.txt: expected each document once, got 'a' twice"),
        ("d.jsonl", '{"title": "a"}\n', "line 1: expected a document's _id, got none"),
    ],
)
def test_bad_names_of_documents_are_refused(tmp_path, name, text, message):
    with pytest.raises(DataFormatError, match=message):
        read_document_names(write(tmp_path / name, text), 3)


def test_a_name_that_no_document_has_is_refused(tmp_path):
    with pytest.raises(DataFormatError, match="expected one of 2 documents, got 'c' in line 1"):
        read_qrels(write(tmp_path / "q.tsv", "q 0 c 1\n"), 2, document_names=["a", "b"])


def test_the_pairs_of_limit_need_more_than_two_numbers_a_document():
    folder = Path(os.environ.get("LABELPROOF_DATA", "")) / "limit_small"
    if not folder.is_dir():
        pytest.skip("limit_small is not under LABELPROOF_DATA")
    names = read_document_names(folder / "corpus.jsonl", 46)
    relevant = read_qrels(folder / "qrels.jsonl", 46, document_names=names)
    assert (len(relevant.queries), set(np.diff(relevant.sets.indptr).tolist())) == (1000, {2})
    points = np.random.default_rng(0).normal(size=(46, 16))
    document = audit_index(points, relevant.sets, widths=[2, 16], depths=[]).document
    first, last = (row["depths"][0] for row in document["widths"])
    assert first["impossible"] > 900
    assert last["possible"] > 900
