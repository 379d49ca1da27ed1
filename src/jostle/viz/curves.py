"""Curves of a `Solution`: coordinates over time, paths in the plane, phase portraits, impacts, energies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

from jostle._tools.arguments import Finite
from jostle._tools.arrays import Array, Integers
from jostle._tools.colours import BLUE, VERMILION
from jostle.crowds.measure.moves import jumps
from jostle.errors import InvalidValue
from jostle.io.images import Images
from jostle.result.solution import Solution
from jostle.viz.drawing import AZIMUTH, ELEVATION, Picture, refuse_space
from jostle.viz.figures import HEADROOM, MARGIN, figure_for
from jostle.viz.sources import (
    ENERGY,
    IMPULSE,
    LENGTH,
    TIME,
    VELOCITY,
    Shown,
    ShownDensity,
    Unit,
    run_of,
    solution,
    with_unit,
)
from jostle.viz.style import axes, legend, pen, plot

WRAPPED = 0.5
"""A body that moves by more than this fraction of a period between two frames has crossed an end of the cell."""


@plot
def history(sol: Shown, *, ax: Axes | None = None) -> Axes:
    """Plot each coordinate of q over time.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import jostle as jo
    >>> ax = history(jo.solve(jo.models.cradle(3, gap=0.1), jo.Paoli(), t=2.0, h=0.01))
    >>> [line.get_label() for line in ax.lines], ax.get_xlabel()
    (['$q_{1}$', '$q_{2}$', '$q_{3}$'], '$t$')
    >>> plt.close(ax.figure)
    """
    sol, ax = solution(sol), axes(ax)
    names = _names("q", sol.q.shape[1:])
    _plot(ax, sol.t, dict(zip(names, _rows(sol.q).T, strict=True)))
    ax.set(xlabel=_label("$t$", sol, TIME), ylabel=_label(names[0] if len(names) == 1 else "$q$", sol, LENGTH))
    legend(ax, names)
    return ax


@plot
def paths(sol: Shown, *, ax: Axes | None = None, view: tuple[Finite, Finite] = (AZIMUTH, ELEVATION)) -> Axes:
    """Plot the paths of all bodies, with the walls and a dot at each start.

    A path is interrupted where a body crosses the end of a periodic cell or takes stairs.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import jostle as jo
    >>> ax = paths(jo.solve(jo.models.labyrinth(), jo.Venel(), t=5.0, h=0.01))
    >>> len(ax.lines[0].get_xdata()), ax.get_aspect()
    (501, 1.0)
    >>> plt.close(ax.figure)
    """
    refuse_space(ax)
    sol = solution(sol)
    picture = Picture.of(sol, [0, len(sol.t) - 1], "speed", view)
    scene = picture.scene
    everywhere = scene.everywhere()
    seen = picture.flat(everywhere)[..., :2]
    limits = picture.limits.holding(seen.reshape(-1, 2))
    box = picture.box.holding(everywhere.reshape(-1, scene.d)).wider(MARGIN)
    picture = replace(picture, box=box, limits=box if scene.d == 2 else limits)
    if ax is None:
        ax = figure_for(picture).subplots()
    in_plane = sol.q.ndim == 3 and sol.q.shape[2] == 2
    stairs = jumps(sol) if in_plane else np.zeros((len(sol.t) - 1, scene.bodies), dtype=bool)
    for number in range(scene.bodies):
        way, colour = seen[:, number], pen(number)["color"]
        through = np.abs(np.diff(everywhere[:, number, : scene.dimension], axis=0)) > WRAPPED * scene.period
        ends = np.flatnonzero(through.any(axis=1) | stairs[:, number]) + 1
        ax.plot(*np.insert(way, ends, np.nan, axis=0).T, color=colour, linewidth=1.2, zorder=3)
        ax.plot(*way[np.isfinite(way).all(axis=1)][:1].T, "o", color=colour, markersize=4.0, zorder=3)
    picture.walls(ax, float(sol.t[-1]), picture.box)
    picture.settle(ax)
    return ax


@plot
def phase(sol: Shown, coordinate: int = 0, *, ax: Axes | None = None) -> Axes:
    """Plot the phase portrait (q_k, u_k) of one coordinate; jumps of the velocity are thin lines.

    Parameters
    ----------
    coordinate : int, default 0
        Number k of the coordinate, from 0.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import jostle as jo
    >>> ax = phase(jo.solve(jo.models.impact_oscillator(), jo.Paoli(), t=20.0, h=0.01))
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('$q$', '$u$')
    >>> plt.close(ax.figure)
    """
    sol = solution(sol)
    q, u = _rows(sol.q), _rows(sol.u)
    if not 0 <= coordinate < q.shape[1]:
        raise InvalidValue(f"coordinate must be a number from 0 to {q.shape[1] - 1}, not {coordinate}")
    ax = axes(ax, (4.8, 4.0))
    x, v = q[:, coordinate], u[:, coordinate]
    hit = hits(sol)
    ax.plot(np.insert(x, hit + 1, np.nan), np.insert(v, hit + 1, np.nan), color=BLUE, linewidth=1.1)
    jumps = [np.stack([each[hit], each[hit + 1], np.full(len(hit), np.nan)], axis=1).ravel() for each in (x, v)]
    ax.plot(*jumps, color=VERMILION, linewidth=0.6, zorder=1)
    names = [_names(letter, sol.q.shape[1:])[coordinate] for letter in "qu"]
    ax.set(xlabel=_label(names[0], sol, LENGTH), ylabel=_label(names[1], sol, VELOCITY))
    return ax


@plot
def impacts(sol: Shown, *, ax: Axes | None = None) -> Axes:
    """Plot each impact as a bar at its time, with its impulse as height.

    Parameters
    ----------
    sol : Solution, EventSolution, str or path
        The solution of a second-order problem, or the name of its file.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import jostle as jo
    >>> ball = jo.Motion(q0=[1.0], force=[-10.0], within=jo.HalfSpace([1.0]), law=jo.Restitution(0.5))
    >>> ax = impacts(jo.solve(ball, jo.Paoli(), t=1.0, h=0.01))
    >>> ax.lines[0].get_ydata().round(2).tolist()
    [6.87, 3.46]
    >>> plt.close(ax.figure)
    """
    sol = solution(sol)
    found, ax = sol.impacts(), axes(ax)
    bars = np.stack([np.stack([found.t, 0.0 * found.t], 1), np.stack([found.t, found.impulse], 1)], axis=1)
    ax.add_collection(LineCollection(list(bars), colors=BLUE, linewidths=1.0))
    ax.plot(found.t, found.impulse, "o", color=BLUE, markersize=3.5)
    ax.set(xlabel=_label("$t$", sol, TIME), ylabel=_label("impulse $p$", sol, IMPULSE), xlim=(sol.t[0], sol.t[-1]))
    ax.set_ylim(bottom=0.0)
    return ax


def _label(name: str, sol: Solution, unit: Unit) -> str:
    """A label with its unit, where it is known; coordinates that are not those of bodies may have any unit."""
    return with_unit(name, sol.facts.units, unit) if sol.facts.dimension or unit == TIME else name


def _plot(ax: Axes, t: Array, curves: Mapping[str, Array]) -> None:
    """Plot curves over time, by their names in the legend."""
    for number, (name, values) in enumerate(curves.items()):
        ax.plot(t, values, label=name, linewidth=1.3, **pen(number))


def _rows(values: Array) -> Array:
    """(k, N): one row per frame, read from the file if needed."""
    return np.asarray(values).reshape(len(values), -1)


def hits(sol: Solution) -> Integers:
    """(m,): the intervals between saved times during which there was an impact, numbered by their first time."""
    if sol.recorded is None or len(sol.t) < 2:
        return np.zeros(0, dtype=np.int64)
    t = sol.recorded.faster_than(-np.inf).t
    interval = np.searchsorted(sol.t, t) - 1
    # the second step of an impact at the end of an interval is in the next one
    at_end = sol.t[np.minimum(interval + 1, len(sol.t) - 1)] == t
    found = np.unique(np.concatenate([interval, interval[at_end] + 1]))
    return np.asarray(found[(found >= 0) & (found < len(sol.t) - 1)], dtype=np.int64)


def _names(letter: str, shape: tuple[int, ...]) -> list[str]:
    """The coordinates as the papers write them: q, or q_1, q_2 ..., or q_{1,x}, q_{1,y} ..."""
    if len(shape) < 2:
        count = int(np.prod(shape))
        return [f"${letter}$"] if count == 1 else [f"${letter}_{{{k + 1}}}$" for k in range(count)]
    return [f"${letter}_{{{k + 1},{axis}}}$" for k in range(shape[0]) for axis in "xyz"[: shape[1]]]


# Curves of energies over time, and of the balance of energy.


@plot
def energies(sol: Shown | ShownDensity, *, ax: Axes | None = None) -> Axes:
    """Plot the kinetic energy over time, and the potential and total energy if the force is constant.

    For a moving density only the kinetic energy is plotted.

    Parameters
    ----------
    sol : Solution, EventSolution, Evolution, Images, str or path
        A solution, the run of a density, or the name of a file.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import jostle as jo
    >>> ball = jo.Motion(q0=[1.0], force=[-10.0], within=jo.HalfSpace([1.0]))
    >>> ax = energies(jo.solve(ball, jo.Maury(), t=1.0, h=0.01))
    >>> [line.get_label().split()[0] for line in ax.lines]
    ['kinetic', 'potential', 'total']
    >>> plt.close(ax.figure)
    """
    run = run_of(sol)
    if isinstance(run, Images):
        ax = axes(ax)
        _plot(ax, run.t, {"kinetic": run.totals["energy"]})
        most = float(run.totals["energy"].max()) or 1.0
        ax.set(xlabel=with_unit("$t$", run.units, TIME), ylabel="kinetic energy", ylim=(0.0, HEADROOM * most))
        return ax
    energy, ax = run.energy(), axes(ax)
    hit = hits(run)
    keep = np.ones(len(run.t), dtype=bool)
    keep[np.intersect1d(hit + 1, hit)] = False  # the velocity between the two steps of an impact has no meaning
    curves = {r"kinetic $\frac{1}{2}|u|_M^2$": energy.kinetic}
    if energy.potential is not None and energy.total is not None:
        curves |= {r"potential $-f \cdot q$": energy.potential, "total": energy.total}
    _plot(ax, run.t[keep], {name: values[keep] for name, values in curves.items()})
    ax.set(xlabel=_label("$t$", run, TIME), ylabel=_label("energy", run, ENERGY))
    legend(ax, list(curves))
    return ax


@plot
def balance(sol: Shown, *, ax: Axes | None = None) -> Axes:
    """Plot the energy balance over time: kinetic energy, work of forces and moving walls, dissipated energy, and error.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import jostle as jo
    >>> ball = jo.Motion(q0=[1.0], force=[-10.0], within=jo.HalfSpace([1.0]), law=jo.Restitution(0.5))
    >>> ax = balance(jo.solve(ball, jo.MoreauJean(), t=1.0, h=0.01))
    >>> [line.get_label() for line in ax.lines]
    ['kinetic', 'work of forces', 'work of moving walls', 'dissipated', 'error']
    >>> plt.close(ax.figure)
    """
    sol = solution(sol)
    found, ax = sol.energy_balance(), axes(ax)
    curves = {
        "kinetic": found.kinetic, "work of forces": found.work_of_forces, "work of moving walls": found.work_of_walls,
        "dissipated": found.dissipated, "error": found.error,
    }  # fmt: skip
    _plot(ax, found.t, curves)
    ax.set(xlabel=_label("$t$", sol, TIME), ylabel=_label("energy", sol, ENERGY))
    ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return ax
