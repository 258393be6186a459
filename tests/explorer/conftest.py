"""Explorers that several tests ask."""

import numpy as np
import pytest
from small_explorers import PETS, TRIANGLE, app_of, client_of


@pytest.fixture(scope="session")
def pets():
    """A client of the explorer of three labels on two features."""
    return client_of(app_of(TRIANGLE, [[0], [0, 1], [0, 1, 2], [0, 1, 2], [2]], names=PETS))


@pytest.fixture(scope="session")
def random_layer():
    """Weights (60, 5) and an explorer of them, with label sets that some inputs give and others that none gives."""
    rng = np.random.default_rng(0)
    weight = rng.standard_normal((60, 5))
    given = (rng.standard_normal((30, 5)) @ weight.T > 0).astype(int)
    invented = (rng.random((30, 60)) < 0.1).astype(int)
    sets = np.concatenate([given, given[:5], invented])
    return weight, sets, client_of(app_of(weight, sets))


@pytest.fixture
def page(chromium):
    """A page of the browser that must end without a message on its console."""
    opened = chromium.new_page(viewport={"width": 1200, "height": 900})
    said = []
    opened.on("console", lambda message: said.append(message.text))
    opened.on("pageerror", lambda error: said.append(str(error)))
    yield opened
    opened.close()
    assert said == []
