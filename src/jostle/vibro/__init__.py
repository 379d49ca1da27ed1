"""Vibro-impact: thousands of copies of a small system, their periodic orbits, bifurcations and basins of attraction.

Copies, Gaps                        copies that move in one compiled loop, and their constraints
ByEvents                            the scheme for copies with exact impacts; Paoli and MoreauJean also run them
sections, impacts, advance          states once per period, the last impacts, and the states after a time
periodic_orbits                     orbits and their stability
follow, follow_doubled, follow_point    an orbit along a parameter, the orbit of twice the period that begins at a
                                    doubling, and folds, doublings and grazings along two parameters
lyapunov_exponents, lyapunov_spectra    chaos
basins                              the orbit on which each start ends, or when it escapes
"""

from jostle.vibro.basins import Attractor, Basins, basins
from jostle.vibro.branches import Bifurcation, Branch, Curve, follow, follow_doubled, follow_point
from jostle.vibro.copies import ByEvents, Copies, Gaps
from jostle.vibro.orbits import Orbits, lyapunov_exponents, lyapunov_spectra, periodic_orbits
from jostle.vibro.sections import CopyImpacts, Sections, advance, impacts, sections

__all__ = [
    "Attractor",
    "Basins",
    "Bifurcation",
    "Branch",
    "ByEvents",
    "Copies",
    "CopyImpacts",
    "Curve",
    "Gaps",
    "Orbits",
    "Sections",
    "advance",
    "basins",
    "follow",
    "follow_doubled",
    "follow_point",
    "impacts",
    "lyapunov_exponents",
    "lyapunov_spectra",
    "periodic_orbits",
    "sections",
]
