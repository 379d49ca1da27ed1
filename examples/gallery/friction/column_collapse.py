"""
A column of grains collapses
============================

Discs in a column of width :math:`L` and height :math:`a L` stand between a wall and a
gate. The gate moves away, and the column spreads on the floor, held back by friction. In
experiments in narrow channels the front stops :math:`1.2\\,a L` from where it was, if
:math:`a < 2.3` (Lube and others 2005, Lajeunesse and others 2005). Round discs with
friction alone spread about :math:`2\\,a L` here (:math:`2.5\\,a L` in the simulations of
Staron and Hinch 2005), and some still roll when the run ends. A little rolling
resistance, 6 % of the radius, brings them to about :math:`1.0\\,a L`: that number was
chosen, not measured. The front is where the last twentieth of the grains
begins, because single grains run ahead.
"""

import matplotlib.pyplot as plt
import numpy as np

import jostle as jo
from jostle._tools.colours import BLUE, GREEN, VERMILION

across, width = 7, 3.0
scheme = jo.Maury()


def gate(t):
    """The gate is at rest for one second, and then moves away."""
    return -width - 20.0 * max(t - 1.0, 0.0)


def collapse(rows, rolling):
    """The motion of a column of discs in this many rows."""
    rng = np.random.default_rng(rows)
    radii = rng.uniform(0.14, 0.2, rows * across)
    row, column = np.divmod(np.arange(rows * across), across)
    q0 = np.stack([0.21 + 0.41 * column + 0.12 * (row % 2), 0.22 + 0.41 * row], axis=1)
    mass = np.pi * radii**2
    walls = jo.Box([0, 0], [np.inf, np.inf]) & jo.HalfSpace([-1, 0], offset=gate)
    column = jo.Motion(
        q0=q0,
        v0=rng.normal(scale=0.1, size=q0.shape),
        mass=mass,
        force=np.outer(mass, [0.0, -9.81]),
        within=jo.Balls(radii) & walls,
        law=jo.Coulomb(0.5, rolling=rolling),
    )
    return jo.solve(column, scheme, t=4.0, h=0.02, every=0.2)


def measured(sol):
    """The aspect ratio before the gate opens, and the run-out, in widths."""
    start, end = sol.q[np.searchsorted(sol.t, 0.99)], sol.q[-1]
    height = np.sort(start[:, 1])[-across:].mean() + 0.17
    return height / width, np.quantile(end[:, 0], 0.95) / width - 1.0


found, styles = {}, {0.0: ("o", BLUE), 0.01: ("s", GREEN)}
for rolling in styles:
    found[rolling] = [collapse(rows, rolling) for rows in (4, 7, 10)]
figure = plt.figure(figsize=(9, 5.6), layout="constrained")
left, right = figure.subfigures(1, 2, width_ratios=(1, 1))
sol = found[0.01][-1]
for axis, t in zip(left.subplots(3, 1, sharex=True), (0.99, 1.59, 3.99), strict=True):
    k = np.searchsorted(sol.t, t)
    jo.viz.draw(sol, k, ax=axis, colour=np.linalg.norm(sol.u[k], axis=1), contacts=False)
    axis.set(xlim=(-0.3, 10.0), ylim=(-0.3, 3.7), title=f"$t = {sol.t[k]:.1f}$ s")
    axis.label_outer()
axis, ratios = right.subplots(), np.linspace(0.0, 1.2, 20)
axis.plot(ratios, 1.2 * ratios, "--", color=VERMILION, label="experiments, $1.2\\,a$")
runouts = {each: np.array([measured(sol) for sol in found[each]]).T for each in found}
for each, (a, runout) in runouts.items():
    marker, colour = styles[each]
    name = f"rolling resistance {each:g} m" if each else "friction alone"
    axis.plot(a, runout, marker, color=colour, label=name)
axis.set(xlabel="aspect ratio $a$", ylabel="run-out in widths $L$", ylim=(0, None))
axis.legend(frameon=False)
