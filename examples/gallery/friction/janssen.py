"""
Janssen's silo
==============

Friction at the walls carries most of the weight in a silo. The vertical force at the
depth :math:`z` does not grow with the weight above it, but saturates (Janssen 1895). In
the plane, :math:`F(z) = F_\\infty (1 - e^{-z/\\lambda})` and :math:`F_\\infty = w
\\lambda`, where :math:`w` is the weight per unit of height, :math:`\\lambda = D / (2
\\mu K)`, :math:`D` the width, and :math:`K` the ratio of horizontal to vertical stress.
The walls move up slowly along themselves, so that friction at them is fully mobilised.
The force at a depth is the weight above it minus the friction of the walls above it. The
mean of the last two seconds is fitted with one number, :math:`\\lambda`.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import curve_fit

import jostle as jo
from jostle._tools.colours import BLUE, VERMILION

n, width, mu = 120, 3.0, 0.5
rng = np.random.default_rng(0)
radii = rng.uniform(0.2, 0.3, n)
row, column = np.divmod(np.arange(n), 4)
q0 = np.stack([0.4 + 0.65 * column + 0.2 * (row % 2), 0.32 + 0.62 * row], axis=1)
mass = np.pi * radii**2
silo = jo.HalfSpace([0, 1]) & jo.HalfSpace([1, 0]) & jo.HalfSpace([-1, 0], offset=-width)
up = {"wall 1": [0.0, 0.05], "wall 2": [0.0, 0.05]}
grains = jo.Motion(
    q0=q0 + rng.uniform(-0.02, 0.02, q0.shape),
    mass=mass,
    force=np.outer(mass, [0.0, -9.81]),
    within=jo.Balls(radii) & silo,
    law=jo.Coulomb(mu, surface_velocity=up),
)
scheme = jo.Maury()
sol = jo.solve(grains, scheme, t=5.0, h=0.02, every=0.1)

last = range(len(sol.t) - 20, len(sol.t))
top = np.mean([np.sort(sol.q[k][:, 1])[-4:].mean() for k in last])
depth = np.linspace(0.5, top - 0.5, 25)
force, weight = np.zeros(25), np.zeros(25)
for k in last:
    y, (body, other) = sol.q[k][:, 1], sol.pairs[k].T
    side = (other == -2) | (other == -3)
    up = -sol.tangential[k][side, 1] / sol.impulse_time(
        k
    )  # on the grains, by the side walls
    for i, z in enumerate(depth):
        above = 9.81 * mass[y > top - z].sum()
        weight[i] += above / len(last)
        force[i] += (above - up[y[body[side]] > top - z].sum()) / len(last)


def janssen(z, length, per_height):
    """The law of Janssen."""
    return per_height * length * (1.0 - np.exp(-z / length))


w = np.polyfit(depth, weight, 1)[0]
(length,), _ = curve_fit(lambda z, length: janssen(z, length, w), depth, force, p0=[5.0])
K = width / (2.0 * mu * length)
figure, (left, right) = plt.subplots(
    1, 2, figsize=(9, 6), layout="constrained", width_ratios=(1, 2)
)
jo.viz.draw(sol, ax=left, colour=np.zeros(n))
left.set(xlim=(-0.3, width + 0.3), ylim=(-0.3, top + 0.8), title="forces")
right.plot(depth, weight, "--", color="0.5", label="weight above")
right.plot(depth, force, "o", color=BLUE, label="force at this depth")
label = rf"Janssen, $\lambda = {length:.1f}$, $K = {K:.2f}$"
right.plot(depth, janssen(depth, length, w), color=VERMILION, label=label)
right.set(xlabel="depth (m)", ylabel="vertical force (N)")
right.legend(frameon=False)
