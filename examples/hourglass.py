"""Sand runs through an hourglass: spheres inside a surface of revolution, with an outlet that counts them."""

import numpy as np

import jostle as jo

n = 120
radii = np.random.default_rng(1).uniform(0.06, 0.09, n)
glass = jo.Vessel([(1.0, 2.0), (0.16, 0.0), (0.5, -0.6)], radii=radii)
layer, spot = np.divmod(np.arange(n), 15)
angle, ring = 2 * np.pi * spot / 15, np.where(spot % 2, 0.25, 0.5)
q0 = np.stack([ring * np.cos(angle), ring * np.sin(angle), 1.2 + 0.19 * layer], axis=1)
mass = radii**3

sand = jo.Motion(q0=q0, mass=mass, force=np.outer(mass, [0, 0, -9.81]), within=jo.Balls(radii) & glass)
below = jo.Outlet(lambda q: q[:, 2] < -1.0)
sol = jo.solve(sand, jo.Maury(solver=jo.Automatic(tol=1e-5)), t=2.0, h=0.005, every=0.5, changes=below)

left = np.isfinite(sol.q[:, :, 0]).sum(axis=1)
print("still there:", dict(zip(sol.t.round(2).tolist(), left.tolist(), strict=True)))
print(f"worst overlap / r = {sol.stats['primal'].max():.1e}, worst overshoot / r = {sol.stats['overshoot'].max():.1e}")
