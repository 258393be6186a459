"""The product with the DFT columns, by a fast Fourier transform or by two small products; and which way is fastest.

The split: with N = gM nodes, frequency f = r + gs and node j = m + Mt, the angle 2πfj/N is 2πfm/N + 2πrt/g, up to
whole turns. So the waves are summed over s at the M first nodes, for each r < g, and their cosines and sines are turned
and summed over r for each t < g: some 2k/g + g columns, twice, where the dense product has 2k + 1.
"""

import math
import time
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812 - its usual name

from labelproof.theory.dft import dft_matrix

__all__ = ["Path", "choose_path", "evaluate_harmonics", "evaluate_series", "evaluate_split", "split_groups"]

Path = Literal["fft", "split", "dense"]
COLUMNS_PER_STAGE = 5  # a transform of length N costs about as much as a product with 5·log2(N) columns
SMALL = 16_384  # numbers in the fixed columns: with fewer a product takes microseconds, and timing tells nothing


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


def evaluate_split(x: Tensor, n_nodes: int) -> Tensor:
    """Compute what `evaluate_series` does by two products of small matrices.

    Parameters
    ----------
    x : Tensor (..., 2k + 1)
        In float32 or float64.
    n_nodes : int
        At least 2k + 1, with a divisor: see `split_groups`.
    """
    inner, outer = _split_tables(x.shape[-1], n_nodes, x.dtype, x.device)
    groups, steps = len(outer), inner.shape[1] // 2
    rows = x.reshape(-1, x.shape[-1])
    waves = rows.new_zeros(len(rows), 2 * groups * steps)
    waves = torch.cat([rows[:, :1], waves[:, :1], rows[:, 1:], waves[:, 1 + x.shape[-1] :]], dim=1)  # a_0, 0, a_1, b_1
    waves = waves.view(-1, steps, groups, 2).permute(2, 0, 1, 3).reshape(groups, -1, 2 * steps)  # (g, rows, ...)
    summed = torch.bmm(torch.cat([waves, waves]), inner)  # (2g, rows, M): the cosines, then the sines
    turned = torch.bmm(outer.expand(len(rows), -1, -1), summed.transpose(0, 1))  # (rows, g, M)
    return turned.reshape(*x.shape[:-1], n_nodes)


def split_groups(n_columns: int, n_nodes: int) -> int | None:
    """Return the number of groups of frequencies that makes `evaluate_split` cheapest; None where it never pays.

    >>> split_groups(161, 9000), split_groups(161, 8923), split_groups(11, 9000)
    (12, None, None)
    """
    divisors = [g for g in range(2, n_columns) if n_nodes % g == 0]
    best = min(divisors, key=lambda g: split_cost(n_columns, g), default=None)
    return best if best and split_cost(n_columns, best) < n_columns else None


def split_cost(n_columns: int, groups: int) -> int:
    """Return how many multiplications a node takes."""
    return 4 * math.ceil((n_columns + 1) / 2 / groups) + 2 * groups


@lru_cache(maxsize=16)
def _split_tables(n_columns: int, n_nodes: int, dtype: torch.dtype, device: torch.device) -> tuple[Tensor, Tensor]:
    """Return the waves at the first nodes, (2g, 2·steps, M), and the turns, (g, 2g)."""
    groups = split_groups(n_columns, n_nodes)
    assert groups is not None  # noqa: S101 - the head refuses other sizes
    steps, first = math.ceil((n_columns + 1) / 2 / groups), n_nodes // groups
    columns = dft_matrix(n_nodes, n_columns // 2)[:first].T  # (2k + 1, M)
    padded = np.zeros((2 * groups * steps, first))
    padded[0], padded[2 : n_columns + 1] = columns[0], columns[1:]
    waves = padded.reshape(steps, groups, 2, first).transpose(1, 0, 2, 3)
    cosines, sines = waves[:, :, 0], waves[:, :, 1]
    inner = np.concatenate([np.stack([cosines, sines], 2), np.stack([-sines, cosines], 2)])
    turns = 2 * np.pi / groups * (np.outer(np.arange(groups), np.arange(groups)) % groups)
    outer = np.concatenate([np.cos(turns), np.sin(turns)], axis=1)
    with torch.inference_mode(False):
        tables = (torch.from_numpy(table).to(device, dtype) for table in (inner.reshape(2 * groups, -1, first), outer))
        return next(tables), next(tables)


def choose_path(x: Tensor, n_labels: int, n_nodes: int, *, can_split: bool) -> Path:
    """Return the fastest way for features (..., 2k + 1): timed once for their size, device and precision.

    Small layers are not timed, so that the noise of a busy machine does not change their last digits.
    ``can_split`` says whether the frequencies are 0 to k, which `evaluate_split` needs.
    """
    n_columns = x.shape[-1]
    if n_columns * n_labels <= SMALL:
        return "dense"
    if torch.compiler.is_compiling() or torch.are_deterministic_algorithms_enabled():
        return "fft" if n_columns > COLUMNS_PER_STAGE * math.log2(n_nodes) else "dense"
    rows = 1 << (x.numel() // n_columns - 1).bit_length()
    can_split = can_split and split_groups(n_columns, n_nodes) is not None
    return _timed(str(x.device), x.dtype, min(rows, 1024), n_columns, n_labels, n_nodes, can_split)


@lru_cache(maxsize=16)
def _shares(n_columns: int, n_nodes: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """Return the factors that turn a_0, a_1, b_1, ... into a_0, a_1, -b_1, ..., of half the norm from a_1 on."""
    with torch.inference_mode(False):  # or a gradient could not keep them
        shares = torch.full((n_columns,), math.sqrt(0.5 / n_nodes), dtype=dtype, device=device)
        shares[0] *= math.sqrt(2)
        shares[2::2] *= -1
    return shares


@cache
def _timed(
    device: str, dtype: torch.dtype, rows: int, n_columns: int, n_labels: int, n_nodes: int, can_split: bool
) -> Path:
    x = torch.ones(rows, n_columns, device=device, dtype=dtype)
    columns = torch.ones(n_labels, n_columns, device=device, dtype=dtype)
    ways: dict[Path, Callable[[], Tensor]] = {
        "fft": lambda: evaluate_series(x, n_nodes),
        "dense": lambda: F.linear(x, columns),
    }
    if can_split:
        ways["split"] = lambda: evaluate_split(x, n_nodes)
    with torch.no_grad():
        rounds = [{name: _seconds(way, device) for name, way in ways.items()} for _ in range(5)]
    return min(ways, key=lambda name: min(one[name] for one in rounds))


def _seconds(way: Callable[[], Tensor], device: str) -> float:
    start = _now(device)
    way()
    return _now(device) - start


def _now(device: str) -> float:
    if device == "cpu" and torch.get_num_threads() == 1:
        return time.thread_time()  # other processes do not count
    if device.startswith("cuda"):
        torch.cuda.synchronize(device)
    return time.perf_counter()
