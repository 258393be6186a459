"""Names that are imported late say what they lack in one sentence."""

import importlib.metadata
import sys

import pytest

import labelproof as lp
from labelproof.errors import MissingPackageError
from labelproof.foundation import late_names as module
from labelproof.foundation.late_names import late_names


@pytest.mark.parametrize(("package", "remedy"), [("torch", r"'labelproof\[torch\]'"), ("not_there", "not_there")])
def test_a_name_that_needs_a_missing_package_says_how_to_install_it(monkeypatch, package, remedy):
    def missing(_):
        raise ModuleNotFoundError(f"No module named '{package}.nn'", name=f"{package}.nn")

    monkeypatch.setattr(module, "import_module", missing)
    monkeypatch.setattr("labelproof.foundation.optional_packages.find_spec", lambda _: None)
    with pytest.raises(MissingPackageError, match=rf"a\.b needs the package {package}: pip install {remedy}"):
        late_names("a", {"b": "a.c"})("b")


def test_a_name_that_trains_is_told_the_extra_for_training(monkeypatch):
    def missing(_):
        raise ModuleNotFoundError("No module named 'torch'", name="torch")

    monkeypatch.setattr(module, "import_module", missing)
    monkeypatch.setattr("labelproof.foundation.optional_packages.find_spec", lambda _: None)
    with pytest.raises(MissingPackageError, match=r"a\.b needs the package torch: pip install 'labelproof\[train\]'"):
        late_names("a", {"b": "a.c"}, trains=True)("b")


def test_a_fault_of_an_installed_package_is_shown_as_it_is(monkeypatch):
    def broken(_):
        raise ModuleNotFoundError("No module named 'numpy.gone'", name="numpy.gone")

    monkeypatch.setattr(module, "import_module", broken)
    with pytest.raises(ModuleNotFoundError, match=r"numpy\.gone"):
        late_names("a", {"b": "a.c"})("b")


def test_the_version_is_that_of_the_installation():
    assert lp.__version__ == importlib.metadata.version("labelproof")
    assert "labelproof.foundation.release" in sys.modules
