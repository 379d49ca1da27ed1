"""
Spheres of many sizes
=====================

Section 4 of Bernicot and Lefebvre-Lepot 2010: rigid spheres with inelastic collisions,
(4.2). Their masses are proportional to their volumes. No two spheres ever overlap,
however long the time step is (Proposition 2.1).
"""

import numpy as np

import jostle as jo

radii = np.random.default_rng(3).uniform(0.25, 0.55, 160)
heap = jo.models.spheres(radii, box=([0, 0, 0], [6, 6, np.inf]), seed=3)
sol = jo.solve(heap, jo.Maury(), t=2.4, h=0.02, every=0.1)

jo.viz.strip(sol, [0.0, 0.8, 2.4], contacts=False)
