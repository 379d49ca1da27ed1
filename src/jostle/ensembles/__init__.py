"""Many runs: sweeps over scenarios and functions on all cores or on a cluster, and what they say together.

Study, sweep, read                  what is run and measured; run it; read its folder again
grid, latin_hypercube               designs: which cases are run (any list of dictionaries is one)
MEASURES, CURVES                    open lists of what is measured in a run
PreciseMean, SettledCurves          rules that end a study when its results are accurate enough
Results, write_table                the tidy table of a study, and files of it
"""

from jostle.ensembles.designs import grid, latin_hypercube
from jostle.ensembles.measures import CURVES, MEASURES
from jostle.ensembles.reading import read
from jostle.ensembles.stopping import PreciseMean, SettledCurves, curve_changes
from jostle.ensembles.study import Study
from jostle.ensembles.sweeps import ExecutorBroke, StudyProgress, sweep
from jostle.ensembles.table import Results, write_table

__all__ = [
    "CURVES",
    "MEASURES",
    "ExecutorBroke",
    "PreciseMean",
    "Results",
    "SettledCurves",
    "Study",
    "StudyProgress",
    "curve_changes",
    "grid",
    "latin_hypercube",
    "read",
    "sweep",
    "write_table",
]
