"""
Pressures without effect
========================

Figure 7 of Bourdin and Maury 2020. On the six sectors of a hexagon, :math:`f` is
alternately 1 and -1. Integrating :math:`f` along the three directions of a triangular
lattice gives three pressures :math:`p_0, p_1, p_2` that balance everywhere: :math:`B^*
p = 0`. The pressures of the triangular law (35) are therefore not unique.
"""

import matplotlib.pyplot as plt
import numpy as np

import jostle as jo


def hexagon(x, y):
    distances = [np.abs(x * np.cos(a) + y * np.sin(a)) for a in np.pi / 3 * np.arange(3)]
    return np.max(distances, axis=0) < 0.85


lattice = jo.macro.triangular_lattice(1 / 24, box=([-1, -1], [1, 1]), zone=hexagon)
x, y = lattice.points.T
f = np.sign(
    np.round(np.cos(3 * np.arctan2(y, x)) * np.hypot(x, y), 9)
)  # +1 and -1 in turn in the six sectors

impulse, fields = [], []
for runs in lattice.runs:
    lines = [np.cumsum(f[line]) for line in np.split(runs.order, runs.starts[1:-1])]
    assert not any(
        p[-1] for p in lines
    )  # the integral along each line is zero, so p is zero at its ends
    impulse += [p[:-1] for p in lines]
    fields.append(np.zeros(len(lattice)))
    fields[-1][runs.order] = np.concatenate(lines) * lattice.spacing
balance = np.abs(lattice.cone.G.adjoint(np.concatenate(impulse))).max()

figure, axes = plt.subplots(1, 4, figsize=(12, 3.3), layout="constrained")
for ax, values, name in zip(
    axes, (f, *fields), ("$f$", "$p_0$", "$p_1$", "$p_2$"), strict=True
):
    jo.viz.field(lattice, values, ax=ax)
    ax.collections[0].set(cmap="PuOr", clim=(-np.abs(values).max(), np.abs(values).max()))
    ax.set_title(name)
    ax.set_axis_off()
