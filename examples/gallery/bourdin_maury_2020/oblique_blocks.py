"""
Two blocks collide obliquely, with several schemes
==================================================

Section 6 of Bourdin and Maury 2020. Two blocks move towards each other and hit with
part of their faces. Splitting (Maury and Preux 2017), the barrier pressure (Degond, Hua
and Navoret 2011) and the isotropic impact law (46) agree: the saturated material flows
aside like a liquid. The first impact takes only 6 % of the energy, so restitution
changes little.

The lattice laws stop or reflect the rows that hit each other and change little else;
the triangular lattice breaks along its axes. The titles show the fraction of the
kinetic energy that is left.
"""

import matplotlib.pyplot as plt

import jostle as jo

grid = jo.macro.Grid([-1.2, -1.2], [1.2, 1.2], h=1 / 20)
left, right = grid.block([-0.9, -0.7], [0.0, 0.2]), grid.block([0.0, -0.2], [0.9, 0.7])
routes = {
    "splitting": (jo.macro.Splitting(), 0.0),
    "barrier": (jo.macro.Barrier(eps=1e-6), 0.0),
    "isotropic, e = 0": (jo.macro.Impacts(), 0.0),
    "square, e = 0": (jo.macro.Impacts(structure="square"), 0.0),
    "triangular, e = 0": (jo.macro.Impacts(structure="triangular"), 0.0),
    "isotropic, e = 0.5": (jo.macro.Impacts(), 0.5),
    "square, e = 0.5": (jo.macro.Impacts(structure="square"), 0.5),
    "triangular, e = 0.5": (jo.macro.Impacts(structure="triangular"), 0.5),
}
figure, axes = plt.subplots(2, 4, figsize=(14, 7.2), layout="constrained")
runs = {}
for ax, (name, (scheme, e)) in zip(axes.flat, routes.items(), strict=True):
    rho = (0.99 if name == "barrier" else 1.0) * (
        left | right
    )  # the barrier is infinite at the density 1
    blocks = jo.macro.Flow(
        grid=grid,
        density=rho,
        velocity=grid.velocity(left - right, 0),
        law=jo.Restitution(e),
    )
    runs[name] = sol = jo.macro.solve(blocks, scheme, t=0.4, h=0.02, every=0.4)
    jo.viz.field(grid, sol.density[-1], ax=ax)
    u = grid.velocity(sol.velocity[0][-1], sol.velocity[1][-1])
    jo.viz.arrows(u, zone=sol.density[-1] > 0.3, fastest=1.0, ax=ax)
    ax.set_title(f"{name}: {sol.energy[-1] / sol.energy[0]:.2f}")
    ax.set_axis_off()
