"""Scenarios and trajectories: ``jostle list``, ``new``, ``info``, ``view``, ``plot``, ``report`` ..."""

from __future__ import annotations

import json
import os
import re
import tomllib
import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jostle.cli import sweeps
from jostle.cli.runs import SCENARIO, Json, checkpoint_of, of_trajectory
from jostle.cli.show import people, plain, say, show, show_rows, size
from jostle.errors import FileIsThere, InvalidValue, JostleError, MissingPackage

if TYPE_CHECKING:
    from jostle.crowds.model.crowd import Crowd
    from jostle.io import Images
    from jostle.result.solution import Solution


PICTURES = (".png", ".pdf", ".svg", ".svgz", ".eps", ".ps", ".jpg", ".jpeg", ".tif", ".tiff", ".webp")
"""File formats of pictures that `jostle plot` can write."""
Trajectory = Annotated[Path, typer.Argument(help="A trajectory, even one that is still being written.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace an existing file, but never a trajectory.")]
Colour = Annotated[
    str | None,
    typer.Option(
        "--colour",
        "--color",
        help="Quantity that the colours show: speed, force, pressure, contacts, radius, mass, group, number, x, vx "
        "...; for a density: density, pressure or speed. By default speed, or density.",
    ),
]


def output(what: str) -> Any:
    """The option for the file or folder that a command writes."""
    return typer.Option("--output", "-o", help=what)


Layer = Annotated[
    str | None,
    typer.Option(
        help="Map of a crowd over the whole run: density, worst density, level of service, speed, jam time, or force."
    ),
]


def list_(as_json: Json = False) -> None:
    """List the scenarios that come with jostle and with plug-ins."""
    from jostle.scenarios import names, shipped

    titles = {name: tomllib.loads(shipped(name)).get("title", "") for name in names()}
    if as_json:
        say(json.dumps(titles))
        return
    show_rows(titles.items())
    say("\nRun one with jostle run NAME; copy it to a file of your own with jostle new NAME.")


def new(
    name: Annotated[str, typer.Argument(help="A name from jostle list.")],
    file: Annotated[Path | None, output("The file to write; by default NAME.toml.")] = None,
) -> None:
    """Copy a scenario to a file of your own."""
    from jostle.scenarios import shipped

    text, target = shipped(name), file or Path(f"{name}.toml")
    try:
        with open(target, "x", encoding="utf-8") as copy:
            copy.write(text)
    except FileExistsError:
        raise FileIsThere(f"{target} exists; choose another name with -o") from None
    say(f"saved {target}; edit it, then run it with jostle run {target}")


def schema() -> None:
    """Print the JSON schema of scenario files. Editors use it to complete and check them."""
    from jostle.scenarios import schema as of_scenarios

    say(json.dumps(of_scenarios(), indent=2))


def info(
    file: Annotated[
        str, typer.Argument(help="A trajectory, a .toml file, the folder of a study, or a name from jostle list.")
    ],
    text: Annotated[bool, typer.Option("--scenario", help="Print the text of the scenario.")] = False,
    impacts: Annotated[bool, typer.Option("--impacts", help="Print the table of impacts of a trajectory.")] = False,
    as_json: Json = False,
) -> None:
    """Show what a trajectory, density, scenario or study contains."""
    if impacts:
        from jostle.io import read

        say(read(file).impacts())
        return
    if Path(file).is_dir():
        found_there, results = sweeps.of_folder(Path(file))
        show(found_there, as_json)
        if not as_json:
            sweeps.show_summary(results)
        return
    path = Path(file)
    is_trajectory = path.suffix == ".vtkhdf" or (path.suffix != ".toml" and path.is_file())
    found, told = _of_trajectory(path, text) if is_trajectory else _of_scenario(file, text)
    if isinstance(found, str):
        say(found, end="")
    else:
        show(found, as_json, told=told)


Found = tuple[dict[str, Any] | str, dict[str, str]]
"""Values, or the text of a scenario; and the values that need more than a number in the terminal."""


