"""The hypotheses of the papers' theorems, checked for a problem, and their conclusions, checked for a solution."""

from jostle.run.refinement import Refinement
from jostle.theory.assumptions import Direction, good_direction
from jostle.theory.convergence import Convergence, convergence
from jostle.theory.hypotheses import hypotheses
from jostle.theory.promises import promises
from jostle.theory.report import Line, Report, Section

__all__ = [
    "Convergence",
    "Direction",
    "Line",
    "Refinement",
    "Report",
    "Section",
    "convergence",
    "good_direction",
    "hypotheses",
    "promises",
]
