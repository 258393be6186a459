"""Tensors of torch checkpoints, read by ``torch.load(weights_only=True)``: nothing else is unpickled.

torch stores a checkpoint as a zip file without compression, so that a file that is compressed or says that it holds
more than it does is refused before torch sees it.
"""

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from labelproof.foundation.optional_packages import need
from labelproof.importers.archives import open_zip
from labelproof.importers.tensors import StoredTensor

__all__ = ["read_checkpoint", "stored"]

MAX_PICKLE = 256 * 2**20
DEEPEST = 4  # entries within entries that are looked through
NO_MODEL = ("optim", "lr_scheduler", "scheduler", "scaler", "amp", "rng", "loops", "callbacks")
SAFE = "save the weights alone: torch.save(model.state_dict(), ...), or safetensors (save_pretrained writes it)"


def read_checkpoint(path: Path, weight_key: str | None = None) -> dict[str, StoredTensor]:
    """Return the tensors of a checkpoint by their names in the state dict.

    Lightning's and other checkpoints that hold the state dict among other things are unpacked; where they hold several,
    names begin with the entry that each is under. One model at several times, such as with averaged weights, is asked
    about unless ``weight_key`` is given.

    Raises
    ------
    ValueError
        If the file is damaged, compressed, or holds Python objects, or one model more than once.
    """
    need("torch", f"reading {path.name}")
    import torch

    _check_archive(path)
    try:
        content = torch.load(path, map_location="cpu", weights_only=True, mmap=_is_zip(path))
    except MemoryError:
        raise
    except Exception as error:
        raise ValueError(_refusal(str(error))) from error
    return _named_tensors(content, path.name, weight_key)


def _named_tensors(content: Any, file: str, weight_key: str | None = None) -> dict[str, StoredTensor]:
    """Return the tensors of what a checkpoint holds: a tensor, a state dict, or state dicts among other things."""
    import torch

    if isinstance(content, torch.Tensor):
        return {"weight": stored(content, file)}
    if not isinstance(content, Mapping):
        raise ValueError(f"expected a state dict, got {type(content).__name__}")
    dicts = {"": content} if _is_state_dict(content) else _inner_states(content)
    if not dicts:
        raise ValueError(f"expected a state dict, got entries {', '.join(map(str, list(content)[:8])) or 'none'}")
    tensors = {
        entry: {name: stored(tensor, file) for name, tensor in state.items() if isinstance(tensor, torch.Tensor)}
        for entry, state in dicts.items()
    }
    if len(tensors) == 1:
        return next(iter(tensors.values()))
    if weight_key is None:
        _refuse_twins(tensors)
    return {f"{entry}.{name}": tensor for entry, state in tensors.items() for name, tensor in state.items()}


def stored(tensor: Any, file: str) -> StoredTensor:
    """Return a torch tensor in the form that all readers share."""

    def load() -> npt.NDArray[np.float64]:
        if not tensor.is_floating_point() or tensor.is_quantized or tensor.layout.__str__() != "torch.strided":
            raise ValueError(f"expected floating-point numbers, got {str(tensor.dtype).removeprefix('torch.')}")
        if tensor.is_meta:
            raise ValueError("expected numbers, got a tensor on the meta device, which has none")
        return np.array(tensor.detach().cpu().double().numpy())

    return StoredTensor(tuple(tensor.shape), str(tensor.dtype).removeprefix("torch."), file, load)


def _inner_states(content: Mapping[Any, Any], depth: int = 0) -> dict[str, Any]:
    """Return the state dicts among a checkpoint's entries, or else among the entries of these, by their paths."""
    inner = {str(name): value for name, value in content.items() if isinstance(value, Mapping)}
    found = {name: value for name, value in inner.items() if _is_state_dict(value)}
    if found or depth == DEEPEST:
        return found
    for name, value in inner.items():
        if not name.lower().startswith(NO_MODEL):
            found |= {f"{name}.{path}": state for path, state in _inner_states(value, depth + 1).items()}
    return found


def _is_state_dict(content: Any) -> bool:
    import torch

    if not isinstance(content, Mapping) or not all(isinstance(name, str) for name in content):
        return False
    return any(isinstance(value, torch.Tensor) and value.ndim > 1 for value in content.values())


def _refuse_twins(states: Mapping[str, Mapping[str, StoredTensor]]) -> None:
    seen: dict[frozenset[tuple[str, tuple[int, ...]]], str] = {}
    for entry, state in states.items():
        shapes = frozenset((name, tensor.shape) for name, tensor in state.items())
        if shapes in seen:
            raise ValueError(
                f"expected one model, got {seen[shapes]} and {entry} with the same tensors: say which with "
                f"weight_key=, such as {entry}.{next(iter(state))}"
            )
        seen[shapes] = entry


def _check_archive(path: Path) -> None:
    if not _is_zip(path):
        return  # the format of torch before 1.6, which has no compression
    with open_zip(path) as archive:
        members = archive.infolist()
    if any("/code/" in member.filename for member in members):
        raise ValueError(f"expected a state dict, got a TorchScript program, which is not run: {SAFE}")
    for member in members:
        if member.compress_type != zipfile.ZIP_STORED or member.file_size > path.stat().st_size:
            raise ValueError(f"expected a checkpoint as torch writes it, uncompressed, got {member.filename!r} packed")
        if member.filename.endswith("data.pkl") and member.file_size > MAX_PICKLE:
            raise ValueError(f"expected at most {MAX_PICKLE} bytes that describe tensors, got {member.file_size}")


def _is_zip(path: Path) -> bool:
    with open(path, "rb") as stream:
        return stream.read(4) == b"PK\x03\x04"


def _refusal(message: str) -> str:
    if "Unsupported" in message or "weights_only" in message.lower() or "GLOBAL" in message:
        words = message.split("GLOBAL ")[-1].split()[0] if "GLOBAL " in message else "Python objects"
        return f"expected tensors only, got pickled Python objects ({words}), which are not read: {SAFE}"
    why = f" ({message.splitlines()[0][:200]})" if message else ", got an empty or damaged file"
    return f"expected a torch checkpoint{why}"
