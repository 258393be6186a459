"""Configurations: what is refused, and with which sentence."""

import re

import pytest
import yaml

from labelproof.errors import DataFormatError
from labelproof.training import ConfigError, TrainConfig
from labelproof.training.choices import DECISIONS, LOSSES
from labelproof.training.config_files import override, read_config
from labelproof.training.template import TEMPLATE


def refused(values, message):
    with pytest.raises(ConfigError, match=re.escape(message)) as caught:
        TrainConfig.from_dict(values)
    assert "\n" not in str(caught.value)


def test_an_unknown_section_is_refused_with_the_nearest_name():
    refused({"trianer": {}}, "trianer is unknown: did you mean trainer?")


def test_an_unknown_key_is_refused_with_the_nearest_name():
    refused({"trainer": {"batchsize": 3}}, "trainer.batchsize is unknown: did you mean batch_size?")


def test_an_unknown_kind_is_refused_with_the_nearest_name():
    refused({"loss": {"kind": "fokal"}}, "loss.kind is unknown 'fokal': did you mean focal?")
    refused({"decision": {"kind": "perlabel"}}, "did you mean per-label?")
    refused({"encoder": {"kind": "tf-idf"}}, "did you mean tfidf?")


def test_an_option_that_the_kind_lacks_is_refused_with_the_nearest_name():
    refused({"loss": {"kind": "focal", "gama": 1.0}}, "loss.gama is unknown for the kind 'focal': did you mean gamma?")
    refused({"decision": {"kind": "top-k", "metric": "micro-f1"}}, "decision.metric is unknown for the kind 'top-k'")
    refused({"head": {"kind": "linear", "k": 3}}, "head.k is unknown for the kind 'linear'")
    refused({"encoder": {"kind": "features", "hiden": 8}}, "did you mean hidden?")


def test_what_is_ours_to_set_is_no_option():
    refused({"loss": {"kind": "bce", "reduction": "sum"}}, "loss.reduction is unknown")
    refused({"decision": {"kind": "expected-f", "scores": "logits"}}, "decision.scores is unknown")


def test_values_that_make_no_sense_are_refused_with_their_place():
    refused({"trainer": {"epochs": 0}}, "trainer.epochs: input should be greater than or equal to 1, got 0")
    refused({"trainer": {"lr": float("nan")}}, "trainer.lr")
    refused({"trainer": {"monitor": "micro-f"}}, "trainer.monitor: expected the name of a metric")
    refused({"data": {"validation": 1.0}}, "data.validation")
    refused({"head": {"kind": "dft", "slack": -1}}, "head.slack")
    refused({"loss": {"kind": "sigmoid-f1", "beta": -1.0}}, "loss: beta must be positive")
    refused({"decision": {"kind": "fixed", "threshold": 1.5}}, "decision: threshold must be a probability")
    refused({"decision": {"kind": "global", "metric": "precision@5"}}, "decision: metric must be one of label sets")
    refused({"loss": {"kind": "entmax", "alpha": "much"}}, "loss: ")


def test_the_template_is_the_default_configuration_of_a_network():
    values = yaml.safe_load(TEMPLATE)
    assert values["data"].pop("path") == "data.csv"
    assert values["head"].pop("slack") == 50
    assert TrainConfig.from_dict(values) == TrainConfig.from_dict({"head": {"kind": "dft"}})


@pytest.mark.parametrize("values", [{}, {"data": {"test": 0.2}}, {"head": {"budget": "5m"}}, {"trainer": {"seed": 3}}])
def test_a_configuration_that_chooses_nothing_is_the_recipe(values):
    assert TrainConfig.from_dict(values).head.kind == "auto"


@pytest.mark.parametrize(
    "values",
    [
        {"encoder": {"kind": "tfidf"}},
        {"loss": {"kind": "focal"}},
        {"decision": {"kind": "global"}},
        {"head": {"k": 3}},
        {"trainer": {"epochs": 3}},
        {"trainer": {"seed": 1, "lr": 0.1}},
    ],
)
def test_what_the_recipe_would_overrule_makes_the_head_a_trained_one(values):
    assert TrainConfig.from_dict(values).head.kind == "dft"


def test_an_override_of_the_kind_keeps_the_options_of_the_kind_that_was_meant():
    assert override({"head": {"slack": 7}}, ["head.kind=dft"]) == {"head": {"kind": "dft", "slack": 7}}
    assert override({"head": {"budget": "5m"}}, ["head.kind=dft"]) == {"head": {"kind": "dft"}}


def test_the_template_names_every_kind_and_every_key_of_the_trainer():
    kinds = [*LOSSES, *DECISIONS, "dft", "bottleneck", "linear"]
    assert [kind for kind in kinds if kind not in TEMPLATE] == []
    assert [name for name in type(TrainConfig().trainer).model_fields if f"{name}:" not in TEMPLATE] == []


def test_a_configuration_survives_yaml():
    config = TrainConfig.from_dict(
        {"loss": {"kind": "asl", "clip": 0.1}, "data": {"path": {"train": "a", "test": "b"}}}
    )
    assert TrainConfig.from_dict(yaml.safe_load(yaml.safe_dump(config.to_dict()))) == config


