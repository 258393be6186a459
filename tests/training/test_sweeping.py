"""Many runs of one configuration: the same numbers again, taken up where they ended, and what they say together."""

import json
import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from labelproof.data import Dataset
from labelproof.errors import DataFormatError
from labelproof.training import ConfigError, TrainConfig, grid, read_records, sweep, sweeping
from labelproof.training.loop import DivergedError
from labelproof.training.run_records import RunRecord, append_record, data_digest
from labelproof.training.run_summaries import best_variant, by_variant, draw_boxes, spread
from labelproof.training.sweeping import planned_runs, read_axis

CONFIG = TrainConfig.from_dict(
    {
        "data": {"validation": 0.2, "test": 0.2},
        "head": {"kind": "linear"},
        "loss": {"kind": "sigmoid-f1"},
        "trainer": {"epochs": 2, "lr": 0.05, "accelerator": "cpu"},
    }
)
AXES = {"loss.beta": [1.0, 2.0]}


def small_data(seed=0):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(80, 6)).astype(np.float32)
    return Dataset(features[:, :4] > 0.3, ("a", "b", "c", "d"), features=features)


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    path = tmp_path_factory.mktemp("sweep") / "runs.jsonl"
    return path, sweep(CONFIG, small_data(), variants=grid(AXES), seeds=(0, 1), out=path)


def test_every_variant_is_trained_with_every_seed_and_kept_as_a_line(records):
    path, found = records
    assert [(one.changes["loss.beta"], one.seed) for one in found] == [(1.0, 0), (2.0, 0), (1.0, 1), (2.0, 1)]
    assert read_records(path) == found
    first = json.loads(path.read_text().splitlines()[0])
    assert first["config"]["loss"] == {"kind": "sigmoid-f1", "beta": 1.0}
    assert first["config"]["trainer"]["seed"] == 0
    assert first["sizes"]["training"] + first["sizes"]["validation"] + first["sizes"]["test"] == 80
    assert first["parameters"] == 4 * 6 + 4
    assert first["epochs"] == 2
    assert {"labelproof", "source", "torch", "threads"} <= set(first["code"])
    assert not (path.parent / "unfinished").exists()


def test_a_record_is_enough_to_get_its_numbers_again(records):
    one = records[1][3]
    again = sweep(TrainConfig.from_dict(one.config), small_data(), seeds=(one.seed,))[0]
    assert again.metrics == one.metrics


def test_seeds_differ(records):
    assert records[1][0].metrics != records[1][2].metrics


def test_runs_that_are_there_are_not_repeated(records, monkeypatch):
    path, found = records
    monkeypatch.setattr(sweeping, "fit", lambda *_, **__: pytest.fail("trained again"))
    assert sweep(CONFIG, small_data(), variants=grid(AXES), seeds=(0, 1), out=path) == found


def test_runs_of_a_version_that_did_not_know_an_option_are_not_repeated(records, tmp_path, monkeypatch):
    old, path = [json.loads(line) for line in records[0].read_text().splitlines()], tmp_path / "runs.jsonl"
    for one in old:
        assert one["config"]["trainer"].pop("accumulate") == 1
    old[0]["config"]["loss"] = {"kind": "of another version"}  # can no longer be read, and is left as it is
    path.write_text("".join(json.dumps(one) + "\n" for one in old))
    trained = []
    monkeypatch.setattr(sweeping, "_trained", lambda record, *_: trained.append(record.changes) or record)
    sweep(CONFIG, small_data(), variants=grid(AXES), seeds=(0, 1), out=path)
    assert trained == [{"loss.beta": 1.0}]  # the one that cannot be read
    sweep(CONFIG, small_data(), variants=[{"loss.beta": 2.0, "trainer.accumulate": 2}], out=path)
    assert len(trained) == 2


def test_an_interrupted_sweep_does_what_is_missing_with_the_same_result(records, tmp_path, monkeypatch):
    path, found = tmp_path / "runs.jsonl", records[1]
    lines = records[0].read_text().splitlines(keepends=True)
    path.write_text(lines[0] + lines[1] + lines[2][:40])  # killed while it wrote the third
    again = sweep(CONFIG, small_data(), variants=grid(AXES), seeds=(0, 1), out=path)
    assert [one.metrics for one in again] == [one.metrics for one in found]
    assert read_records(path) == again


