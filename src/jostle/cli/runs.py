"""``jostle run``, ``resume`` and ``dev verify``: the commands that compute."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from rich.console import Console
from rich.table import Table

from jostle.cli.show import answers, density_in_words, density_summary, in_words, say, show, show_table, summary
from jostle.errors import FileIsThere, Interrupted, InvalidValue, NoSuchFile
from jostle.kernels.devices import ARRAYS
from jostle.result.status import BLOCKED, FINISHED, NOT_CONVERGED, STOPPED
from jostle.terminal import progress_bar

if TYPE_CHECKING:
    from jostle.scenarios.scenario import Scenario


EXIT_CODES = {NOT_CONVERGED: 3, BLOCKED: 4}
"""Exit codes of runs that ended without success, by their status."""
ENDED = (FINISHED, STOPPED, BLOCKED)
"""Status of runs that have nothing left to compute."""
DURATION = re.compile(r"^# (It takes .*)$", re.M)
"""Comment of a scenario that comes with jostle about its computing time."""
SCENARIO = "scenario"
"""Key under which a trajectory stores the text of its scenario."""


def scenario_names(incomplete: str) -> list[str]:
    """Names from jostle list, and .toml files in this folder, that begin with these letters; shells complete them."""
    from jostle.scenarios import names

    return sorted(name for name in (*names(), *map(str, Path().glob("*.toml"))) if name.startswith(incomplete))


Source = Annotated[str, typer.Argument(help="A .toml file, or a name from jostle list.", autocompletion=scenario_names)]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="Change a value of the scenario, such as run.h=0.001; may be repeated."
    ),
]
Seed = Annotated[int | None, typer.Option(help="Replace the seed of the scenario.")]
Threads = Annotated[int | None, typer.Option(help="Number of threads; by default one for each core.")]
Device = Annotated[str, typer.Option(help="Device to compute on: cpu or cuda.")]
Seconds = Annotated[float, typer.Option("--checkpoint", help="Time between two checkpoints, in seconds.")]
Target = Annotated[Path | None, typer.Option("--output", "-o", help="Trajectory file; by default NAME.vtkhdf.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as one line of JSON.")]


def run(
    scenario: Source,
    output: Target = None,
    settings: Settings = None,
    seed: Seed = None,
    threads: Threads = None,
    device: Device = "cpu",
    checkpoint: Seconds = 60.0,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing trajectory.")] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Run a scenario and save its trajectory."""
    from jostle.io.new_files import check_trajectory_name
    from jostle.scenarios import load

    chosen = load(scenario, settings=settings or (), seed=seed)
    target = output or Path(f"{Path(chosen.name).stem}.vtkhdf")
    check_trajectory_name(target)
    if os.path.lexists(target) and not overwrite:
        raise FileIsThere(
            f"{target} exists; continue it with `jostle resume {target}`, replace it with --overwrite, or choose "
            f"another name with --output"
        )
    told = None if settings or scenario.endswith(".toml") else DURATION.search(chosen.text)
    how = Compute(threads, device, checkpoint, quiet, as_json, overwrite)
    _compute(chosen, target, how, resume=False, duration=told[1] if told else "")


