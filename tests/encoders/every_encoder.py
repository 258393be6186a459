"""What the tests of all kinds of encoders share."""

import numpy as np
import torch
from PIL import Image
from safetensors.torch import load_file, save_file

import labelproof.encoders

WORDS = ["the", "fox", "jumps", "over", "dog", "a", "sleeps", "of", "and", "##s"]


def features_of(encoder, inputs, rows=None):
    """The encoder's output for these inputs, without dropout."""
    prepared = encoder.prepare(inputs)
    chosen = np.arange(len(prepared)) if rows is None else np.asarray(rows)
    encoder.eval()
    with torch.no_grad():
        return encoder(*encoder.collate(prepared, chosen))


def saved_and_loaded(encoder, folder):
    """The encoder as a model directory brings it back."""
    folder.mkdir(exist_ok=True)
    encoder.save_files(folder)
    save_file(encoder.state_dict(), folder.parent / "model.safetensors")
    loaded = labelproof.encoders.load(encoder.description(), folder)
    loaded.load_state_dict(load_file(folder.parent / "model.safetensors"))
    return loaded


def gradients(encoder, inputs):
    """The names of the parameters that a backward pass reaches with something other than zero."""
    encoder.train()
    prepared = encoder.prepare(inputs)
    output = encoder(*encoder.collate(prepared, np.arange(len(prepared))))
    if output.requires_grad:
        output.square().sum().backward()
    return {name for name, p in encoder.named_parameters() if p.grad is not None and p.grad.abs().max() > 0}


def glove_file(path, dim=6):
    """A file of word vectors, as GloVe has them."""
    rng = np.random.default_rng(0)
    lines = (f"{word} {' '.join(f'{x:.4f}' for x in rng.normal(size=dim))}" for word in WORDS)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def picture_files(folder, n=6):
    """Images of different sizes."""
    rng = np.random.default_rng(0)
    paths = []
    for i in range(n):
        pixels = rng.integers(0, 256, (20 + 7 * i, 48 - 3 * i, 3), np.uint8)
        paths.append(str(folder / f"{i}.png"))
        Image.fromarray(pixels).save(paths[-1])
    return paths
