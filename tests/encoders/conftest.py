"""Models, vectors and pictures that are made once."""

import pytest
from every_encoder import glove_file, picture_files


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    """A function from the name of a tiny model to its directory and the model itself."""
    import tiny_models  # takes seconds

    made = {}

    def get(name):
        if name not in made:
            folder = tmp_path_factory.mktemp(name)
            made[name] = folder, getattr(tiny_models, name)(folder)
        return made[name]

    return get


@pytest.fixture(scope="session")
def glove(tmp_path_factory):
    return glove_file(tmp_path_factory.mktemp("glove") / "vectors.txt")


@pytest.fixture(scope="session")
def pictures(tmp_path_factory):
    return picture_files(tmp_path_factory.mktemp("pictures"))
