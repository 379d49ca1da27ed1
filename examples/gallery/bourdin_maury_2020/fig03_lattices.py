"""
Square and triangular lattices
==============================

Figure 3 of Bourdin and Maury 2020: two regular ways to fill the plane with discs. The
lines are contacts. The square lattice fills the fraction :math:`\\pi / 4` of the plane
and the triangular lattice :math:`\\pi / 2 \\sqrt 3`. The two lattices have different
impact laws, however small the discs are.
"""

import matplotlib.pyplot as plt
import numpy as np

import jostle as jo
from jostle._tools.colours import PALE_BLUE, VERMILION

figure, axes = plt.subplots(1, 2, figsize=(10, 5), layout="constrained")
filled = {}
for ax, lattice in zip(
    axes, (jo.macro.square_lattice, jo.macro.triangular_lattice), strict=True
):
    found = lattice(0.25, box=([-1, -1], [1, 1]))
    contacts = found.cone.G
    for centre in found.points:
        ax.add_patch(plt.Circle(centre, 0.125, facecolor=PALE_BLUE, edgecolor="0.4"))
    for i, j in zip(contacts.i, contacts.j, strict=True):
        ax.plot(*found.points[[i, j]].T, color=VERMILION, linewidth=1.2)
    name = lattice.__name__.replace("_", " ")
    filled[name] = np.pi * 0.125**2 / found.area
    ax.set(
        xlim=(-1.2, 1.2),
        ylim=(-1.1, 1.1),
        aspect="equal",
        title=f"{name}: {filled[name]:.4f} filled",
    )
    ax.set_axis_off()
