"""Training from end to end: what is learned, from which part of the data, and that a seed has one result."""

# ruff: noqa: F401, F811 - fixtures are imported, and tests take them by their names

import csv
import re
import sys
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse
import torch
from training_data import config, features, one_thread, texts

from labelproof import MissingPackageError, losses
from labelproof.data import Dataset
from labelproof.decisions import PerLabelThreshold, TopK
from labelproof.heads import BottleneckHead, DFTHead
from labelproof.training import fit, fitting
from labelproof.training.batches import ShuffledBatches
from labelproof.training.choices import DECISIONS, LOSSES, SHRINKAGE, build_rule
from labelproof.training.config import DataConfig, HeadConfig, TrainConfig
from labelproof.training.curves import plot_history
from labelproof.training.data_parts import divide, inputs_of
from labelproof.training.heads import LinearHead, build_head, resolve_head
from labelproof.training.module import TrainingModule
from labelproof.training.scoring import batch_logits

original = PerLabelThreshold.fit


def weights(fitted):
    return {**fitted.head.state_dict(), **{f"encoder.{k}": v for k, v in fitted.encoder.state_dict().items()}}


def same(one, other):
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


# What is learned


def test_a_learnable_problem_is_learned(features, config):
    fitted = fit(
        config(trainer={"epochs": 30, "lr": 0.02, "batch_size": 16, "patience": None}), features, progress=False
    )
    assert fitted.history[-1]["loss"] < 0.5 * fitted.history[0]["loss"]
    assert fitted.metrics["validation"]["micro-f1"] > 0.8
    assert fitted.metrics["sizes"] == {"training": 108, "validation": 12}


def test_texts_are_learned(texts, config):
    trainer = {"epochs": 20, "lr": 0.02, "batch_size": 16}
    fitted = fit(config(encoder={"kind": "tfidf"}, trainer=trainer), texts, progress=False)
    assert fitted.metrics["validation"]["micro-f1"] > 0.9


def test_sparse_and_dense_features_give_the_same_model(features, config):
    sparse = replace(features, features=scipy.sparse.csr_array(features.features))
    for encoder in ({"kind": "features"}, {"kind": "features", "hidden": 16}):
        one, other = (fit(config(encoder=encoder), data, progress=False) for data in (features, sparse))
        assert all(
            torch.allclose(a, b, atol=1e-5) for a, b in zip(weights(one).values(), weights(other).values(), strict=True)
        )


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("head", ["dft", "bottleneck", "linear"])
def test_every_head_trains_with_every_loss(head, loss, features, config):
    options = {"slack": 4} if head == "dft" else {"d": 3} if head == "bottleneck" else {}
    setup = config(
        head={"kind": head, **options}, loss={"kind": loss}, decision={"kind": "global"}, trainer={"metrics": []}
    )
    fitted = fit(setup, features, progress=False)
    assert np.isfinite([row["loss"] for row in fitted.history]).all()
    if loss != "unbounded-f1":
        assert fitted.history[-1]["train loss"] < fitted.history[0]["train loss"]


@pytest.mark.parametrize("kind", DECISIONS)
def test_every_decision_rule_can_be_chosen(kind, features, config):
    fitted = fit(config(decision={"kind": kind}, trainer={"epochs": 1}), features, progress=False)
    assert fitted.rule.decide(np.zeros((2, 8))).shape == (2, 8)


def test_the_rule_is_fitted_on_validation_data_alone(features, config):
    setup = config(decision={"kind": "per-label"})
    fitted = fit(setup, features, progress=False)
    part = divide(features, setup.data, seed=0).validation
    logits = np.concatenate(list(batch_logits(fitted.encoder, fitted.head, fitted.encoder.prepare(part.features))))
    expected = PerLabelThreshold(shrinkage=SHRINKAGE, scores="logits").fit(part.labels, logits)
    assert np.array_equal(fitted.rule.thresholds_, expected.thresholds_)


def test_a_rule_that_learns_is_refused_without_held_out_data(features, config):
    with pytest.raises(ValueError, match=r"decision 'per-label' is fitted on held-out data: data\.validation"):
        fit(config(data={"validation": 0.0}), features, progress=False)


def test_a_rule_that_learns_nothing_needs_no_held_out_data(features, config):
    fitted = fit(config(data={"validation": 0.0}, decision={"kind": "top-k"}), features, progress=False)
    assert fitted.metrics["sizes"] == {"training": 120}
    assert isinstance(fitted.rule, TopK)
    assert fitted.rule.k == round(features.labels.sum() / 120)