def _of_scenario(name: str, text: bool) -> Found:
    from jostle.crowds.model.crowd import Crowd
    from jostle.scenarios import load
    from jostle.study.files import is_study, study_description

    if name.endswith(".toml") and is_study(Path(name)):
        return Path(name).read_text(encoding="utf-8") if text else study_description(Path(name)), {}
    scenario = load(name)
    if text:
        return scenario.text, {}
    run, said = scenario.build(), dict[str, Any](title=scenario.title, kind=scenario.problem.kind)
    seconds = {"t": f"{run.t:g} s", "h": f"{run.h:g} s", "every": f"{run.every:g} s"}
    if run.is_density:
        problem = run.problem
        return said | {
            "cells": list(problem.grid.shape), "mass": problem.mass, "scheme": repr(run.scheme),
            "t": run.t, "h": run.h, "every": run.every, "steps": round(run.t / run.h),
        }, seconds | {"mass": f"{problem.mass:.4g} m² at the density one"}  # fmt: skip
    if isinstance(run.problem, Crowd):
        names = run.problem.groups
        said["groups"] = [f"{name}: {people(len(run.problem.members(name)))}" for name in names]
        said["behaviour"] = run.problem.behaviour
    return said | {
        "bodies": int(run.problem.q0.shape[0]),
        **({"law": repr(run.problem.law)} if run.problem.bodies.turn else {}),
        "scheme": type(run.scheme).__name__, "solver": run.scheme.solver.name, "tol": run.scheme.solver.tol,
        "t": run.t, "h": run.h, "every": run.every, "steps": round(run.t / run.h), "seed": scenario.seed,
    }, seconds  # fmt: skip


def _of_trajectory(path: Path, text: bool) -> Found:
    from jostle.io import about

    kept = about(path)
    if text:
        return kept.get(SCENARIO, ""), {}
    run, told = of_trajectory(path)
    found = {"title": kept.get("title", ""), **run}
    found["checkpoint"] = str(checkpoint_of(path)) if checkpoint_of(path).exists() else ""
    told["checkpoint"] = found["checkpoint"] and f"{found['checkpoint']} (`jostle resume {path}` continues from it)"
    return found | {name: value for name, value in kept.items() if name not in (SCENARIO, "title")}, told


def export(
    trajectory: Trajectory,
    target: Annotated[
        Path,
        output(
            "The file to write: .csv, .gsd (OVITO), .npz, .pvd and .vtp, .vtkhdf, for crowds .sqlite (JuPedSim) "
            "and .txt (PedPy), or the extension of a plug-in."
        ),
    ],
    overwrite: Overwrite = False,
) -> None:
    """Convert a trajectory for another program. The file name extension selects the format."""
    from jostle.io import export as exported

    if target.exists() and trajectory.exists() and os.path.samefile(target, trajectory):
        raise InvalidValue(f"{target} is the trajectory itself: choose another name")
    check_free(target, overwrite)
    if target.suffix in (".pvd", ".vtp"):
        for part in (target.with_suffix(".pvd"), target.with_name(f"{target.stem}_000000.vtp")):
            check_free(part, overwrite)
    say(exported(trajectory, target))


def view(
    trajectory: Trajectory,
    save: Annotated[Path | None, output("Save a self-contained HTML page and exit.")] = None,
    browser: Annotated[bool, typer.Option(help="Open the browser, or only print the address.")] = True,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the address; 0: a free port.")] = 0,
    overwrite: Overwrite = False,
) -> None:
    """Show a trajectory or a moving density in the browser. Ctrl-C ends the command.

    It follows a file that is still being written. The page comes from a server that only this machine can reach, and
    that serves only this file.
    """
    from jostle.io import about
    from jostle.terminal import progress_bar
    from jostle.viz import page, serve
    from jostle.viz.sources import target_for
    from jostle.viz.viewer import PAGES

    title = plain(about(trajectory).get("title", "") or trajectory.stem)
    if save is not None:
        check_free(target_for(save, "a page", PAGES, trajectory), overwrite)
        with progress_bar() as bar:
            say(page(shown(trajectory), save, title=title, progress=bar))
        return
    with serve(shown(trajectory), title=title, port=port) as server, suppress(KeyboardInterrupt):
        say(server.address)
        opened = browser and webbrowser.open(server.address)
        hint = "" if opened else "Open this address in a browser on this machine. "
        say(f"{hint}Ctrl-C ends the command.")
        server.wait()


