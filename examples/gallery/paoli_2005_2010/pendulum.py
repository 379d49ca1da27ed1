"""
A double pendulum that hits a stop
==================================

The mass matrix :math:`M(q)` depends on the configuration, as in Paoli 2010, (1). The
first of two rods must not pass the vertical, :math:`\\theta_1 \\ge 0`, with :math:`e =
1/2`. The impact changes both velocities, through :math:`M^{-1}`.
"""

import matplotlib.pyplot as plt

import jostle as jo

sol = jo.solve(jo.models.double_pendulum(), jo.Paoli(), t=4.0, h=2e-3)

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.8), layout="constrained")
jo.viz.history(sol, ax=left)
left.axhline(0.0, color="black", linewidth=0.6)
left.legend([r"$\theta_1$", r"$\theta_2$"], frameon=False)
left.set_ylabel(r"$\theta$")
jo.viz.phase(sol, 0, ax=right)
right.set(xlabel=r"$\theta_1$", ylabel=r"$\theta_1'$")