def test_labels_of_test_data_do_not_matter_for_training(features, config):
    split = np.repeat(["train", "valid", "test"], 40)
    other = features.labels.toarray()
    other[80:] = ~other[80:]
    one, two = (
        fit(config(), data.with_split(split), progress=False) for data in (features, features.with_labels(other))
    )
    assert same(weights(one), weights(two))
    assert np.array_equal(one.rule.thresholds_, two.rule.thresholds_)
    assert one.metrics["test"] != two.metrics["test"]


# Seeds, precision, accumulation


def test_the_same_seed_gives_the_same_result(features, config):
    setup = config(encoder={"kind": "features", "hidden": 16, "dropout": 0.3})
    one, two = (fit(setup, features, progress=False) for _ in range(2))
    assert same(weights(one), weights(two))
    assert [row["loss"] for row in one.history] == [row["loss"] for row in two.history]
    other = fit(config(encoder=setup.encoder.model_dump(), trainer={"seed": 1}), features, progress=False)
    assert not same(weights(one), weights(other))


def test_training_leaves_the_generator_of_the_caller_alone(features, config):
    torch.manual_seed(7)
    expected = torch.rand(1)
    torch.manual_seed(7)
    fit(config(trainer={"epochs": 1}), features, progress=False)
    assert torch.equal(torch.rand(1), expected)


def test_accumulated_batches_are_one_large_batch(features, config):
    def losses(size, steps):
        trainer = {"epochs": 3, "batch_size": size, "accumulate": steps, "metrics": []}
        setup = config(data={"validation": 0.0}, decision={"kind": "fixed"}, trainer=trainer)
        return weights(fit(setup, features, progress=False))

    large, small = losses(60, 1), losses(30, 2)
    assert all(torch.allclose(large[name], small[name], atol=1e-5) for name in large)


@pytest.mark.parametrize("precision", ["64", "bf16-mixed"])
def test_other_precisions_train(precision, features, config):
    fitted = fit(config(trainer={"precision": precision}), features, progress=False)
    assert np.isfinite(fitted.history[-1]["loss"])
    assert fitted.head.weight.dtype == (torch.float64 if precision == "64" else torch.float32)


@pytest.mark.parametrize("schedule", ["constant", "linear", "cosine"])
def test_schedules_and_clipping_train(schedule, features, config):
    trainer = {"schedule": schedule, "warmup": 0.2, "clip": 1.0, "weight_decay": 0.01}
    fitted = fit(config(trainer=trainer), features, progress=False)
    assert fitted.history[-1]["train loss"] < fitted.history[0]["train loss"]


def test_the_devices_share_a_batch():
    whole = list(ShuffledBatches(10, 4, seed=3))
    parts = [list(ShuffledBatches(10, 4, seed=3, rank=rank, n_devices=2)) for rank in (0, 1)]
    for batch, one, two in zip(whole, *parts, strict=True):
        assert sorted(batch) == sorted(one + two)
    odd = [list(ShuffledBatches(5, 5, seed=0, rank=rank, n_devices=2)) for rank in (0, 1)]
    assert [len(batches[0]) for batches in odd] == [3, 3]


def test_an_epoch_has_its_own_order():
    batches = ShuffledBatches(50, 50, seed=0)
    first = list(batches)
    batches.set_epoch(1)
    assert list(batches) != first
    batches.set_epoch(0)
    assert list(batches) == first


# Early stopping


def test_training_stops_after_patience_and_keeps_the_best_epoch(features, config):
    shuffled = features.with_labels(features.labels[np.random.default_rng(1).permutation(120)])  # nothing to learn
    trainer = {"epochs": 40, "patience": 2, "lr": 0.05, "monitor": "loss"}
    fitted = fit(config(trainer=trainer), shuffled, progress=False)
    losses = [row["loss"] for row in fitted.history]
    assert len(losses) == int(np.argmin(losses)) + 3 < 40
    part = divide(shuffled, DataConfig(), seed=0).validation
    logits = next(batch_logits(fitted.encoder, fitted.head, fitted.encoder.prepare(part.features)))
    y = part.labels.toarray()
    assert np.isclose(np.mean(np.logaddexp(0, logits) - y * logits), min(losses), rtol=1e-5)


