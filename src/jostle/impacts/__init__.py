"""Multiple impacts, law by law: Moreau, sequences of binary impacts, Liu-Zhao-Brogliato; and what small gaps change."""

from jostle.impacts.binary import BinaryImpacts, Sequence, binary_impacts, impacts_by_times
from jostle.impacts.comparison import Comparison, Outcome, Outcomes, compare, outcomes
from jostle.impacts.springs import SpringImpact, liu_zhao_brogliato

__all__ = [
    "BinaryImpacts",
    "Comparison",
    "Outcome",
    "Outcomes",
    "Sequence",
    "SpringImpact",
    "binary_impacts",
    "compare",
    "impacts_by_times",
    "liu_zhao_brogliato",
    "outcomes",
]
