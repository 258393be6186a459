"""Given features, dense or sparse: as they are, or through one hidden layer."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from labelproof.encoders.encoder import Encoder
from labelproof.encoders.layers import Bag, dense_rows, lecun_scale
from labelproof.encoders.matrices import Standardisation, matrix_rows, read_matrix
from labelproof.encoders.options import check_dropout, check_flag, hold_whole_numbers
from labelproof.encoders.rows import DenseRows, RaggedRows
from labelproof.foundation.arguments import whole_number
from labelproof.proof.domains import Domain

__all__ = ["FeatureEncoder", "FeatureOptions"]

_FILE = "standardisation.npz"


@dataclass(frozen=True)
class FeatureOptions:
    """Options of `FeatureEncoder`.

    Parameters
    ----------
    hidden
        Width of a hidden layer with ReLU; None gives the features themselves, which are dense within a batch.
    dropout
        Share of the outputs that training sets to zero.
    standardise
        Whether every feature gets mean 0 and variance 1 on the training inputs. Sparse features stay sparse: the
        mean is taken off after the hidden layer's product.
    """

    hidden: int | None = None
    dropout: float = 0.0
    standardise: bool = False

    def __post_init__(self) -> None:
        hold_whole_numbers(self, "hidden", or_none=True)
        check_dropout(self.dropout)
        check_flag("standardise", self.standardise)


class FeatureEncoder(Encoder):
    """Features that the user has: an array or a sparse matrix (n_examples, n_features), without missing values.

    An encoder takes both forms at any time, and answers both alike.

    Examples
    --------
    >>> import scipy.sparse
    >>> X = np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 4.0]])
    >>> encoder = FeatureEncoder.fitted(X, hidden=8, standardise=True)
    >>> dense = encoder.collate(encoder.prepare(X), np.array([1, 0]))
    >>> sparse = encoder.collate(encoder.prepare(scipy.sparse.csr_array(X)), np.array([1, 0]))
    >>> torch.allclose(encoder(*dense), encoder(*sparse), atol=1e-6)
    True
    """

    kind: ClassVar[str] = "features"
    Options: ClassVar[type] = FeatureOptions
    FACTS: ClassVar[tuple[str, ...]] = ("n_features",)
    shift: Tensor | None

    def __init__(self, options: FeatureOptions, n_features: int, standardisation: Standardisation | None) -> None:
        super().__init__()
        self.options = options
        self.n_features = n_features
        self.standardisation = standardisation
        self.width = n_features if options.hidden is None else options.hidden
        self.bag = None if options.hidden is None else Bag(n_features, self.width, scale=lecun_scale(n_features))
        self.dropout = nn.Dropout(options.dropout)
        shift = None if standardisation is None else torch.from_numpy(standardisation.mean / standardisation.scale)
        self.register_buffer("shift", None if shift is None else shift.float(), persistent=False)

    @classmethod
    def _learn(cls, inputs: Any, options: FeatureOptions) -> Self:
        matrix = read_matrix(inputs)
        if matrix.shape[0] == 0:
            raise ValueError(f"inputs must hold at least one example, got shape {matrix.shape}")
        return cls(options, matrix.shape[1], Standardisation.learned(matrix) if options.standardise else None)

    def prepare(self, inputs: Any) -> DenseRows | RaggedRows:
        """Return the features as float32 rows, standardised if that was asked for, dense or sparse as they came."""
        return matrix_rows(read_matrix(inputs, self.n_features), self.standardisation)

    def domain(self) -> Domain:
        """Return that a hidden layer gives nonnegative features; of others nothing is known."""
        return None if self.bag is None else "nonnegative"

    def collate(self, prepared: DenseRows | RaggedRows, rows: npt.NDArray[np.int64]) -> tuple[Tensor, ...]:
        """Return the dense rows (n, n_features), or ids, offsets and values of the sparse ones."""
        return (prepared.batch(rows),) if isinstance(prepared, DenseRows) else prepared.bags(rows)

    def forward(self, *batch: Tensor) -> Tensor:
        """Return the features (n, width) of a batch in either form."""
        shift = self.shift if len(batch) == 3 else None  # dense rows are centred when they are prepared
        if self.bag is None:
            dense = batch[0] if len(batch) == 1 else dense_rows(self.n_features, *batch)
            return self.dropout(dense if shift is None else dense - shift)
        output = self.bag(*batch)
        if shift is not None:
            output = output - shift.to(output.dtype) @ self.bag.weight
        return self.dropout(output.relu())

    def save_files(self, folder: Path) -> None:
        """Write mean and scale of the features, if they are standardised."""
        if self.standardisation is not None:
            self.standardisation.save(Path(folder) / _FILE)

    @classmethod
    def _restore(cls, options: FeatureOptions, facts: dict[str, Any], folder: Path) -> Self:
        n_features = whole_number("n_features", facts["n_features"], minimum=1)
        return cls(
            options, n_features, Standardisation.load(folder / _FILE, n_features) if options.standardise else None
        )
