"""A gated recurrent network over word vectors."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from labelproof.encoders.options import check_flag, hold_whole_numbers
from labelproof.encoders.vocabulary import Vocabulary
from labelproof.encoders.word_sequences import WordSequenceEncoder, WordSequenceOptions
from labelproof.foundation.arguments import check_choice

__all__ = ["GRUEncoder"]

POOLINGS = ("max", "mean", "last")


@dataclass(frozen=True, kw_only=True)
class GRUOptions(WordSequenceOptions):
    """Options of `GRUEncoder`, beside those of all sequences of words.

    Parameters
    ----------
    hidden
        Width of the state in each direction.
    bidirectional
        Whether a second network reads from the end; the output is twice as wide.
    pooling
        ``max`` or ``mean`` of the states over the text, or ``last``: the state after the last word that each direction
        reads.
    """

    hidden: int = 256
    bidirectional: bool = True
    pooling: str = "max"

    def __post_init__(self) -> None:
        super().__post_init__()
        hold_whole_numbers(self, "hidden")
        check_flag("bidirectional", self.bidirectional)
        check_choice("pooling", self.pooling, POOLINGS)


class GRUEncoder(WordSequenceEncoder):
    """Word vectors → dropout → GRU in one or both directions → one vector for the text.

    Examples
    --------
    >>> encoder = GRUEncoder.fitted(["chest pain since monday", "no pain"], dim=8, hidden=5)
    >>> batch = encoder.collate(encoder.prepare(["pain in the chest", ""]), [0, 1])
    >>> encoder(*batch).shape
    torch.Size([2, 10])
    """

    kind: ClassVar[str] = "gru"
    Options: ClassVar[type] = GRUOptions
    options: GRUOptions

    def __init__(self, options: GRUOptions, vocabulary: Vocabulary) -> None:
        super().__init__(options, vocabulary)
        self.width = options.hidden * (2 if options.bidirectional else 1)
        self.gru = nn.GRU(options.dim, options.hidden, batch_first=True, bidirectional=options.bidirectional)

    def forward(self, *batch: Tensor) -> Tensor:
        """Return the features (n, width) of words (n, longest) and lengths (n,)."""
        words, lengths = batch
        vectors = self.dropout(self.embedding(words))
        if len(words) == 0:
            return vectors.new_empty(0, self.width)
        present = lengths.clamp(min=1)
        packed = pack_padded_sequence(vectors, present.cpu(), batch_first=True, enforce_sorted=False)
        output, last = self.gru(packed)
        if self.options.pooling == "last":
            return last.transpose(0, 1).flatten(1)
        outside = -torch.inf if self.options.pooling == "max" else 0.0
        states, _ = pad_packed_sequence(output, batch_first=True, padding_value=outside)  # (n, longest, width)
        return states.amax(dim=1) if self.options.pooling == "max" else states.sum(dim=1) / present[:, None]
