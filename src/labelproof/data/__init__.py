"""Data sets: readers of the formats that users have, splits, statistics, and generators."""

from labelproof.data.columns import Columns
from labelproof.data.dataset import Dataset
from labelproof.data.examples import Example, SparseRow, collect
from labelproof.data.loading import iter_examples, load_dataset
from labelproof.data.part_files import join_parts
from labelproof.data.splits import (
    iterative_stratification,
    label_deviation,
    split_at_random,
    split_at_times,
    split_by_group,
    split_by_time,
)
from labelproof.data.statistics import Statistics, describe
from labelproof.data.synthetic import label_proportions, topic_data
from labelproof.data.textfile import Limits
from labelproof.data.writing import save_dataset

__all__ = [
    "Columns",
    "Dataset",
    "Example",
    "Limits",
    "SparseRow",
    "Statistics",
    "collect",
    "describe",
    "iter_examples",
    "iterative_stratification",
    "join_parts",
    "label_deviation",
    "label_proportions",
    "load_dataset",
    "save_dataset",
    "split_at_random",
    "split_at_times",
    "split_by_group",
    "split_by_time",
    "topic_data",
]
