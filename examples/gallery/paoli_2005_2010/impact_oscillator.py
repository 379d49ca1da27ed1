"""
Bifurcations of an impact oscillator
====================================

An impact problem of Paoli 2010 in one coordinate: a mass on a spring, driven by
:math:`\\cos \\omega t`, hits a stop at its rest position with :math:`e = 0.8`. Each
column of the diagram is one oscillator; the dots are its positions once per period,
after 350 periods. All oscillators run in one compiled loop on all cores, with exact
impacts. At :math:`\\omega = 2.65334772786` the orbit with one impact in each period
becomes unstable, and the period doubles.

This picture has 240 frequencies. ``python benchmarks/copies.py --picture
diagram.png`` draws 1000 frequencies, each for 500 periods.
"""

import numpy as np

import jostle as jo


def drive(t, q, u, parameters):
    return np.cos(parameters[0] * t) - q[0]


omega = np.linspace(2.6, 3.2, 240)
oscillators = jo.vibro.Copies(
    q0=[-0.65],
    v0=[0.02],
    force=drive,
    within=jo.HalfSpace([-1.0]),
    parameters=omega,
    restitution=0.8,
)
seen = jo.vibro.sections(
    oscillators, period=2 * np.pi / omega, steps=24, periods=400, skip=350
)
ax = jo.viz.bifurcation(
    omega, seen.q[:, :, 0], names=(r"$\omega$", "position once a period")
)
ax.axvline(2.65334772786, color="0.6", linewidth=0.8)
