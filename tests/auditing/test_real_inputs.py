"""What an audit says of real inputs: features that the model computes, the bar, and the ways in which they are bad."""

import json
import re

import numpy as np
import pytest
import scipy.sparse
from example_audits import layer, wide_audit, wide_model
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline

import labelproof as lp
from labelproof.auditing import read_document
from labelproof.auditing.feature_cache import FeatureCache, write_note
from labelproof.auditing.real_inputs import choose_rows
from labelproof.data import Dataset
from labelproof.errors import DataFormatError
from labelproof.importers import ImportedLayer, layer_of


@pytest.fixture(scope="module")
def wide():
    return wide_audit(n_explained=0)


def test_the_headline_says_how_many_examples_lie_beyond_the_bar(wide):
    facts, data = wide.document["stretch"], wide.document["groups"][0]
    assert wide.headline.startswith(
        f"{100 * facts['beyond_examples'] / 400:.1f} % of your examples have label sets beyond the bar; all such sets "
        "together get at most 1 % of this model's predictions"
    )
    bar = wide.stretch.bar
    assert facts["bar"]["value"] >= bar.value > 0
    beyond = wide.stretch.lower > bar.value
    assert data["beyond"] == beyond.tolist()
    assert facts["beyond_examples"] == sum(c for c, b in zip(data["counts"], beyond, strict=True) if b)
    assert all(low <= exact for low, exact in zip(data["stretch_lower"], wide.stretch.lower, strict=True))
    wide.stretch.check()


def test_instructive_examples_name_labels_that_contradict_each_other(wide):
    told = wide.document["stretch"]["instructive"]
    assert 1 <= len(told) <= 3
    for one in told:
        found = wide.stretch[one["index"]]
        assert set(one["on"] + one["off"]) <= set(found.weighted)
        assert set(one["on"]) <= set(one["labels"])
        assert not set(one["off"]) & set(one["labels"])
        assert sum(one["shares"]) == pytest.approx(1, abs=0.01)
        assert wide.document["label_names"][one["on"][0]] in one["sentence"]


def test_dead_labels_and_pairs_apart_are_counted(wide):
    facts = wide.document["stretch"]
    assert [one["label"] for one in facts["dead"]] == [3]
    assert facts["dead"][0]["reason"].startswith("off at every mixture")
    assert facts["n_apart"] == len(facts["pairs"]) > 0
    assert all(3 in one["labels"] for one in facts["pairs"] if one["lower"] > 3.5)


def test_the_folder_proves_the_stretch_again(wide, tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from labelproof.cli import app

    wide.save(tmp_path / "audit")
    document = read_document(tmp_path / "audit")
    assert document["stretch"] == wide.document["stretch"]
    monkeypatch.chdir(tmp_path / "audit")
    ran = CliRunner().invoke(app, document["stretch"]["check_command"].split()[1:])
    assert ran.exit_code == 0, ran.output
    assert "proven again" in ran.output


def test_without_features_the_audit_says_what_was_not_tested():
    found = wide_audit(features=None, calibration=None, n_explained=0)
    assert found.document["stretch"] is None
    (one,) = found.document["not_tested"]
    assert one["command"] == (
        "labelproof audit notes-coder --labels notes-test.jsonl --features F.npy --calibration C.npy"
    )
    assert "real inputs" in one["what"]


def test_without_held_out_inputs_there_is_no_bar(wide):
    found = wide_audit(calibration=None, n_explained=0)
    assert found.document["stretch"]["bar"] is None
    assert "that no mixture of the examples is predicted as" in found.headline
    assert "neither trained nor tuned on" in found.document["not_tested"][0]["what"]
    assert found.document["groups"][0]["beyond"] is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"features": np.ones((400, 47))}, r"features must have shape \(n_examples, 48\) to match the weight, got"),
        ({"features": np.full((400, 48), np.nan)}, "features must be finite, got nan in row 0, column 0"),
        ({"features": np.zeros((400, 48))}, "none of which switches on any label"),
        ({"calibration": np.ones((5, 48))}, "calibration must hold at least 299 inputs for alpha=0.01, got 5: with"),
        (
            {"calibration": np.ones((320, 47))},
            r"calibration must have shape \(n_examples, 48\) to match the weight, got",
        ),
        ({"calibration": np.full((320, 48), np.inf)}, "calibration must be finite, got inf in row 0, column 0"),
        ({"calibration": "features"}, "calibration must hold inputs that are not in features, got 320 that are"),
        ({"features": None}, "calibration goes with features, or with a data set that the model"),
        ({"features": None, "calibration": None, "reach": True}, "reach goes with features of real inputs, got none"),
        ({"alpha": 0.0}, "alpha must be a share between 0 and 1, got 0.0"),
    ],
)
def test_bad_features_are_refused_in_a_sentence(change, message):
    if isinstance(change.get("calibration"), str):
        change = {"calibration": wide_model()[3](400, 1)[0][:320]}
    with pytest.raises(ValueError, match=message):
        wide_audit(n_explained=0, **change)


