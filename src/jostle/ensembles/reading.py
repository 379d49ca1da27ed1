"""Reading the results of a study from its folder, also while it runs."""

from __future__ import annotations

import os
from pathlib import Path

from jostle.arguments import check_arguments
from jostle.ensembles.journal import description, outcomes
from jostle.ensembles.study import RunOf, seed_of
from jostle.ensembles.subjects import SEED
from jostle.ensembles.table import Results


@check_arguments
def read(folder: str | os.PathLike[str]) -> Results:
    """Read the results of all finished runs from the folder of a study, also while the study runs.

    Parameters
    ----------
    folder : str or path
        The folder that was given to `sweep`.

    Returns
    -------
    Results
        The results of the finished runs.

    Raises
    ------
    NoSuchFile
        If the folder does not contain a study.
    BrokenFile
        If a file of the study is damaged.

    Examples
    --------
    >>> import jostle as jo, tempfile
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> study = jo.ensembles.Study("cradle_apart", over=[{"run.t": 0.1}], measures=["end_time"])
    >>> with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(1) as threads:
    ...     results = jo.ensembles.sweep(study, executor=threads, folder=folder + "/study")
    ...     read(folder + "/study")["end_time"].tolist()
    [0.1]
    """
    place = Path(folder)
    said, known = description(place), outcomes(place)
    identity, cases = said["identity"], said["identity"]["cases"]
    runs = []
    for number in sorted(known):
        repetition, case = divmod(number, len(cases))
        if said["repetitions"] is not None and repetition >= said["repetitions"][case]:
            continue  # the run was in progress when the stopping rule was met
        seed = cases[case].get(SEED, seed_of(identity["seed"], number))
        runs.append(RunOf(number, case, repetition, seed, cases[case]))
    return Results(tuple(runs), tuple(known[run.number] for run in runs))