@pytest.mark.parametrize("monitor", ["micro-f1", "precision@3", "ranking-loss", "macro-average-precision", "macro-ece"])
def test_any_metric_can_be_monitored(monitor, features, config):
    fitted = fit(config(trainer={"monitor": monitor, "epochs": 3}), features, progress=False)
    assert all(0 <= row[monitor] <= 1 for row in fitted.history)


def test_a_metric_at_more_labels_than_there_are_cannot_be_monitored(features, config):
    with pytest.raises(
        ValueError, match=r"trainer\.monitor must be a metric at no more than 8 labels, got precision@9"
    ):
        fit(config(trainer={"monitor": "precision@9"}), features, progress=False)


# Parts of the data


def test_the_validation_part_of_the_data_is_used(features):
    split = np.array(["train"] * 100 + ["valid"] * 20)
    parts = divide(features.with_split(split), DataConfig(validation=0.5), seed=0)
    assert (len(parts.training), len(parts.validation)) == (100, 20)


def test_held_out_examples_are_no_training_examples(features):
    numbered = replace(features, times=np.arange(120))
    parts = divide(numbered, DataConfig(validation=0.25), seed=0)
    assert sorted([*parts.training.times, *parts.validation.times]) == list(range(120))
    assert len(parts.validation) == 30


def test_groups_are_not_torn_apart(features):
    grouped = replace(features, groups=np.arange(120) // 6)
    parts = divide(grouped, DataConfig(validation=0.25), seed=0)
    assert len(parts.validation) == 30
    assert not set(parts.training.groups) & set(parts.validation.groups)


def test_the_training_part_fixes_the_labels(features):
    labels = features.labels.toarray()
    labels[:, 0] = False
    labels[100:, 0] = True
    split = np.array(["train"] * 100 + ["test"] * 20)
    data = features.with_labels(labels).with_split(split)
    for least in (1, 2):
        parts = divide(data, DataConfig(validation=0.0, min_count=least), seed=0)
        assert parts.test.label_names == parts.training.label_names == features.label_names[1:]
        assert parts.test.dropped == {features.label_names[0]: 20}
    assert divide(data, DataConfig(validation=0.0, min_count=0), seed=0).test.label_names == features.label_names


def test_where_a_column_of_times_is_named_the_latest_examples_are_held_out(features):
    timed = replace(features, times=np.roll(np.arange(120), 7))
    parts = divide(timed, DataConfig(time="year", validation=0.25, test=0.2), seed=0)
    assert sorted(parts.training.times) == list(range(72))
    assert sorted(parts.validation.times) == list(range(72, 96))
    assert sorted(parts.test.times) == list(range(96, 120))


def test_times_that_leave_nothing_to_hold_out_are_refused(features):
    timed = replace(features, times=np.full(120, 2024))
    with pytest.raises(ValueError, match=r"data.time must have later times for a share of 0.1 of the examples"):
        divide(timed, DataConfig(time="year"), seed=0)


def test_thresholds_of_labels_with_few_examples_are_pulled_to_the_common_one():
    assert build_rule("per-label", {}).shrinkage == SHRINKAGE
    assert build_rule("per-label", {"shrinkage": 0.0}).shrinkage == 0


def test_data_without_a_training_part_are_refused(features):
    with pytest.raises(ValueError, match="must have a part named train, got test"):
        divide(features.with_split(["test"] * 120), DataConfig(), seed=0)


@pytest.mark.parametrize("names", [("train", "holdout"), ("train", "valid", "dev"), ("train", "Test")])
def test_a_part_that_would_be_lost_is_refused(features, names):
    split = np.resize(names, 120)
    with pytest.raises(ValueError, match=f"must be one each of train, valid and test, got '{names[-1]}' too"):
        divide(features.with_split(split), DataConfig(), seed=0)


def test_data_without_labels_are_refused(features):
    with pytest.raises(ValueError, match="must have examples with labels, got 108 without any"):
        divide(features.with_labels(np.zeros((120, 8), bool)), DataConfig(), seed=0)


def test_an_encoder_of_texts_refuses_features(features):
    with pytest.raises(ValueError, match="the encoder 'tfidf' needs data with texts, got features"):
        inputs_of(features, "tfidf")


def test_texts_alone_are_read_as_tfidf_where_no_encoder_is_named(texts, tmp_path):
    asked = TrainConfig.from_dict(
        {"encoder": {"hidden": 4}, "head": {"kind": "bottleneck", "d": 2}, "trainer": {"epochs": 1}}
    )
    fitted = fit(asked, texts, out=tmp_path / "run", progress=False)
    assert (fitted.encoder.kind, fitted.encoder.width, fitted.config.encoder.kind) == ("tfidf", 4, "tfidf")
    longer = TrainConfig.from_dict({**asked.to_dict(), "encoder": {"hidden": 4}, "trainer": {"epochs": 2}})
    assert len(fit(longer, texts, out=tmp_path / "run", resume=True, progress=False).history) == 2


def test_an_encoder_that_is_named_stays(texts):
    asked = TrainConfig.from_dict({"encoder": {"kind": "features"}, "head": {"kind": "dft"}})
    with pytest.raises(ValueError, match="the encoder 'features' needs data with features, got texts"):
        fit(asked, texts, progress=False)


def test_both_texts_of_a_pair_are_read(texts):
    pairs = replace(texts, text_pairs=tuple(f"not {text}" for text in texts.texts))
    assert inputs_of(pairs, "tfidf")[0] == f"{texts.texts[0]}\n\nnot {texts.texts[0]}"


def test_the_rule_is_fitted_on_rows_of_the_whole_validation_part(features, config, monkeypatch):
    seen = []
    monkeypatch.setattr(fitting, "MOST_SCORES", 8 * 5)
    monkeypatch.setattr(PerLabelThreshold, "fit", lambda self, y, z: seen.append(y) or original(self, y, z))
    split = np.repeat(["train", "valid"], [80, 40])
    fit(config(trainer={"metrics": []}), features.with_split(split), progress=False)
    part = features.with_split(split).part("valid")
    assert (seen[-1].toarray() == part.labels[[0, 8, 16, 24, 32]].toarray()).all()


def test_metrics_of_an_epoch_are_those_of_rows_of_the_whole_validation_part(features, config, monkeypatch):
    seen = []
    monkeypatch.setattr("labelproof.training.module.MOST_SCORES", 8 * 5)
    monkeypatch.setattr(PerLabelThreshold, "fit", lambda self, y, z: seen.append(y) or original(self, y, z))
    split = np.repeat(["train", "valid"], [80, 40])
    fit(config(trainer={"epochs": 1}), features.with_split(split), progress=False)
    part = features.with_split(split).part("valid")
    assert (seen[0].toarray() == part.labels[[0, 8, 16, 24, 32]].toarray()).all()


# What cannot be trained


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"data": {"validation": 0.0}, "decision": {"kind": "fixed"}},
        {"trainer": {"monitor": "micro-f1"}, "decision": {"kind": "top-k"}},
    ],
)
def test_training_that_diverges_is_refused(features, config, parts):
    parts = {**parts, "trainer": {"lr": 1e30, "epochs": 3, **parts.get("trainer", {})}}
    with pytest.raises(ValueError, match="training diverged: weights are no finite numbers any more"):
        fit(config(**parts), features, progress=False)


