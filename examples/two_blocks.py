"""Two saturated blocks collide: they flow with the isotropic law, and stop or spread with the lattice laws."""

import jostle as jo

grid = jo.macro.Grid([0, 0], [2, 1], h=1 / 40)
left, right = grid.block([0.2, 0.2], [1.0, 0.8]), grid.block([1.0, 0.3], [1.8, 0.7])
U = grid.velocity(left - right, 0)

after = {}
for Law in (jo.macro.Isotropic, jo.macro.Square, jo.macro.Triangular):
    law = Law(grid, saturated=left | right)
    hit = after[Law.__name__] = law.impact(U, restitution=0.0)
    print(f"{Law.__name__:10} loses {hit.lost:.3f} of 0.400, residual {hit.residual.worst:.0e}")
