"""ONNX files give the logits of the model they were made from."""

# ruff: noqa: F401, F811 - fixtures are imported, and tests take them by their names

import numpy as np
import onnxruntime
import pytest
from small_models import make_model, one_thread

from labelproof.models.onnx import export_onnx


@pytest.mark.parametrize(
    "parts",
    [
        {"head": {"kind": "dft", "slack": 4}},
        {"head": {"kind": "bottleneck", "d": 3}, "encoder": {"kind": "features", "hidden": 8}},
        {"head": {"kind": "linear", "relu": True}},
    ],
)
def test_an_exported_model_gives_the_same_logits(parts, make_model, tmp_path):
    model, X = make_model(**parts)
    export_onnx(model, tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx", providers=["CPUExecutionProvider"])
    for n in (1, 60):
        (logits,) = session.run(["logits"], {"features": X[:n]})
        assert np.allclose(logits, model.logits(X[:n]), atol=1e-5)
    assert [path.name for path in tmp_path.iterdir()] == ["model.onnx"]


def test_models_with_other_encoders_are_refused(make_model, tmp_path):
    texts, _ = make_model(encoder={"kind": "tfidf"})
    with pytest.raises(
        ValueError, match="only models on given features can be exported to ONNX, got the encoder 'tfidf'"
    ):
        export_onnx(texts, tmp_path / "model.onnx")
    scaled, _ = make_model(encoder={"kind": "features", "standardise": True})
    with pytest.raises(ValueError, match="got standardised ones"):
        export_onnx(scaled, tmp_path / "model.onnx")
    assert list(tmp_path.iterdir()) == []
