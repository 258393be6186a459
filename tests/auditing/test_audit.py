"""The audit from end to end: what it says is what the verifier proves, and the folder holds all of it."""

import json

import numpy as np
import pytest
import scipy.sparse

import labelproof as lp
from labelproof.auditing import audit, read_document
from labelproof.auditing.document import AuditDocument
from labelproof.data import Dataset
from labelproof.errors import DataFormatError
from labelproof.importers import ImportedLayer

NAMES = ("cat", "dog", "fish")
TRIANGLE = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
"""Three labels on two features: neither all three nor none of them can be predicted strictly."""


def layer(weight=TRIANGLE, bias=None, **changes):
    facts = {"dtype": "float64", "model": "m", "kind": "array", "source": "weight", **changes}
    return ImportedLayer(np.asarray(weight, float), bias, **facts)


@pytest.fixture(scope="module")
def bottleneck():
    """An audit of 30 labels on 3 features, with sets of which many are impossible."""
    rng = np.random.default_rng(0)
    weight = rng.normal(size=(30, 3)).astype(np.float32)
    sets = [sorted(rng.choice(30, size, replace=False).tolist()) for size in rng.integers(0, 6, 40)]
    sets += [np.flatnonzero(weight @ x > 0).tolist() for x in rng.normal(size=(10, 3))]
    sets += sets[:5]
    features = rng.normal(size=(100, 3))
    return audit(
        weight, sets, radius=True, features=features, reach=True, pairs=50, triples=40, n_explained=3, fail_under=0.5
    ), sets


def test_verdicts_are_those_of_the_verifier(bottleneck):
    found, sets = bottleneck
    data = found.document["groups"][0]
    again = lp.verify(found.layer.weight, data["labels"], ties="inactive")
    assert data["status"] == again.status.tolist()
    assert sum(data["counts"]) == len(sets) == data["examples"]
    assert sorted(data["counts"], reverse=True) == data["counts"]
    assert {tuple(labels) for labels in data["labels"]} == {tuple(labels) for labels in sets}
    assert 0 < data["argmaxable"] < len(data["status"])


def test_shares_by_number_of_active_labels_add_up(bottleneck):
    data = bottleneck[0].document["groups"][0]
    for key, total in (
        ("sets", len(data["status"])),
        ("examples", data["examples"]),
        ("argmaxable", data["argmaxable"]),
    ):
        assert sum(one[key] for one in data["by_size"]) == total
    assert [one["size"] for one in data["by_size"]] == sorted({len(labels) for labels in data["labels"]})


def test_explanations_are_of_the_most_frequent_impossible_sets(bottleneck):
    document = bottleneck[0].document
    data, explained = document["groups"][0], document["explained"]
    impossible = [i for i, status in enumerate(data["status"]) if status == 0]
    assert [one["index"] for one in explained] == impossible[:3]
    for one in explained:
        signs = dict.fromkeys(one["on"], 1) | dict.fromkeys(one["off"], -1)
        assert set(one["on"]) <= set(one["labels"])
        assert not set(one["off"]) & set(one["labels"])
        assert sum(one["shares"]) == pytest.approx(1)
        rows = np.array([signs[label] * found_row(bottleneck, label) for label in one["on"] + one["off"]])
        directions = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        np.testing.assert_allclose(np.array(one["shares"]) @ directions, 0, atol=1e-9)  # they balance


def found_row(bottleneck, label):
    return bottleneck[0].layer.weight[label]


def test_nearest_sets_are_predictable(bottleneck):
    found, _ = bottleneck
    for one in found.document["explained"]:
        for near in one["nearest"]:
            changed = sorted((set(one["labels"]) | set(near["added"])) - set(near["removed"]))
            assert lp.verify(found.layer.weight, [changed], ties="inactive").status.tolist() == [1]


def test_samples_come_with_an_interval_and_small_populations_are_complete(bottleneck):
    groups = {group["name"]: group for group in bottleneck[0].document["groups"]}
    assert groups["pairs"]["population"] == 435
    assert 0 <= groups["pairs"]["low"] <= groups["pairs"]["argmaxable"] / 50 < groups["pairs"]["high"] < 0.2
    complete = audit(TRIANGLE, [[0]], pairs=100).document["groups"][1]
    assert complete["title"] == "All pairs of labels"
    assert (complete["population"], len(complete["status"])) == (None, 3)


