"""
Two blocks collide at three angles
==================================

Figure 6 of Bourdin and Maury 2020, the square law (30)-(31). If the blocks move along
an axis of the lattice, no transverse velocity appears. If they move along the diagonal,
a transverse velocity appears. If they move in a direction close to the axis, the
velocity after the impact is mostly transverse.
"""

import matplotlib.pyplot as plt
import numpy as np

import jostle as jo

grid = jo.macro.Grid([-1.2, -1.2], [1.2, 1.2], h=1 / 50)
corners = np.array([(0.0, -0.35), (0.9, -0.35), (0.9, 0.35), (0.0, 0.35)])
figure, axes = plt.subplots(3, 2, figsize=(7.5, 10), layout="constrained")
across = {}
for (left_ax, right_ax), degrees in zip(axes, (0, 45, 8), strict=True):
    a = np.radians(degrees)
    n, turn = (
        np.array([np.cos(a), np.sin(a)]),
        np.array([[np.cos(a), np.sin(a)], [-np.sin(a), np.cos(a)]]),
    )
    right, left = grid.polygon(corners @ turn), grid.polygon(-corners @ turn)
    U = grid.velocity((left - right) * n[0], (left - right) * n[1])
    after = jo.macro.Square(grid, left | right).impact(U)
    for ax, u, fastest in (
        (left_ax, U, 1.0),
        (right_ax, after.u, 0.5),
    ):  # longer arrows after the impact
        jo.viz.field(
            grid,
            0.12 * np.asarray(left) + 0.25 * np.asarray(right),
            zone=left | right,
            ax=ax,
        )
        ax.collections[0].set_clim(0, 1)
        jo.viz.arrows(u, zone=left | right, fastest=fastest, ax=ax)
        ax.set(xlim=(-1, 1), ylim=(-0.9, 0.9))
        ax.set_axis_off()
    left_ax.set_title(f"{degrees}°: before")
    energy = 0.5 * (left | right).sum() * grid.h**2
    right_ax.set_title(f"after: {after.lost / energy:.0%} of the energy lost")
    across[degrees] = np.abs(
        after.u.cells[np.asarray(left | right)] @ [-n[1], n[0]]
    ).mean()
