"""Two texts read by two recurrent networks, the first attended to in the light of the second.

The network of the sparsemax paper for natural language inference: z_t = tanh(W_x h_t + W_y y + b) with the first text's
states h_t and the second's last state y, weights ρ(v·z_t).
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from labelproof.activations.attention import SparseAttention
from labelproof.encoders.options import hold_whole_numbers
from labelproof.encoders.rows import RaggedRows, ragged
from labelproof.encoders.texts import read_texts, split_words
from labelproof.encoders.vocabulary import Vocabulary
from labelproof.encoders.word_sequences import PADDING, WordSequenceEncoder, WordSequenceOptions
from labelproof.foundation.arguments import check_choice

__all__ = ["PairEncoder"]

ATTENTIONS = ("none", "sigmoid", "softmax", "entmax", "sparsemax")
BETWEEN = "\n\n"  # the first and the second text


@dataclass(frozen=True, kw_only=True)
class PairOptions(WordSequenceOptions):
    """Options of `PairEncoder`, beside those of all sequences of words.

    Parameters
    ----------
    hidden
        Width of the states of both networks and of the output.
    attention
        ``softmax``, ``sparsemax``, ``entmax``, ``sigmoid`` (every word by itself), or ``none``: the first text's last
        state.
    """

    hidden: int = 100
    attention: str = "sparsemax"

    def __post_init__(self) -> None:
        super().__post_init__()
        hold_whole_numbers(self, "hidden")
        check_choice("attention", self.attention, ATTENTIONS)


@dataclass(frozen=True, eq=False)
class PairRows:
    """The words of the first and of the second texts."""

    first: RaggedRows
    second: RaggedRows

    def __len__(self) -> int:
        return len(self.first)


class PairEncoder(WordSequenceEncoder):
    r"""Pairs of texts, written as one with a blank line between them → features (n, hidden).

    A text without a blank line is a pair whose second text is empty.

    Examples
    --------
    >>> encoder = PairEncoder.fitted(["a man sleeps\n\nhe is awake", "a dog runs\n\nit moves"], dim=8, hidden=5)
    >>> batch = encoder.collate(encoder.prepare(["a man runs\n\nhe sleeps"]), [0])
    >>> encoder(*batch).shape
    torch.Size([1, 5])
    >>> [word for word, _ in encoder.attention(["a man runs\n\nhe sleeps"])[0]]
    ['a', 'man', 'runs']
    """

    kind: ClassVar[str] = "pair"
    Options: ClassVar[type] = PairOptions
    options: PairOptions

    def __init__(self, options: PairOptions, vocabulary: Vocabulary) -> None:
        super().__init__(options, vocabulary)
        self.width = options.hidden
        self.projection = nn.Linear(options.dim, options.hidden)
        self.of_first = nn.GRU(options.hidden, options.hidden, batch_first=True)
        self.of_second = nn.GRU(options.hidden, options.hidden, batch_first=True)
        weigh = options.attention != "none"
        self.attend = SparseAttention(options.hidden, options.hidden, activation=options.attention) if weigh else None
        self.joined = nn.Linear(2 * options.hidden, options.hidden)

    def prepare(self, inputs: Any) -> PairRows:  # type: ignore[override]
        """Return the numbers of the words of both texts."""
        pairs = [text.partition(BETWEEN)[::2] for text in read_texts(inputs)]
        numbers = self.word_numbers()
        first, second = (ragged(numbers(pair[place]) for pair in pairs) for place in (0, 1))
        return PairRows(first, second)

    def collate(self, prepared: PairRows, rows: npt.NDArray[np.int64]) -> tuple[Tensor, ...]:  # type: ignore[override]
        """Return words (n, longest) and lengths (n,) of the first texts, then of the second."""
        return tuple(part for side in (prepared.first, prepared.second) for part in side.padded(rows, padding=PADDING))

    def forward(self, *batch: Tensor) -> Tensor:
        """Return the features (n, hidden)."""
        return self._read(*batch)[0]

    def attention(self, inputs: Any) -> list[list[tuple[str, float]]]:
        """Return the words of each first text with the weight that each has; the words that are cut off are not there.

        ValueError where the encoder has no attention.
        """
        if self.attend is None:
            raise ValueError("attention must be one of the encoder's options to be shown, got 'none'")
        prepared = self.prepare(inputs)
        was_training = self.training
        self.eval()
        with torch.inference_mode():
            weights = self._read(*self.collate(prepared, np.arange(len(prepared))))[1]
        self.train(was_training)
        split = split_words(lowercase=self.options.lowercase)
        texts = [split(text.partition(BETWEEN)[0])[: self.options.max_tokens] for text in read_texts(inputs)]
        return [list(zip(words, row.tolist(), strict=False)) for words, row in zip(texts, weights, strict=True)]

    def _read(self, words: Tensor, lengths: Tensor, others: Tensor, other_lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Return the features, and the weights of the first text's words (n, longest), 0 without attention."""
        if len(words) == 0:
            return self.joined.weight.new_empty(0, self.width), self.joined.weight.new_empty(words.shape)
        states, last = self._states(self.of_first, words, lengths)
        _, query = self._states(self.of_second, others, other_lengths)
        if self.attend is None:
            context, weights = last, states.new_zeros(words.shape)
        else:
            outside = torch.arange(words.shape[1], device=words.device) >= lengths.clamp(min=1)[:, None]
            context, weights = self.attend(states, query, key_padding_mask=outside)
        return torch.tanh(self.joined(torch.cat([context, query], dim=1))), weights

    def _states(self, network: nn.GRU, words: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Return all states (n, longest, hidden) and the last of each text (n, hidden)."""
        vectors = self.dropout(self.projection(self.embedding(words)))
        present = lengths.clamp(min=1)
        packed = pack_padded_sequence(vectors, present.cpu(), batch_first=True, enforce_sorted=False)
        output, last = network(packed)
        states, _ = pad_packed_sequence(output, batch_first=True, total_length=words.shape[1])
        return states, last[0]
