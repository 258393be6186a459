"""Trained models: prediction, the model folder, and export to ONNX."""

from labelproof.models.directory import load_model, save_model
from labelproof.models.model import Model, Prediction

__all__ = ["Model", "Prediction", "load_model", "save_model"]
