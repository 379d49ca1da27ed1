"""Many runs: sweeps over scenarios and functions on all cores or on a cluster, and statistics of their results.

Study, sweep, read                  define a study, run it, and read its results from its folder
grid, latin_hypercube               designs: lists of cases (any list of dictionaries is a design)
MEASURES, CURVES                    registries of the measures of a run
PreciseMean, SettledCurves          rules that end a study when its results are accurate enough
Results, write_table                the table of a study, and files of it
Copies, Gaps                        thousands of copies of a small system, in one compiled loop
ByEvents                            the scheme for copies with exact impacts; Paoli and MoreauJean also run them
sections, impacts, advance          states once per period, the last impacts, and the states after a time
periodic_orbits                     orbits and their stability
lyapunov_exponents, lyapunov_spectra    chaos
basins                              the orbit on which each start ends
"""

from jostle.ensembles.copies import ByEvents, Copies, Gaps
from jostle.ensembles.measures import CURVES, MEASURES
from jostle.ensembles.orbits import (
    Attractor,
    Basins,
    Orbits,
    basins,
    lyapunov_exponents,
    lyapunov_spectra,
    periodic_orbits,
)
from jostle.ensembles.sections import CopyImpacts, Sections, advance, impacts, sections
from jostle.ensembles.stopping import PreciseMean, SettledCurves, curve_changes
from jostle.ensembles.study import Study, grid, latin_hypercube
from jostle.ensembles.sweeps import ExecutorBroke, StudyProgress, read, sweep
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
    "lyapunov_spectra",
    "periodic_orbits",
    "read",
    "sections",
    "sweep",
    "write_table",
]