def test_training_that_diverges_late_goes_back_to_its_best_epoch(features, config, monkeypatch):
    step = losses.BinaryCrossEntropyLoss.forward
    calls = []

    def breaking(self, logits, targets):
        calls.append(1)
        return step(self, logits, targets) * (1.0 if len(calls) <= 9 else float("nan"))  # 2 steps and 1 of validation

    monkeypatch.setattr(losses.BinaryCrossEntropyLoss, "forward", breaking)
    fitted = fit(config(trainer={"epochs": 9}), features, progress=False)
    assert len(fitted.history) == 4
    assert np.isnan(fitted.history[-1]["loss"])
    assert all(tensor.isfinite().all() for tensor in weights(fitted).values())


def test_a_metric_that_is_never_defined_cannot_be_monitored(features, config):
    everywhere = features.with_labels(np.ones((120, 8), bool))
    with pytest.raises(ValueError, match="must be a number in some epoch, got NaN for macro-auroc in all of them"):
        fit(config(trainer={"monitor": "macro-auroc"}), everywhere, progress=False)


def test_an_epoch_in_which_a_metric_is_not_defined_does_not_stop_training(features, config, monkeypatch):
    values = iter([float("nan"), 0.5, float("nan"), 0.25])
    monkeypatch.setattr(TrainingModule, "_metrics", lambda _: {"micro-f1": next(values)})
    fitted = fit(config(trainer={"epochs": 4, "monitor": "micro-f1"}), features, progress=False)
    assert [row["micro-f1"] for row in fitted.history][1::2] == [0.5, 0.25]


