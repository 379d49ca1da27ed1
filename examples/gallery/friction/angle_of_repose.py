"""
The angle of repose
===================

Friction holds a heap together. Eighty discs lie on a plate between two walls. The
walls move away, and the discs that fall over the edges of the plate are lost. Without
friction no heap remains: the last discs slide off in one layer. With friction the slope
of the heap grows with the friction coefficient :math:`\\mu`. A little rolling resistance
(a fifth of the radius) stands for grains that are not quite round: on a smooth plate,
round discs roll away. The slope exceeds the angle of friction, :math:`\\arctan\\mu`,
because grains interlock.
"""

import matplotlib.pyplot as plt
import numpy as np

import jostle as jo
from jostle._tools.colours import BLUE, VERMILION

n, half = 80, 3.5
rng = np.random.default_rng(2)
radii = rng.uniform(0.2, 0.3, n)
row, column = np.divmod(np.arange(n), 10)
q0 = np.stack([0.64 * column - 3.1 + 0.15 * (row % 2), 0.35 + 0.62 * row], axis=1)


def wall(t):
    """The walls are at rest for one second, and then move away."""
    return -half - 6.0 * max(t - 1.0, 0.0)


plate = jo.Segments([[[-half, 0.0], [half, 0.0]]])
walls = jo.HalfSpace([1, 0], offset=wall) & jo.HalfSpace([-1, 0], offset=wall)
mass = np.pi * radii**2
scheme = jo.Maury()
runs = {}
for mu in (0.0, 0.1, 0.2, 0.3, 0.5):
    heap = jo.Motion(
        q0=q0 + rng.uniform(-0.01, 0.01, q0.shape),
        mass=mass,
        force=np.outer(mass, [0.0, -9.81]),
        within=jo.Balls(radii) & plate & walls,
        law=jo.Coulomb(mu, rolling=0.05),
    )
    runs[mu] = jo.solve(heap, scheme, t=5.0, h=0.025, every=1.0)


def slope(q):
    """The slope of the surface in degrees: a line through the highest discs of bins."""
    x, y = q[q[:, 1] > 0.0].T
    bins = np.floor(x / 0.5).astype(int)
    tops = {k: y[bins == k].max() for k in np.unique(bins)}
    away = np.abs((np.array(list(tops)) + 0.5) * 0.5 - x.mean())
    rise = np.polyfit(away, list(tops.values()), 1)[0]
    return max(0.0, np.degrees(np.arctan(-rise)))


angles = {mu: slope(sol.q[-1]) for mu, sol in runs.items()}
figure, axes = plt.subplots(2, 3, figsize=(11, 5), layout="constrained")
for axis, (mu, sol) in zip(axes.flat, runs.items(), strict=False):
    jo.viz.draw(sol, ax=axis, colour=np.zeros(n), contacts=False)
    title = f"$\\mu = {mu}$: {angles[mu]:.0f} degrees"
    axis.set(xlim=(-4.2, 4.2), ylim=(-0.4, 4.2), title=title)
axes[1, 2].plot(list(angles), list(angles.values()), "o-", color=BLUE, label="heap")
inner = np.degrees(np.arctan(list(angles)))
axes[1, 2].plot(list(angles), inner, "--", color=VERMILION, label=r"$\arctan\mu$")
axes[1, 2].set(xlabel=r"$\mu$", ylabel="angle of repose (degrees)")
axes[1, 2].legend(frameon=False)
