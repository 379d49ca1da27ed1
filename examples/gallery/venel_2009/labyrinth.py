"""
The labyrinth
=============

Figure 3 of Venel 2009. A ball slides on a board with holes. The board is tilted in
three directions, one after the other. The ball slides around the holes and along the
sides and never falls into a hole.
"""

import jostle as jo
from jostle._tools.colours import VERMILION

sol = jo.solve(jo.models.labyrinth(), jo.Venel(), t=12.0, h=0.01)

ax = jo.viz.paths(sol)
for name, t in (("S", 0.0), ("$P_1$", 5.0), ("$P_2$", 7.5), ("T", 12.0)):
    x, y = sol(t)
    ax.plot(x, y, "o", color=VERMILION, markersize=4, zorder=4)
    ax.annotate(
        name, (x, y), xytext=(-16, 8), textcoords="offset points", color=VERMILION
    )
ax.set_title("$q'(t) + N(Q, q(t)) \\ni f(t)$")
