"""Several output layers on one data set: what each scores, what it costs, and which label sets it can predict."""

from labelproof.comparison.comparing import compare
from labelproof.comparison.comparison_folder import comparison_tables, save_comparison
from labelproof.comparison.contenders import Contender, code_head, four_heads
from labelproof.comparison.outcome import Outcome
from labelproof.comparison.recipe import recipe
from labelproof.comparison.sentences import findings, gained

__all__ = [
    "Contender",
    "Outcome",
    "code_head",
    "compare",
    "comparison_tables",
    "findings",
    "four_heads",
    "gained",
    "recipe",
    "save_comparison",
]
