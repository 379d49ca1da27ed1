"""Newton's cradle: if the balls touch, all of them move; if there are gaps, only the last one flies off."""

import jostle as jo

touching = jo.solve(jo.models.cradle(5), jo.Paoli(), t=8.0, h=0.01)
apart = jo.solve(jo.models.cradle(5, gap=0.1), jo.Paoli(), t=8.0, h=0.01)
print("touching:", touching.u[-1].round(6))
print("apart:   ", apart.u[-1].round(6))
