"""Decision rules: which labels to output, given scores (n_examples, n_labels) of any model."""

from labelproof.decisions.budgeted import BatchMacroTopK, MacroTopK
from labelproof.decisions.calibrated import Calibrated
from labelproof.decisions.calibration import (
    Calibration,
    IsotonicCalibration,
    PlattScaling,
    TemperatureScaling,
    load_calibration,
)
from labelproof.decisions.dependent_f import dependent_f_sets, neighbour_f_sets
from labelproof.decisions.expected_f import ExpectedF
from labelproof.decisions.geometry import Geometry
from labelproof.decisions.ranking import LabelCount, TopK
from labelproof.decisions.risk_control import RiskControlled, promised_rules
from labelproof.decisions.rule_comparison import Comparison, default_rules, evaluate_rules
from labelproof.decisions.rules import Rule, load_rule
from labelproof.decisions.softmax_threshold import SoftmaxThreshold
from labelproof.decisions.support import SparsemaxSupport
from labelproof.decisions.thresholds import PerLabelThreshold, Threshold, ThresholdAveraging

__all__ = [
    "BatchMacroTopK",
    "Calibrated",
    "Calibration",
    "Comparison",
    "ExpectedF",
    "Geometry",
    "IsotonicCalibration",
    "LabelCount",
    "MacroTopK",
    "PerLabelThreshold",
    "PlattScaling",
    "RiskControlled",
    "Rule",
    "SoftmaxThreshold",
    "SparsemaxSupport",
    "TemperatureScaling",
    "Threshold",
    "ThresholdAveraging",
    "TopK",
    "default_rules",
    "dependent_f_sets",
    "evaluate_rules",
    "load_calibration",
    "load_rule",
    "neighbour_f_sets",
    "promised_rules",
]
