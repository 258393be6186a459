"""What every encoder is: raw inputs → prepared rows → batches of tensors → features for the head."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from torch import Tensor, nn

from labelproof.encoders.options import did_you_mean, option_names, read_options
from labelproof.encoders.rows import Prepared
from labelproof.errors import ModelFormatError
from labelproof.proof.domains import Domain

__all__ = ["Encoder"]


class Encoder(nn.Module, ABC):
    """Turn raw inputs into features (n, width), in three steps.

    `prepare` does once what need not be repeated: words become numbers, frozen models run. `collate` gathers some of
    the prepared rows into tensors, on the CPU. `forward` turns these into features, with gradients, on any device.

    A subclass names its options in a frozen dataclass ``Options`` and its facts, such as the number of words, in
    ``FACTS``: both make up the description, which together with the saved files and the state dict rebuilds it.

    Attributes
    ----------
    kind
        The name in configs.
    width
        Width of the output, ``in_features`` of the head.
    options
        As the encoder was made with.
    show_progress
        Whether `prepare` draws a progress bar where it runs a model.

    Examples
    --------
    >>> import numpy as np
    >>> from labelproof import encoders
    >>> encoder = encoders.build("features", np.eye(3), hidden=4)
    >>> rows = encoder.prepare(np.eye(3))
    >>> encoder(*encoder.collate(rows, np.array([0, 2]))).shape
    torch.Size([2, 4])
    """

    kind: ClassVar[str]
    Options: ClassVar[type]
    FACTS: ClassVar[tuple[str, ...]] = ()
    SOURCES: ClassVar[tuple[str, ...]] = ()  # options that say where to learn from, and that are not described

    width: int
    options: Any
    show_progress: bool = False

    @property
    def input_kind(self) -> str:
        """The kind of encoder whose inputs this one reads: its own, for most."""
        return self.kind

    @classmethod
    def fitted(cls, inputs: Any, **options: Any) -> Self:
        """Return an encoder that has learned what it needs, such as its vocabulary, from the training inputs.

        Parameters
        ----------
        inputs
            A list of texts, an array or CSR array of features, or a list of paths of images.
        **options
            The fields of ``Options``.
        """
        return cls._learn(inputs, read_options(cls.Options, options))

    @classmethod
    @abstractmethod
    def _learn(cls, inputs: Any, options: Any) -> Self:
        """Return an encoder of these options, its weights drawn from torch's generator."""

    @abstractmethod
    def prepare(self, inputs: Any) -> Prepared:
        """Return the inputs as rows in numpy arrays, computed once and quick to index."""

    @abstractmethod
    def collate(self, prepared: Any, rows: npt.NDArray[np.int64]) -> tuple[Tensor, ...]:
        """Return the batch of these rows, as tensors on the CPU that `forward` takes."""

    @abstractmethod
    def forward(self, *batch: Tensor) -> Tensor:
        """Return the features (n, width) of a batch."""

    def domain(self) -> Domain:
        """Return which features the encoder can give, as `labelproof.verify` takes it; None where nothing is known."""
        return None

    def pretrained_parameters(self) -> Iterator[nn.Parameter]:
        """Return the parameters that training continues rather than starts, to give them a smaller learning rate."""
        yield from ()

    def description(self) -> dict[str, Any]:
        """Return kind, options and facts, ready for JSON."""
        names = (name for name in option_names(self.Options) if name not in self.SOURCES)
        options = {name: getattr(self.options, name) for name in names}
        return {"kind": self.kind, **options, **{name: getattr(self, name) for name in self.FACTS}}

    def save_files(self, folder: Path) -> None:
        """Write into a folder what is neither in the description nor in the state dict."""

    @classmethod
    def from_description(cls, description: Mapping[str, Any], folder: Path) -> Self:
        """Return the encoder that a description and its files tell of; `load_state_dict` gives it its weights."""
        return cls._rebuilt(description, folder, {})

    @classmethod
    def _rebuilt(cls, description: Mapping[str, Any], folder: Path, sources: Mapping[str, Any]) -> Self:
        known = [name for name in option_names(cls.Options) if name not in cls.SOURCES]
        for name in description:
            if name not in {"kind", *known, *cls.FACTS}:
                raise ModelFormatError(
                    f"the description of the {cls.kind} encoder has an unknown entry {name}: "
                    f"{did_you_mean(name, [*known, *cls.FACTS])}"
                )
        for name in sorted({*known, *cls.FACTS} - set(description)):
            raise ModelFormatError(f"the description of the {cls.kind} encoder lacks the entry {name}")
        try:
            options = cls.Options(**{name: description[name] for name in known}, **sources)
            return cls._restore(options, {name: description[name] for name in cls.FACTS}, Path(folder))
        except (ValueError, RuntimeError) as error:  # torch raises RuntimeError, for one where memory is too small
            first = str(error).split("\n")[0]
            raise ModelFormatError(f"the description of the {cls.kind} encoder is wrong: {first}") from error

    @classmethod
    @abstractmethod
    def _restore(cls, options: Any, facts: dict[str, Any], folder: Path) -> Self:
        """Return the encoder of these options and facts, with the files of the folder, its weights still to load."""
