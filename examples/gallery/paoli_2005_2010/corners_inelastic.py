"""
Inelastic impacts in a corner
=============================

Condition (H5) of Paoli 2005, with :math:`e = 0`. Particles are shot into a corner and
next to it. If the angle is at most a right angle, all of them end in the corner (open
circles). If it is obtuse, only the particle that hits the vertex stays there, and the
others slide out.
"""

import matplotlib.pyplot as plt
import numpy as np

import jostle as jo
from jostle._tools.colours import VERMILION

figure, axes = plt.subplots(1, 3, figsize=(11, 4), layout="constrained")
after = {}
for ax, degrees in zip(axes, (60, 90, 120), strict=True):
    theta = np.radians(degrees)
    K = jo.HalfSpace([0.0, 1.0]) & jo.HalfSpace([np.sin(theta), -np.cos(theta)])
    bisector = np.array([np.cos(theta / 2), np.sin(theta / 2)])
    aside = np.array([bisector[1], -bisector[0]])
    for offset in (0.2, 0.1, 0.0, -0.1, -0.2):
        shot = jo.Motion(q0=bisector + offset * aside, v0=-bisector, within=K)
        sol = jo.solve(shot, jo.Paoli(), t=4.0, h=0.02)
        after[degrees, offset] = np.linalg.norm(sol.u[-1])
        jo.viz.paths(sol, ax=ax)
        ax.plot(
            *sol.q[-1],
            "o",
            color=VERMILION,
            markerfacecolor="white",
            markersize=6,
            zorder=5,
        )
    holds = jo.analysis.acute(K.linearise(0.0, np.zeros(2)).cone())
    ax.set(
        xlim=(-0.7, 1.3),
        ylim=(-0.2, 1.3),
        title=f"{degrees}°: (H5) {'holds' if holds else 'fails'}",
    )
