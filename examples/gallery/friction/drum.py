"""
Avalanches in a rotating drum
=============================

A drum that turns slowly lifts its grains by friction, until the surface is too steep. An
avalanche runs down, and the surface rises again. The wall is a circle at rest,
and ``surface_velocity`` gives the velocity of its surface at each point of contact. The
colour of a grain is its angular velocity. The lower picture shows how far the centre of
mass of the grains is turned from the vertical: it rises while the grains turn with the
drum, and falls in avalanches.
"""

import matplotlib.pyplot as plt
import numpy as np

import jostle as jo
from jostle._tools.colours import BLUE

n, radius, omega = 72, 3.0, 0.25
rng = np.random.default_rng(4)
radii = rng.uniform(0.17, 0.23, n)
row, column = np.divmod(np.arange(n), 9)
q0 = np.stack([0.48 * column - 1.97, 0.48 * row - 1.85], axis=1)
q0[:, 0] += 0.1 * (row % 2) + rng.uniform(-0.02, 0.02, n)
mass = np.pi * radii**2


def surface(t, x):
    """The velocity of the surface of the wall at the points x."""
    return omega * np.stack([-x[:, 1], x[:, 0]], axis=1)


drum = jo.Motion(
    q0=q0,
    mass=mass,
    force=np.outer(mass, [0.0, -9.81]),
    within=jo.Balls(radii) & jo.Inside([0.0, 0.0], radius),
    law=jo.Coulomb(0.6, rolling=0.03, surface_velocity={"wall 0": surface}),
)
sol = jo.solve(drum, jo.Maury(), t=9.0, h=0.02, every=0.1)

centre = np.einsum("kni,n->ki", sol.q, mass) / mass.sum()
angle = np.degrees(np.arctan2(centre[:, 0], -centre[:, 1]))
fall = angle[5:] - angle[:-5]  # in half a second
figure = plt.figure(figsize=(10, 6.4), layout="constrained")
top, bottom = figure.subfigures(2, 1, height_ratios=(1.3, 1.0))
settled = np.flatnonzero(sol.t[:-5] > 4.0)
burst = settled[np.argmin(fall[settled])]
moments = (burst, burst + 2, burst + 5)
for axis, k in zip(top.subplots(1, 3), moments, strict=True):
    jo.viz.draw(sol, k, ax=axis, colour=sol.spin[k], contacts=False)
    axis.set(title=f"$t = {sol.t[k]:.1f}$ s", xlim=(-3.2, 3.2), ylim=(-3.2, 3.2))
axis = bottom.subplots()
axis.plot(sol.t, angle, color=BLUE)
axis.plot(sol.t[list(moments)], angle[list(moments)], "o", color=BLUE)
axis.set(xlabel="time (s)", ylabel="angle of the centre of mass (degrees)")
