"""Many runs: sweeps over scenarios and functions on all cores or on a cluster, and statistics of their results.

Study, sweep, read                  define a study, run it, and read its results from its folder
grid, latin_hypercube               designs: lists of cases (any list of dictionaries is a design)
MEASURES, CURVES                    registries of the measures of a run
report_crowd                        one page about many runs of a crowd scenario
PreciseMean, SettledCurves          rules that end a study when its results are accurate enough
Results, write_table                the table of a study, and files of it
"""

from jostle.study.cases import Study, grid, latin_hypercube
from jostle.study.measures import CURVES, MEASURES
from jostle.study.repetitions import PreciseMean, SettledCurves, curve_changes
from jostle.study.reports import report_crowd
from jostle.study.runs import ExecutorBroke, StudyProgress, read, sweep
from jostle.study.tables import Results, write_table

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
    "report_crowd",
    "sweep",
    "write_table",
]
