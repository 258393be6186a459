"""Output layers out of the models that people have."""

from labelproof.importers.layer import ImportedLayer

__all__ = ["ImportedLayer"]
