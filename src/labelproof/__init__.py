"""Multi-label output layers to trust: trained on the metric that is reported, and proven in what they can predict.

Names are imported when first used, so that ``import labelproof`` is quick.
"""

from typing import TYPE_CHECKING

from labelproof.foundation.late_names import late_names

if TYPE_CHECKING:
    from labelproof import (
        activations,
        data,
        decisions,
        encoders,
        functional,
        heads,
        importers,
        keras3,
        losses,
        metrics,
        models,
        pictures,
        training,
    )
    from labelproof.activations import entmax, sparsemax
    from labelproof.auditing import Audit, audit
    from labelproof.data import Dataset, iter_examples, load_dataset
    from labelproof.errors import (
        CertificateError,
        DataFormatError,
        LabelproofError,
        MissingPackageError,
        ModelFormatError,
    )
    from labelproof.explaining.explain import Explanation, explain
    from labelproof.foundation.release import __version__
    from labelproof.heads import BottleneckHead, CodeHead, DFTHead, GaussianHead, HarmonicHead, replace_head
    from labelproof.losses import (
        AsymmetricLoss,
        BinaryCrossEntropyLoss,
        ConfusionLoss,
        EntmaxLoss,
        FocalLoss,
        PickAllLabelsLoss,
        SigmoidF1Loss,
        SparsemaxLoss,
        UnboundedF1Loss,
    )
    from labelproof.models import MultiLabelClassifier, load_model
    from labelproof.proof.certificates import Argmaxable, Unargmaxable, Undecided
    from labelproof.proof.parts import VerificationParts, load_parts
    from labelproof.proof.result import Verification
    from labelproof.proof.samples import share_interval
    from labelproof.proof.store import load_verification
    from labelproof.proof.stretch_result import Stretch
    from labelproof.proof.stretch_store import load_stretch
    from labelproof.search.in_parts import verify_in_parts
    from labelproof.search.verifier import verify
    from labelproof.stretching.measuring import stretch
    from labelproof.stretching.pairs import dead_labels, stretch_pairs
    from labelproof.theory.counting import count_argmaxable, log10_argmaxable_fraction
    from labelproof.theory.cyclic import alternations
    from labelproof.theory.plan import Plan, plan

_ROOMS = {
    "activations",
    "data",
    "decisions",
    "encoders",
    "functional",
    "heads",
    "importers",
    "keras3",
    "losses",
    "metrics",
    "models",
    "pictures",
    "training",
}
_HOME = {
    "Argmaxable": "labelproof.proof.certificates",
    "AsymmetricLoss": "labelproof.losses",
    "Audit": "labelproof.auditing",
    "BinaryCrossEntropyLoss": "labelproof.losses",
    "BottleneckHead": "labelproof.heads",
    "CertificateError": "labelproof.errors",
    "CodeHead": "labelproof.heads",
    "ConfusionLoss": "labelproof.losses",
    "DFTHead": "labelproof.heads",
    "DataFormatError": "labelproof.errors",
    "Dataset": "labelproof.data",
    "EntmaxLoss": "labelproof.losses",
    "Explanation": "labelproof.explaining.explain",
    "FocalLoss": "labelproof.losses",
    "GaussianHead": "labelproof.heads",
    "HarmonicHead": "labelproof.heads",
    "LabelproofError": "labelproof.errors",
    "MissingPackageError": "labelproof.errors",
    "ModelFormatError": "labelproof.errors",
    "MultiLabelClassifier": "labelproof.models",
    "PickAllLabelsLoss": "labelproof.losses",
    "Plan": "labelproof.theory.plan",
    "SigmoidF1Loss": "labelproof.losses",
    "SparsemaxLoss": "labelproof.losses",
    "Stretch": "labelproof.proof.stretch_result",
    "Unargmaxable": "labelproof.proof.certificates",
    "UnboundedF1Loss": "labelproof.losses",
    "Undecided": "labelproof.proof.certificates",
    "Verification": "labelproof.proof.result",
    "VerificationParts": "labelproof.proof.parts",
    "__version__": "labelproof.foundation.release",
    "alternations": "labelproof.theory.cyclic",
    "audit": "labelproof.auditing",
    "count_argmaxable": "labelproof.theory.counting",
    "dead_labels": "labelproof.stretching.pairs",
    "entmax": "labelproof.activations",
    "explain": "labelproof.explaining.explain",
    "iter_examples": "labelproof.data",
    "load_dataset": "labelproof.data",
    "load_model": "labelproof.models",
    "load_parts": "labelproof.proof.parts",
    "load_stretch": "labelproof.proof.stretch_store",
    "load_verification": "labelproof.proof.store",
    "log10_argmaxable_fraction": "labelproof.theory.counting",
    "plan": "labelproof.theory.plan",
    "replace_head": "labelproof.heads",
    "share_interval": "labelproof.proof.samples",
    "sparsemax": "labelproof.activations",
    "stretch": "labelproof.stretching.measuring",
    "stretch_pairs": "labelproof.stretching.pairs",
    "verify": "labelproof.search.verifier",
    "verify_in_parts": "labelproof.search.in_parts",
}

__all__ = [
    "Argmaxable",
    "AsymmetricLoss",
    "Audit",
    "BinaryCrossEntropyLoss",
    "BottleneckHead",
    "CertificateError",
    "CodeHead",
    "ConfusionLoss",
    "DFTHead",
    "DataFormatError",
    "Dataset",
    "EntmaxLoss",
    "Explanation",
    "FocalLoss",
    "GaussianHead",
    "HarmonicHead",
    "LabelproofError",
    "MissingPackageError",
    "ModelFormatError",
    "MultiLabelClassifier",
    "PickAllLabelsLoss",
    "Plan",
    "SigmoidF1Loss",
    "SparsemaxLoss",
    "Stretch",
    "Unargmaxable",
    "UnboundedF1Loss",
    "Undecided",
    "Verification",
    "VerificationParts",
    "__version__",
    "activations",
    "alternations",
    "audit",
    "count_argmaxable",
    "data",
    "dead_labels",
    "decisions",
    "encoders",
    "entmax",
    "explain",
    "functional",
    "heads",
    "importers",
    "iter_examples",
    "keras3",
    "load_dataset",
    "load_model",
    "load_parts",
    "load_stretch",
    "load_verification",
    "log10_argmaxable_fraction",
    "losses",
    "metrics",
    "models",
    "pictures",
    "plan",
    "replace_head",
    "share_interval",
    "sparsemax",
    "stretch",
    "stretch_pairs",
    "training",
    "verify",
    "verify_in_parts",
]

__getattr__ = late_names(__name__, {**_HOME, **{name: f"labelproof.{name}" for name in _ROOMS}})


def __dir__() -> list[str]:
    return __all__
