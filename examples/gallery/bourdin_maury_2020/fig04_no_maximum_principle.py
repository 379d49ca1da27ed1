"""
There is no maximum principle
=============================

Figure 4 of Bourdin and Maury 2020. Four discs are pushed together, faster from the
sides. If the contacts were glued (:math:`B u = 0`), the contact in the middle would
pull, although its discs approach each other. With contacts that only push, these two
discs are pushed apart, and the pressure of their contact is zero.
"""

import matplotlib.pyplot as plt
import numpy as np

import jostle as jo
from jostle._tools.colours import PALE_BLUE, PULL, PUSH

q = np.array([[-np.sqrt(0.75), 0.0], [np.sqrt(0.75), 0.0], [0.0, 0.5], [0.0, -0.5]])
U = np.array([[3.0, 0.0], [-3.0, 0.0], [0.0, -1.0], [0.0, 1.0]])
cone = jo.Balls(np.full(4, 0.5)).linearise(0.0, q, 1e-9).cone()
G = cone.G.toarray()

glued = np.linalg.solve(G @ G.T, -G @ U.ravel())  # B B* p = B U
hit = jo.impact(U, cone)
cases = {
    "before": (U, np.zeros(5)),
    "glued": (U + (G.T @ glued).reshape(4, 2), glued),
    "after": (hit.velocity, hit.impulse),
}
figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
for ax, (name, (u, p)) in zip(axes, cases.items(), strict=True):
    for centre in q:
        ax.add_patch(plt.Circle(centre, 0.5, facecolor=PALE_BLUE, edgecolor="0.4"))
    for row, force in zip(G.reshape(-1, 4, 2), p, strict=True):
        i, j = np.flatnonzero(np.abs(row).sum(axis=1) > 0)
        ax.plot(
            *q[[i, j]].T,
            color=PUSH if force > 0 else PULL,
            linewidth=5 * np.sqrt(abs(force)),
        )
    ax.quiver(
        *q.T,
        *u.T,
        angles="xy",
        scale_units="xy",
        scale=3.2,
        width=0.012,
        pivot="mid",
        zorder=4,
    )
    ax.set(
        xlim=(-1.6, 1.6),
        ylim=(-1.3, 1.3),
        aspect="equal",
        title=f"{name}, $p = {p[-1] + 0:.2f}$ in the middle",
    )
    ax.set_axis_off()