def resume(
    trajectory: Annotated[Path, typer.Argument(help="Trajectory of a run that was interrupted or killed.")],
    settings: Settings = None,
    threads: Threads = None,
    device: Device = "cpu",
    checkpoint: Seconds = 60.0,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Continue a run from its last checkpoint. The result is bit-identical to an uninterrupted run.

    --set run.t=20 extends the run. Only the times and `until` of the table [run] may change. The trajectory records
    each change, and jostle info shows it.
    """
    from jostle.io import about, repair
    from jostle.scenarios import parse

    words = about(trajectory)
    if SCENARIO not in words:
        raise InvalidValue(
            f"{trajectory} was not written by `jostle run`; resume it in Python with jo.io.Output(..., resume=True)"
        )
    if not checkpoint_of(trajectory).exists():
        raise NoSuchFile(
            f"no checkpoint {checkpoint_of(trajectory)}: the run stopped before the first one; start it again with "
            f"`jostle run --overwrite`"
        )
    repair(trajectory)
    chosen = parse(words[SCENARIO], str(trajectory), settings=settings or ())
    how = Compute(threads, device, checkpoint, quiet, as_json)
    if not settings:
        found, told = of_trajectory(trajectory)
        if found["status"] in ENDED or found["t"] >= chosen.run.t:
            if not quiet:
                say(f"note: {trajectory} is finished: {found['message']}. Nothing was computed", error=True)
            _show_result({"file": str(trajectory), **found}, told, trajectory, how)
            return
    _compute(chosen, trajectory, how, resume=True)


class Compute(NamedTuple):
    """Options of the commands that compute."""

    threads: int | None
    device: str
    seconds: float
    quiet: bool
    as_json: bool
    overwrite: bool = False


def checkpoint_of(trajectory: Path) -> Path:
    """The checkpoint that belongs to a trajectory: x.checkpoint for x.vtkhdf, x.h5.checkpoint for x.h5."""
    if trajectory.suffix == ".vtkhdf":
        return trajectory.with_suffix(".checkpoint")
    return trajectory.with_name(f"{trajectory.name}.checkpoint")


def _use(threads: int | None, device: str = "cpu") -> None:
    """Check the device, and set the number of threads."""
    if device not in ARRAYS:
        raise InvalidValue(f"device {device!r} is not supported; use {' or '.join(map(repr, ARRAYS))}")
    if threads is not None:
        from jostle.kernels.parallel import most_threads, use_threads

        if not 1 <= threads <= (most := most_threads()):
            raise InvalidValue(f"threads must be between 1 and {most}, the number of cores, not {threads}")
        use_threads(threads)


def _say_what_was_written(trajectory: Path, checkpoint: Path) -> None:
    """Tell what each file of a finished run is for, and what to do with it."""
    say(f"{trajectory}: the trajectory", error=True)
    say(f"  view it in the browser: jostle view {trajectory}; save a picture: jostle plot {trajectory}", error=True)
    if checkpoint.exists():
        say(f"{checkpoint}: the last state; you can delete it, unless you want to make the run longer", error=True)
        say(f"  make the run longer: jostle resume {trajectory} --set run.t=...", error=True)


def _compute(scenario: Scenario, target: Path, how: Compute, *, resume: bool, duration: str = "") -> None:
    """Run a scenario with a progress bar, save its trajectory, and print a summary."""
    from jostle.io import SI, Output

    _use(how.threads, how.device)
    console = Console(stderr=True, quiet=how.quiet or how.as_json)
    built = scenario.build()
    if scenario.title and not console.quiet:
        say(scenario.title, error=True)
    if duration and not console.quiet:
        say(duration, error=True)
    output = Output(
        target,
        contacts=scenario.output.contacts,
        dtype=scenario.output.precision,
        about={SCENARIO: scenario.text, "title": scenario.title, "seed": str(scenario.seed)},
        overwrite=how.overwrite,
        units=SI,
        checkpoint=checkpoint_of(target),
        resume=resume,
        seconds=how.seconds,
    )
    begin = time.perf_counter()
    try:
        with progress_bar(console) as bar:
            if not built.is_density:
                sol = built.solve(device=how.device, output=output, progress=bar)
                found, told = summary(sol, target) | answers(sol), in_words(sol)
            elif how.device == "cpu":
                built.solve(output=output, progress=bar)
                found, told = of_trajectory(target)
            else:
                raise InvalidValue(f"densities are computed on the CPU only, not on {how.device!r}")
    except Interrupted as error:
        say(f"{error}: jostle resume {target}", error=True)
        raise
    seconds = time.perf_counter() - begin
    found = {"file": str(target), **found, "seconds": seconds, "steps_a_second": bar.steps / max(seconds, 1e-9)}
    _show_result(found, told | {"seconds": f"{seconds:.3g} s"}, target, how)


def of_trajectory(path: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """The summary of a trajectory, and its values that need more than a number in the terminal."""
    from jostle.io import are_images, read, read_images

    if are_images(path):
        images = read_images(path)
        return density_summary(images, path), density_in_words(images)
    sol = read(path)
    return summary(sol, path) | answers(sol), in_words(sol)


def _show_result(found: dict[str, Any], told: dict[str, str], target: Path, how: Compute) -> None:
    """Print the summary of a run, and end with its exit code."""
    if not how.quiet:
        show(found, how.as_json, told=told)
        if not how.as_json:
            _say_what_was_written(target, checkpoint_of(target))
    blocked = found.get("crowd", {}).get("blocked", False)
    status = BLOCKED if blocked and found["status"] not in EXIT_CODES else found["status"]
    if status in EXIT_CODES:
        raise typer.Exit(EXIT_CODES[status])


# ``jostle dev verify``: the tests of guidelines for crowds.


def verify(
    guideline: Annotated[str, typer.Argument(help="RiMEA, IMO, ISO or NIST; by default all.")] = "",
    as_json: Json = False,
) -> None:
    """Run the verification tests of guidelines for crowds.

    The guidelines are RiMEA 4.1.1, IMO MSC.1/Circ.1533, ISO 20414 (2020) and NIST Technical Note 1822. The command
    prints the definition, the expected result, our result and the verdict of each test, and takes a few minutes. The
    exit code is 0 even if tests fail or do not apply.
    """
    from jostle.verification import EDITIONS
    from jostle.verification import verify as verified

    named = {name.lower(): name for name in EDITIONS}
    lines = verified(named.get(guideline.lower(), guideline))
    if as_json:
        say(json.dumps([{k: v for k, v in line._asdict().items() if k != "sol"} for line in lines]))
        return
    table = Table("test", "definition", "expected", "result", "verdict", box=None, padding=(0, 1))
    show_table(table, ((f"{line.guideline} {line.number}", *line[2:6]) for line in lines))
    for name in dict.fromkeys(line.guideline for line in lines):
        say(f"{name}: {EDITIONS[name]}")
    counts = {verdict: sum(line.verdict == verdict for line in lines) for verdict in ("pass", "fail", "not applicable")}
    say(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
