"""What Keras's heads share: a projection of the encoder's output, and fixed columns beside learnable ones."""

import warnings
from abc import abstractmethod
from typing import Any

import keras
import numpy as np
import numpy.typing as npt
from keras import ops

from labelproof.foundation.arguments import whole_number
from labelproof.heads.precisions import precision_of
from labelproof.theory.fixed_columns import start_logit

__all__ = ["FixedHead", "ProjectedHead", "numbers_of"]

Floats = npt.NDArray[np.float64]


class ProjectedHead(keras.layers.Layer):
    """A projection of the encoder's output (..., in_features), then an output layer whose weight can be verified."""

    def __init__(self, n_labels: int, features: int, start: float | None, name: str | None, dtype: Any) -> None:
        super().__init__(name=name, dtype=dtype)
        self.n_labels, self.features, self.start = n_labels, features, start

    @property
    @abstractmethod
    def weight(self) -> npt.NDArray[Any]:
        """The matrix to verify, (n_labels, features), as numpy."""

    @abstractmethod
    def logits(self, features: Any) -> Any:
        """Return the logits (..., n_labels) of features (..., features)."""

    @property
    def bias(self) -> npt.NDArray[Any] | None:
        """The bias to verify, (n_labels,), or None."""
        return None

    @property
    def in_features(self) -> int:
        """Width of the encoder's output, which is known once the head is built."""
        self.need_built()
        return int(self.projection_kernel.shape[0])

    def call(self, inputs: Any) -> Any:
        """Return the logits (..., n_labels) of an encoder's output (..., in_features)."""
        return self.logits(ops.matmul(inputs, self.projection_kernel) + self.projection_bias)

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return the shape of the logits."""
        return (*input_shape[:-1], self.n_labels)

    def get_config(self) -> dict[str, Any]:
        """Return the options, for saving."""
        config = super().get_config()
        own = {"n_labels": self.n_labels, "start": self.start}
        return {**{name: config[name] for name in ("name", "dtype") if name in config}, **own}

    def add_projection(self, in_features: int, first: float) -> None:
        """Add the projection, whose bias begins at 0, but for the first number."""
        bias = np.zeros(self.features)
        bias[0] = first
        self.projection_kernel = self.add_weight(
            shape=(in_features, self.features), initializer="glorot_uniform", name="projection_kernel"
        )
        self.projection_bias = self.add_weight(
            shape=(self.features,), initializer=_constant(bias), name="projection_bias"
        )

    def need_built(self) -> None:
        """Refuse what needs parameters while there are none."""
        if not self.built:
            raise ValueError(f"{self.name} has no weights yet: call it on inputs, or build((None, in_features)) first")


class FixedHead(ProjectedHead):
    """A projection, fixed columns and ``slack`` learnable ones: ``logits = projection(e) @ weight.T``."""

    def __init__(
        self, n_labels: int, k: int, slack: int, columns: Floats, start: float, name: str | None, dtype: Any
    ) -> None:
        slack, n_fixed = whole_number("slack", slack, minimum=0), columns.shape[1]
        super().__init__(n_labels, n_fixed + slack, start, name, dtype)
        self.k, self.slack, self.n_fixed = k, slack, n_fixed
        self._start_logit = start_logit(start, n_labels)
        self._precision = precision_of(self.compute_dtype).of_fixed_part.name
        self._columns = columns.astype(self._precision)
        self.slack_weight: Any = None

    def build(self, input_shape: Any) -> None:
        """Make the parameters for an encoder's output of this shape."""
        in_features = int(input_shape[-1])
        if self.features > in_features:
            warnings.warn(
                f"the head has {self.features} features but the encoder only {in_features}: some features cannot be "
                "reached, and the guarantee needs all of them",
                stacklevel=2,
            )
        self.add_projection(in_features, self._start_logit / float(self._columns[0, 0]))
        if self.slack:
            bound = self.features**-0.5
            self.slack_weight = self.add_weight(
                shape=(self.n_labels, self.slack),
                initializer=keras.initializers.RandomUniform(-bound, bound),
                name="slack_weight",
            )
        self.built = True

    @property
    def weight(self) -> npt.NDArray[Any]:
        """The matrix to verify, (n_labels, features): the fixed columns, then the learnable ones, as numpy."""
        self.need_built()
        if self.slack_weight is None:
            return self._columns
        return np.concatenate([self._columns, numbers_of(self.slack_weight).astype(self._precision)], axis=1)

    def logits(self, features: Any) -> Any:
        """Return the logits (..., n_labels) of features (..., n_fixed + slack)."""
        fixed = ops.cast(features[..., : self.n_fixed], self._precision)
        z = ops.matmul(fixed, ops.convert_to_tensor(self._columns.T))
        if self.slack_weight is not None:
            learned = ops.matmul(features[..., self.n_fixed :], ops.transpose(self.slack_weight))
            z = z + ops.cast(learned, self._precision)
        return ops.cast(z, features.dtype)

    def get_config(self) -> dict[str, Any]:
        """Return the options, for saving."""
        return {**super().get_config(), "k": self.k, "slack": self.slack}


def numbers_of(variable: Any) -> npt.NDArray[Any]:
    """Return the numbers of a variable as numpy."""
    values: npt.NDArray[Any] = ops.convert_to_numpy(variable)
    return values


def _constant(values: Floats) -> Any:
    """Return what initialises a variable to these numbers."""
    return lambda shape, dtype=None: ops.convert_to_tensor(values.reshape(shape), dtype=dtype)
