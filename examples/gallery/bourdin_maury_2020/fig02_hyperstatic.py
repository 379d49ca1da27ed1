"""
More contacts than degrees of freedom
=====================================

Figure 2 of Bourdin and Maury 2020. Fourteen discs have 28 degrees of freedom and 29
contacts, so the pressures are not unique. Rigid motions do not change any contact, so
at least four pressures are free. The bars show one element of :math:`\\ker B^*`:
contact forces that balance on each disc. Orange bars push, and purple bars pull.
"""

import matplotlib.pyplot as plt
import numpy as np

import jostle as jo
from jostle._tools.colours import PALE_BLUE, PULL, PUSH

tall = np.sqrt(0.75)
q = np.array(
    [
        (x - 0.5 * (row in (1, 2)), tall * row)
        for row, n in enumerate((3, 4, 4, 3))
        for x in range(n)
    ]
)
q[7:, 0] += 0.5  # the third row is shifted by half a disc
cone = jo.Balls(np.full(14, 0.5)).linearise(0.0, q, 1e-9).cone()
found = jo.macro.structure(cone)

G = cone.G.toarray()
kernel = np.linalg.svd(G.T)[2][found.rank :]
p = kernel[0] / np.abs(kernel[0]).max()
figure, ax = plt.subplots(figsize=(6, 5), layout="constrained")
for centre in q:
    ax.add_patch(plt.Circle(centre, 0.5, facecolor=PALE_BLUE, edgecolor="0.4"))
for row, force in zip(G.reshape(len(G), 14, 2), p, strict=True):
    i, j = np.flatnonzero(np.abs(row).sum(axis=1) > 0)
    colour = PUSH if force > 0 else PULL
    ax.plot(
        *q[[i, j]].T,
        color=colour,
        linewidth=0.4 + 7.0 * np.sqrt(abs(force)),
        solid_capstyle="butt",
    )
    ax.plot(*q[[i, j]].mean(axis=0), ".", color="black", markersize=4)
words = f"{found.velocities} degrees of freedom, {found.contacts} contacts, "
words += f"{found.dependent} free pressures"
ax.set(xlim=(-1.2, 4.2), ylim=(-0.7, 3.3), aspect="equal", title=words)
ax.set_axis_off()
