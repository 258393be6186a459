"""Image files → arrays of pixels, as a model wants them."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from labelproof.errors import DataFormatError
from labelproof.foundation.arguments import whole_number
from labelproof.foundation.optional_packages import need

__all__ = ["Preprocessing", "read_paths", "read_picture"]

FORMATS = ("BMP", "GIF", "JPEG", "PNG", "PPM", "TIFF", "WEBP")  # those whose decoders run no other program
_LONGEST = 20  # a longer image than this many times its shorter side is cut before it is resized


@dataclass(frozen=True)
class Preprocessing:
    """How an image becomes an array (3, height, width): resized, its middle cut out, its colours standardised.

    Parameters
    ----------
    height, width
        Of the result.
    resize
        What the image is resized to before its middle is cut out: height and width, or one number for the shorter
        side, which keeps the shape. None resizes to the result's height and width.
    resample
        Number of the filter that Pillow resizes with: 2 is bilinear, 3 bicubic.
    mean, std
        Of red, green and blue in numbers from 0 to 1; taken off and divided by.
    """

    height: int = 224
    width: int = 224
    resize: int | tuple[int, int] | None = None
    resample: int = 2
    mean: tuple[float, float, float] = (0.485, 0.456, 0.406)
    std: tuple[float, float, float] = (0.229, 0.224, 0.225)

    def __post_init__(self) -> None:
        whole_number("height", self.height, minimum=1)
        whole_number("width", self.width, minimum=1)
        object.__setattr__(self, "resize", _resize(self.resize))
        if self.resample not in range(6):
            raise ValueError(f"resample must be the number of a filter from 0 to 5, got {self.resample!r}")
        object.__setattr__(self, "mean", _colours("mean", self.mean))
        object.__setattr__(self, "std", _colours("std", self.std))
        if min(self.std) <= 0:
            raise ValueError(f"std must be positive, got {self.std}")

    @classmethod
    def of_config(cls, config: Mapping[str, Any]) -> "Preprocessing":
        """Return what the preprocessor_config.json of a transformers model asks for.

        Where it asks for no height and width, but for the shorter side alone, the middle square is cut out.

        Examples
        --------
        >>> Preprocessing.of_config({"size": {"shortest_edge": 256}, "crop_size": 224, "image_mean": [0.5] * 3})
        Preprocessing(height=224, width=224, resize=256, resample=2, mean=(0.5, 0.5, 0.5), std=(0.229, 0.224, 0.225))
        """
        if abs(config.get("rescale_factor", 1 / 255) * 255 - 1) > 1e-3 or config.get("rescale_offset"):
            raise ValueError(f"rescale_factor must be 1/255 without an offset, got {config.get('rescale_factor')!r}")
        crops = config.get("do_center_crop", "crop_size" in config)
        size = config.get("size", 224)
        if isinstance(size, int) and crops:
            size = {"shortest_edge": size}
        resize = size.get("shortest_edge") if isinstance(size, Mapping) else None
        resize = _sides("size", size) if resize is None else resize
        height, width = _sides("crop_size", config.get("crop_size", size)) if crops else _sides("size", size)
        if isinstance(resize, int) and not crops and config.get("crop_pct") is not None:  # as ConvNext has it
            resize = int(resize / config["crop_pct"]) if resize < 384 else (height, width)
        normalise = config.get("do_normalize", True)
        return cls(
            height,
            width,
            None if resize == (height, width) else resize,
            config.get("resample", cls.resample),
            config.get("image_mean", cls.mean) if normalise else (0.0, 0.0, 0.0),
            config.get("image_std", cls.std) if normalise else (1.0, 1.0, 1.0),
        )

    def described(self) -> dict[str, Any]:
        """Return the fields, ready for JSON."""
        resize = list(self.resize) if isinstance(self.resize, tuple) else self.resize
        return asdict(self) | {"resize": resize, "mean": list(self.mean), "std": list(self.std)}

    def apply(self, picture: Any) -> npt.NDArray[np.float32]:
        """Return the array (3, height, width) of an RGB image of Pillow."""
        if isinstance(self.resize, int):
            picture = _middle(picture, *(min(side, _LONGEST * min(picture.size)) for side in picture.size))
            sides = [self.resize * side // min(picture.size) for side in picture.size]
        else:
            sides = list(reversed(self.resize or (self.height, self.width)))
        picture = _middle(picture.resize(sides, self.resample), self.width, self.height)
        pixels = np.asarray(picture, np.float32) / 255  # (height, width, 3)
        mean, std = np.array(self.mean, np.float32), np.array(self.std, np.float32)
        return ((pixels - mean) / std).transpose(2, 0, 1).astype(np.float32, copy=False)


def read_paths(inputs: Any) -> tuple[str, ...]:
    """Return the paths of images as strings; each must be a file.

    Examples
    --------
    >>> read_paths(["no/such.png"])
    Traceback (most recent call last):
    labelproof.errors.DataFormatError: no/such.png: no such file
    """
    if isinstance(inputs, str | bytes | PathLike) or not isinstance(inputs, Iterable):
        raise ValueError(f"inputs must be a list of paths of images, got {type(inputs).__name__}")
    paths: list[str] = []
    for place, path in enumerate(inputs):
        if not isinstance(path, str | PathLike):
            raise ValueError(f"inputs must be paths of images, got {type(path).__name__} at place {place}")
        paths.append(str(fspath(path)))
        if not Path(paths[-1]).is_file():
            raise DataFormatError(f"{paths[-1]}: no such file")
    return tuple(paths)


def read_picture(path: str, max_pixels: int) -> Any:
    """Return the image of a file in RGB, upright; one of more pixels is refused before it is unpacked."""
    need("PIL", "the image encoder")
    from PIL import Image, ImageOps

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Pillow's own limit warns, and metadata that we do not use
            with Image.open(path, formats=FORMATS) as picture:
                width, height = picture.size
                if width * height > max_pixels:
                    raise DataFormatError(
                        f"{path}: expected at most {max_pixels} pixels (max_pixels), got {width} × {height}"
                    )
                return _rgb(ImageOps.exif_transpose(picture))
    except DataFormatError:
        raise
    except Image.DecompressionBombError as error:
        raise DataFormatError(f"{path}: expected at most {max_pixels} pixels (max_pixels), got many more") from error
    except Exception as error:  # decoders raise errors of many kinds
        reason = str(error) or type(error).__name__
        raise DataFormatError(f"{path}: expected an image ({', '.join(FORMATS)}), got: {reason}") from error


def _rgb(picture: Any) -> Any:
    from PIL import Image

    if picture.mode.startswith("I;16"):  # Pillow would cut off all above 255
        picture = Image.fromarray((np.asarray(picture) >> 8).astype(np.uint8))
    if "transparency" in picture.info or picture.mode in {"RGBA", "LA", "PA"}:
        picture = picture.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", picture.size, "white"), picture).convert("RGB")
    return picture.convert("RGB")


def _middle(picture: Any, width: int, height: int) -> Any:
    if picture.size == (width, height):
        return picture
    left, top = (picture.size[0] - width) // 2, (picture.size[1] - height) // 2
    return picture.crop((left, top, left + width, top + height))


def _sides(name: str, size: Any) -> tuple[int, int]:
    if not isinstance(size, Mapping):
        return size, size
    if "shortest_edge" in size:
        return size["shortest_edge"], size["shortest_edge"]
    if "height" not in size or "width" not in size:
        raise ValueError(f"{name} must be a number, height and width, or shortest_edge, got {dict(size)}")
    return size["height"], size["width"]


def _resize(value: Any) -> int | tuple[int, int] | None:
    if value is None:
        return None
    if isinstance(value, list | tuple) and len(value) == 2:
        height, width = (whole_number("resize", side, minimum=1) for side in value)
        return height, width
    return whole_number("resize", value, minimum=1)


def _colours(name: str, values: Sequence[float]) -> tuple[float, float, float]:
    if isinstance(values, str) or not isinstance(values, Sequence) or len(values) != 3:
        raise ValueError(f"{name} must be three numbers, got {values!r}")
    if not all(isinstance(value, int | float) and np.isfinite(value) for value in values):
        raise ValueError(f"{name} must be three finite numbers, got {values!r}")
    red, green, blue = (float(value) for value in values)
    return red, green, blue