def test_a_device_that_is_not_there_is_refused_in_one_sentence(features, config):
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(ValueError, match=r"^trainer: No supported gpu backend found"):
        fit(config(trainer={"accelerator": "gpu"}), features, progress=False)


def test_a_head_that_does_not_fit_into_memory_is_refused(features, config):
    with pytest.raises(ValueError, match="head must fit into memory, got"):
        fit(config(head={"kind": "bottleneck", "d": 10**13}), features, progress=False)


@pytest.mark.parametrize("loss", ["sparsemax", "entmax", "pick-all-labels"])
def test_a_distribution_over_one_label_is_refused(features, config, loss):
    one = features.restrict_to(("ant",), unknown="drop")
    with pytest.raises(ValueError, match=f"loss '{loss}' compares labels with each other and needs at least two"):
        fit(config(loss={"kind": loss}), one, progress=False)


# Heads


def test_k_is_the_most_active_labels(features):
    most = int(features.labels.sum(axis=1).max())
    assert resolve_head(HeadConfig(), features.labels).k == min(most, 3)  # 2k + 1 columns fit into 8 labels


def test_too_large_a_k_is_refused(features):
    with pytest.raises(ValueError, match=re.escape("head.k must be at most (n_labels - 1) / 2 for 8 labels, got 4")):
        resolve_head(HeadConfig(k=4), features.labels)


def test_two_labels_need_no_guarantee():
    assert resolve_head(HeadConfig(k=1), scipy.sparse.csr_array(np.eye(2, dtype=bool))).kind == "linear"


def test_heads_have_the_options_of_the_configuration(features):
    dft = build_head(HeadConfig(kind="dft", k=2, slack=3, order="spread", nodes="paper"), 24, 8, features.labels)
    assert isinstance(dft, DFTHead)
    assert (dft.k, dft.slack, dft.n_nodes, dft.path) == (2, 3, 8, "dense")
    bottleneck = build_head(HeadConfig(kind="bottleneck", d=4, start=2.0), 24, 8)
    assert isinstance(bottleneck, BottleneckHead)
    assert torch.allclose(bottleneck.projection.bias[0] / 8**0.5, torch.tensor(2 / 6).log())
    linear = build_head(HeadConfig(kind="linear", relu=True, bias=False), 24, 8)
    assert isinstance(linear, LinearHead)
    assert linear.bias is None
    assert torch.equal(linear(-torch.ones(1, 24)), torch.zeros(1, 8))


# What a run leaves


def test_a_run_writes_its_history_its_picture_and_its_configuration(features, config, tmp_path):
    fitted = fit(config(), features, out=tmp_path / "run", progress=False)
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == [
        "config.yaml",
        "history.csv",
        "last.ckpt",
        "learning_curve.png",
    ]
    with open(tmp_path / "run" / "history.csv", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [float(row["loss"]) for row in rows] == [row["loss"] for row in fitted.history]
    assert list(rows[0]) == ["epoch", "train loss", "loss", "micro-f1", "seconds"]


def test_a_run_ends_without_its_picture_where_nothing_can_draw(features, config, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    fit(config(trainer={"epochs": 1}), features, out=tmp_path / "run", progress=False)
    names = {path.name for path in (tmp_path / "run").iterdir()}
    assert names == {"config.yaml", "history.csv", "last.ckpt"}


def test_a_folder_with_another_run_is_refused(features, config, tmp_path):
    fit(config(trainer={"epochs": 1}), features, out=tmp_path, progress=False)
    with pytest.raises(ValueError, match="holds a run already: resume it, or give another folder"):
        fit(config(trainer={"epochs": 1}), features, out=tmp_path, progress=False)
    with pytest.raises(ValueError, match=re.escape("holds a run with another trainer.lr")):
        fit(config(trainer={"epochs": 1, "lr": 0.1}), features, out=tmp_path, resume=True, progress=False)


def test_data_that_are_refused_leave_no_folder(features, config, tmp_path):
    with pytest.raises(ValueError, match="must have a part named train"):
        fit(config(), features.with_split(["test"] * 120), out=tmp_path / "run", progress=False)
    assert not (tmp_path / "run").exists()


def test_tensorboard_is_refused_where_it_is_not_installed(features, config, tmp_path, monkeypatch):
    for package in ("tensorboard", "tensorboardX"):
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingPackageError, match="needs the package tensorboard: pip install tensorboard"):
        fit(config(trainer={"tensorboard": True}), features, out=tmp_path, progress=False)


def test_tensorboard_shows_the_values_of_every_epoch(features, config, tmp_path):
    accumulator = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator", reason="the package tensorboard is not installed"
    )
    fitted = fit(config(trainer={"epochs": 3, "tensorboard": True}), features, out=tmp_path, progress=False)
    events = accumulator.EventAccumulator(str(tmp_path / "tensorboard"))
    events.Reload()
    for name in ("loss", "micro-f1"):
        logged = [event.value for event in events.Scalars(name)]
        assert logged == pytest.approx([row[name] for row in fitted.history], rel=1e-6)


