"""Output layers of .keras files, read without Keras: a zip file of a configuration and of numbers in HDF5.

Nothing of a file is run: a Lambda layer or a class of someone's own stays a name. Numbers are read only as Keras writes
them, so that their place in the file is as large as they are.
"""

import io
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import numpy.typing as npt

from labelproof.foundation.json_files import MAX_JSON, parse_json
from labelproof.foundation.optional_packages import need
from labelproof.importers.archives import open_zip, refuse_bombs
from labelproof.importers.candidates import ASK
from labelproof.importers.exact_numbers import exact, finite_layer
from labelproof.importers.keras_graph import is_graph
from labelproof.importers.keras_layers import keras_layer
from labelproof.importers.layer import ImportedLayer
from labelproof.importers.tensors import StoredTensor, shown

__all__ = ["read_keras"]

FLOATS = ("float64", "float32", "float16")
OWN_CLASS = "The model is a class of its own: its layer is taken as a Dense one whose logits are its output."


def read_keras(path: Path, *, weight_key: str | None = None) -> ImportedLayer:
    """Return the layer of a .keras file.

    Parameters
    ----------
    path
        Of a file that Keras 3 saved.
    weight_key
        Name of a Dense layer, where the output is not one's or there are several; of a model that is a class of its
        own, the attribute that holds it.

    Raises
    ------
    ValueError
        If the file is damaged, or has no output of a Dense layer.
    """
    need("h5py", f"reading {path.name}")
    refuse_bombs(path)
    with open_zip(path) as archive:
        config, metadata = (_read_json(archive, name) for name in ("config.json", "metadata.json"))
        numbers = _member(archive, "model.weights.h5")
    version = str(metadata.get("keras_version"))
    if not version.startswith("3."):
        raise ValueError(
            f"expected a model that Keras 3 saved, got one of Keras {version[:20]}: save it anew with Keras 3"
        )
    try:
        return _read(config, numbers, path.name, weight_key)
    except (ValueError, MemoryError):
        raise
    except Exception as error:  # whatever damage does to the reader of HDF5
        what = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise ValueError(f"expected a model as Keras writes it, got a damaged one ({what})") from error


def _read(config: Mapping[str, Any], numbers: bytes, name: str, weight_key: str | None) -> ImportedLayer:
    import h5py

    with h5py.File(io.BytesIO(numbers), "r") as stored:
        if not is_graph(config):
            return _layer_of_own_class(stored, config, name, weight_key)

        def variables(path: tuple[str, ...]) -> list[StoredTensor]:
            return _variables(_group(stored, config, path), name)

        layer = keras_layer(config, variables, model=name, kind="Keras file", weight_key=weight_key)
    return replace(layer, source=f"{layer.source} of {name}")


def _layer_of_own_class(stored: Any, config: Mapping[str, Any], name: str, weight_key: str | None) -> ImportedLayer:
    """Return the layer of a model without a graph: that of the attribute which is named."""
    kernels = {key: found[0] for key in _own_keys(stored) if (found := _variables(_at(stored, key), name))}
    kernels = {key: tensor for key, tensor in kernels.items() if len(tensor.shape) == 2}
    if weight_key not in kernels:
        what = f"expected a model with a graph, got the class {str(config.get('class_name'))[:80]!r}"
        raise ValueError(f"{what} with {shown(kernels, list(kernels)) or 'no kernels'}: {ASK}")
    tensors = _variables(_at(stored, str(weight_key)), name)
    bias = tensors[1].read() if len(tensors) > 1 and tensors[1].shape == tensors[0].shape[1:] else None
    source = f"{weight_key} of {name}"
    layer = ImportedLayer(tensors[0].read().T, bias, tensors[0].dtype, name, "Keras file", source, notes=(OWN_CLASS,))
    return finite_layer(layer)


def _own_keys(stored: Any) -> list[str]:
    return [key for key in stored if key not in ("vars", "optimizer") and _is_group(stored, key)]