def plot(
    trajectory: Annotated[
        Path,
        typer.Argument(
            help="A trajectory, even one that is still being written, or a crowd scenario, to draw its floor plan."
        ),
    ],
    save: Annotated[
        Path | None,
        output("Picture file; by default NAME.png, NAME-plan.png, or NAME- and the name of the layer."),
    ] = None,
    moments: Annotated[int, typer.Option(min=1, help="Number of moments to show side by side.")] = 3,
    at: Annotated[
        list[float] | None,
        typer.Option(metavar="<float>", help="Time to show, instead of --moments; may be repeated."),
    ] = None,
    dpi: Annotated[int, typer.Option(min=20, max=2400, help="Resolution in dots per inch.")] = 130,
    colour: Colour = None,
    layer: Layer = None,
    overwrite: Overwrite = False,
) -> None:
    """Save a picture of a trajectory, density or floor plan."""
    from jostle.crowds.model.crowd import Crowd
    from jostle.io import Images
    from jostle.io.new_files import whole
    from jostle.viz.sources import need_matplotlib, target_for

    need_matplotlib("pictures")
    import matplotlib

    matplotlib.use("Agg")
    from jostle.plans.stored import plan_of
    from jostle.viz import densities, plan, plans, strip

    is_scenario = trajectory.suffix == ".toml" or is_shipped(trajectory)
    kind = "-plan" if is_scenario else "" if layer is None else f"-{layer.replace(' ', '-')}"
    wanted = target_for(save or beside(trajectory, f"{kind}.png"), "a picture", PICTURES, trajectory)
    check_free(wanted, overwrite)
    run = people_of(str(trajectory)) if is_scenario else shown(trajectory)
    if layer is not None and colour is not None:
        raise InvalidValue("--layer draws a map of the whole run and --colour single frames: use one of them")
    if layer is not None and at:
        raise InvalidValue("--layer draws a map of the whole run and --at single frames: use one of them")
    shown_at: int | list[float] = at or moments
    figure: Any
    if isinstance(run, Crowd):
        if layer is not None or colour is not None or at:
            raise InvalidValue(f"{trajectory} is a scenario: --layer, --colour and --at are for its run")
        figure = plan(run).figure
    elif isinstance(run, Images):
        if layer is not None:
            raise InvalidValue(f"{trajectory} contains a density: --layer is for runs of people")
        figure = densities(run, shown_at, colour=colour or "density")
    elif layer is not None:
        need_plan(run, trajectory, "--layer")
        figure = plan(run, layer=layer).figure
    elif colour is None and plan_of(run) is not None:
        try:
            figure = plans(run, shown_at)
        except MissingPackage:  # people without a floor plan need no shapely
            figure = strip(run, shown_at, colour="speed")
    else:
        figure = strip(run, shown_at, colour=colour or "speed")
    with whole(wanted) as new:
        figure.savefig(new, format=wanted.suffix[1:].lower(), dpi=dpi, bbox_inches="tight")
    say(wanted)


def is_shipped(file: Path) -> bool:
    """Whether this is the name of a scenario from ``jostle list``, and not a file.

    >>> is_shipped(Path("evacuation")), is_shipped(Path("evacuation.vtkhdf"))
    (True, False)
    """
    from jostle.scenarios import names

    return not file.exists() and str(file) in names()


