"""What the theorems of the papers ask of a problem, and whether a computed solution keeps what they promise."""

from jostle.refinement import Refinement
from jostle.theory.directions import Direction, good_direction
from jostle.theory.hypotheses import hypotheses
from jostle.theory.report import Line, Report, Section

__all__ = ["Direction", "Line", "Refinement", "Report", "Section", "good_direction", "hypotheses"]