def _group(stored: Any, config: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    """Return the group of a layer: by the name that Keras notes with it, or by the order of layers of its class."""
    group, layers = stored, config["config"]["layers"]
    for name in path:
        group = _at(group, "layers")
        noted = [key for key in group if _is_group(group, key) and _noted_name(_at(group, key)) == name]
        group = _at(group, noted[0] if len(noted) == 1 else _key_by_order(layers, name))
        layers = next(layer for layer in layers if layer["config"]["name"] == name)["config"].get("layers", [])
    return group


def _noted_name(group: Any) -> str | None:
    name = _at(group, "vars").attrs.get("name") if _is_group(group, "vars") else None
    return name if isinstance(name, str) else None


def _key_by_order(layers: list[Any], name: str) -> str:
    """Return the class in snake case, with a number from the second layer of its class on."""
    place = next(i for i, layer in enumerate(layers) if layer["config"]["name"] == name)
    kinds = [str(layer["class_name"]) for layer in layers[: place + 1]]
    key = re.sub(r"(?<=.)(?=[A-Z][a-z])|(?<=[a-z])(?=[A-Z])", "_", kinds[-1]).lower()
    earlier = kinds[:-1].count(kinds[-1])
    return f"{key}_{earlier}" if earlier else key


def _variables(group: Any, file: str) -> list[StoredTensor]:
    """Return the numbers of a layer, in Keras's order."""
    values = _at(group, "vars")
    return [_stored(values, str(i), file) for i in range(len(values))]


def _stored(group: Any, key: str, file: str) -> StoredTensor:
    import h5py

    _refuse_link(group, key)
    data = group[key]
    if not isinstance(data, h5py.Dataset) or data.external or data.is_virtual or data.chunks is not None:
        raise ValueError(f"expected plain numbers in {file}, got another sort of data in {group.name}/{key}")
    dtype = "bfloat16" if data.attrs.get("dtype") == "bfloat16" and data.dtype.itemsize == 2 else str(data.dtype)
    shape = tuple(data.shape)

    def load() -> npt.NDArray[np.float64]:
        if dtype not in (*FLOATS, "bfloat16"):
            raise ValueError(f"expected numbers in float64, float32, float16 or bfloat16, got {dtype} (quantised?)")
        if data.id.get_storage_size() != data.size * data.dtype.itemsize:
            raise ValueError(f"expected {data.size} numbers in {group.name}/{key}, got a place of another size")
        values = data[()]
        if dtype == "bfloat16":  # the upper half of a float32
            values = (values.view("<u2").astype(np.uint32) << 16).view(np.float32)
        return exact(f"{group.name}/{key}", values)

    return StoredTensor(shape, dtype, file, load)


def _at(group: Any, key: str) -> Any:
    """Return a group within another; links that lead elsewhere are refused."""
    if not _is_group(group, key):
        raise ValueError(f"expected the numbers of {key!r} in {group.name}, got none")
    return group[key]


def _is_group(group: Any, key: str) -> bool:
    import h5py

    if "/" in key or key not in group:
        return False
    _refuse_link(group, key)
    return isinstance(group[key], h5py.Group)


def _refuse_link(group: Any, key: str) -> None:
    import h5py

    if not isinstance(group.get(key, getlink=True), h5py.HardLink):
        raise ValueError(f"expected the numbers of {key!r} in {group.name}, got a link or none")


def _member(archive: ZipFile, name: str) -> bytes:
    if name not in archive.namelist():
        raise ValueError(f"expected {name} in the file, as Keras 3 writes it, got {', '.join(archive.namelist()[:5])}")
    return archive.read(name)


def _read_json(archive: ZipFile, name: str) -> dict[str, Any]:
    if name in archive.namelist() and archive.getinfo(name).file_size > MAX_JSON:
        raise ValueError(f"expected at most {MAX_JSON} bytes in {name}, got {archive.getinfo(name).file_size}")
    text = _member(archive, name)
    try:
        content = parse_json(text)
    except ValueError as error:
        raise ValueError(f"expected JSON in {name} ({error})") from error
    if not isinstance(content, dict):
        raise ValueError(f"expected settings in {name}, got {type(content).__name__}")
    return content
