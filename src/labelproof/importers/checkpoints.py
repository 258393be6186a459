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

from labelproof.importers.packages import need
from labelproof.importers.tensors import StoredTensor

__all__ = ["named_tensors", "read_checkpoint", "stored"]

MAX_PICKLE = 256 * 2**20
SAFE = "save the weights alone: torch.save(model.state_dict(), ...), or safetensors (save_pretrained writes it)"


def read_checkpoint(path: Path) -> dict[str, StoredTensor]:
    """Return the tensors of a checkpoint by their names in the state dict.

    Lightning's and other checkpoints that hold the state dict among other things are unpacked; where they hold several,
    names begin with the entry that each is under.

    Raises
    ------
    ValueError
        If the file is damaged, compressed, or holds Python objects.
    """
    need("torch", path.name)
    import torch

    _check_archive(path)
    try:
        content = torch.load(path, map_location="cpu", weights_only=True, mmap=zipfile.is_zipfile(path))
    except MemoryError:
        raise
    except Exception as error:
        raise ValueError(_refusal(str(error))) from error
    return named_tensors(content, path.name)


def named_tensors(content: Any, file: str) -> dict[str, StoredTensor]:
    """Return the tensors of what a checkpoint holds: a tensor, a state dict, or state dicts among other things."""
    import torch

    if isinstance(content, torch.Tensor):
        return {"weight": stored(content, file)}
    if not isinstance(content, Mapping):
        raise ValueError(f"expected a state dict, got {type(content).__name__}")
    dicts = {str(name): inner for name, inner in content.items() if _is_state_dict(inner)}
    if _is_state_dict(content):
        dicts = {"": content}
    if not dicts:
        raise ValueError(f"expected a state dict, got entries {', '.join(map(str, list(content)[:8])) or 'none'}")
    alone = len(dicts) == 1
    return {
        name if alone else f"{entry}.{name}": stored(tensor, file)
        for entry, tensors in dicts.items()
        for name, tensor in tensors.items()
        if isinstance(tensor, torch.Tensor)
    }


def stored(tensor: Any, file: str) -> StoredTensor:
    """Return a torch tensor in the form that all readers share."""

    def load() -> npt.NDArray[np.float64]:
        if not tensor.is_floating_point() or tensor.is_quantized or tensor.layout.__str__() != "torch.strided":
            raise ValueError(f"expected floating-point numbers, got {str(tensor.dtype).removeprefix('torch.')}")
        if tensor.is_meta:
            raise ValueError("expected numbers, got a tensor on the meta device, which has none")
        return np.array(tensor.detach().cpu().double().numpy())

    return StoredTensor(tuple(tensor.shape), str(tensor.dtype).removeprefix("torch."), file, load)


def _is_state_dict(content: Any) -> bool:
    import torch

    if not isinstance(content, Mapping) or not all(isinstance(name, str) for name in content):
        return False
    return any(isinstance(value, torch.Tensor) and value.ndim > 1 for value in content.values())


def _check_archive(path: Path) -> None:
    if not zipfile.is_zipfile(path):
        return  # the format of torch before 1.6, which has no compression
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
    for member in members:
        if member.compress_type != zipfile.ZIP_STORED or member.file_size > path.stat().st_size:
            raise ValueError(f"expected a checkpoint as torch writes it, uncompressed, got {member.filename!r} packed")
        if member.filename.endswith("data.pkl") and member.file_size > MAX_PICKLE:
            raise ValueError(f"expected at most {MAX_PICKLE} bytes that describe tensors, got {member.file_size}")


def _refusal(message: str) -> str:
    if "TorchScript" in message:
        return f"expected a state dict, got a TorchScript program, which is not run: {SAFE}"
    if "Unsupported" in message or "weights_only" in message.lower() or "GLOBAL" in message:
        words = message.split("GLOBAL ")[-1].split()[0] if "GLOBAL " in message else "Python objects"
        return f"expected tensors only, got pickled Python objects ({words}), which are not read: {SAFE}"
    first = message.splitlines()[0][:200] if message else "no reason given"
    return f"expected a torch checkpoint ({first})"
