"""Metrics of multi-label predictions, with stated definitions; dense arrays, sparse matrices or streams of batches."""

from labelproof.metrics.calibration_error import brier_loss, expected_calibration_error
from labelproof.metrics.counts import (
    Counts,
    count,
    count_examples,
)
from labelproof.metrics.coverage import (
    FrequencyGroup,
    errors_by_frequency,
    label_set_coverage_score,
    never_predicted_labels,
)
from labelproof.metrics.distributions import (
    jensen_shannon_divergence,
    kullback_leibler_divergence,
    mean_squared_distribution_error,
)
from labelproof.metrics.evaluation import evaluate
from labelproof.metrics.label_decisions import (
    accuracy_score,
    balanced_accuracy_score,
    hamming_loss,
    matthews_corrcoef_score,
    npv_score,
    specificity_score,
)
from labelproof.metrics.metric import Metric
from labelproof.metrics.propensity import (
    propensities,
    propensity_scored_ndcg_at_k,
    propensity_scored_precision_at_k,
)
from labelproof.metrics.ranking_curves import (
    average_precision_score,
    coverage_error,
    interpolated_average_precision_score,
    label_ranking_average_precision_score,
    label_ranking_loss,
    roc_auc_score,
)
from labelproof.metrics.registry import by_name, names
from labelproof.metrics.sets import (
    exact_match_score,
    f1_of_mean_precision_and_recall_score,
    f1_score,
    fbeta_score,
    jaccard_score,
    precision_score,
    recall_score,
    sigmoidf1_paper_f1_score,
)
from labelproof.metrics.streams import Accumulator
from labelproof.metrics.topk import (
    coverage_at_k,
    example_f1_at_k,
    f1_at_k,
    ndcg_at_k,
    precision_at_k,
    r_precision_at_k,
    recall_at_k,
)

__all__ = [
    "Accumulator",
    "Counts",
    "FrequencyGroup",
    "Metric",
    "accuracy_score",
    "average_precision_score",
    "balanced_accuracy_score",
    "brier_loss",
    "by_name",
    "count",
    "count_examples",
    "coverage_at_k",
    "coverage_error",
    "errors_by_frequency",
    "evaluate",
    "exact_match_score",
    "example_f1_at_k",
    "expected_calibration_error",
    "f1_at_k",
    "f1_of_mean_precision_and_recall_score",
    "f1_score",
    "fbeta_score",
    "hamming_loss",
    "interpolated_average_precision_score",
    "jaccard_score",
    "jensen_shannon_divergence",
    "kullback_leibler_divergence",
    "label_ranking_average_precision_score",
    "label_ranking_loss",
    "label_set_coverage_score",
    "matthews_corrcoef_score",
    "mean_squared_distribution_error",
    "names",
    "ndcg_at_k",
    "never_predicted_labels",
    "npv_score",
    "precision_at_k",
    "precision_score",
    "propensities",
    "propensity_scored_ndcg_at_k",
    "propensity_scored_precision_at_k",
    "r_precision_at_k",
    "recall_at_k",
    "recall_score",
    "roc_auc_score",
    "sigmoidf1_paper_f1_score",
    "specificity_score",
]