def topics(n=900, seed=0):
    """Texts about up to three of six topics, and which."""
    rng = np.random.default_rng(seed)
    words = [[f"word{t}x{i}" for i in range(25)] for t in range(6)]
    chosen = [sorted(rng.choice(6, rng.integers(1, 4), replace=False).tolist()) for _ in range(n)]
    texts = [" ".join(w for t in ts for w in rng.choice(words[t], 5)) for ts in chosen]
    labels = np.zeros((n, 6), bool)
    for row, ts in zip(labels, chosen, strict=True):
        row[ts] = True
    return Dataset(labels, tuple(f"topic {t}" for t in range(6)), texts=texts)


@pytest.fixture(scope="module")
def data():
    return topics()


@pytest.fixture(scope="module")
def pipeline(data):
    model = make_pipeline(TfidfVectorizer(), OneVsRestClassifier(LogisticRegression(C=10)))
    return model.fit(data.texts, data.labels.toarray())


def test_a_pipeline_is_run_on_the_data_it_was_trained_on(data, pipeline):
    found = lp.audit(pipeline, data, n_explained=0, data_name="topics.jsonl")
    facts = found.document["stretch"]
    assert facts["bar"]["n"] + facts["examples"] == 900
    assert facts["source"] == "a random half of topics.jsonl"
    assert "no training part is marked" in facts["held_out"]
    assert facts["predicted"] == 900
    assert scipy.sparse.issparse(found.inputs.examples)
    assert found.document["label_names"] == list(data.label_names)
    assert any("no other label of the data fits" in note for note in found.document["layer"]["notes"])
    assert found.document["not_tested"] == []


def test_labels_in_another_order_than_the_models_are_not_taken_for_its_own(data, pipeline):
    other = Dataset(data.labels[:, [3, 4, 5, 0, 1, 2]], tuple("abcdef"), texts=data.texts)
    with pytest.raises(ValueError, match="label_names must be given"):
        lp.audit(pipeline, other)


def test_features_that_do_not_give_the_models_logits_stop_the_audit(data, pipeline):
    found = layer_of(pipeline)
    scaled = ImportedLayer(
        found.weight, found.bias, "float64", "m", "k", "s", label_names=data.label_names, reads="text",
        features=lambda texts: found.features(texts) * 2, logits=found.logits,
    )  # fmt: skip
    with pytest.raises(ValueError, match=r"must reproduce its own logits, got .* in place of .* for label"):
        lp.audit(scaled, data)


def test_features_are_kept_beside_the_audit_with_hashes(data, pipeline, tmp_path):
    found = layer_of(pipeline)
    runs = []

    def features(texts):
        runs.append(len(texts))
        return found.features(texts)

    model = ImportedLayer(
        found.weight, found.bias, "float64", "m", "k", "s", label_names=data.label_names, reads="text",
        features=features, logits=found.logits,
    )  # fmt: skip

    def run(model_key="abc", seed=0):
        runs.clear()
        options = {"cache": FeatureCache(tmp_path / "audit", model_key), "seed": seed, "n_explained": 0}
        audit = lp.audit(model, data, data_name="d", **options)
        audit.save(tmp_path / "audit")
        return audit.document["stretch"], sum(runs)

    first, ran = run()
    assert ran >= 900
    again, ran = run()
    assert (again, ran) == (first, 0)
    assert run(model_key="other")[1] >= 900
    assert run(model_key="other", seed=1)[1] >= 900
    kept = json.loads((tmp_path / "audit" / "features.json").read_text())
    kept["sha256"]["features"] = "0" * 64
    (tmp_path / "audit" / "features.json").write_text(json.dumps(kept))
    assert run(model_key="other", seed=1)[1] >= 900


