"""The main job: a pile of discs settles under gravity, and the picture shows who carries whom."""

import time

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import EllipseCollection, LineCollection

import jostle as jo

radii = np.random.default_rng(1).uniform(0.3, 0.5, 160)
pile = jo.models.spheres(radii, box=([0, 0], [10, np.inf]), seed=1)
begin = time.perf_counter()
sol = jo.solve(pile, jo.Maury(), t=4.0, h=5e-3, every=0.05)
seconds = time.perf_counter() - begin

figure, axes = plt.subplots(1, 3, figsize=(11, 6), sharey=True)
for ax, moment in zip(axes, (0.0, 1.2, 4.0), strict=True):
    k = int(np.searchsorted(sol.t, moment))
    q, speed = sol.q[k], np.linalg.norm(sol.u[k], axis=1)
    discs = EllipseCollection(2 * radii, 2 * radii, 0 * radii, units="x", offsets=q, transOffset=ax.transData)
    discs.set(array=speed, cmap="Blues", clim=(0, 14), edgecolor="0.4", linewidth=0.4)
    ax.add_collection(discs)
    touching = (sol.multipliers[k] > 0) & (sol.pairs[k] >= 0).all(axis=1)
    i, j = sol.pairs[k][touching].T
    p = sol.multipliers[k][touching]
    width = 4 * np.sqrt(p / p.max(initial=1e-300))
    ax.add_collection(LineCollection(np.stack([q[i], q[j]], axis=1), linewidths=width, colors="#d95f02"))
    ax.plot([0, 0, 10, 10], [18.5, 0, 0, 18.5], color="black")
    ax.set(title=f"t = {moment:g} s", aspect="equal", xlim=(-0.3, 10.3), ylim=(-0.3, 18.5), xlabel="x")
figure.colorbar(discs, ax=axes, label="speed", shrink=0.8)
figure.savefig("demo.png", dpi=110, bbox_inches="tight")
print(f"{len(radii)} discs, {len(sol.stats)} steps in {seconds:.1f} s; smallest gap when saved {sol.gaps().min():.1e},")
print(f"worst residual {sol.residual:.1e}. The picture is in demo.png: orange bars are contact forces.")
