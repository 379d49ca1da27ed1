"""
From fields to grains and back
==============================

Figure 8 of Bourdin and Maury 2020. Left: the velocity field :math:`U` (black) is
averaged over the Voronoi cells of the discs, which gives the velocities :math:`\\tilde
U` of the discs (red), (37). Right: the velocities :math:`\\tilde u` after the
microscopic impact (red) define a field :math:`v` that is constant in each cell, (38).
"""

import matplotlib.pyplot as plt
import numpy as np

import jostle as jo
from jostle._tools.colours import GREEN, VERMILION


def U(x, y):
    return 0.9 - 1.6 * x * x + 0.3 * y, -1.1 * y * np.cos(2.0 * x)


lattice = jo.macro.square_lattice(0.5, box=([-1, -1], [1, 1]))
found = jo.macro.phi(U, lattice)

figure, axes = plt.subplots(1, 2, figsize=(10, 5), layout="constrained")
x, y = np.meshgrid(np.arange(-0.9375, 1, 0.125), np.arange(-0.9375, 1, 0.125))
cell = np.argmin(
    (x.ravel()[:, None] - lattice.points[:, 0]) ** 2
    + (y.ravel()[:, None] - lattice.points[:, 1]) ** 2,
    axis=1,
)
fields = (np.stack(U(x.ravel(), y.ravel()), axis=1), found.velocity[cell])
scale = {"angles": "xy", "scale_units": "xy"}
for ax, field, discs, name in zip(
    axes, fields, (found.means, found.velocity), ("U", "u"), strict=True
):
    for edge in np.arange(-1.0, 1.1, 0.5):
        ax.plot([edge, edge], [-1, 1], color=GREEN)
        ax.plot([-1, 1], [edge, edge], color=GREEN)
    for centre in lattice.points:
        ax.add_patch(plt.Circle(centre, 0.25, facecolor="none", edgecolor="0.6"))
    ax.quiver(
        x.ravel(), y.ravel(), *field.T, color="0.25", scale=9.0, width=0.003, **scale
    )
    ax.quiver(
        *lattice.points.T, *discs.T, color=VERMILION, scale=4.0, width=0.009, **scale
    )
    ax.set(
        xlim=(-1.15, 1.15), ylim=(-1.15, 1.15), aspect="equal", title=rf"$\tilde {name}$"
    )
    ax.set_axis_off()
