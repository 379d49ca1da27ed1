"""A pile of discs settles under gravity; the picture shows the contact forces."""

import matplotlib

matplotlib.use("Agg")
import numpy as np

import jostle as jo

radii = np.random.default_rng(1).uniform(0.3, 0.5, 160)
pile = jo.models.spheres(radii, box=([0, 0], [10, np.inf]), seed=1)
sol = jo.solve(pile, jo.Maury(), t=4.0, h=5e-3, every=0.05)
jo.viz.strip(sol, 3).savefig("pile.png", dpi=110, bbox_inches="tight")

print(f"smallest gap when saved {sol.gaps().min():.1e}, worst residual {sol.residual:.1e}; the picture is in pile.png")