def people_of(name: str) -> Crowd:
    """The people of a scenario, on their plan."""
    from jostle.crowds.model.crowd import Crowd
    from jostle.scenarios import load

    run = load(name).build()
    if not isinstance(run.problem, Crowd):
        raise InvalidValue(f"{name} has no floor plan: run it with `jostle run {name}`, and plot its trajectory")
    return run.problem


def need_plan(run: Solution, trajectory: Path, asked: str) -> None:
    """Raise `InvalidValue` if a trajectory contains no floor plan, which a command or an option needs."""
    from jostle.plans.stored import plan_of

    if plan_of(run) is None:
        raise InvalidValue(
            f"{trajectory} has no floor plan, and {asked} is for people on one: run a scenario of kind 'crowd'. "
            f"See `jostle info {trajectory}`"
        )


def check_free(target: Path, overwrite: bool) -> None:
    """Raise `FileIsThere` if the target exists and must not be replaced; a trajectory is never replaced."""
    from jostle.io import about

    if not os.path.lexists(target):
        return
    if not overwrite:
        raise FileIsThere(f"{target} exists already: replace it with --overwrite, or choose another name")
    try:
        about(target)
    except JostleError:  # it is not a trajectory
        return
    raise FileIsThere(f"{target} is a trajectory, which is never replaced: choose another name")


def beside(trajectory: Path, suffix: str) -> Path:
    """The default name of a file made from a trajectory, in the same folder.

    >>> beside(Path("runs/silo.vtkhdf"), ".png").as_posix()
    'runs/silo.png'
    """
    return trajectory.parent / f"{trajectory.stem}{suffix}"


def shown(file: Path) -> Solution | Images:
    """What the viewer, pictures and films show: the solution in a trajectory, or the fields of a moving density."""
    from jostle.io import are_images, read, read_images

    return read_images(file) if are_images(file) else read(file)


# ``jostle dev repair``: repairs a trajectory whose run was killed.


def repair(
    trajectory: Annotated[Path, typer.Argument(help="Trajectory of a run that was killed.")],
    target: Annotated[Path | None, output("The repaired trajectory; by default NAME.repaired.vtkhdf.")] = None,
    in_place: Annotated[bool, typer.Option("--in-place", help="Repair the trajectory itself.")] = False,
) -> None:
    """Repair a trajectory of a killed run, or without its end.

    VTK and ParaView can open the repaired file; jostle itself can also read the original. Every complete frame is
    kept. The original does not change unless --in-place is given. A trajectory that needs no repair is not copied.
    """
    from jostle.io import repair as repaired

    if in_place and target is not None:
        raise InvalidValue("give either a file to write or --in-place, not both")
    made = None if in_place else target or beside(trajectory, ".repaired.vtkhdf")
    changed = repaired(trajectory, made)
    times = shown(made if changed and made else trajectory).t
    kept = f"{len(times)} frames, up to t = {times[-1]:g}"
    if not changed:
        say(f"{trajectory} needs no repair: {kept}")
        return
    say(f"repaired {trajectory}: {kept}" if made is None else f"saved {made}: {kept}; {trajectory} is unchanged")
    if checkpoint_of(trajectory).exists():
        say(f"continue the run with jostle resume {trajectory}", error=True)


# ``jostle movie``: save a trajectory as a film.


def movie(
    trajectory: Trajectory,
    target: Annotated[Path | None, output("Film file, .mp4 or .gif; by default NAME.mp4.")] = None,
    speed: Annotated[float, typer.Option(help="Playback speed: 0.1 is ten times slower than the run.")] = 1.0,
    colour: Colour = None,
    size: Annotated[
        str | None, typer.Option(metavar="WIDTHxHEIGHT", help="Size in pixels, such as 1280x720; by default to fit.")
    ] = None,
    fps: Annotated[int, typer.Option(min=1, max=100, help="Number of frames per second.")] = 25,
    overwrite: Overwrite = False,
) -> None:
    """Save a film of a trajectory or of a moving density."""
    from jostle.terminal import progress_bar
    from jostle.viz.films import KINDS
    from jostle.viz.sources import need_matplotlib, target_for

    need_matplotlib("films", "movie")
    from jostle.viz.movie import animate

    wanted = target_for(target or beside(trajectory, ".mp4"), "a film", KINDS, trajectory)
    check_free(wanted, overwrite)
    pixels = None if size is None else _pixels(size)
    with progress_bar() as bar:
        made = animate(shown(trajectory), wanted, speed=speed, colour=colour, size=pixels, fps=fps, progress=bar)
    say(made)


