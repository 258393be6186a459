"""Images through a vision model: one of transformers from a local directory, or a given torch module."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from labelproof.encoders.image_files import Preprocessing, read_paths, read_picture
from labelproof.encoders.local_models import load_pretrained, new_model, save_config
from labelproof.encoders.model_files import read_object
from labelproof.encoders.options import check_flag, check_path, hold_whole_numbers, read_options
from labelproof.encoders.pretrained import PretrainedEncoder, PretrainedOptions, device_of
from labelproof.errors import ModelFormatError
from labelproof.foundation.arguments import check_choice

__all__ = ["ImageEncoder"]

_FILE = "preprocessor_config.json"


@dataclass(frozen=True, kw_only=True)
class ImageOptions(PretrainedOptions):
    """Options of `ImageEncoder`, beside those of all pretrained encoders.

    Parameters
    ----------
    path
        A directory with config.json, the weights as .safetensors, and preprocessor_config.json.
    module
        A torch module instead, from images (n, 3, height, width) to vectors (n, dim) or maps (n, dim, h, w). It is not
        saved with the model, apart from its weights: `ImageEncoder.from_description` must be given it again.
    preprocessing
        Fields of `Preprocessing` that differ from preprocessor_config.json, or from the defaults for a given module.
    pooling
        ``cls``: the vector of the first token; ``mean``: the mean over all tokens; both average a map. ``pooler``: what
        the model itself makes of its tokens or map, such as their mean after a last normalisation.
    max_pixels
        Images of more pixels are refused before they are unpacked.
    """

    path: str | Path | None = None
    module: nn.Module | None = None
    preprocessing: Mapping[str, Any] | None = None
    pooling: str = "cls"
    max_pixels: int = 50_000_000

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("pooling", self.pooling, ("cls", "mean", "pooler"))
        hold_whole_numbers(self, "max_pixels")
        check_path("path", self.path)
        if self.module is not None and not isinstance(self.module, nn.Module):
            raise ValueError(f"module must be a torch module, got {type(self.module).__name__}")
        if self.preprocessing is not None and not isinstance(self.preprocessing, Mapping):
            raise ValueError(f"preprocessing must be a mapping, got {self.preprocessing!r}")


class ImageEncoder(PretrainedEncoder):
    """The output of a vision model, pooled to one vector for each image.

    Images are turned upright and to RGB, transparent ones on white. They are read when a batch is made, and so never
    all in memory; a frozen model reads each once, in `prepare`.
    """

    kind: ClassVar[str] = "image"
    Options: ClassVar[type] = ImageOptions
    FACTS: ClassVar[tuple[str, ...]] = ("image", "given")
    SOURCES: ClassVar[tuple[str, ...]] = ("path", "module", "preprocessing")
    options: ImageOptions

    def __init__(self, options: ImageOptions, model: nn.Module, preprocessing: Preprocessing, *, given: bool) -> None:
        super().__init__(options, model, _try_out(model, preprocessing, options.pooling))
        self.preprocessing = preprocessing
        self.given = given

    @property
    def image(self) -> dict[str, Any]:
        """The preprocessing, ready for JSON."""
        return self.preprocessing.described()

    @classmethod
    def _learn(cls, inputs: Any, options: ImageOptions) -> Self:
        read_paths(inputs)
        if options.path is not None and options.module is not None:
            raise ValueError("path or module must give the vision model, one of the two, got both")
        if options.module is not None:
            return cls(options, options.module, _changed(Preprocessing(), options.preprocessing), given=True)
        if options.path is None:
            raise ValueError("path or module must give the vision model, one of the two, got neither")
        folder = Path(options.path)
        model = load_pretrained(folder, cls.kind, needs_pooler=options.pooling == "pooler")
        return cls(options, model, _changed(_preprocessing_of(folder), options.preprocessing), given=False)

    def read(self, inputs: Any) -> tuple[str, ...]:
        """Return the paths, of which each is a file."""
        return read_paths(inputs)

    def gather(self, prepared: tuple[str, ...], rows: npt.NDArray[np.int64]) -> tuple[Tensor, ...]:
        """Return the images (n, 3, height, width) of these paths."""
        images = np.empty((len(rows), 3, self.preprocessing.height, self.preprocessing.width), np.float32)
        for place, row in enumerate(rows):
            images[place] = self.preprocessing.apply(read_picture(prepared[row], self.options.max_pixels))
        return (torch.from_numpy(images),)

    def embed(self, *batch: Tensor) -> Tensor:
        """Return the pooled vectors (n, dim) of images (n, 3, height, width)."""
        return _pooled(self.model, batch[0], self.options.pooling)

    def save_files(self, folder: Path) -> None:
        """Write config.json of a transformers model; a given module is not saved."""
        if not self.given:
            save_config(self.model, Path(folder))

    @classmethod
    def from_description(cls, description: Mapping[str, Any], folder: Path, *, module: nn.Module | None = None) -> Self:
        """Return the encoder that a description tells of, with the module that it was given, if it was."""
        if module is None and description.get("given") is True:
            raise ModelFormatError(
                "the image encoder was made from a given module, which is not saved: "
                "pass it to ImageEncoder.from_description(description, folder, module=...)"
            )
        return cls._rebuilt(description, folder, {"module": module})

    @classmethod
    def _restore(cls, options: ImageOptions, facts: dict[str, Any], folder: Path) -> Self:
        check_flag("given", facts["given"])
        if not isinstance(facts["image"], Mapping):
            raise ValueError(f"image must be an object, got {facts['image']!r}")
        preprocessing: Preprocessing = read_options(Preprocessing, facts["image"])
        model = options.module if options.module is not None else new_model(folder, cls.kind)
        return cls(options, model, preprocessing, given=facts["given"])


def _preprocessing_of(folder: Path) -> Preprocessing:
    path = folder / _FILE
    try:
        return Preprocessing.of_config(read_object(path))
    except (TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise ModelFormatError(f"{path}: expected the preprocessing of images, got {error}") from error


def _changed(preprocessing: Preprocessing, changes: Mapping[str, Any] | None) -> Preprocessing:
    return read_options(Preprocessing, preprocessing.described() | dict(changes or {}))


@torch.enable_grad()
def _try_out(model: nn.Module, preprocessing: Preprocessing, pooling: str) -> int:
    """Return the width of the model's vectors; parameters that do not reach these are set not to be trained."""
    mode = model.training
    image = torch.zeros(1, 3, preprocessing.height, preprocessing.width, device=device_of(model))
    vectors = _pooled(model.eval(), image, pooling)  # evaluation leaves running statistics alone
    model.train(mode)
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    if parameters and vectors.requires_grad:
        reached = torch.autograd.grad(vectors.sum(), parameters, allow_unused=True)
        for parameter, gradient in zip(parameters, reached, strict=True):
            parameter.requires_grad_(gradient is not None)
    return vectors.shape[1]


def _pooled(model: nn.Module, images: Tensor, pooling: str) -> Tensor:
    output = model(images)
    if pooling == "pooler":
        if getattr(output, "pooler_output", None) is None:
            raise ValueError(f"pooling must be 'cls' or 'mean' for a model without pooler_output, got {pooling!r}")
        return output.pooler_output.flatten(1)
    states = output if isinstance(output, Tensor) else output.last_hidden_state
    if states.ndim == 4:
        return states.mean(dim=(2, 3))
    if states.ndim == 3:
        return states[:, 0] if pooling == "cls" else states.mean(dim=1)
    if states.ndim == 2:
        return states
    raise ValueError(f"module must give vectors, tokens or maps (2 to 4 dimensions), got shape {tuple(states.shape)}")
