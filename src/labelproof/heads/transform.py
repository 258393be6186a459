"""The product with the DFT columns, by a fast Fourier transform; and when that is faster than a dense product."""

import math
import time
from functools import cache, lru_cache
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812 - its usual name

__all__ = ["Path", "choose_path", "evaluate_harmonics", "evaluate_series"]

Path = Literal["fft", "dense"]
COLUMNS_PER_STAGE = 5  # a transform of length N costs about as much as a product with 5·log2(N) columns


def evaluate_series(x: Tensor, n_nodes: int) -> Tensor:
    """Multiply (a_0, a_1, b_1, ..., a_k, b_k) by the unit-norm DFT columns at n_nodes even nodes.

    Parameters
    ----------
    x : Tensor (..., 2k + 1)
        In float32 or float64.
    n_nodes : int
        At least 2k + 1.

    Returns
    -------
    Tensor (..., n_nodes)
    """
    shares = _shares if not torch.compiler.is_compiling() else _shares.__wrapped__
    parts = x * shares(x.shape[-1], n_nodes, x.dtype, x.device)
    spectrum = x.new_zeros(*x.shape[:-1], n_nodes // 2 + 1, 2)  # of full length, or irfft copies it to extend it
    flat = spectrum.view(*x.shape[:-1], -1)  # Re_0, Im_0, Re_1, ...
    flat[..., 0] = parts[..., 0]
    flat[..., 2 : x.shape[-1] + 1] = parts[..., 1:]
    return torch.fft.irfft(torch.view_as_complex(spectrum), n=n_nodes, norm="forward")


def evaluate_harmonics(x: Tensor, frequencies: Tensor, n_nodes: int) -> Tensor:
    """Multiply (a_0, a_1, b_1, ...) by the unit-norm columns of any frequencies, as `evaluate_series` does of 1 to k.

    Parameters
    ----------
    x : Tensor (..., 2m + 1)
        In float32 or float64.
    frequencies : Tensor of int64 (m,)
        Different ones from 1 to (n_nodes - 1) / 2.
    n_nodes : int
        At least 2m + 1.
    """
    shares = _shares if not torch.compiler.is_compiling() else _shares.__wrapped__
    parts = x * shares(x.shape[-1], n_nodes, x.dtype, x.device)
    waves = torch.complex(parts[..., 1::2], parts[..., 2::2])
    spectrum = waves.new_zeros(*x.shape[:-1], n_nodes // 2 + 1).index_copy(-1, frequencies, waves)
    return torch.fft.irfft(spectrum, n=n_nodes, norm="forward") + parts[..., :1]


def choose_path(x: Tensor, n_labels: int, n_nodes: int) -> Path:
    """Return the faster way for features (..., 2k + 1): timed once for their size, device and precision."""
    n_columns = x.shape[-1]
    if torch.compiler.is_compiling() or torch.are_deterministic_algorithms_enabled():
        return "fft" if n_columns > COLUMNS_PER_STAGE * math.log2(n_nodes) else "dense"
    rows = 1 << (x.numel() // n_columns - 1).bit_length()
    return _timed(str(x.device), x.dtype, min(rows, 1024), n_columns, n_labels, n_nodes)


@lru_cache(maxsize=16)
def _shares(n_columns: int, n_nodes: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """Return the factors that turn a_0, a_1, b_1, ... into a_0, a_1, -b_1, ..., of half the norm from a_1 on."""
    with torch.inference_mode(False):  # or a gradient could not keep them
        shares = torch.full((n_columns,), math.sqrt(0.5 / n_nodes), dtype=dtype, device=device)
        shares[0] *= math.sqrt(2)
        shares[2::2] *= -1
    return shares


@cache
def _timed(device: str, dtype: torch.dtype, rows: int, n_columns: int, n_labels: int, n_nodes: int) -> Path:
    x = torch.ones(rows, n_columns, device=device, dtype=dtype)
    columns = torch.ones(n_labels, n_columns, device=device, dtype=dtype)
    fft, dense = [], []
    with torch.no_grad():
        for _ in range(5):
            start = _now(device)
            evaluate_series(x, n_nodes)
            middle = _now(device)
            F.linear(x, columns)
            fft.append(middle - start)
            dense.append(_now(device) - middle)
    return "fft" if min(fft) < min(dense) else "dense"


def _now(device: str) -> float:
    if device.startswith("cuda"):
        torch.cuda.synchronize(device)
    return time.perf_counter()
