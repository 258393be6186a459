"""Several heads on one data set: trained alike, verified on the same label sets, and told apart fairly."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse
import torch

import labelproof as lp
from labelproof.auditing import read_document
from labelproof.comparison import (
    code_head,
    compare,
    comparison_tables,
    findings,
    four_heads,
    gained,
    recipe,
    save_comparison,
)
from labelproof.comparison.contenders import default_width
from labelproof.comparison.report_opening import open_heads
from labelproof.data import Dataset, topic_data
from labelproof.training.data_parts import divide

pytestmark = pytest.mark.xdist_group("comparison")  # what they share is made once, not in each worker


@pytest.fixture(scope="module")
def data():
    return topic_data(500, 40, 300, cardinality=3.0, seed=3)


@pytest.fixture(scope="module")
def config(data):
    return recipe(data, epochs=4, seed=3)


@pytest.fixture(scope="module")
def outcomes(data, config):
    labels = divide(data, config.data, seed=3).training.labels
    return list(compare(config, data, four_heads(labels, 3)))


# The heads


def test_the_fair_baselines_have_the_start_and_the_width_of_the_dft_head():
    labels = scipy.sparse.csr_array(np.tri(20, dtype=bool)[:6])  # up to 6 labels
    narrow, dft, started, wide = (contender.head for contender in four_heads(labels, 4))
    assert narrow.options == {"d": 4}
    assert dft.options == {"k": 6, "slack": 4}
    assert started.options == {"d": 4, "start": 6}
    assert wide.options == {"d": 2 * 6 + 1 + 4, "start": 6}


def test_k_leaves_room_for_its_columns():
    everything = scipy.sparse.csr_array(np.ones((2, 8), bool))
    assert four_heads(everything, 2)[1].head.k == 3


def test_heads_are_refused_where_there_is_nothing_to_compare():
    with pytest.raises(ValueError, match="at least 3 labels, got 2"):
        four_heads(scipy.sparse.csr_array(np.eye(2, dtype=bool)), 1)
    for d in (0, 5):
        with pytest.raises(ValueError, match=f"d must be from 1 to 4, fewer features than labels, got {d}"):
            four_heads(scipy.sparse.csr_array(np.eye(5, dtype=bool)), d)
    assert [default_width(n) for n in (3, 40, 100, 5000)] == [1, 10, 25, 25]


def test_texts_are_read_as_texts_and_images_not_at_all():
    labels, names = np.eye(3, dtype=bool), ("a", "b", "c")
    assert recipe(Dataset(labels, names, texts=("x", "y", "z"))).encoder.kind == "tfidf"
    with pytest.raises(ValueError, match="needs data with texts or features, got neither"):
        recipe(Dataset(labels, names, image_paths=("x.png", "y.png", "z.png")))


# The comparison


def test_all_heads_answer_the_same_questions(outcomes):
    assert [outcome.name for outcome in outcomes] == [
        "narrow",
        "guaranteed (DFT)",
        "narrow, DFT start",
        "wide, DFT start",
    ]
    sets, at_random = outcomes[0].verification.label_sets, outcomes[0].at_random.label_sets
    for outcome in outcomes:
        for ours, theirs in ((outcome.verification.label_sets, sets), (outcome.at_random.label_sets, at_random)):
            assert np.array_equal(ours.indptr, theirs.indptr)
            assert np.array_equal(ours.indices, theirs.indices)
    assert outcomes[1].n_features == outcomes[3].n_features > outcomes[0].n_features == outcomes[2].n_features == 3


def test_every_distinct_label_set_of_the_test_part_is_verified_under_the_tuned_rule(outcomes, data, config):
    test = divide(data, config.data, seed=3).test
    rows = {tuple(np.flatnonzero(row)) for row in test.labels.toarray()}
    for outcome in outcomes:
        v = outcome.verification
        assert {tuple(s.tolist()) for s in v.label_sets} == rows
        weight = outcome.model.weight.detach().numpy()
        again = lp.verify(weight, v.label_sets, rule=outcome.model.rule, ties="inactive")
        assert np.array_equal(again.status, v.status)
        v.check()
    assert outcomes[0].unargmaxable > 0
    assert outcomes[1].argmaxable == outcomes[1].n_sets


def test_what_can_be_predicted_at_one_half_can_be_predicted_at_any_threshold(outcomes):
    """Features may be scaled, so that a threshold is small against them; the empty set at x = 0 is another matter."""
    for outcome in outcomes:
        some = np.diff(outcome.verification.label_sets.indptr) > 0
        assert not ((outcome.at_half.status == 1) & (outcome.verification.status == 0))[some].any()


def test_scores_are_those_of_the_saved_model_on_the_test_part(outcomes, data, config):
    test = divide(data, config.data, seed=3).test
    for outcome in outcomes:
        values = outcome.model.evaluate(test)
        assert outcome.scores["micro-f1"] == pytest.approx(values["micro-f1"])
        assert outcome.scores[f"f1@{outcome.k}"] == pytest.approx(values["f1@3"])
        assert outcome.k == 3


def test_the_hidden_layer_is_no_narrower_than_the_widest_head(data, config):
    heads = four_heads(data.labels, 3)[1:2]
    narrow = config.model_copy(update={"encoder": config.encoder.model_copy(update={"hidden": 2})})
    (outcome,) = compare(narrow, data, heads)
    assert outcome.model.encoder.width == outcome.n_features == 2 * heads[0].head.k + 1 + 3


def test_a_code_head_predicts_every_random_set_and_widens_the_hidden_layer(data, config):
    contender = code_head(divide(data, config.data, seed=3).training.labels, 3)
    narrow = config.model_copy(update={"encoder": config.encoder.model_copy(update={"hidden": 2})})
    (outcome,) = compare(narrow, data, [contender])
    assert (outcome.at_random.status == 1).all()
    assert outcome.model.encoder.width == outcome.n_features
    assert outcome.model.head.guarantee().level == "exact"


def test_the_number_of_torch_threads_is_left_as_it_was(data, config):
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        next(compare(config, data, four_heads(data.labels, 3)[:1]))
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_data_without_a_test_part_are_refused(data, config):
    none = config.model_copy(update={"data": config.data.model_copy(update={"test": 0.0})})
    with pytest.raises(ValueError, match=r"needs test data: data\.test must be positive"):
        next(compare(none, data, four_heads(data.labels, 3)))


# What is said of it


def said(status, f1, parameters, at_random):
    """The figures of an outcome, without a model."""
    status, at_random = np.array(status), np.array(at_random)
    return SimpleNamespace(
        contender=SimpleNamespace(head=SimpleNamespace(slack=3)),
        scores={"micro-f1": f1},
        n_labels=1200,
        n_features=18,
        n_sets=len(status),
        verification=FakeVerification(status),
        unargmaxable=int((status == 0).sum()),
        undecided=int((status == -1).sum()),
        head_parameters=parameters,
        random_size=7,
        at_random=FakeVerification(at_random),
        audit=SimpleNamespace(layer=SimpleNamespace(dtype="float32")),
    )


class FakeVerification:
    def __init__(self, status):
        self.status = status

    def __len__(self):
        return len(self.status)


def test_the_sentences_follow_the_figures():
    heads = [
        said([1, 0, 0, 1], 0.5, 100, [0, 0]),
        said([1, 1, 1, 1], 0.6, 120, [1, 1]),
        said([1, 0, -1, 1], 0.55, 100, [0, 0]),
        said([1, 1, -1, 1], 0.65, 300, [1, 0]),
    ]
    first, second, third = findings(heads)
    assert first == (
        "The narrow output layer has 18 features for 1,200 labels. 2 of the 4 label combinations of the test data "
        "(50.0 %) can never be its prediction, whatever the input."
    )
    assert "has 15 fixed features more, with which every combination of up to 7 labels is possible." in second
    assert "It can predict all 4. Each of these verdicts" in second
    assert "the narrow layer can predict 2 of 4 (micro-F1 0.550 instead of 0.500)." in third
    assert (
        "with 2.5 times its weights and no guarantee, it can predict 3 of 4 (micro-F1 0.650; DFT head: 0.600)" in third
    )
    assert third.endswith("2 random ones of 7 labels, the wide layer can predict 1, the DFT head all.")
    code = said([1] * 4, 0.7, 360, [1, 1])
    code.n_features = 33
    *same, fourth = findings([*heads, code])
    assert same == [first, second, third]
    assert fourth.startswith(
        "The code head can predict all of these random ones. Its guarantee is proven for the numbers"
    )
    assert "rounding included, and takes 33 features." in fourth
    assert fourth.endswith(
        "With 3.0 times the DFT head's weights it reaches micro-F1 0.700, which is due to its width as well."
    )
    heads[1] = said([1] * 4, 0.6, 120, [1, 0])
    assert findings(heads)[2].endswith(
        "the DFT head 1 (the theorem promises all, but its float32 numbers are rounded)."
    )
    heads[0] = said([1, 1, -1], 0.5, 100, [0])
    assert findings(heads)[0].endswith("It can predict 2 of 3 label combinations of the test data. 1 are undecided.")


def test_a_layer_that_can_predict_nothing_has_no_margin(outcomes):
    nothing = replace(outcomes[0].audit, verifications={"data": lp.verify(np.zeros((2, 1)), [[0], [1]])})
    outcome = replace(outcomes[0], audit=nothing)
    assert outcome.smallest_margin is None
    assert comparison_tables([outcome, *outcomes[1:]])[1].rows[0][4] is None


# The folder


def test_the_report_opens_with_what_the_bottleneck_loses(outcomes):
    opening = open_heads(outcomes)
    narrow, dft = outcomes[:2]
    lost = f"With 3 features for {narrow.n_labels} labels, a model can never predict {narrow.unargmaxable} of the "
    assert opening.headline.startswith(lost)
    assert opening.headline.endswith("With a guaranteed layer (DFT head) it can predict every one of them.")
    assert opening.captions[0].startswith("3 trained features; micro-F1 ")
    assert opening.captions[1].startswith(f"3 trained features and {dft.n_features - 3} fixed ones; micro-F1 ")
    assert "started like the DFT head" in opening.captions[2]
    assert len(opening.captions) == len(outcomes)
    whole = open_heads([dft, *outcomes[1:]]).headline  # a first head that loses nothing
    assert whole.startswith(
        f"With {dft.n_features} features for {narrow.n_labels} labels, a model can predict every one"
    )


def test_the_combinations_that_are_named_are_the_most_frequent_that_only_the_second_head_predicts(outcomes):
    narrow, dft = (outcome.audit.document["groups"][0] for outcome in outcomes[:2])
    names = outcomes[0].audit.document["label_names"]
    lost = {
        tuple(names[label] for label in labels): count
        for labels, count, mine, other in zip(
            narrow["labels"], narrow["counts"], narrow["status"], dft["status"], strict=True
        )
        if (mine, other) == (0, 1)
    }
    shown = gained(outcomes, most=4)
    assert [one.examples for one in shown] == sorted(lost.values(), reverse=True)[:4]
    assert all(lost[one.labels] == one.examples for one in shown)
    assert gained([outcomes[1], outcomes[0]]) == ()  # nothing that the first cannot


def test_the_folder_holds_the_report_the_models_and_their_proofs(outcomes, data, tmp_path):
    folder = tmp_path / "out"
    for _ in range(2):  # an earlier comparison is replaced
        save_comparison(folder, outcomes)
    figures = json.loads((folder / "comparison.json").read_text())
    assert [one["argmaxable"] for one in figures] == [outcome.argmaxable for outcome in outcomes]
    for one in outcomes:
        model = lp.load_model(folder / one.contender.folder / "model")
        assert np.array_equal(model.logits(data.features[:5]), one.model.logits(data.features[:5]))
        audit = folder / one.contender.folder / "audit"
        assert read_document(audit / "audit.json")["layer"]["model"] == one.name
        with np.load(audit / "layer.npz") as layer:
            lp.load_verification(audit / "proofs-data.npz", layer["weight"]).check()
    page = (folder / "report.html").read_text()
    assert "Label combinations that can be predicted" in page
    for sentence in (open_heads(outcomes).headline, *findings(outcomes)[1:]):
        assert sentence.split(";")[0].split("'")[0] in page


def test_a_folder_of_something_else_is_left_alone(outcomes, tmp_path):
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(ValueError, match="is in the way: expected a free name, an empty folder or an earlier"):
        save_comparison(tmp_path, outcomes)
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]
