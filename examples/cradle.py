"""Newton's cradle: touching balls share the impact, balls apart pass it on. The answer jumps in between."""

import jostle as jo

touching = jo.solve(jo.models.cradle(5), jo.Paoli(), t=8.0, h=0.01)
apart = jo.solve(jo.models.cradle(5, gap=0.1), jo.Paoli(), t=8.0, h=0.01)
print("touching:", touching.u[-1].round(6))
print("apart:   ", apart.u[-1].round(6))
