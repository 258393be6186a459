"""A convolution over word vectors with max-pooling over time, as clinical coding uses it."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from labelproof.encoders.options import hold_whole_numbers
from labelproof.encoders.vocabulary import Vocabulary
from labelproof.encoders.word_sequences import WordSequenceEncoder, WordSequenceOptions

__all__ = ["CNNEncoder"]


@dataclass(frozen=True, kw_only=True)
class CNNOptions(WordSequenceOptions):
    """Options of `CNNEncoder`, beside those of all sequences of words.

    Parameters
    ----------
    maps
        Number of feature maps, which is the width of the output.
    kernel
        Number of neighbouring words that a feature sees.
    """

    maps: int = 500
    kernel: int = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        hold_whole_numbers(self, "maps", "kernel")


class CNNEncoder(WordSequenceEncoder):
    """Word vectors → dropout → convolution → tanh → the largest value over the text.

    A text is seen with ``kernel // 2`` vectors of zeros before and after it, so that one shorter than the kernel has a
    window too.

    Examples
    --------
    >>> encoder = CNNEncoder.fitted(["chest pain since monday", "no pain"], dim=8, maps=5)
    >>> batch = encoder.collate(encoder.prepare(["pain in the chest", ""]), [0, 1])
    >>> batch[0].shape, encoder(*batch).shape
    (torch.Size([2, 4]), torch.Size([2, 5]))
    """

    kind: ClassVar[str] = "cnn"
    Options: ClassVar[type] = CNNOptions
    options: CNNOptions

    def __init__(self, options: CNNOptions, vocabulary: Vocabulary) -> None:
        super().__init__(options, vocabulary)
        self.width = options.maps
        self.convolution = nn.Conv1d(options.dim, options.maps, options.kernel, padding=options.kernel // 2)

    def forward(self, *batch: Tensor) -> Tensor:
        """Return the features (n, maps) of words (n, longest) and lengths (n,)."""
        words, lengths = batch
        vectors = self.dropout(self.embedding(words)).transpose(1, 2)  # (n, dim, longest)
        maps = self.convolution(vectors)  # (n, maps, windows)
        n_windows = (lengths + 2 * (self.options.kernel // 2) - self.options.kernel + 1).clamp(min=1)
        outside = torch.arange(maps.shape[2], device=maps.device) >= n_windows[:, None]  # (n, windows)
        # tanh grows with its argument, so it may come after the maximum, where it is computed once per feature.
        return maps.masked_fill(outside[:, None], -torch.inf).amax(dim=2).tanh()
