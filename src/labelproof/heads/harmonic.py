"""The harmonic head: the DFT head's low frequencies beside random ones, which make small margins rare."""

from dataclasses import replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from labelproof.foundation.arguments import check_choice, whole_number
from labelproof.heads.adversary import Worst, find_worst_set
from labelproof.heads.dft import DFTHead
from labelproof.heads.guarantee import Guarantee
from labelproof.heads.transform import Path, evaluate_harmonics
from labelproof.theory.dft import harmonic_matrix

__all__ = ["RANDOM", "HarmonicHead"]

RANDOM = 4  # random frequencies for each of k by default


class HarmonicHead(DFTHead):
    """A head of cosines and sines of the frequencies 0 to k and of ``random`` further ones, drawn by a seed.

    Over the real numbers every set of at most k labels can be predicted, as for `DFTHead`. Random frequencies behave
    like random columns, so that margins are far larger; but that is measured, not proven.

    Parameters
    ----------
    in_features, n_labels, k, slack
        As for `DFTHead`; for the guarantee in_features must be at least 2k + 1 + 2·random + slack.
    random : int, optional
        Number of random frequencies above k; 4k by default, or as many as there are.
    seed : int
        Which are drawn.
    nodes : {"prime", "fast"}
        Labels lie on a circle of a prime number of nodes, where sets with a pattern are no worse than others, or of a
        number with a fast Fourier transform.
    order, path, scale, start, device, dtype
        As for `DFTHead`, but by default a row has a norm of about 1. A prime number of nodes has no fast transform, so
        that "auto" is then "dense".

    Examples
    --------
    >>> head = HarmonicHead(in_features=80, n_labels=100, k=5, slack=10, random=20)
    >>> head(torch.randn(3, 80)).shape, head.weight.shape, head.n_nodes
    (torch.Size([3, 100]), torch.Size([100, 61]), 101)
    """

    frequencies: Tensor  # (k + random,)
    can_split = False
    row_norm = 1.0

    def __init__(
        self,
        in_features: int,
        n_labels: int,
        k: int,
        slack: int,
        *,
        random: int | None = None,
        seed: int = 0,
        nodes: Literal["prime", "fast"] = "prime",
        order: npt.ArrayLike | None = None,
        path: Path | Literal["auto"] = "auto",
        scale: float | None = None,
        start: float | None = None,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        check_choice("nodes", nodes, ("prime", "fast"))
        self.seed, self.is_prime = whole_number("seed", seed, minimum=0), nodes == "prime"
        self._chosen = self._choose(n_labels, k, random)
        path = "dense" if self.is_prime and path == "auto" else path
        super().__init__(
            in_features,
            n_labels,
            k,
            slack,
            order=order,
            nodes="paper" if self.is_prime else "fast",
            path=path,
            scale=scale,
            start=start,
            device=device,
            dtype=dtype,
        )
        place = self.projection.weight.device
        self.register_buffer("frequencies", torch.tensor(self._chosen, device=place))

    def _choose(self, n_labels: int, k: int, random: int | None) -> npt.NDArray[np.int64]:
        k = whole_number("k", k, minimum=1)
        self.nodes = "paper" if self.is_prime else "fast"
        highest = (self._count_nodes(whole_number("n_labels", n_labels, minimum=1)) - 1) // 2
        others = np.random.RandomState(self.seed % 2**32).permutation(np.arange(k + 1, highest + 1))
        count = min(RANDOM * k, len(others)) if random is None else whole_number("random", random, minimum=0)
        if count > len(others):
            raise ValueError(
                f"random must be at most {len(others)}, the frequencies above k = {k} of {n_labels} labels, got {count}"
            )
        self.random = count
        return np.concatenate([np.arange(1, k + 1), np.sort(others[:count])])

    def _count_nodes(self, n_labels: int) -> int:
        return _prime_from(n_labels) if self.is_prime else super()._count_nodes(n_labels)

    def _extra(self) -> int:
        return 2 * self.random

    def _evaluate(self, x: Tensor) -> Tensor:
        return evaluate_harmonics(x, self.frequencies, self.n_nodes)

    def ideal_columns(self) -> npt.NDArray[np.float64]:
        """Return the columns at the nodes, (n_nodes, n_fixed)."""
        return self.scale * harmonic_matrix(self.n_nodes, self._chosen)

    def _load_from_state_dict(
        self, state_dict: dict[str, Tensor], prefix: str, local_metadata: Any, strict: bool, *lists: list[str]
    ) -> None:
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, *lists)
        ours = torch.from_numpy(self._chosen).to(self.frequencies.device)
        if not torch.equal(self.frequencies, ours):
            lists[-1].append(f"{prefix}frequencies: expected those of the seed {self.seed}, got others")
            self.frequencies = ours

    def guarantee(
        self, label_sets: Any = None, *, dtype: torch.dtype | None = None, rounds: int | None = 0
    ) -> Guarantee:
        """Say what holds for the ideal matrix, what was checked for the numbers in use, and what a search found.

        Parameters
        ----------
        label_sets, dtype
            As for `DFTHead`.
        rounds : int, optional
            Search for the worst set in so many rounds of swaps, as `worst_set` does: its margin becomes that of the
            record, 0 where the set is proven unargmaxable. 0 tries sets with a pattern and a dozen random ones, which
            takes a second for 2,689 labels and k = 25; None tries nothing.
        """
        known = super().guarantee(label_sets, dtype=dtype)
        return known if rounds is None else replace(known, margin=self.worst_set(rounds=rounds).margin)

    def worst_set(self, *, rounds: int = 10, seed: int = 0) -> Worst:
        """Search for a set of at most k labels with as small a margin as possible; finding none proves nothing.

        Parameters
        ----------
        rounds : int
            Rounds of swaps; see `labelproof.heads.adversary`.
        seed : int
            Of the search.
        """
        weight = self.weight.detach().double().cpu().numpy()
        return find_worst_set(weight, self.k, rounds=rounds, seed=seed)


def _prime_from(n: int) -> int:
    n = max(n, 2)
    while not all(n % p for p in range(2, int(n**0.5) + 1)):
        n += 1
    return n
