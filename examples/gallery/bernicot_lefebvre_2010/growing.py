"""
Particles that grow
===================

Radii may depend on time (Bernicot and Lefebvre-Lepot 2010, section 4): :math:`D_{ij}(t,
q) = |q_i - q_j| - (r_i(t) + r_j(t))`. The discs in a closed box grow until they are
jammed. Then no admissible configuration is left, and the run ends with an error that
says so. The colour is the pressure.
"""

import numpy as np

import jostle as jo

n, side = 60, 10.0
rates = np.random.default_rng(0).uniform(0.8, 1.2, n)
start = np.random.default_rng(0).permutation(
    [(x, y) for x in np.arange(0.7, 10, 1.2) for y in np.arange(0.7, 10, 1.2)]
)


def radii(t):
    return rates * (0.3 + 0.1 * t)


box = jo.Balls(radii) & jo.Box([0, 0], [side, side], radii=radii)
problem = jo.Motion(q0=start[:n], within=box, force=lambda t, q, u: -2.0 * u)
try:
    sol = jo.solve(problem, jo.Maury(), t=8.0, h=0.02, every=0.1)
except jo.errors.EmptySet as error:
    sol = error.solution

jo.viz.strip(sol, [0.0, 0.7 * sol.t[-1], sol.t[-1]], colour="pressure")