def test_the_reach_of_predictable_sets_is_within_or_beyond_the_data(bottleneck):
    document = bottleneck[0].document
    data = document["groups"][0]
    known = [reach is not None for reach in data["reach"]]
    assert known == [
        status == 1 and labels != [] for status, labels in zip(data["status"], data["labels"], strict=True)
    ]
    assert document["reach"]["within"] + document["reach"]["beyond"] == sum(known)  # the empty set is a point, x = 0
    bottleneck[0].reach.check()
    bottleneck[0].pairs.check()


def test_the_folder_holds_the_document_the_layer_and_proofs_that_hold(bottleneck, tmp_path):
    found, _ = bottleneck
    found.save(tmp_path / "audit")
    assert read_document(tmp_path / "audit") == found.document
    with np.load(tmp_path / "audit" / "layer.npz") as arrays:
        for group in ("data", "pairs", "triples"):
            proofs = lp.load_verification(tmp_path / "audit" / f"proofs-{group}.npz", arrays["weight"])
            proofs.check()
            assert proofs.status.tolist() == found.verifications[group].status.tolist()
    assert list(tmp_path.iterdir()) == [tmp_path / "audit"]


def test_an_earlier_audit_is_replaced_and_other_folders_are_left_alone(bottleneck, tmp_path):
    bottleneck[0].save(tmp_path / "a")
    (tmp_path / "a" / "notes.txt").write_text("mine")
    audit(TRIANGLE, [[0]]).save(tmp_path / "a")
    assert read_document(tmp_path / "a")["layer"]["n_labels"] == 3
    assert sorted(file.name for file in (tmp_path / "a").glob("proofs-*")) == ["proofs-data.npz"]
    assert (tmp_path / "a" / "notes.txt").read_text() == "mine"
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "thesis.txt").write_text("years of work")
    with pytest.raises(ValueError, match="folder must be new, empty or hold an earlier audit"):
        audit(TRIANGLE, [[0]]).save(tmp_path / "b")


