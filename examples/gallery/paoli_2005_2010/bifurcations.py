"""
A ball on a shaking table
=========================

A ball bounces on a table at the height :math:`A \\sin 2 \\pi t` with :math:`e = 0.8`,
computed with Paoli's scheme in the coordinate relative to the table. The program runs a
hundred and twenty balls at once, each with its own :math:`\\Gamma = A (2 \\pi)^2`. They
start on the orbit with one bounce in each period. At :math:`\\Gamma = 1.0708` this
orbit becomes unstable, and the period doubles.
"""

import numpy as np

import jostle as jo

e, Gamma = 0.8, np.linspace(0.95, 1.3, 120)
m, table = (
    len(Gamma),
    0.5 * (1 - e) / (1 + e),
)  # the speed of the table at the impacts of this orbit
phase = np.arccos(2 * np.pi * table / Gamma) / (2 * np.pi)
balls = jo.Motion(
    q0=np.zeros(m),
    v0=np.full(m, 0.5 - table),
    force=lambda t, q: Gamma * np.sin(2 * np.pi * (t + phase)) - 1.0,
    within=jo.Box(np.zeros(m), np.full(m, np.inf)),
    law=jo.Restitution(e),
)
sol = jo.solve(balls, jo.Paoli(), t=45.0, h=1 / 100, every=100)

hits = sol.impacts(speed=1e-3)
late = hits.t > 35.0
speeds = [-hits.before[late & (-1 - hits.pairs[:, 1] == k)] for k in range(m)]
ax = jo.viz.bifurcation(Gamma, speeds, names=(r"$\Gamma$", "speed of impacts"))
ax.axvline(1.0708, color="0.6", linewidth=0.8)
