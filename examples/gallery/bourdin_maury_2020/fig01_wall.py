"""
Collision with a wall
=====================

Figure 1 of Bourdin and Maury 2020. A ball hits a floor with the velocity :math:`u^-`.
After the impact its velocity is :math:`u^+ = u^- - (1 + e) P_N u^-`. For :math:`e = 0`
it slides along the floor, and for :math:`e = 1` it is reflected.
"""

import matplotlib.pyplot as plt
import numpy as np

import jostle as jo
from jostle._tools.colours import BLUE, PALE_BLUE, VERMILION

floor = jo.convex.Cone([[0.0, 1.0]])  # u_y >= 0
before = np.array([1.0, -0.8])
after = {
    e: jo.impact(before, floor, law=jo.Restitution(e)).velocity
    for e in (0.0, 0.25, 0.5, 0.75, 1.0)
}

figure, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
ax.axhline(0.0, color="black", linewidth=2)
ax.add_patch(plt.Circle((0.0, 0.15), 0.15, facecolor=PALE_BLUE, edgecolor="0.3"))
arrow = {"angles": "xy", "scale_units": "xy", "scale": 1.0, "width": 0.006}
ax.quiver(-1.0, 0.95, *before, color=VERMILION, **arrow)
ax.text(-0.95, 0.55, "$u^-$", color=VERMILION)
for e, u in after.items():
    ax.quiver(0.0, 0.15, *u, color=BLUE, alpha=0.4 + 0.6 * e, **arrow)
    ax.text(u[0] + 0.04, 0.15 + u[1], f"$u^+$, $e = {e:g}$", color=BLUE, va="center")
ax.set(xlim=(-1.2, 1.7), ylim=(-0.1, 1.15), aspect="equal", xticks=[], yticks=[])
ax.set_axis_off()