def test_nothing_half_written_is_left_when_saving_fails(bottleneck, tmp_path, monkeypatch):
    def full(*_args, **_options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(type(bottleneck[0].verifications["data"]), "save", full)
    with pytest.raises(OSError, match="No space left"):
        bottleneck[0].save(tmp_path / "audit")
    assert list(tmp_path.iterdir()) == []


def test_headlines():
    def headline(weight, labels, **options):
        return audit(weight, labels, **options).headline

    assert headline(TRIANGLE, [[0], [0, 1, 2], [0, 1, 2]]) == (
        "1 of 2 distinct label sets can never be predicted, whatever the input. "
        "That is the label set of 2 of 3 examples (66.7 %)."
    )
    assert (
        headline(TRIANGLE, [[0], [1]]) == "Every one of the 2 distinct label sets can be predicted by the output layer."
    )
    assert headline(np.eye(3, 4), [[0], [1]]).endswith(
        "So can every other combination: the weights are proven to have full rank."
    )
    assert "proven" not in headline(np.eye(3, 4), [[0]], domain="nonnegative")
    assert "(nonnegative inputs)" in headline(-np.eye(3), [[0]], domain="nonnegative")


def test_undecided_sets_are_no_verdicts():
    weight = np.random.default_rng(0).normal(size=(400, 60))
    found = audit(weight, [list(range(150)), list(range(90))], time_limit=0.0)
    data = found.document["groups"][0]
    if data["undecided"]:
        assert f"{data['undecided']} are undecided." in found.headline
    assert data["argmaxable"] + data["unargmaxable"] + data["undecided"] == 2


def test_labels_that_never_change_are_named():
    weight, bias = np.array([[1.0], [0.0], [0.0], [0.0]]), np.array([0.0, 1.0, -1.0, 0.0])
    facts = audit(layer(weight, bias), [[0, 1]]).document["layer"]
    assert (facts["always_active"], facts["never_active"]) == ([1], [2, 3])


def test_the_model_s_own_rule_thresholds_and_domain_are_used_unless_others_are_asked_for():
    own = layer([[1.0], [-1.0]], thresholds=np.array([0.3, 0.7]), domain="nonnegative", domain_reason="After a ReLU.")
    facts = audit(own, [[0]]).document["layer"]
    assert (facts["thresholds"], facts["domain"], facts["domain_reason"]) == (
        "one for each label", "nonnegative inputs", "After a ReLU.",
    )  # fmt: skip
    facts = audit(own, [[0]], thresholds=0.5, domain=(-1, 1)).document["layer"]
    assert (facts["thresholds"], facts["domain"], facts["domain_reason"]) == (
        "½", "inputs within [-1, 1]", "These inputs were asked for.",
    )  # fmt: skip
    facts = audit(own, [[0]], rule="topk", domain=None).document["layer"]
    assert (facts["rule"], facts["thresholds"], facts["domain"]) == ("topk", "none", "every input")
    box = audit(own, [[0]], domain=(np.array([0.0]), 2.0)).document["layer"]
    assert box["domain"] == "inputs within [0, 2]"


def test_a_radius_is_measured_without_the_balls_of_the_model_s_own_domain():
    weight, reason = np.array([[1.0, 1.0], [1.0, -1.0]]), "Rows of length 1."
    for domain, bounds in (("unit", "nonnegative inputs"), (("ball", 2.0), "every input")):
        own = layer(weight, domain=domain, domain_reason=reason)
        assert audit(own, [[0]]).document["layer"]["domain_reason"] == reason
        found = audit(own, [[0]], radius=True).document
        assert found["layer"]["domain"] == bounds
        assert (
            found["layer"]["domain_reason"]
            == f"{reason} The radius goes with bounds only, so that lengths are not used."
        )
        assert found["groups"][0]["radius"][0] > 0
    with pytest.raises(ValueError, match="radius goes with domains of bounds only"):
        audit(own, [[0]], domain="unit", radius=True)


def test_a_fitted_rule_brings_its_thresholds():
    rule = lp.decisions.PerLabelThreshold(scores="logits").fit(np.eye(3), 5 * np.eye(3) - 1)
    found = audit(layer(rule=rule, label_names=NAMES), [[0]])
    np.testing.assert_array_equal(found.verifications["data"].layer.theta, rule.geometry.logit_cuts(3))


def test_a_data_set_is_matched_by_name():
    labels = scipy.sparse.csr_array([[1, 0, 0], [0, 1, 1]])
    data = Dataset(labels, ("fish", "cat", "dog"), texts=("a", "b"))
    found = audit(layer(label_names=NAMES), data)
    assert found.document["groups"][0]["labels"] == [[2], [0, 1]]


def test_a_model_without_names_takes_numbers_and_refuses_names_in_an_unknown_order():
    numbered = Dataset(scipy.sparse.csr_array([[1, 0], [0, 1]]), ("2", "0"))
    found = audit(layer(), numbered)
    assert found.document["groups"][0]["labels"] == [[2], [0]]
    assert found.document["label_names"] == ["label 0", "label 1", "label 2"]
    named = Dataset(scipy.sparse.csr_array([[1, 0, 0]]), ("fish", "cat", "dog"))
    with pytest.raises(ValueError, match=r"label_names must be given, in the order of the model's 3 rows.*'fish'"):
        audit(layer(), named)
    with pytest.raises(ValueError, match="such as '7'"):
        audit(layer(), Dataset(scipy.sparse.csr_array([[1]]), ("7",)))


def test_names_that_do_not_match_are_refused():
    data = Dataset(scipy.sparse.csr_array([[1, 1]]), ("cat", "bird"))
    with pytest.raises(ValueError, match="labels must be ones that the model knows, got 'bird'; the nearest is"):
        audit(layer(label_names=NAMES), data)
    with pytest.raises(ValueError, match="the model's must differ, got 'cat' more than once"):
        audit(layer(), data, label_names=["cat", "dog", "cat"])
    with pytest.raises(ValueError, match="label_names must hold 3 names to match the layer, got 2"):
        audit(layer(), [[0]], label_names=["a", "b"])
    for wrong in ("abc", [1, 2, 3]):
        with pytest.raises(ValueError, match="label_names must be a list of strings"):
            audit(layer(), [[0]], label_names=wrong)


def test_requirements_decide_whether_the_model_passes():
    required = {"pets": ["dog", "cat"], "aquarium": ["cat", "dog", "fish"]}
    found = audit(layer(label_names=NAMES), [[0]], required=required)
    assert not found.passed
    assert found.document["requirements"]["failed"] == [1]
    assert found.document["groups"][-1]["names"] == ["pets", "aquarium"]
    assert audit(layer(label_names=NAMES), [[0]], required={"pets": ["dog"]}).passed
    assert audit(TRIANGLE, [[0], [0, 1, 2]], fail_under=0.5).passed
    assert not audit(TRIANGLE, [[0], [0, 1, 2]], fail_under=0.51).passed
    assert audit(TRIANGLE, [[0]]).document["requirements"] is None
    assert not audit(TRIANGLE, [[0]], required=[[0, 1, 2]]).passed


@pytest.mark.parametrize(("share", "passed"), [(0.07, True), (0.0700001, False), (0.29, False), (0, True)])
def test_a_share_is_compared_as_the_decimal_that_it_is(share, passed, tmp_path):
    weight = np.vstack([np.eye(7), -np.eye(7)])  # of label i and i + 7 exactly one is on
    possible = [[j if j != i else j + 7 for j in range(7)] for i in range(7)]
    impossible = [[i, j] for i in range(14) for j in range(i)]
    sets = possible + impossible + [[0], [1]]
    found = audit(weight, sets, ties="open", fail_under=share, n_explained=0)
    assert found.document["groups"][0]["argmaxable"] == 7
    assert len(found.document["groups"][0]["status"]) == 100
    assert found.passed is passed
    found.save(tmp_path / "audit")
    assert read_document(tmp_path / "audit")["requirements"]["passed"] is passed


@pytest.mark.parametrize(
    ("required", "message"),
    [
        ({"x": ["cot"]}, "got 'cot' in 'x'; the nearest is 'cat'"),
        ({"x": [3]}, "names or indices of the 3 labels, got 3 in 'x'"),
        ({"x": [True]}, "got True in 'x'"),
        ({"x": "cat"}, "got the one string 'cat' in 'x'"),
        ({}, "at least one label set, got none"),
        ([], "at least one label set, got none"),
    ],
)
def test_requirements_on_unknown_labels_are_refused(required, message):
    with pytest.raises(ValueError, match=message):
        audit(layer(label_names=NAMES), [[0]], required=required)


def test_a_name_of_two_labels_is_no_requirement():
    with pytest.raises(ValueError, match=r"got 'cat' in 'cats', the name of labels \[0, 2\]"):
        audit(TRIANGLE, [[0]], label_names=["cat", "dog", "cat"], required={"cats": ["cat"]})


def test_impossible_predictions_raise_an_alarm():
    notes = audit(TRIANGLE, [[0]], predicted=[[0, 1, 2], [0]]).document["layer"]["notes"]
    assert notes[0].startswith("1 label sets that the model is said to have predicted are proven impossible")


def test_an_interval_allows_for_what_is_undecided():
    weight = np.random.default_rng(0).normal(size=(60, 60))
    group = audit(weight, [[0]], pairs=30, time_limit=0.0).document["groups"][1]
    assert group["undecided"] > 0
    assert group["high"] == 1.0


def test_labels_that_the_domain_makes_constant_are_named():
    weight = np.array([[-1.0, -1.0], [1.0, 1.0], [1.0, -1.0]])
    facts = audit(layer(weight), [[1]], domain="nonnegative").document["layer"]
    assert (facts["always_active"], facts["never_active"]) == ([], [0])
    facts = audit(layer(weight, np.array([3.0, 0.5, 0.0])), [[0, 1]], domain=(0.0, 1.0)).document["layer"]
    assert (facts["always_active"], facts["never_active"]) == ([0, 1], [])
    facts = audit(layer(weight, np.array([-3.0, 3.0, -1.5])), [[1]], domain=(-1.0, 1.0)).document["layer"]
    assert (facts["always_active"], facts["never_active"]) == ([1], [0])
    facts = audit(layer(weight), [[1]], domain=(-np.inf, np.inf)).document["layer"]
    assert facts["domain"] == "every input"


def test_the_witness_0_has_no_margin():
    assert audit(TRIANGLE, [[]]).document["groups"][0]["margin"] == [0.0]


def test_predictions_are_a_group_of_their_own():
    group = audit(TRIANGLE, [[0]], predicted=[[1], [1], [0, 1]]).document["groups"][1]
    assert (group["name"], group["counts"], group["status"]) == ("predicted", [2, 1], [1, 1])


def test_another_rule_and_wider_heads_are_advised_only_where_sets_are_lost(bottleneck):
    titles = [one["title"] for one in bottleneck[0].document["advice"]]
    assert any(title.startswith("About 25 features") for title in titles)  # too many labels for a DFT head
    assert "Another decision rule on the same weights" in titles
    assert audit(TRIANGLE, [[0]]).document["advice"] == []


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="labels must hold at least one label set"):
        audit(TRIANGLE, [])
    with pytest.raises(ValueError, match="fail_under must be a share from 0 to 1, got 90"):
        audit(TRIANGLE, [[0]], fail_under=90)
    with pytest.raises(ValueError, match="dtype must be one of"):
        audit(TRIANGLE, [[0]], serving_dtype="int4")
    with pytest.raises(ValueError, match="must not be negative, got -1, 0, 20"):
        audit(TRIANGLE, [[0]], pairs=-1)


