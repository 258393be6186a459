"""Models on given features as ONNX files, which other programs run without labelproof or torch."""

import warnings
from pathlib import Path

import torch
from torch import Tensor, nn

from labelproof.encoders.features import FeatureEncoder
from labelproof.foundation.writing import replacing_path
from labelproof.models.model import Model

__all__ = ["export_onnx"]


class _Logits(nn.Module):
    def __init__(self, model: Model) -> None:
        super().__init__()
        self.encoder, self.head = model.encoder, model.head

    def forward(self, features: Tensor) -> Tensor:
        return self.head(self.encoder(features))


def export_onnx(model: Model, path: str | Path) -> None:
    """Write a model whose encoder is "features" as an ONNX file: "features" (n, n_features) to "logits" (n, n_labels).

    The decision rule is not part of it. Features are expected as the encoder prepares them: those of an encoder that
    standardises are to be standardised first.

    Parameters
    ----------
    model
        With the encoder "features".
    path
        Of the file, which is there complete or not at all.
    """
    if not isinstance(model.encoder, FeatureEncoder):
        raise ValueError(
            f"only models on given features can be exported to ONNX, got the encoder {model.encoder.kind!r}"
        )
    if model.encoder.options.standardise:
        raise ValueError("only models on features as they are can be exported to ONNX, got standardised ones")
    example = torch.zeros(2, model.encoder.n_features, dtype=model.weight.dtype, device=model.weight.device)
    n = torch.export.Dim("n")
    with replacing_path(path) as draft, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter's own
        torch.onnx.export(
            _Logits(model).eval(),
            (example,),
            draft,
            input_names=["features"],
            output_names=["logits"],
            dynamic_shapes={"features": {0: n}},
            dynamo=True,
            external_data=False,
            verbose=False,
        )
