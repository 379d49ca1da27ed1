"""
A crowd leaves a room
=====================

Section 4.2 of Venel 2009. All people want to walk to the door, and their velocities are
as close to the desired ones as possible without overlaps. The orange bars are the
reactions :math:`\\lambda_{ij}`. They form arches that close the door for a moment.
"""

import jostle as jo

room = jo.crowds.Room([(0, 0), (7, 0), (7, 6), (0, 6)], doors=[((7, 2.6), (7, 3.5))])
plain = jo.crowds.Plain()  # people push, as in the paper
people = jo.crowds.crowd(80, radius=0.22, room=room, speed=1.4, seed=2, behaviour=plain)
out = jo.Outlet(lambda q: q[:, 0] > 8.0)
sol = jo.solve(
    people, jo.Venel(), t=60.0, h=0.04, every=0.2, changes=out, until=room.empty
)

jo.viz.strip(sol, [0.0, 4.0, 10.0], colour="pressure")

# %%
# The number of people inside over time:
jo.viz.evacuation(sol, room)
