"""Files that models are saved in, made small."""

import json
from pathlib import Path

import numpy as np


def safetensors_bytes(header, data=b"", length=None):
    """A safetensors file with this header (an object, or the text itself), however false."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return (len(text) if length is None else length).to_bytes(8, "little") + text + data


def entry(dtype, shape, start, stop):
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, stop]}


def write_npy_with_header(path: Path, shape, dtype="<f8", body=b""):
    """An .npy file that claims a shape."""
    with open(path, "wb") as stream:
        np.lib.format.write_array_header_1_0(stream, {"descr": dtype, "fortran_order": False, "shape": shape})
        stream.write(body)
