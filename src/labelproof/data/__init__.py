"""Data sets: readers of the formats that users have, splits, statistics, and generators.

Names are imported when first used, so that one of them does not bring all.
"""

from typing import TYPE_CHECKING

from labelproof.foundation.late_names import late_names

if TYPE_CHECKING:
    from labelproof.data.columns import Columns
    from labelproof.data.dataset import Dataset
    from labelproof.data.examples import Example, SparseRow, collect
    from labelproof.data.label_files import read_label_file, read_label_names
    from labelproof.data.label_matching import MatchedSets
    from labelproof.data.label_spool import label_sets_on_disk
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

_HOME = {
    "Columns": "labelproof.data.columns",
    "Dataset": "labelproof.data.dataset",
    "Example": "labelproof.data.examples",
    "Limits": "labelproof.data.textfile",
    "MatchedSets": "labelproof.data.label_matching",
    "SparseRow": "labelproof.data.examples",
    "Statistics": "labelproof.data.statistics",
    "collect": "labelproof.data.examples",
    "describe": "labelproof.data.statistics",
    "iter_examples": "labelproof.data.loading",
    "iterative_stratification": "labelproof.data.splits",
    "join_parts": "labelproof.data.part_files",
    "label_deviation": "labelproof.data.splits",
    "label_proportions": "labelproof.data.synthetic",
    "label_sets_on_disk": "labelproof.data.label_spool",
    "load_dataset": "labelproof.data.loading",
    "read_label_file": "labelproof.data.label_files",
    "read_label_names": "labelproof.data.label_files",
    "save_dataset": "labelproof.data.writing",
    "split_at_random": "labelproof.data.splits",
    "split_at_times": "labelproof.data.splits",
    "split_by_group": "labelproof.data.splits",
    "split_by_time": "labelproof.data.splits",
    "topic_data": "labelproof.data.synthetic",
}

__all__ = [
    "Columns",
    "Dataset",
    "Example",
    "Limits",
    "MatchedSets",
    "SparseRow",
    "Statistics",
    "collect",
    "describe",
    "iter_examples",
    "iterative_stratification",
    "join_parts",
    "label_deviation",
    "label_proportions",
    "label_sets_on_disk",
    "load_dataset",
    "read_label_file",
    "read_label_names",
    "save_dataset",
    "split_at_random",
    "split_at_times",
    "split_by_group",
    "split_by_time",
    "topic_data",
]

__getattr__ = late_names(__name__, _HOME)


def __dir__() -> list[str]:
    return __all__
