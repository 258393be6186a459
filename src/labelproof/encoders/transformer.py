"""Texts through a transformer from a local directory."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from labelproof.encoders.local_models import load_pretrained, load_tokenizer, new_model, save_config, save_tokenizer
from labelproof.encoders.options import check_path, hold_whole_numbers
from labelproof.encoders.pretrained import PretrainedEncoder, PretrainedOptions
from labelproof.encoders.rows import RaggedRows, ragged
from labelproof.encoders.texts import read_texts
from labelproof.foundation.arguments import check_choice

__all__ = ["TransformerEncoder"]

_CHUNK = 1024  # texts that the tokenizer takes at a time
_LONGEST = 512  # tokens of a text, where the model knows no limit


@dataclass(frozen=True, kw_only=True)
class TransformerOptions(PretrainedOptions):
    """Options of `TransformerEncoder`, beside those of all pretrained encoders.

    Parameters
    ----------
    path
        A directory with config.json, the weights as .safetensors, and the tokenizer's files.
    pooling
        ``cls``: the vector of the first token; ``mean``: the mean of the vectors of all tokens.
    max_tokens
        Number of tokens after which a text is cut off; None takes the model's limit, or 512 where it has none.
    """

    path: str | Path | None = None
    pooling: str = "cls"
    max_tokens: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("pooling", self.pooling, ("cls", "mean"))
        hold_whole_numbers(self, "max_tokens", or_none=True)
        check_path("path", self.path)


class TransformerEncoder(PretrainedEncoder):
    """The last hidden state of a transformer, pooled to one vector for each text.

    The model comes from a local directory: nothing is downloaded, no code of the directory is run, and weights are
    read from .safetensors alone. An empty text is what the tokenizer makes of it, or one padding token.
    """

    kind: ClassVar[str] = "transformer"
    Options: ClassVar[type] = TransformerOptions
    SOURCES: ClassVar[tuple[str, ...]] = ("path",)
    options: TransformerOptions

    def __init__(self, options: TransformerOptions, model: nn.Module, tokenizer: Any) -> None:
        super().__init__(options, model, int(model.config.hidden_size))  # type: ignore[union-attr, arg-type]
        self.tokenizer = tokenizer
        self.max_tokens = _max_tokens(options.max_tokens, _limit(model, tokenizer))
        self.padding = 0 if tokenizer.pad_token_id is None else int(tokenizer.pad_token_id)

    @classmethod
    def _learn(cls, inputs: Any, options: TransformerOptions) -> Self:
        read_texts(inputs)
        if options.path is None:
            raise ValueError("path must name the directory of a transformer, got None")
        folder = Path(options.path)
        return cls(options, load_pretrained(folder, cls.kind), load_tokenizer(folder, cls.kind))

    def read(self, inputs: Any) -> RaggedRows:
        """Return the numbers of every text's tokens, special ones included."""
        texts = read_texts(inputs)
        chunks = (list(texts[start : start + _CHUNK]) for start in range(0, len(texts), _CHUNK))
        return ragged(row for chunk in chunks for row in self._tokens(chunk))

    def _tokens(self, texts: list[str]) -> list[list[int]]:
        encoded = self.tokenizer(
            texts,
            truncation=True,
            max_length=self.max_tokens,
            padding=False,
            return_attention_mask=False,
            return_token_type_ids=False,
        )
        return encoded["input_ids"]

    def order(self, prepared: RaggedRows) -> npt.NDArray[np.int64]:
        """Return the rows from short to long, which needs the least padding."""
        return np.argsort(np.diff(prepared.indptr), kind="stable")

    def gather(self, prepared: RaggedRows, rows: npt.NDArray[np.int64]) -> tuple[Tensor, ...]:
        """Return the tokens (n, longest text) filled up with padding, and the lengths (n,)."""
        return prepared.padded(rows, padding=self.padding)

    def embed(self, *batch: Tensor) -> Tensor:
        """Return the pooled last hidden state (n, dim) of tokens (n, longest) and lengths (n,)."""
        tokens, lengths = batch
        present = torch.arange(tokens.shape[1], device=tokens.device) < lengths.clamp(min=1)[:, None]  # (n, longest)
        states: Tensor = self.model(input_ids=tokens, attention_mask=present.long()).last_hidden_state
        if self.options.pooling == "cls":
            return states[:, 0]
        weights = present.to(states.dtype)[..., None]
        return (states * weights).sum(dim=1) / weights.sum(dim=1)

    def save_files(self, folder: Path) -> None:
        """Write config.json and the tokenizer's files; the weights are in the state dict."""
        save_config(self.model, Path(folder))
        save_tokenizer(self.tokenizer, Path(folder))

    @classmethod
    def _restore(cls, options: TransformerOptions, facts: dict[str, Any], folder: Path) -> Self:  # noqa: ARG003
        return cls(options, new_model(folder, cls.kind), load_tokenizer(folder, cls.kind))


def _max_tokens(asked: int | None, limit: int | None) -> int:
    if asked is not None and limit is not None and asked > limit:
        raise ValueError(f"max_tokens must be at most {limit}, the model's limit, got {asked}")
    return asked or limit or _LONGEST


def _limit(model: nn.Module, tokenizer: Any) -> int | None:
    """Return the number of tokens that the model has positions for, or None where there is no limit."""
    limits = [getattr(model.config, "max_position_embeddings", None), tokenizer.model_max_length]
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, nn.Embedding):
            # RoBERTa and its kin count positions from the one after padding.
            limits.append(module.num_embeddings - (0 if module.padding_idx is None else module.padding_idx + 1))
    real = [limit for limit in limits if isinstance(limit, int) and 0 < limit < 10**9]
    return min(real, default=None)