def test_a_none_that_is_not_the_default_survives_yaml():
    config = TrainConfig.from_dict(
        {"trainer": {"patience": None}, "encoder": {"kind": "tfidf", "max_features": None}, "head": {"d": None}}
    )
    read = TrainConfig.from_dict(yaml.safe_load(yaml.safe_dump(config.to_dict())))
    assert read == config
    assert read.trainer.patience is None
    assert read.encoder.options == {"max_features": None}


def test_an_override_replaces_one_value():
    assert override({"trainer": {"lr": 1.0, "epochs": 2}}, ["trainer.lr=1e-3"])["trainer"] == {"lr": 0.001, "epochs": 2}
    assert override({"trainer": {"lr": 1.0}}, ["trainer.metrics=[lrap]"])["trainer"]["metrics"] == ["lrap"]


def test_an_override_of_the_kind_drops_the_options_of_the_old_kind():
    values = {"loss": {"kind": "focal", "gamma": 1.0}}
    assert override(values, ["loss.kind=bce"]) == {"loss": {"kind": "bce"}}
    assert override(values, ["loss.kind=focal"]) == values
    assert override({"encoder": {"hidden": 8}}, ["encoder.kind=features"])["encoder"]["hidden"] == 8  # the default kind


def test_the_order_of_overrides_does_not_matter():
    words = ["loss.gamma=1.0", "loss.kind=focal"]
    for order in (words, words[::-1]):
        assert override({"loss": {"kind": "bce"}}, order) == {"loss": {"kind": "focal", "gamma": 1.0}}


@pytest.mark.parametrize("word", ["epochs=3", "trainer.epochs", "trainer=3", "=3", "trainer.=3"])
def test_an_override_without_section_key_and_value_is_refused(word):
    with pytest.raises(ConfigError, match=re.escape("section.key=value")):
        override({}, [word])


def test_an_override_that_is_no_yaml_is_refused():
    with pytest.raises(ConfigError, match=re.escape("trainer.metrics must be YAML, got '[a'")):
        override({}, ["trainer.metrics=[a"])


def test_a_number_with_an_exponent_is_a_number(tmp_path):
    (tmp_path / "c.yaml").write_text("loss: {kind: focal, gamma: 1e-3}\n")  # text in YAML 1.1
    assert read_config(tmp_path / "c.yaml").loss.options == {"gamma": 0.001}


def test_an_error_names_the_file_and_the_line(tmp_path):
    path = tmp_path / "c.yaml"
    path.write_text("trainer:\n  epochs: 3\n  sed: 1\n")
    with pytest.raises(DataFormatError, match=re.escape("c.yaml, line 3: trainer.sed is unknown: did you mean seed?")):
        read_config(path)
    path.write_text("loss:\n  kind: focal\n  gama: 1\n")
    with pytest.raises(DataFormatError, match=re.escape("c.yaml, line 3: loss.gama is unknown")):
        read_config(path)


def test_an_error_in_an_override_does_not_blame_the_file(tmp_path):
    path = tmp_path / "c.yaml"
    path.write_text("trainer:\n  epochs: 3\n")
    with pytest.raises(ConfigError, match=r"^trainer.epochs: .* got -1"):
        read_config(path, ["trainer.epochs=-1"])
    path.write_text("loss: {kind: sigmoid-f1}\n")
    with pytest.raises(ConfigError, match=r"^loss: beta must be positive"):
        read_config(path, ["loss.beta=-1"])


def test_a_key_that_is_given_twice_is_refused(tmp_path):
    path = tmp_path / "c.yaml"
    path.write_text("trainer:\n  epochs: 3\n  lr: 0.1\n  epochs: 4\n")
    with pytest.raises(DataFormatError, match=re.escape("c.yaml, line 4: trainer.epochs is given twice")):
        read_config(path)


def test_a_file_that_is_no_yaml_is_refused_with_its_line(tmp_path):
    path = tmp_path / "c.yaml"
    path.write_text("trainer:\n  epochs: [3\n")
    with pytest.raises(DataFormatError, match=r"c.yaml, line 2: expected YAML"):
        read_config(path)
    path.write_text("just words\n")
    with pytest.raises(DataFormatError, match=r"c\.yaml: expected a configuration with sections"):
        read_config(path)


def test_an_empty_file_is_the_default_configuration(tmp_path):
    (tmp_path / "c.yaml").write_text("# nothing\n")
    assert read_config(tmp_path / "c.yaml") == TrainConfig()


def test_a_file_in_another_encoding_is_refused_with_its_line(tmp_path):
    (tmp_path / "c.yaml").write_bytes("trainer: {seed: 1}\ndata: {path: ä.csv}\n".encode("latin-1"))
    with pytest.raises(DataFormatError, match=re.escape("c.yaml, line 2: expected text in UTF-8, got byte 0xe4")):
        read_config(tmp_path / "c.yaml")
    with pytest.raises(DataFormatError, match=r"none\.yaml: no such file"):
        read_config(tmp_path / "none.yaml")


def test_an_alias_within_itself_is_refused(tmp_path):
    (tmp_path / "c.yaml").write_text("trainer: &a {epochs: *a}\n")
    with pytest.raises(DataFormatError, match=r"c\.yaml, line 1: trainer\.epochs: input should be a valid integer"):
        read_config(tmp_path / "c.yaml")
