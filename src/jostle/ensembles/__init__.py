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

from jostle.ensembles.basins import Attractor, Basins, basins
from jostle.ensembles.copies import Copies, Gaps
from jostle.ensembles.curve_changes import curve_changes
from jostle.ensembles.designs import grid, latin_hypercube
from jostle.ensembles.impact_maps import CopyImpacts, impacts
from jostle.ensembles.lyapunov import lyapunov_exponents, lyapunov_spectra
from jostle.ensembles.marching import ByEvents
from jostle.ensembles.measures import CURVES, MEASURES
from jostle.ensembles.orbits import Orbits, periodic_orbits
from jostle.ensembles.reading import read
from jostle.ensembles.sections import Sections, advance, sections
from jostle.ensembles.stopping import PreciseMean, SettledCurves
from jostle.ensembles.study import Study
from jostle.ensembles.sweeps import ExecutorBroke, StudyProgress, sweep
from jostle.ensembles.table import Results
from jostle.ensembles.table_files import write_table

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
