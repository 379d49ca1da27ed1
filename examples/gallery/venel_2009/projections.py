"""
Exact and linearised projections
================================

Figure 2 of Venel 2009. The next position is the projection of :math:`q + h f` onto the
set :math:`Q` outside two discs (the catching-up algorithm, open circles), or onto the
convex subset :math:`\\tilde Q(q)`, which is bounded by half-planes (dashed lines and
filled circles).
"""

import matplotlib.pyplot as plt
import numpy as np

import jostle as jo
from jostle._tools.colours import BLUE, VERMILION

Q = jo.Outside([[-1.3, 0.0], [1.3, 0.1]], [1.2, 1.0])
q = np.array([0.15, 0.75])
around = Q.linearise(0.0, q)
inner = around.positions(q)  # the polyhedron Q~(q)

figure, ax = plt.subplots(figsize=(7, 5), layout="constrained")
for centre, radius in zip(Q.centre, Q.radius, strict=True):
    ax.add_patch(plt.Circle(centre, radius, facecolor="0.85", edgecolor="black"))
for row, c in zip(inner.G.toarray(), inner.c, strict=True):
    foot, along = -c * row / (row @ row), np.array([-row[1], row[0]])
    ax.plot(*(foot + np.outer([-9.0, 9.0], along)).T, "--", color="0.4", linewidth=1.0)

found = []
for step, colour in (([-0.75, -0.75], BLUE), ([0.4, -1.05], VERMILION)):
    target = q + step
    theory, scheme = jo.nearest(target, Q).point, jo.project(target, inner).point
    found.append((theory, scheme))
    ax.annotate("", target, q, arrowprops={"arrowstyle": "->", "color": colour})
    ax.plot(*np.stack([theory, target, scheme]).T, ":", color=colour)
    ax.plot(*theory, "o", color=colour, markerfacecolor="white")
    ax.plot(*scheme, "o", color=colour)
    ax.annotate(
        "$q + h f$", target, xytext=(4, -14), textcoords="offset points", color=colour
    )
ax.plot(*q, "ko")
ax.annotate("$q$", q, xytext=(6, 6), textcoords="offset points")
ax.set(xlim=(-1.6, 1.9), ylim=(-0.95, 1.25), aspect="equal", xticks=[], yticks=[])
ax.spines[:].set_visible(True)
