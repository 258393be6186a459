"""Output layers out of the models that people have.

Every reader ends in an `ImportedLayer`, or in one sentence that says why there is none: a model whose labels do not
share one feature vector, or whose output is not its last linear layer, gets no verdict rather than a false one.
"""

from labelproof.importers.language_models import read_vocabulary
from labelproof.importers.layer import ImportedLayer
from labelproof.importers.live_models import layer_of
from labelproof.importers.reading import read_layer

__all__ = ["ImportedLayer", "layer_of", "read_layer", "read_vocabulary"]
