"""
Mutually polar cones
====================

Figure 11 of Bourdin and Maury 2020 and its use: every velocity :math:`U` is the sum of
its projections onto the cone :math:`C` of admissible velocities and onto its polar cone
:math:`N`, and the two projections are orthogonal (Moreau 1962).
"""

import matplotlib.pyplot as plt
import numpy as np

import jostle as jo
from jostle._tools.colours import BLUE, PALE_BLUE, PALE_ORANGE, VERMILION

C = jo.convex.Cone(
    [
        [np.sin(np.radians(20)), np.cos(np.radians(20))],
        [np.sin(np.radians(80)), -np.cos(np.radians(80))],
    ]
)
edges = {
    "C": [np.radians(-20), np.radians(80)],
    "N": [np.radians(170), np.radians(250)],
}
figure, ax = plt.subplots(figsize=(6, 6), layout="constrained")
for (name, (a, b)), colour in zip(edges.items(), (PALE_BLUE, PALE_ORANGE), strict=True):
    fan = 3.0 * np.array(
        [[0, 0], *[[np.cos(s), np.sin(s)] for s in np.linspace(a, b, 40)]]
    )
    ax.add_patch(plt.Polygon(fan, facecolor=colour, edgecolor="0.5"))
    ax.text(
        *(1.35 * np.array([np.cos((a + b) / 2), np.sin((a + b) / 2)])),
        f"${name}$",
        fontsize=16,
    )

parts = []
arrow = {"angles": "xy", "scale_units": "xy", "scale": 1.0, "width": 0.007, "zorder": 3}
for U in ([-1.1, 1.3], [0.4, -1.4]):
    on_C, on_N = jo.solvers.decompose(U, C)
    parts.append((U, on_C, on_N))
    ax.quiver(0, 0, *U, color="black", **arrow)
    ax.quiver(0, 0, *on_C, color=BLUE, **arrow)
    ax.quiver(0, 0, *on_N, color=VERMILION, **arrow)
    ax.plot(*np.array([on_C, U, on_N]).T, ":", color="0.3")
    ax.annotate("$U$", U, xytext=(5, 3), textcoords="offset points")
ax.set(xlim=(-1.7, 1.7), ylim=(-1.7, 1.7), aspect="equal", xticks=[], yticks=[])
ax.spines[:].set_visible(True)
