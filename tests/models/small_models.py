"""A small model on features, and one on texts."""

import numpy as np
import pytest
import torch

from labelproof.data import Dataset
from labelproof.models import Model
from labelproof.training import TrainConfig, fit

WORDS = ("ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen")


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def make_model():
    """Train a model on 60 examples with 24 features, or with texts, for one epoch."""

    def make(head=None, encoder=None, loss=None, decision=None):
        encoder = encoder or {"kind": "features"}
        sections = {"head": head or {"slack": 4}, "encoder": encoder, "trainer": {"epochs": 1, "accelerator": "cpu"}}
        sections |= {"loss": loss or {"kind": "bce"}, "decision": decision or {"kind": "per-label"}}
        rng = np.random.default_rng(0)
        X = rng.normal(size=(60, 24)).astype(np.float32)
        texts = [" ".join(rng.choice(WORDS, size=3, replace=False)) for _ in range(60)]
        Y = np.array([[word in text for word in WORDS] for text in texts])
        is_text = encoder["kind"] != "features"
        data = Dataset(Y, WORDS, **({"texts": texts} if is_text else {"features": X}))
        return Model.of(fit(TrainConfig.from_dict(sections), data, progress=False)), texts if is_text else X

    return make
