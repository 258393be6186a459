"""Output layers of scikit-learn estimators that skops saved; only types that skops trusts are built."""

from dataclasses import replace
from pathlib import Path

from labelproof.foundation.json_files import MAX_JSON, parse_json
from labelproof.foundation.optional_packages import need
from labelproof.importers.archives import open_zip, refuse_bombs, refuse_false_arrays
from labelproof.importers.estimators import layer_of_estimator
from labelproof.importers.layer import ImportedLayer
from labelproof.importers.other_formats import OF_TREES

__all__ = ["read_skops"]

TRUSTED = {  # classes that hold numbers or options only, beyond those that skops trusts
    "scipy.sparse._csr.csr_array",
    "scipy.sparse._csr.csr_matrix",
    "sklearn.metrics._scorer._PassthroughScorer",
    "sklearn.model_selection._split.KFold",
    "sklearn.model_selection._split.StratifiedKFold",
    "sklearn.multiclass._ConstantPredictor",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
}
TREES = ("sklearn.tree.", "sklearn.ensemble._hist_gradient_boosting.")


def read_skops(path: Path) -> ImportedLayer:
    """Return the layer of a .skops file.

    Raises
    ------
    ValueError
        If the file is damaged or unpacks to far more than it is, holds types beyond those of scikit-learn, numpy and
        scipy that skops trusts, or holds no estimator with a linear output layer.
    """
    need("skops", f"reading {path.name}")
    refuse_bombs(path)
    _check_schema(path)
    refuse_false_arrays(path)
    from skops import io  # type: ignore[import-untyped]

    try:
        unknown = [name for name in io.get_untrusted_types(file=path) if name not in TRUSTED]
        model = None if unknown else io.load(path, trusted=sorted(TRUSTED))
    except MemoryError:
        raise
    except Exception as error:
        what = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise ValueError(f"expected an estimator that skops saved ({what})") from error
    if any(name.startswith(TREES) for name in unknown):
        raise ValueError(f"this is a scikit-learn model of decision trees, {OF_TREES}")
    if unknown:
        raise ValueError(f"expected types that skops trusts, got {', '.join(unknown[:5])}")
    layer = layer_of_estimator(model)
    return replace(layer, model=path.name, source=f"{layer.source}, in {path.name}")


def _check_schema(path: Path) -> None:
    with open_zip(path) as archive:
        members = {member.filename: member.file_size for member in archive.infolist()}
        if "schema.json" not in members or members["schema.json"] > MAX_JSON:
            raise ValueError(f"expected a schema.json of at most {MAX_JSON} bytes, as skops writes it")
        try:
            parse_json(archive.read("schema.json"))
        except ValueError as error:
            raise ValueError("expected JSON in schema.json") from error