def test_stratification_gives_rare_labels_to_the_training_part(features):
    """Of the labels on two examples, a tenth would be none at random in most cases; here training has at least one."""
    labels = np.zeros((100, 30), bool)
    labels[np.arange(60), np.repeat(np.arange(30), 2)] = True
    data = Dataset(labels, tuple(map(str, range(30))), features=np.zeros((100, 1)))
    parts = divide(data, DataConfig(validation=0.2, test=0.2), seed=0)
    assert (parts.training.labels.sum(axis=0) >= 1).all()
    assert len(parts.training) + len(parts.validation) + len(parts.test) == 100


def test_a_test_part_is_held_out_where_there_is_none(features):
    parts = divide(features, DataConfig(validation=0.25, test=0.25), seed=0)
    rows = [{row.tobytes() for row in part.features} for part in (parts.training, parts.validation, parts.test)]
    assert sum(map(len, rows)) == len(set().union(*rows)) == 120
    assert 20 <= len(parts.test) <= 40
    split = np.array(["train"] * 100 + ["test"] * 20)
    assert len(divide(features.with_split(split), DataConfig(test=0.5), seed=0).test) == 20


def test_few_examples_still_leave_one_to_validate_on():
    pair = Dataset(np.eye(2, dtype=bool), ("a", "b"), features=np.eye(2))
    parts = divide(pair, DataConfig(validation=0.1), seed=0)
    assert (len(parts.training), len(parts.validation)) == (1, 1)


@pytest.mark.parametrize("groups", [None, ["patient"]])
def test_one_example_is_trained_on(groups):
    one = Dataset(np.ones((1, 2), bool), ("a", "b"), features=np.eye(1), groups=groups)
    parts = divide(one, DataConfig(validation=0.1, test=0.1), seed=0)
    assert (len(parts.training), parts.validation, parts.test) == (1, None, None)


def test_one_group_is_trained_on(features):
    parts = divide(replace(features, groups=np.zeros(120, int)), DataConfig(validation=0.1), seed=0)
    assert (len(parts.training), parts.validation) == (120, None)


def test_a_history_without_epochs_has_no_picture(tmp_path):
    with pytest.raises(ValueError, match="history must have at least one epoch"):
        plot_history([], tmp_path / "curve.png")


def test_the_best_epoch_of_a_picture_is_one_with_a_number(tmp_path, monkeypatch):
    marked = []
    monkeypatch.setattr("matplotlib.axes.Axes.axvline", lambda _, epoch, **__: marked.append(epoch))
    rows = [{"epoch": i + 1, "train loss": 1.0, "loss": loss} for i, loss in enumerate([float("nan"), 0.5, 0.2])]
    plot_history(rows, tmp_path / "curve.png")
    plot_history(rows[:1], tmp_path / "none.png")
    assert marked == [3]


def test_the_progress_bar_goes_to_standard_error(features, config, capsys):
    fit(config(trainer={"epochs": 1}), features, progress=True)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "Epoch" in printed.err


def test_examples_without_labels_are_kept(features, config):
    labels = features.labels.toarray()
    labels[:60] = False
    fitted = fit(config(loss={"kind": "sparsemax"}), features.with_labels(labels), progress=False)
    assert fitted.metrics["sizes"]["training"] == 108


def test_parts_that_come_in_evaluation_mode_are_trained(features, config, monkeypatch):
    build, modes = fitting.build_head, set()

    def in_evaluation_mode(*args):
        head = build(*args)
        head.eval()
        head.register_forward_pre_hook(lambda head, _: modes.add((head.training, torch.is_grad_enabled())))
        return head

    monkeypatch.setattr(fitting, "build_head", in_evaluation_mode)
    fit(config(trainer={"epochs": 1}), features, progress=False)
    assert modes == {(True, True), (False, False)}
