"""Small data on which training takes moments."""

import numpy as np
import pytest
import torch

from labelproof.data import Dataset
from labelproof.training import TrainConfig

WORDS = ("ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen")


@pytest.fixture(autouse=True)
def one_thread():
    """Such small products are quicker on one thread, and other tests run beside these."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def features():
    """120 examples with 24 features and 8 labels that a linear layer can tell."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 24)).astype(np.float32)
    return Dataset(X[:, :8] + 0.2 * X[:, 8:16] > 0.8, WORDS, features=X)


@pytest.fixture
def texts():
    """120 texts whose labels are their words."""
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(WORDS, size=rng.integers(1, 4), replace=False)) for _ in range(120)]
    return Dataset(np.array([[word in text for word in WORDS] for text in texts]), WORDS, texts=texts)


@pytest.fixture
def config():
    """Make a configuration of two epochs from sections; a section's keys come on top of those."""

    def make(**sections):
        sections["trainer"] = {"epochs": 2, "accelerator": "cpu"} | sections.get("trainer", {})
        sections.setdefault("head", {"slack": 4})
        return TrainConfig.from_dict(sections)

    return make