def _pixels(size: str) -> tuple[int, int]:
    """The width and the height of a size such as 1280x720."""
    found = re.fullmatch(r"([0-9]{2,4})x([0-9]{2,4})", size)
    if found is None or int(found[1]) % 2 or int(found[2]) % 2:
        raise InvalidValue(f"--size must be two even numbers of pixels, such as 1280x720, not {size!r}")
    return int(found[1]), int(found[2])


# ``jostle report``: the report of a crowd as one HTML page.


def report(
    trajectory: Annotated[
        Path,
        typer.Argument(help="A trajectory, or with --runs a crowd scenario: a .toml file or a name from jostle list."),
    ],
    target: Annotated[Path | None, output("Report file, .html; by default NAME.html.")] = None,
    author: Annotated[str, typer.Option(help="Name of the author, which the report shows.")] = "",
    film: Annotated[bool, typer.Option(help="Put the film into the report of a trajectory.")] = True,
    runs: Annotated[
        int | None, typer.Option(min=1, help="Number of runs of a scenario, which differ in their seeds.")
    ] = None,
    aset: Annotated[
        float | None,
        typer.Option(min=0.0, help="Available safe egress time (s), with which the slowest run is compared."),
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Save a report about a crowd as one HTML file.

    The report of a trajectory has the plan, a film, curves, maps, tables, assumptions and versions. The report of a
    scenario with --runs is one page of A4: times over all runs with their interval, the slowest run, exits and jams.
    """
    from jostle.io import are_images, read
    from jostle.viz.sources import need_matplotlib, target_for
    from jostle.viz.viewer import PAGES

    need_matplotlib("reports")
    import matplotlib

    matplotlib.use("Agg")
    from jostle.viz import report as written

    if trajectory.suffix == ".toml" or is_shipped(trajectory):
        _report_runs(trajectory, target, author, runs, aset, overwrite)
        return
    if runs is not None or aset is not None:
        raise InvalidValue(f"--runs and --aset are for scenarios, and {trajectory} is a trajectory, which is one run")
    if are_images(trajectory):
        raise InvalidValue(f"{trajectory} contains a density, not people: see jostle info {trajectory}")
    wanted = target_for(target or beside(trajectory, ".html"), "a report", PAGES, trajectory)
    check_free(wanted, overwrite)
    run = read(trajectory)
    need_plan(run, trajectory, "jostle report")
    made = written(run, wanted, author=author, film=film)
    say(f"{made} ({size(made.stat().st_size)})")


def _report_runs(
    scenario: Path, target: Path | None, author: str, runs: int | None, aset: float | None, overwrite: bool
) -> None:
    """The report of many runs of a scenario."""
    from rich.console import Console

    from jostle.study import report_crowd
    from jostle.terminal import progress_bar
    from jostle.verification import KNOWN_FAILURES
    from jostle.viz.sources import target_for
    from jostle.viz.viewer import PAGES

    if runs is None:
        raise InvalidValue(f"{scenario} is a scenario: give a number of runs, such as --runs 20, or a trajectory")
    wanted = target_for(target or Path(f"{scenario.stem}.html"), "a report", PAGES, scenario)
    check_free(wanted, overwrite)
    failed = [f"{name} ({how})" for name, how in KNOWN_FAILURES.items()]
    with progress_bar(Console(stderr=True)) as bar:
        made = report_crowd(str(scenario), wanted, runs=runs, aset=aset, author=author, failed=failed, progress=bar)
    say(f"{made} ({size(made.stat().st_size)})")
