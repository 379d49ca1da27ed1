"""Many runs: sweeps over scenarios and functions on all cores or on a cluster, and what they say together.

Study, sweep, read                  what is run and measured; run it; read its folder again
grid, latin_hypercube               designs: which cases are run (any list of dictionaries is one)
MEASURES, CURVES                    open lists of what is measured in a run
PreciseMean, SettledCurves          rules that end a study when its results are accurate enough
Results, write_table                the tidy table of a study, and files of it
Copies, Gaps                        thousands of copies of a small system, in one compiled loop
ByEvents                            the scheme of these with exact impacts; Paoli and MoreauJean also run them
sections, impacts, advance          once a period, the last impacts, and where the copies are after a time
periodic_orbits, lyapunov_exponents is a motion stable, or chaotic?
basins                              which starts end on which orbit
"""

from jostle.ensembles.basins import Attractor, Basins, basins
from jostle.ensembles.copies import Copies, Gaps
from jostle.ensembles.designs import grid, latin_hypercube
from jostle.ensembles.marching import ByEvents
from jostle.ensembles.measures import CURVES, MEASURES
from jostle.ensembles.orbits import Orbits, lyapunov_exponents, periodic_orbits
from jostle.ensembles.reading import read
from jostle.ensembles.sections import CopyImpacts, Sections, advance, impacts, sections
from jostle.ensembles.stopping import PreciseMean, SettledCurves, curve_changes
from jostle.ensembles.study import Study
from jostle.ensembles.sweeps import ExecutorBroke, StudyProgress, sweep
from jostle.ensembles.table import Results, write_table

__all__ = [
    "CURVES",
    "MEASURES",
    "Attractor",
    "Basins",
    "ByEvents",
    "Copies",
    "CopyImpacts",
    "ExecutorBroke",
    "Gaps",
    "Orbits",
    "PreciseMean",
    "Results",
    "Sections",
    "SettledCurves",
    "Study",
    "StudyProgress",
    "advance",
    "basins",
    "curve_changes",
    "grid",
    "impacts",
    "latin_hypercube",
    "lyapunov_exponents",
    "periodic_orbits",
    "read",
    "sections",
    "sweep",
    "write_table",
]
