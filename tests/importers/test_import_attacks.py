"""Files made to do harm: each is refused in one sentence, and without much memory."""

import io
import tracemalloc
import zipfile
from contextlib import contextmanager

import numpy as np
import pytest
import scipy.sparse
from made_files import write_npy_with_header

from labelproof.errors import LabelproofError
from labelproof.importers import read_layer
from labelproof.importers.archives import refuse_bombs


@contextmanager
def cheaply():
    """Everything inside takes under 16 MiB of memory."""
    tracemalloc.start()
    yield
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2**24


def npy_header(shape):
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return stream.getvalue()


def write_zip(path, claimed, members=1):
    """A zip file of a few bytes, each of whose members says that it unpacks to so many."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for i in range(members):
            archive.writestr(f"a{i}.npy", npy_header((claimed // 8,)))
        for member in archive.filelist:
            member.file_size = claimed


@pytest.mark.parametrize("ending", [".npz", ".skops"])
@pytest.mark.parametrize(("claimed", "members"), [(2**32, 1), (2**26, 20), (2**62, 1)])
def test_a_zip_bomb_is_refused_before_it_is_unpacked(tmp_path, ending, claimed, members):
    write_zip(tmp_path / f"bomb{ending}", claimed, members)
    with cheaply(), pytest.raises(LabelproofError, match=f"^bomb{ending}: .* that unpacks to {claimed * members}"):
        read_layer(tmp_path / f"bomb{ending}")


def test_a_bomb_given_as_a_bias_or_in_a_folder_is_refused_by_its_own_name(tmp_path):
    np.save(tmp_path / "w.npy", np.eye(3, 2))
    (tmp_path / "pecos").mkdir()
    (tmp_path / "pecos" / "param.json").write_text('{"model": "MLModel"}')
    for bomb in (tmp_path / "bomb.npz", tmp_path / "pecos" / "W.npz"):
        write_zip(bomb, 2**32)
    with cheaply(), pytest.raises(LabelproofError, match=r"^bomb.npz: expected a zip file of weights"):
        read_layer(tmp_path / "w.npy", bias=tmp_path / "bomb.npz")
    with cheaply(), pytest.raises(LabelproofError, match=r"^W.npz: expected a zip file of weights"):
        read_layer(tmp_path / "pecos")


def test_a_zip_bomb_whose_size_is_true_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("labelproof.importers.archives.LARGE", 2**20)
    np.savez_compressed(tmp_path / "bomb.npz", weight=np.zeros((2**9, 2**10)))
    assert (tmp_path / "bomb.npz").stat().st_size < 2**14
    with cheaply(), pytest.raises(LabelproofError, match="unpacks to"):
        read_layer(tmp_path / "bomb.npz")


def test_weights_that_pack_well_are_no_bomb(tmp_path):
    np.savez_compressed(tmp_path / "w.npz", weight=np.eye(2**9, 2**10))
    assert read_layer(tmp_path / "w.npz").n_labels == 2**9


def test_too_many_members_are_refused(monkeypatch):
    monkeypatch.setattr("labelproof.importers.archives.MAX_MEMBERS", 3)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for i in range(4):
            archive.writestr(str(i), b"")
    with pytest.raises(ValueError, match="expected a zip file of weights"):
        refuse_bombs(stream, len(stream.getvalue()))


@pytest.mark.parametrize("shape", [(2**40,), (2**20, 2**20), (2**63, 2**63)])
def test_an_array_that_claims_an_absurd_shape_is_refused(tmp_path, shape):
    write_npy_with_header(tmp_path / "w.npy", shape)
    with cheaply(), pytest.raises(LabelproofError, match=r"^w.npy: "):
        read_layer(tmp_path / "w.npy")
    with zipfile.ZipFile(tmp_path / "w.npz", "w") as archive:
        archive.writestr("weight.npy", (tmp_path / "w.npy").read_bytes())
    with cheaply(), pytest.raises(LabelproofError, match=r"^w.npz: "):
        read_layer(tmp_path / "w.npz")


def test_a_sparse_matrix_that_claims_an_absurd_shape_is_refused(tmp_path):
    huge = scipy.sparse.coo_array(([1.0], ([0], [0])), shape=(2**40, 2**20))
    scipy.sparse.save_npz(tmp_path / "w.npz", huge)
    with cheaply(), pytest.raises(LabelproofError, match="must take up at most"):
        read_layer(tmp_path / "w.npz", n_labels=2**20)


def test_pickled_arrays_are_refused(tmp_path):
    np.save(tmp_path / "w.npy", np.array([[1, None]], dtype=object), allow_pickle=True)
    np.savez(tmp_path / "w.npz", weight=np.array([[1, None]], dtype=object))
    for name in ("w.npy", "w.npz"):
        with pytest.raises(LabelproofError, match=f"^{name}: .*pickled Python objects, which are not read"):
            read_layer(tmp_path / name)


def test_a_text_of_absurd_size_is_refused_before_it_is_read(tmp_path):
    with open(tmp_path / "w.csv", "wb") as stream:
        stream.truncate(2**34)
    with cheaply(), pytest.raises(LabelproofError, match=r"^w.csv: expected at most \d+ bytes of text"):
        read_layer(tmp_path / "w.csv")


@pytest.mark.parametrize("ending", [".npz", ".npy", ".safetensors", ".skops", ".onnx", ".pt", ".csv"])
def test_no_damage_gives_more_than_one_sentence(tmp_path, ending):
    rng = np.random.default_rng(0)
    path = tmp_path / f"w{ending}"
    good = io.BytesIO()
    np.savez(good, weight=np.eye(3, 2))
    for content in (b"", b"\0" * 100, rng.bytes(1000), good.getvalue()[:-30], good.getvalue()[30:], b"PK\x03\x04" * 30):
        path.write_bytes(content)
        with pytest.raises(LabelproofError) as caught:
            read_layer(path)
        assert str(caught.value).startswith(path.name)
        assert "\n" not in str(caught.value)


@pytest.fixture(scope="module")
def whole_files(tmp_path_factory):
    """A true file of each format, which all are read."""
    import onnx
    import skops.io
    import torch
    from onnx import TensorProto, helper, numpy_helper
    from safetensors.torch import save_file
    from sklearn.linear_model import RidgeClassifier

    folder = tmp_path_factory.mktemp("files")
    weight = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
    np.save(folder / "w.npy", weight)
    np.savez_compressed(folder / "w.npz", weight=weight, bias=weight[:, 0])
    save_file({"fc.weight": torch.from_numpy(weight)}, folder / "w.safetensors")
    torch.save({"fc.weight": torch.from_numpy(weight)}, folder / "w.pt")
    skops.io.dump(RidgeClassifier().fit(weight, weight > 0), folder / "w.skops")
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in "xz"]
    node = helper.make_node("Gemm", ["x", "W"], ["z"], transB=1)
    graph = helper.make_graph([node], "g", values[:1], values[1:], [numpy_helper.from_array(weight, "W")])
    onnx.save(helper.make_model(graph), folder / "w.onnx")
    assert all(read_layer(path).weight.size for path in folder.iterdir())
    return {path.suffix: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.filterwarnings("ignore")  # of the packages that read the formats
@pytest.mark.parametrize("ending", [".npz", ".npy", ".safetensors", ".skops", ".onnx", ".pt"])
def test_changed_bytes_give_a_layer_or_one_sentence(tmp_path, whole_files, ending):
    rng = np.random.default_rng(0)
    path = tmp_path / f"w{ending}"
    for _ in range(40):
        content = bytearray(whole_files[ending])
        for place in rng.integers(len(content), size=rng.integers(1, 6)):
            content[place] = rng.integers(256)
        path.write_bytes(content)
        sentence = ""
        try:
            assert np.isfinite(read_layer(path).weight).all()
        except LabelproofError as error:
            sentence = str(error)
        assert "\n" not in sentence


def test_something_that_is_no_file_is_refused(tmp_path):
    import os

    os.mkfifo(tmp_path / "w.npy")
    with pytest.raises(LabelproofError, match="neither a file nor a folder"):
        read_layer(tmp_path / "w.npy")
