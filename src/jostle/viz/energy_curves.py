"""Curves of energies over time, and of the balance of energy."""

from __future__ import annotations

from typing import cast

import numpy as np
from matplotlib.axes import Axes

from jostle.arguments import check_arguments
from jostle.viz.curves import hits
from jostle.viz.density_pictures import HEADROOM
from jostle.viz.field_values import ShownDensity, density_in
from jostle.viz.sources import Shown, solution
from jostle.viz.style import axes, legend, pen


@check_arguments
def energies(sol: Shown | ShownDensity, *, ax: Axes | None = None) -> Axes:
    """Plot the kinetic energy over time, and the potential and total energy if the force is constant.

    For a moving density only the kinetic energy is plotted.

    Parameters
    ----------
    sol : Solution, EventSolution, Evolution, Images, str or path
        A solution, the run of a density, or the name of a file.
    ax : matplotlib Axes, optional
        Where to draw. None: a new figure.

    Returns
    -------
    matplotlib Axes
        The Axes with the plot.

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
    images = density_in(sol)
    if images is not None:
        ax = axes(ax)
        ax.plot(images.t, images.totals["energy"], label="kinetic", linewidth=1.3, **pen(0))
        most = float(images.totals["energy"].max()) or 1.0
        ax.set(xlabel="$t$", ylabel="kinetic energy", ylim=(0.0, HEADROOM * most))
        return ax
    sol = solution(cast("Shown", sol))
    energy, ax = sol.energy(), axes(ax)
    hit = hits(sol)
    keep = np.ones(len(sol.t), dtype=bool)
    keep[np.intersect1d(hit + 1, hit)] = False  # the velocity between the two steps of an impact has no meaning
    curves = {r"kinetic $\frac{1}{2}|u|_M^2$": energy.kinetic}
    if energy.potential is not None and energy.total is not None:
        curves |= {r"potential $-f \cdot q$": energy.potential, "total": energy.total}
    for number, (name, values) in enumerate(curves.items()):
        ax.plot(sol.t[keep], values[keep], label=name, linewidth=1.3, **pen(number))
    ax.set(xlabel="$t$", ylabel="energy")
    legend(ax, list(curves))
    return ax


@check_arguments
def balance(sol: Shown, *, ax: Axes | None = None) -> Axes:
    """Plot the energy balance over time: kinetic energy, work of forces and moving walls, dissipated energy, and error.

    Parameters
    ----------
    sol : Solution, EventSolution, str or path
        A solution, or the name of a trajectory file.
    ax : matplotlib Axes, optional
        Where to draw. None: a new figure.

    Returns
    -------
    matplotlib Axes
        The Axes with the plot.

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
    for number, (name, values) in enumerate(curves.items()):
        ax.plot(found.t, values, label=name, linewidth=1.3, **pen(number))
    ax.set(xlabel="$t$", ylabel="energy")
    ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return ax