def test_a_run_that_was_killed_goes_on_from_its_last_epoch(records, tmp_path, monkeypatch):
    path, real = tmp_path / "runs.jsonl", sweeping.fit

    def killed(config, dataset, *, out, **options):
        short = config.model_copy(update={"trainer": config.trainer.model_copy(update={"epochs": 1})})
        real(short, dataset, out=out, **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(sweeping, "fit", killed)
    with pytest.raises(KeyboardInterrupt):
        sweep(CONFIG, small_data(), variants=grid(AXES), out=path)
    monkeypatch.undo()
    assert len(list((tmp_path / "unfinished").iterdir())) == 1
    again = sweep(CONFIG, small_data(), variants=grid(AXES), out=path)
    assert [one.metrics for one in again] == [one.metrics for one in records[1][:2]]
    assert not (tmp_path / "unfinished").exists()


def test_other_data_are_other_runs(records):
    assert data_digest(small_data(0)) != data_digest(small_data(1))
    assert data_digest(small_data(0)) == data_digest(small_data(0))
    texts = [Dataset(np.eye(2, dtype=bool), ("a", "b"), texts=pair) for pair in (("x", "y"), ("xy", ""))]
    assert data_digest(texts[0]) != data_digest(texts[1])


def test_what_is_measured_and_which_metrics_are_kept(tmp_path):
    def measure(fitted):
        return {"norm": float(fitted.head.weight.detach().norm())}

    one = sweep(CONFIG, small_data(), metrics=("macro-f1",), measure=measure, out=tmp_path / "runs.jsonl")[0]
    assert set(one.metrics["test"]) == {"macro-f1"}
    assert one.value("norm") > 0
    assert one.value("test/macro-f1") == one.metrics["test"]["macro-f1"]
    assert one.value("test/micro-f1") is None
    assert read_records(tmp_path / "runs.jsonl") == [one]


def test_training_that_diverges_is_a_result_and_not_the_end(tmp_path, monkeypatch):
    def diverges(*_, **__):
        raise DivergedError("training diverged: weights are no finite numbers any more")

    monkeypatch.setattr(sweeping, "fit", diverges)
    found = sweep(CONFIG, small_data(), variants=grid(AXES), out=tmp_path / "runs.jsonl")
    assert [one.failure is not None for one in found] == [True, True]
    assert spread(found, "test/micro-f1") is None
    assert best_variant(found) is None


def test_another_error_is_the_end_and_leaves_nothing(tmp_path):
    data = small_data().with_split(np.repeat(["test"], 80))
    with pytest.raises(ValueError, match="must have a part named train"):
        sweep(CONFIG, data, out=tmp_path / "runs.jsonl")
    assert not list(tmp_path.iterdir())


def test_all_configurations_are_checked_before_the_first_is_trained():
    with pytest.raises(ConfigError, match="loss"):
        planned_runs(CONFIG, [{"loss.beta": 1.0}, {"loss.beta": -1.0}], (0,))
    with pytest.raises(ValueError, match="same configuration twice"):
        planned_runs(CONFIG, [{"loss.beta": 1.0}, {"loss.beta": 1.0}], (0,))


def test_a_variant_of_another_kind_loses_the_options_of_the_old():
    config = TrainConfig.from_dict({"loss": {"kind": "focal", "gamma": 1.0}})
    runs = planned_runs(config, [{"loss.kind": "focal"}, {"loss.kind": "bce"}], (0,))
    assert [run.config.loss.options for run in runs] == [{"gamma": 1.0}, {}]


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("loss.beta", "form section.key=value,value"),
        ("beta=1", "form section.key=value,value"),
        ("loss.beta=", "form section.key=value,value"),
        ("loss.beta=[1", "must be YAML"),
        ("trainer.seed=1,2", "number of seeds"),
    ],
)
def test_axes_that_make_no_sense_are_refused(word, message):
    with pytest.raises(ConfigError, match=message):
        read_axis(word)


def test_small_numbers_are_numbers():
    assert read_axis("trainer.weight_decay=0,1e-3") == ("trainer.weight_decay", [0, 0.001])


def test_a_line_that_is_no_record_is_named(tmp_path):
    path = tmp_path / "runs.jsonl"
    path.write_text('{"seed": 0}\n')
    with pytest.raises(DataFormatError, match=r"runs.jsonl, line 1: expected the record of a run"):
        read_records(path)
    path.write_text("seed\n")
    with pytest.raises(DataFormatError, match=r"runs.jsonl, line 1: expected the record of a run in JSON"):
        read_records(path)


def test_mean_deviation_and_the_best_on_validation_data(records):
    one = records[1][0]
    values = {1.0: (0.2, 0.4), 2.0: (0.5, 0.3)}
    made = [
        replace(
            one,
            changes={"loss.beta": beta},
            seed=seed,
            metrics={"validation": {"micro-f1": value, "brier-loss": value}},
        )
        for beta, pair in values.items()
        for seed, value in enumerate(pair)
    ]
    found = spread(by_variant(made)["loss.beta=1.0"], "validation/micro-f1")
    assert found.n == 2
    assert math.isclose(found.mean, 0.3)
    assert math.isclose(found.deviation, math.sqrt(0.02))
    assert best_variant(made, "micro-f1") == "loss.beta=2.0"
    assert best_variant(made, "brier-loss") == "loss.beta=1.0"


def test_boxes_are_drawn_and_names_are_text(records, tmp_path):
    named = [replace(one, changes={"loss.kind": "$x$ <b>"}) for one in records[1]]
    draw_boxes(named, tmp_path / "boxes.svg", ["test/micro-f1", "test/macro-f1"])
    draw_boxes(records[1], tmp_path / "boxes.png")
    assert (tmp_path / "boxes.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "boxes.svg").read_text()


def test_appending_makes_the_folder(records, tmp_path):
    append_record(tmp_path / "new" / "runs.jsonl", records[1][0])
    assert read_records(tmp_path / "new" / "runs.jsonl") == records[1][:1]


def test_records_that_several_add_at_once_are_all_kept(tmp_path):
    path = tmp_path / "runs.jsonl"
    runs = [RunRecord({}, seed, {"head": {"kind": "dft"}}, {"digest": "a" * 2000}, {}) for seed in range(200)]
    with ThreadPoolExecutor(8) as several:
        list(several.map(partial(append_record, path), runs))
    assert sorted(record.seed for record in read_records(path)) == list(range(200))