@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_array])
def test_kept_features_that_are_damaged_are_not_taken(kind, tmp_path):
    features, facts = kind(np.eye(3)), {"held_out_rows": None}
    write_note(tmp_path / "features.json", "model", "inputs", {"features": features, "calibration": None}, facts)
    if scipy.sparse.issparse(features):
        scipy.sparse.save_npz(tmp_path / "features.npz", features)
    else:
        np.save(tmp_path / "features.npy", features)
    cache = FeatureCache(tmp_path, "model")
    assert (cache.load("inputs")[0] != features).sum() == 0
    for path in list(tmp_path.iterdir()):
        sound = path.read_bytes()
        for end in range(0, len(sound), 7):
            path.write_bytes(sound[:end])
            assert cache.load("inputs") is None
        path.write_bytes(sound)


def test_held_out_inputs_may_be_a_data_set_of_their_own(data, pipeline):
    rest = topics(n=400, seed=1)
    facts = lp.audit(pipeline, data, calibration=rest, n_explained=0, data_name="d").document["stretch"]
    assert (facts["examples"], facts["bar"]["n"], facts["predicted"]) == (900, 400, 900)
    assert facts["held_out"] == "held-out inputs that were given"
    with pytest.raises(ValueError, match="calibration must be a data set that the model is run on"):
        lp.audit(pipeline, data, calibration=np.ones((400, 3)))
    with pytest.raises(ValueError, match="calibration must hold at least 299 inputs"):
        lp.audit(pipeline, data, calibration=rest.select(np.arange(20)))


def test_examples_are_of_the_training_part_and_the_bar_of_another(data):
    split = np.where(np.arange(900) < 500, "train", "test")
    rows = choose_rows(data.with_split(split), None, "d", alpha=0.01, most=300, seed=0)
    assert set(split[rows.examples]) == {"train"}
    assert len(rows.examples) == 300
    assert set(split[rows.held_out]) == {"test"}
    assert len(rows.held_out) == 400
    only = choose_rows(data.with_split(split), "train", "d", alpha=0.01, most=300, seed=0)
    assert only.held_out is None
    assert "training part" in only.why_no_bar


def test_exact_matches_are_not_counted_where_the_model_was_trained(data, pipeline):
    """The bar is about new inputs: what a model knows by heart would seem to contradict it."""
    split = np.where(np.arange(900) < 500, "train", "test")
    facts = lp.audit(pipeline, data.with_split(split), n_explained=0).document["stretch"]
    assert facts["inputs"] > 800
    assert facts["predicted"] <= 400 == (split == "test").sum()
    assert facts["exact_beyond"] <= facts["exact"] <= facts["predicted"]
    only = lp.audit(pipeline, data.with_split(np.full(900, "train")), n_explained=0).document["stretch"]
    assert (only["exact"], only["exact_beyond"], only["predicted"]) == (None, None, None)


def test_too_few_inputs_say_which_share_is_possible(data, pipeline):
    few = data.select(np.arange(80))
    found = lp.audit(pipeline, few, n_explained=0, data_name="few.jsonl")
    assert found.document["stretch"]["bar"] is None
    assert "alpha can be 0.07216 or more" in found.document["not_tested"][0]["what"]
    assert lp.audit(pipeline, few, n_explained=0, alpha=0.08).document["stretch"]["bar"]["n"] == 40


def test_held_out_inputs_that_are_examples_as_well_are_left_out(data, pipeline):
    twice = data.select(np.concatenate([np.arange(900), np.arange(100)]))
    facts = lp.audit(pipeline, twice, n_explained=0).document["stretch"]
    assert "whose features are an example's" in facts["held_out"]
    assert facts["bar"]["n"] < 500