def test_live_objects_are_audited():
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(5, 2), torch.nn.ReLU(), torch.nn.Linear(2, 3))
    found = lp.audit(model, [[0]])
    assert found.layer.weight.shape == (3, 2)
    assert found.document["layer"]["domain"] == "nonnegative inputs"


def tampered(document, path):
    *folders, last = path
    inner = document
    for key in folders:
        inner = inner[key]
    return inner, last


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["format"], "zip", "expected the document of an audit"),
        (["version"], 99, "expected version 2 of the format, got 99"),
        (["headline"], 3, "expected str for the document's headline, got 3"),
        (["label_names"], ["a"], "expected 30 label names, got 1"),
        (["groups"], [], "expected the group 'data' first"),
        (["groups", 0, "status", 0], 7, "expected a status of 1, 0 or -1"),
        (["groups", 0, "status", 0], True, "expected int for"),
        (["groups", 0, "labels", 0], [30], "expected labels from 0 to 29"),
        (["groups", 0, "counts"], [1], "entries in counts of the group 'data', got 1"),
        (["groups", 0, "margin", 0], "big", "expected float or NoneType"),
        (["layer"], [], "expected an object for the document's layer, got list"),
        (["explained"], {}, "expected a list for the document's explained, got dict"),
        (["explained", 0, "on"], [-1], "expected labels from 0 to 29, got -1"),
        (["explained", 0, "index"], 10**6, "expected a set of a group"),
        (["explained", 0, "nearest"], [{"added": [99], "removed": [], "is_minimal": True}], "got 99"),
        (["conflict_labels", 0, "label"], 500, "got 500"),
        (["requirements", "failed"], [0], "expected requirements of the group 'required'"),
        (["requirements", "passed"], True, "expected requirements that fail where verdicts do"),
        (["groups", 0, "argmaxable"], 999, "expected totals of the group 'data'"),
        (["groups", 0, "counts", 0], -1, "expected totals of the group 'data'"),
        (["groups", 0, "by_size"], [], "expected totals of the group 'data'"),
        (["groups", 1, "name"], "data", "expected each group once"),
        (["groups", 0, "margin", 0], 1e301, "expected a number below"),
        (["layer", "rank"], 10**400, "expected a number below"),
        (["check_command"], "rm -rf ~", "expected the command 'labelproof check"),
        (["reach", "within"], None, "expected int for the document's reach's within"),
    ],
)
def test_a_document_of_another_form_is_refused(bottleneck, tmp_path, path, value, message):
    document = json.loads(json.dumps(bottleneck[0].document))
    inner, last = tampered(document, path)
    inner[last] = value
    (tmp_path / "audit.json").write_text(json.dumps(document))
    with pytest.raises(DataFormatError, match=message):
        read_document(tmp_path)


@pytest.mark.parametrize("key", AuditDocument.__annotations__)
def test_nothing_may_be_missing_from_a_document(bottleneck, tmp_path, key):
    document = {**bottleneck[0].document}
    del document[key]
    (tmp_path / "audit.json").write_text(json.dumps(document))
    with pytest.raises(DataFormatError):
        read_document(tmp_path / "audit.json")


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, '{"a": NaN}', "3"])
def test_what_is_no_json_object_is_refused(tmp_path, text):
    (tmp_path / "audit.json").write_text(text)
    with pytest.raises(DataFormatError, match=r"^audit.json: expected"):
        read_document(tmp_path)


def test_a_missing_document_is_named(tmp_path):
    with pytest.raises(DataFormatError, match="no such file"):
        read_document(tmp_path / "nowhere")
