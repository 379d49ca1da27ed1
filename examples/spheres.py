"""Forty spheres settle in a box and never overlap: Maury's scheme."""

import numpy as np

import jostle as jo

radii = np.random.default_rng(0).uniform(0.8, 1.0, 40)
heap = jo.models.spheres(radii, box=([0, 0, 0], [6, 6, np.inf]))
sol = jo.solve(heap, jo.Maury(), t=3.0, h=1e-2, every=0.1)
print(f"energy {sol.energy().kinetic[-1]:.1e}, smallest gap {sol.gaps().min():.1e}, worst residual {sol.residual:.1e}")
