"""``jostle sweep``: the runs of a study file; and the output of ``jostle info`` for the folder of a study."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from jostle._tools.installing import missing
from jostle.cli.runs import Json, Quiet
from jostle.cli.show import plain, say, show, show_table, words
from jostle.errors import Interrupted
from jostle.terminal import progress_bar

if TYPE_CHECKING:
    from jostle.study import Results

EXIT_FAILED_RUNS = 5
"""Exit code of a study in which some runs failed."""
MAX_SHOWN_ROWS = 60
"""Largest number of rows of the summary that are printed; the files have all of them."""
INTERVALS = {"95 % interval": ("low", "high"), "5 % to 95 % of runs": ("q5", "q95")}
"""Columns of the printed summary, and the two columns of the full summary from which each is made."""


def sweep(
    study: Annotated[Path, typer.Argument(help="A study file, .toml.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Folder; by default NAME.")] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Number of processes; by default one per core.")] = None,
    dask: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler for the runs, or its scheduler file (.json).")
    ] = None,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Repeat the runs that failed.")] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Run a study: many runs of a scenario or a function.

    The study uses all cores, or a cluster. Run the same command again to continue a study that was interrupted or
    killed. It first repeats one finished run, to check that the results are still the same, and then makes the others.
    """
    from jostle.study import sweep as run_study
    from jostle.study.files import load_study

    chosen, folder = load_study(study), output or Path(study.stem)
    console = Console(stderr=True, quiet=quiet or as_json)
    if chosen.study.title and not console.quiet:
        say(chosen.study.title, error=True)
    begin = time.perf_counter()
    try:
        with _executor(dask) as executor, progress_bar(console) as bar:
            results = run_study(
                chosen.study, executor=executor, workers=workers, folder=folder, until=chosen.until,
                retry_failed=retry_failed, progress=bar,
            )  # fmt: skip
    except Interrupted as error:
        say(str(error).replace("the call", "the command"), error=True)
        raise
    if not quiet:
        found = {"folder": str(folder), **_counts(results), "seconds": time.perf_counter() - begin}
        show(found, as_json)
        if not as_json:
            show_summary(results)
            _remarks(results, folder)
    if results.failures:
        raise typer.Exit(EXIT_FAILED_RUNS)


@contextmanager
def _executor(address: str | None) -> Iterator[Executor | None]:
    """The executor of a Dask cluster, or None for processes of this machine."""
    if address is None:
        yield None
        return
    try:
        from distributed import Client
    except ImportError:
        raise missing("--dask needs the package distributed", "cluster") from None
    scheduler = {"scheduler_file": address} if address.endswith(".json") else {"address": address}
    with Client(**scheduler) as client:
        yield client.get_executor()


def _counts(results: Results) -> dict[str, Any]:
    found = {"cases": len(results.cases), "runs": len(results), "failed": len(results.failures)}
    if results.settled:
        found["settled_cases"] = sum(results.settled)
    return found | {"cpu_seconds": float(results.seconds.sum())}


def _remarks(results: Results, folder: Path) -> None:
    if results.settled and not all(results.settled):
        left = [str(case) for case, settled in enumerate(results.settled) if not settled]
        say(f"note: the rule of [until] does not hold for case {', '.join(left[:10])}: raise repeat", error=True)
    for number, error in list(results.failures.items())[:3]:
        say(f"note: run {number} failed: {error}", error=True)
    if not (folder / "table.parquet").exists():
        say(f"note: {missing('no Parquet files: the package pyarrow is missing', 'tables')}", error=True)
    say(f"the table: {folder / 'table.csv'}; the summary: {folder / 'summary.csv'}", error=True)


def show_summary(results: Results) -> None:
    """Print mean, confidence interval and quantiles of each case and measure."""
    columns = results.summaries()
    if not columns:
        return
    shown = {name: [words(cell) for cell in column.tolist()] for name, column in columns.items()}
    for name, ends in INTERVALS.items():
        shown[name] = [f"{low} to {high}" for low, high in zip(*(shown.pop(end) for end in ends), strict=True)]
    for name in ("failed", "std", "q50", *(["case"] if len(set(shown["case"])) == 1 else [])):
        shown.pop(name)
    table = Table(box=None, padding=(0, 1), title="means over the runs of each case", title_justify="left")
    for name in shown:
        short = name.rpartition(".")[2]
        alone = sum(other.rpartition(".")[2] == short for other in shown) == 1
        heading = plain(short if alone else name, sys.stdout.encoding)
        table.add_column(heading, justify="left" if name == "measure" else "right")
    rows = list(zip(*shown.values(), strict=True))
    show_table(table, rows[:MAX_SHOWN_ROWS])
    if len(rows) > MAX_SHOWN_ROWS:
        say(f"... and {len(rows) - MAX_SHOWN_ROWS} more rows")


def of_folder(folder: Path) -> tuple[dict[str, Any], Results]:
    """What a folder says about its study."""
    from jostle.io.new_files import being_written
    from jostle.study import read
    from jostle.study.journal import JOURNAL, description

    known, results = description(folder), read(folder)
    identity = known["identity"]
    requested = len(identity["cases"]) * known["repeat"]
    finished = "not finished; the same command continues it" if known["repetitions"] is None else "finished"
    running = being_written(folder / JOURNAL)
    found = {
        "title": known["title"], "status": "running" if running else finished, "runs_requested": requested,
        **_counts(results),
        "parameters": list(identity["cases"][0]), "measures": list(results.measures),
        "curves": list(identity["curves"]), "seed": identity["seed"], "function": identity.get("function", ""),
        "jostle": identity["jostle"],
    }  # fmt: skip
    return {key: item for key, item in found.items() if item not in ("", [])}, results
