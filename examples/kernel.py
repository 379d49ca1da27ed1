"""Pressures that move nothing (Bourdin & Maury 2020, Fig. 7): a hexagon whose six sectors are alternately + and -."""

import numpy as np

import jostle as jo

R = 6
lattice = jo.macro.triangular_lattice(
    1.0,
    box=([-R - 1, -R - 1], [R + 1, R + 1]),
    zone=lambda x, y: np.maximum(abs(y), abs(0.75**0.5 * x) + abs(y) / 2) < 0.75**0.5 * R + 0.1,
)
x, y = lattice.points.T
wave = np.cos(3 * np.arctan2(y, x))
f = np.where((abs(wave) < 1e-9) | (x**2 + y**2 < 0.1), 0.0, np.sign(wave))

# d p_k / d e_k = f along each line of each direction (36): the same f for all three, and e_0 + e_1 + e_2 = 0
q = np.concatenate([np.delete(np.cumsum(f[runs.order]), runs.starts[1:] - 1) for runs in lattice.runs])
still = abs(lattice.cone.G.adjoint(q)).max()
print(f"{len(lattice)} grains, {len(q)} contacts, q between {q.min():g} and {q.max():g}, |B* q| = {still:.0e}")

U = -lattice.points  # all discs stop, and every contact carries a force
p = jo.impact(U, lattice.cone).impulse
room = min(p[q < 0] / -q[q < 0])  # the largest multiple of q that keeps all pressures >= 0
change = abs(lattice.cone.G.adjoint(p + room * q) - lattice.cone.G.adjoint(p)).max()
print(f"p + {room:.3f} q is another pressure of the same impact: the velocities differ by {change:.0e}")

kernels = []
for n in (2, 4, 6):
    part = jo.macro.triangular_lattice(1.0, box=([-9, -9], [9, 9]), zone=lambda x, y, n=n: x**2 + y**2 < n**2 + 0.1)
    kernels.append((len(part), jo.macro.structure(part.cone).dependent))
    print("{:4} grains: ker B* has dimension {}".format(*kernels[-1]))
