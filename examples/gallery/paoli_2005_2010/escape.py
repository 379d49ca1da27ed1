"""
Escape from a potential well
============================

The force of Paoli 2005 may depend on time, position and velocity. Here no wall holds
the mass back, only the potential :math:`q^2/2 - q^3/3` (Thompson 1989):

.. math:: \\ddot q + 0.1\\, \\dot q + q - q^2 = F \\sin 0.85\\, t.

Beyond its hill at :math:`q = 1` the mass goes to infinity in finite time, and the
colour is the time at which it does, in periods of the force. Starts in the white region
stay in the well. As the force grows, fingers of escape erode this region from outside.

The picture has 3 times 80 by 80 starts; ``python
examples/gallery/paoli_2005_2010/escape.py 400`` draws 480 000.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

import jostle as jo


def well(t, q, u, parameters):
    return parameters[0] * np.sin(0.85 * t) - q[0] + q[0] ** 2 - 0.1 * u[0]


side = int(sys.argv[1]) if sys.argv[1:] and sys.argv[1].isdigit() else 80
q, u = np.meshgrid(np.linspace(-0.8, 1.2, side), np.linspace(-1.0, 1.0, side))
T, shares = 2 * np.pi / 0.85, {}
figure, axes = plt.subplots(1, 3, figsize=(10, 3.6), sharey=True, layout="constrained")
for ax, F in zip(axes, (0.05, 0.07, 0.08), strict=True):
    starts = jo.vibro.Copies(
        q0=q.reshape(-1, 1), v0=u.reshape(-1, 1), force=well, parameters=[F]
    )
    found = jo.vibro.basins(starts, period=T, steps=32, periods=40, most=4, tol=1e-3)
    shares[F] = 1.0 - found.share(-2)
    periods = np.where(np.isfinite(found.escape), found.escape / T, np.nan)
    image = ax.pcolormesh(
        q,
        u,
        periods.reshape(q.shape),
        vmin=0,
        vmax=10,
        cmap="viridis_r",
        shading="nearest",
    )
    ax.set(title=f"F = {F}: {100 * shares[F]:.0f} % stay", xlabel="position at the start")
axes[0].set_ylabel("velocity at the start")
figure.colorbar(image, label="time of escape, in periods", extend="max")
