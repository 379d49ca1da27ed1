"""A ball bounces on a floor: Paoli's scheme with restitution, and a table of the impacts."""

import jostle as jo

ball = jo.Motion(
    q0=[0.0, 1.0],
    v0=[1.0, 0.0],
    force=[0.0, -9.81],
    within=jo.HalfSpace(normal=[0, 1]),
    law=jo.Restitution(0.8),
)
sol = jo.solve(ball, jo.Paoli(), t=2.0, h=1e-3)
print(sol.impacts())
