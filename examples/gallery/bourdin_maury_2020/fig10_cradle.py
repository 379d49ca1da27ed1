"""
Newton's cradle
===============

Figure 10 of Bourdin and Maury 2020, with :math:`e = 1`. If the discs at rest touch
(left), Moreau's law sends the first disc back and sets all the others in motion. If
there are small gaps between them (right), the discs collide two by two, and only the
last one flies off.
"""

import matplotlib.pyplot as plt

import jostle as jo
from jostle._tools.colours import PALE_BLUE, VERMILION

figure, axes = plt.subplots(
    2, 2, figsize=(11, 4.6), height_ratios=[1, 2.2], layout="constrained"
)
after = {}
for (above, below), gap in zip(axes.T, (0.0, 0.02), strict=True):
    sol = jo.solve(jo.models.cradle(5, gap=gap), jo.Paoli(), t=2.0, h=0.002)
    after[gap] = sol.u[-1]
    for x in sol.q[0]:
        above.add_patch(plt.Circle((x, 0.0), 0.5, facecolor=PALE_BLUE, edgecolor="0.3"))
    arrow = {
        "angles": "xy",
        "scale_units": "xy",
        "scale": 1.0,
        "width": 0.008,
        "color": VERMILION,
        "zorder": 3,
    }
    above.quiver(sol.q[0], 0 * sol.q[0], after[gap], 0 * after[gap], **arrow)
    above.set(
        xlim=(-1.2, 6.0),
        ylim=(-0.6, 0.6),
        aspect="equal",
        title="$u^+$, " + ("touching" if gap == 0 else "a little apart"),
    )
    above.set_axis_off()
    jo.viz.history(sol, ax=below).get_legend().remove()
