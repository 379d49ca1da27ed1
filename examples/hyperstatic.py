"""Fourteen discs have more contacts than degrees of freedom (Bourdin & Maury 2020, Fig. 2): forces are not unique."""

import numpy as np

import jostle as jo

rows = [(3, 0.0), (4, 0.0), (4, 0.5), (3, 0.5)]  # number of discs and shift of each row
points = np.array([(k - (n - 1) / 2 + off, row * 0.75**0.5) for row, (n, off) in enumerate(rows) for k in range(n)])
discs = jo.macro.Packing(points, 0.5, box=([-3, -1], [3, 4]))

found = jo.macro.structure(discs.cone)
print(f"{len(discs)} discs, {found.velocities} degrees of freedom, {found.contacts} contacts of rank {found.rank}:")
print(f"pressures are known up to {found.dependent} numbers, not {found.contacts - found.velocities},")
print("because no contact resists the three motions of the whole")

hit = jo.impact(points.mean(axis=0) - points, discs.cone)  # all discs move towards the middle, and all stop
p = jo.analysis.impulse_range(discs.cone, hit.impulse)
widest = (p.upper - p.lower).argmax()
print(f"{p.unique.sum()} of {found.contacts} impulses are unique")
print(f"the widest lies between {p.lower[widest]:.3f} and {p.upper[widest]:.3f}")
print("bounded, as Prop. 2 says:", found.self_stress is None and bool(np.isfinite(p.upper).all()))
