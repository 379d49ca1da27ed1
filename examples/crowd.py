"""Forty people leave a room through one door: Venel's scheme, which stops when the room is empty."""

import jostle as jo

room = jo.crowds.Room([(0, 0), (6, 0), (6, 5), (0, 5)], doors=[((6, 1.7), (6, 3.3))])
people = jo.crowds.crowd(40, radius=0.25, room=room, speed=1.4)
sol = jo.solve(people, jo.Venel(), t=60.0, h=0.05, until=room.empty)
print(f"{sol.status} at t = {sol.t[-1]:.2f} s, smallest gap {sol.gaps().min():.1e} m")
