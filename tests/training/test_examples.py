"""The examples of the documentation run, and learn."""

# ruff: noqa: F401 - fixtures are imported, and tests take them by their names

import importlib.util
from pathlib import Path

import pytest
from training_data import one_thread

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


def example(name):
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_hugging_face_trainer_takes_our_head_and_loss():
    values = example("hf_trainer").main()
    assert values["micro_f1"] > 0.6  # all labels for all documents give 0.37
    assert values["argmaxable"] == 1.0


# Lightning 2.6 uses what torch 2.13 deprecates, and advises on workers that such small data do not need
@pytest.mark.filterwarnings("ignore:.*isinstance.treespec, LeafSpec.*:FutureWarning")
@pytest.mark.filterwarnings("ignore:.*does not have many workers.*")
def test_a_plain_lightning_module_takes_our_head_loss_and_metric():
    values = example("lightning_module").main()
    assert values["precision@3"] > 0.5
    assert values["micro_f1"] > 0.7


@pytest.mark.slow
def test_a_scikit_learn_pipeline_takes_our_classifier():
    values = example("sklearn_pipeline").main()
    assert values["ours"] > values["baseline"] - 0.02
