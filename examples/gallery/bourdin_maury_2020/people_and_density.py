"""
One room, with people and with a density
========================================

Five hundred people leave a room, once as discs (Venel 2009) and once as a density (Maury,
Roudneff-Chupin and Santambrogio 2010; section 6 of Bourdin and Maury 2020), with the
same plan, radius and speed. The density 1 is the densest packing of the discs.

Where the density is 1, it flows like a liquid, and the pressure drives it through the
door faster than people walk. Discs form arches, which carry the pressure to the walls.
People therefore pass the door at their own speed, and their centres use only the width
of the door minus two radii.
"""

import matplotlib.pyplot as plt
import numpy as np

import jostle as jo

r, full = 0.25, jo.crowds.densest_packing(0.25)
room = jo.crowds.Room([(0, 0), (15, 0), (15, 15), (0, 15)], doors=[((15, 6), (15, 9))])
plain = jo.crowds.Plain()  # without behaviour, like the density
discs = jo.crowds.crowd(500, room=room, radius=r, speed=1.4, seed=1, behaviour=plain)
out = jo.Outlet(lambda q: q[:, 0] > 16.0)
scheme = jo.Venel(solver=jo.Automatic(tol=1e-4))
people = jo.solve(discs, scheme, t=60.0, h=0.2, every=1.0, changes=out, until=room.empty)
crowd = jo.crowds.density(500, room=room, radius=r, speed=1.4, h=0.5)
density = jo.macro.solve(crowd, jo.macro.Splitting(), t=people.t[-1], h=0.1, every=1.0)

inside = np.array([room.inside(q[np.isfinite(q).all(axis=1)]).sum() for q in people.q])
curves = {"people": (people.t, inside), "density": (density.t, full * density.mass)}
figure, axes = plt.subplots(2, 2, figsize=(10, 8), layout="constrained")
for name, (t, n) in curves.items():
    axes[0, 0].plot(t, n, label=name)
    axes[0, 1].plot(
        0.5 * (t[5:] + t[:-5]), (n[:-5] - n[5:]) / (t[5:] - t[:-5]), label=name
    )
axes[0, 0].set(xlabel="$t$ (s)", ylabel="people inside")
axes[0, 1].set(xlabel="$t$ (s)", ylabel="people per second through the door")
axes[0, 0].legend()
jo.viz.draw(people, 5, colour="pressure", ax=axes[1, 0])
jo.viz.field(crowd.grid, density.pressure[5], zone=crowd.domain.zone, ax=axes[1, 1])
axes[1, 0].set_title("t = 5 s: people, by the forces on them")
axes[1, 1].set_title("t = 5 s: pressure of the density")
