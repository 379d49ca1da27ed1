"""A report over many runs of one crowd scenario, which differ in their seeds."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import Executor, as_completed
from pathlib import Path
from typing import Any

import numpy as np

from jostle._tools.arguments import Count, Positive, check_arguments
from jostle.crowds.measure.summary import crowd_summary
from jostle.crowds.model.crowd import Crowd
from jostle.errors import InvalidValue
from jostle.scenarios import load, parse
from jostle.study.executing import Processes
from jostle.study.runs import StudyProgress

RUNS = 20
"""Default number of runs."""


def _measured(text: str, name: str, seed: int) -> dict[str, Any]:
    """The figures of one run, which any process can compute."""
    found = crowd_summary(parse(text, name, seed=seed).build().solve())
    return {"seed": seed, "rows": found.rows(), "left": found.travel.left, "warnings": found.warnings}


@check_arguments
def report_crowd(
    scenario: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    runs: Count = RUNS,
    aset: Positive | None = None,
    author: str = "",
    failed: Iterable[str] = (),
    executor: Executor | None = None,
    progress: Callable[[StudyProgress], None] | None = None,
) -> Path:
    """Run a crowd scenario with many seeds, and write one page of A4 about what differs from run to run.

    The seeds are that of the scenario and those that follow it. The pictures are those of the slowest run.

    Parameters
    ----------
    scenario : str or path
        A .toml file, or a name from ``jostle list``.
    path : str or path
        Name of the page, .html.
    runs : int, default 20
        Number of runs.
    aset : float, optional
        Available safe egress time (s), with which the evacuation time of the slowest run is compared.
    author : str, default ""
        Who answers for the report; empty: nobody is named.
    failed : iterable of str, default ()
        Tests of guidelines that the behaviour fails, in words, such as those of `jostle.verification.known_failures`.
    executor : concurrent.futures.Executor, optional
        Executor that does the runs. None: processes of this machine, each with one thread.
    progress : callable (StudyProgress) -> None, optional
        Called after each run. None: nothing is called.

    Returns
    -------
    Path
        The page.

    Examples
    --------
    >>> import tempfile
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from pathlib import Path
    >>> import jostle as jo
    >>> few = jo.scenarios.shipped("bottleneck").replace("n = 75", "n = 5")
    >>> with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(1) as threads:
    ...     _ = Path(folder, "few.toml").write_text(few)
    ...     page = report_crowd(f"{folder}/few.toml", f"{folder}/page.html", runs=1, executor=threads).read_text()
    >>> "Over 1 runs" in page
    True
    """
    from jostle.viz.runs_report import CrowdRun, report_of_runs

    chosen = load(str(scenario))
    problem = chosen.build().problem
    if not isinstance(problem, Crowd):
        raise InvalidValue(f"{scenario} is of kind {chosen.problem.kind!r}, and reports are about people on a plan")
    seeds = range(chosen.seed, chosen.seed + runs)
    pool = executor or Processes(min(runs, os.cpu_count() or 1))
    try:
        started = [pool.submit(_measured, chosen.text, chosen.name, seed) for seed in seeds]
        for step, _ in enumerate(as_completed(started), 1):
            if progress is not None:
                progress(StudyProgress(step, runs, 0))
        found = [CrowdRun(**one.result()) for one in started]
    finally:
        if executor is None:
            pool.shutdown()
    slowest = max(found, key=lambda run: (run.time, np.isinf(run.left).sum()))
    return report_of_runs(
        found, parse(chosen.text, chosen.name, seed=slowest.seed).build().solve(), path,
        title=chosen.title or str(scenario), scenario=chosen.text, behaviour=problem.behaviour, aset=aset,
        author=author, failed=failed,
    )  # fmt: skip
