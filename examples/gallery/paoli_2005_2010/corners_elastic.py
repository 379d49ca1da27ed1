"""
Elastic impacts in a corner
===========================

Condition (H6) of Paoli 2010, with :math:`e = 1`. Particles are shot at a corner and
next to it. At a right angle, all of them come back in parallel, whichever face they hit
first. At 60 degrees, the particle that hits the vertex comes back in a different
direction from its neighbours: the motion does not depend continuously on the data.
"""

import matplotlib.pyplot as plt
import numpy as np

import jostle as jo
from jostle._tools.colours import BLUE, GREEN, VERMILION

figure, axes = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
after = {}
for ax, degrees in zip(axes, (90, 60), strict=True):
    theta, aim = np.radians(degrees), np.radians(degrees / 2) + 0.2
    K = jo.HalfSpace([0.0, 1.0]) & jo.HalfSpace([np.sin(theta), -np.cos(theta)])
    c = np.array([np.cos(aim), np.sin(aim)])
    for offset in (-0.05, 0.0, 0.05):
        start = c + offset * np.array([-c[1], c[0]])
        shot = jo.Motion(q0=start, v0=-c, within=K, law=jo.Restitution(1.0))
        sol = jo.solve(shot, jo.Paoli(), t=2.2, h=5e-3)
        after[degrees, offset] = sol.u[-1]
        jo.viz.paths(sol, ax=ax)
        colour = {-0.05: BLUE, 0.0: VERMILION, 0.05: GREEN}[offset]
        ax.lines[-2].set_color(colour)
        ax.lines[-1].set_color(colour)
    holds = jo.analysis.orthogonal(K.linearise(0.0, np.zeros(2)).cone())
    ax.set(
        xlim=(-0.1, 1.3),
        ylim=(-0.1, 1.2),
        title=f"{degrees}°: (H6) {'holds' if holds else 'fails'}",
    )
