"""
Basins of an impact oscillator
==============================

An impact problem of Paoli 2010 in one coordinate: a mass on a spring, driven by
:math:`\\cos \\omega t`, hits a stop at its rest position with :math:`e = 0.8`. At
:math:`\\omega = 2.6` there are two stable orbits, one with an impact in each period,
and one that repeats after six periods. The colour shows on which orbit the mass
ends, depending on its initial position and velocity.

This picture has 40 by 40 initial states. ``python
examples/gallery/paoli_2005_2010/basins.py 400`` draws the picture with 400 by 400
states on the page "Bifurcations and basins" in a few minutes.
"""

import sys

import numpy as np

import jostle as jo


def drive(t, q, u, parameters):
    return np.cos(2.6 * t) - q[0]


side = int(sys.argv[1]) if sys.argv[1:] and sys.argv[1].isdigit() else 40
q, u = np.meshgrid(np.linspace(-2.5, 0.0, side), np.linspace(-2.5, 2.5, side))
starts = jo.vibro.Copies(
    q0=q.reshape(-1, 1),
    v0=u.reshape(-1, 1),
    force=drive,
    within=jo.HalfSpace([-1.0]),
    restitution=0.8,
)
found = jo.vibro.basins(starts, period=2 * np.pi / 2.6, steps=16, periods=160, tol=3e-3)
ax = jo.viz.basins(found.label.reshape(q.shape), (-2.5, 0.0), (-2.5, 2.5))
if side > 40:
    ax.figure.savefig("basins.png", dpi=110)