def test_a_feature_that_hardly_varies_stays_in_its_range():
    """Two labels that differ by a feature of 1e-33 only: both together need it to be 1e33."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 2))
    features = np.column_stack([x, 1e-33 * rng.random(200)])
    weight = np.array([[1.0, 0.0, 1.0], [-1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    free = lp.audit(weight, [[0, 1]], features=features, n_explained=0, domain=None)
    assert free.document["groups"][0]["status"] == [1]
    held = lp.audit(layer(weight, np.full(3, -0.1)), [[0, 1], [0]], features=features, n_explained=0)
    assert held.document["groups"][0]["status"] == [0, 1]
    assert held.document["stretch"]["narrow"] == [2]
    assert "Feature 2 hardly varies in 200 real inputs" in held.document["layer"]["domain_reason"]
    assert "stays in its range" in held.headline
    held.verifications["data"].check()


def test_a_model_of_one_label_is_judged_by_what_it_outputs():
    found = ImportedLayer(np.eye(3), None, "float64", "m", "k", "s", rule="topk", size=1)
    audit = lp.audit(found, [[0], [0, 1], [1, 2], [2], [2]], label_names=["a", "b", "c"], fail_under=0.6)
    assert not audit.passed
    outside = audit.document["outside"]
    assert (outside["sets"], outside["examples"], outside["sizes"]) == (2, 2, 2)
    assert audit.headline.startswith("2 of 4 distinct label sets can never be predicted")
    assert "gives exactly one label to every input" in audit.headline
    assert audit.document["requirements"]["share"] == 0.5
    assert lp.audit(found, [[0], [0, 1], [1, 2], [2], [2]], fail_under=0.5).passed
    assert lp.audit(found, [[0, 1], [1, 2]], fail_under=0.5).document["requirements"]["share"] == 0
    asked = lp.audit(found, [[0], [0, 1]], rule="sigmoid", fail_under=1.0)
    assert asked.passed
    assert asked.document["outside"] is None


def test_softmax_heads_of_hugging_face_say_their_size(tmp_path):
    from safetensors.numpy import save_file

    save_file({"classifier.weight": np.eye(3, 2, dtype=np.float32)}, tmp_path / "model.safetensors")
    config = {"problem_type": "single_label_classification", "id2label": {"0": "a", "1": "b", "2": "c"}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert layer_of(tmp_path).size == 1
    assert not lp.audit(tmp_path, Dataset([[1, 1, 0], [1, 0, 0]], ("a", "b", "c")), fail_under=0.6).passed


NAMED = ImportedLayer(np.eye(2), None, "float64", "m", "k", "s", label_names=("cat", "dog"))


def test_unknown_labels_are_named_and_count_as_never_predicted():
    data = Dataset([[1, 0, 0], [1, 1, 0], [1, 0, 1], [0, 0, 1]], ("cat", "dog", "emu"))
    found = lp.audit(NAMED, data, fail_under=0.6)
    outside = found.document["outside"]
    assert outside["unknown"] == [{"name": "emu", "examples": 2}]
    assert (outside["sets"], outside["sizes"]) == (2, 0)
    assert found.document["data"]["examples"] == 4
    assert not found.passed
    assert "2 sets have labels that the model does not know: emu." in found.headline


def test_labels_that_may_be_misspelt_are_refused_unless_asked_for(tmp_path):
    data = Dataset([[1, 0], [0, 1]], ("cat", "dgo"))
    with pytest.raises(ValueError, match=r"got 'dgo'; the nearest is 'dog' \(drop_unknown= counts"):
        lp.audit(NAMED, data)
    assert lp.audit(NAMED, data, drop_unknown=True).document["outside"]["unknown"][0]["name"] == "dgo"
    (tmp_path / "sets.jsonl").write_text('["cat"]\n["cat", "emu"]\n["dog"]\n')
    assert lp.audit(NAMED, tmp_path / "sets.jsonl").document["outside"]["frequent"] == [["cat", "emu"]]


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["stretch", "beyond_sets"], 0, "beyond the bar, got others"),
        (["stretch", "check_command"], "rm -rf ~", "expected the command 'labelproof check stretch"),
        (["stretch", "instructive", 0, "index"], 10**6, "expected a set of the data"),
        (["stretch", "instructive", 0, "off"], [99], "expected a share of each label|got 99"),
        (["stretch", "pairs", 0, "labels"], [0, 99], "got 99"),
        (["stretch", "pairs", 0, "labels"], [0], "pairs of two labels"),
        (["stretch", "all_examples"], 3, "expected the stretch of 400 examples"),
        (["stretch", "bar"], None, "expected the stretch of the data's label sets"),
        (["stretch", "dead", 0, "label"], -1, "got -1"),
        (["groups", 0, "stretch_lower"], [1.0], "expected 394 entries in stretch_lower"),
        (["not_tested"], [{"what": "a", "command": "rm -rf ~"}], "expected a command of labelproof"),
        (
            ["not_tested"],
            [{"what": "a", "command": "labelproof audit m; rm -rf ~"}],
            "expected a command of labelproof",
        ),
        (["not_tested"], [{"what": "a", "command": "labelproof audit 'm"}], "expected a command of labelproof"),
    ],
)
def test_a_false_document_is_refused(wide, tmp_path, path, value, message):
    document = json.loads(json.dumps(wide.document))
    inner = document
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    (tmp_path / "audit.json").write_text(json.dumps(document))
    with pytest.raises(DataFormatError, match=message):
        read_document(tmp_path)


def test_a_document_of_version_1_is_still_read(wide, tmp_path):
    document = json.loads(json.dumps(wide_audit(features=None, calibration=None, n_explained=0).document))
    for key in ("stretch", "outside", "not_tested"):
        del document[key]
    for key in ("stretch_lower", "stretch_upper", "beyond", "reach_lower", "reach_share"):
        del document["groups"][0][key]
    (tmp_path / "audit.json").write_text(json.dumps({**document, "version": 1}))
    assert read_document(tmp_path)["stretch"] is None


def test_pairs_that_are_too_many_are_left_out_with_a_remark(monkeypatch):
    monkeypatch.setattr("labelproof.stretching.pairs.MOST_PAIRS", 3)
    found = wide_audit(n_explained=0)
    assert found.document["stretch"]["n_pairs"] is None
    assert "Pairs of labels were not measured: labels must have at most 3 pairs" in found.document["layer"]["notes"][0]


def test_lower_thresholds_are_advised_where_they_help_held_out_inputs(data, pipeline):
    found = layer_of(pipeline)
    model = ImportedLayer(
        found.weight, found.bias - 3.5, "float64", "m", "k", "s", label_names=data.label_names, reads="text",
        features=found.features,
    )  # fmt: skip
    (advice,) = lp.audit(model, data, n_explained=0).document["advice"]
    assert advice["title"] == "Lower thresholds"
    before, after = map(float, re.search(r"goes from ([\d.]+) to ([\d.]+), exact", advice["text"]).groups())
    assert before < after
    assert after > 0.95
    (tried,) = lp.audit(pipeline, data, n_explained=0).document["advice"]
    assert tried["title"] == "Training, not thresholds"
    assert "was tried, from −4 to +2 in logits: the best one for" in tried["text"]


def test_a_contradiction_at_every_example_is_said_only_beyond_all_mixtures(wide):
    from labelproof.auditing.stretched import _sentence

    names = ["a", "b", "c"]
    inside = _sentence(0.9, [0], [1], None, names)
    assert "contradict" not in inside
    assert inside.startswith("Mixtures of the examples give this set only from 0.90 of the way to their edge")
    assert "a on and b off contradict each other at every example" in _sentence(1.2, [0], [1], [2], names)
    assert _sentence(1.2, [0], [], None, names).endswith("of its examples: a is off at all of these.")
    assert _sentence(0.9, [], [1], None, names).endswith("beyond the bar: b is on before.")
    assert _sentence(None, [0, 1], [], [], names).endswith("It predicts no label for such an example.")
    lowers = [one["lower"] for one in wide.document["stretch"]["instructive"]]
    assert all(low > 1 for low in lowers)
