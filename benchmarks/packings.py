"""Statistical references: ``python benchmarks/packings.py [--quick]``.

Random close packings in periodic space, several seeds: the part of space they fill and the contacts a ball (without
rattlers), beside the values of the literature (equal spheres 0.635 to 0.645, discs of sizes 1 : 1.4 0.835 to 0.85) and
the isostatic number 2 d (1 - 1/N) + 2/N. Then the force on the floor of a column at rest over its weight.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import numpy as np

import jostle as jo


def packings(d: int, n: int, seeds: int) -> dict[str, Any]:
    radii = np.ones(n) if d == 3 else np.repeat([1.0, 1.4], n // 2)
    filled, contacts, seconds = [], [], []
    for seed in range(seeds):
        begin = time.perf_counter()
        packing = jo.models.random_close_packing(radii, period=np.ones(d), seed=seed)
        seconds.append(time.perf_counter() - begin)
        r = packing.radii
        filled.append(float((np.pi * r**2).sum() if d == 2 else (4.0 / 3.0 * np.pi * r**3).sum()))
        held = len(np.unique(packing.pairs))
        contacts.append(2.0 * len(packing.pairs) / held / (2.0 * d * (1.0 - 1.0 / held) + 2.0 / held))
    return {
        "d": d, "N": n, "seeds": seeds, "fraction": float(np.mean(filled)), "spread": float(np.std(filled)),
        "contacts_over_isostatic": float(np.mean(contacts)), "seconds": float(np.mean(seconds)),
    }  # fmt: skip


def floor(n: int) -> float:
    """|force on the floor / weight - 1| of a narrow column of discs at rest."""
    radii = np.random.default_rng(0).uniform(0.4, 0.5, n)
    column = jo.models.spheres(radii, box=([0, 0], [2.2, np.inf]))
    sol = jo.solve(column, jo.Maury(solver=jo.Automatic(tol=1e-10)), t=40.0, h=0.02, every=2000)
    weight = -column.constant_force[:, 1].sum()  # type: ignore[index]
    return abs(-jo.analysis.wall_force(sol)[1, 1] / weight - 1.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="smaller packings, fewer seeds")
    quick = parser.parse_args().quick
    cases = ((2, 256, 2), (3, 256, 2)) if quick else ((2, 1024, 5), (3, 1000, 5), (3, 2000, 3))
    rows = [packings(*case) for case in cases]
    print(f"{'d':>2s}{'N':>6s}{'seeds':>6s}{'fraction':>10s}{'spread':>9s}{'contacts / isostatic':>22s}{'s each':>8s}")
    for row in rows:
        print(
            f"{row['d']:2d}{row['N']:6d}{row['seeds']:6d}{row['fraction']:10.4f}{row['spread']:9.4f}"
            f"{row['contacts_over_isostatic']:22.5f}{row['seconds']:8.1f}"
        )
    janssen = floor(60 if quick else 100)
    print(f"force on the floor of a column / weight - 1 = {janssen:.1e}")
    print(json.dumps({"packings": rows, "floor_over_weight_minus_1": janssen}))


if __name__ == "__main__":
    main()
