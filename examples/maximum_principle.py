"""Two discs separate although all are pushed together (Bourdin & Maury 2020, Fig. 4): no maximum principle."""

import numpy as np

import jostle as jo

# two discs in the middle, one above the other, and one disc on each side that touches both
points = np.array([(-(0.75**0.5), 0.0), (0.0, -0.5), (0.0, 0.5), (0.75**0.5, 0.0)])
discs = jo.macro.Packing(points, 0.5, box=([-2, -2], [2, 2]))
U = np.array([(5.0, 0.0), (0.0, 1.0), (0.0, -1.0), (-5.0, 0.0)])  # all towards the middle, faster from the sides

pairs = np.stack([discs.cone.G.i, discs.cone.G.j], axis=1)
middle = int(np.flatnonzero((pairs == [1, 2]).all(axis=1))[0])
rates = -discs.cone.slack(U)
print("every contact is pushed together:", bool((rates > 0).all()))

found = jo.macro.structure(discs.cone)
glued = np.linalg.solve(found.matrix, rates)  # B B* p = B U, as if the discs were glued
print(f"glued, the contact in the middle would pull with {-glued[middle]:.4f}")

hit = jo.impact(U, discs.cone)
print(f"free, its impulse is {hit.impulse[middle]:.4f}, and it opens with {discs.cone.slack(hit.velocity)[middle]:.4f}")

example = found.counter_example
print("the maximum principle holds:", found.maximum_principle)
print("a counter-example:", example.velocity.round(3).tolist())

grid = jo.macro.Grid([-1, -1], [1, 1], h=1 / 4)
law = jo.macro.Isotropic(grid, jo.macro.Disc([0, 0], 0.9))
density = jo.macro.structure(law.cone, mass=law.mass).maximum_principle
print("for the isotropic law of densities it holds:", density)
