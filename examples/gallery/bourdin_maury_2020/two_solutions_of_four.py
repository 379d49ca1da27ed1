"""
Four problems with two solutions each
=====================================

A particle on a floor is at rest at :math:`t = 0`, as in figure 9 of Bourdin and Maury
2020 (after Schatzman 1978 and Ballard 2000). Each panel shows two motions under the
same force; both satisfy the equation of motion and the impact law up to round-off. The
grey bands show where the force pushes up (:math:`e = 0`) or presses most. In three panels
it jumps infinitely often as :math:`t \\to 0`, and the motions repeat themselves.
"""

from functools import partial
from math import asin, exp, frexp, pi, sin

import matplotlib.pyplot as plt
import numpy as np

import jostle as jo


def self_similar(starts, parabolas, r, t):
    """Heights and velocities at t, of parabolas (x, v, a) with q(r t) = r^2 q(t)."""
    scale = r ** np.floor(np.log(t / starts[0]) / np.log(r) + 1e-14)
    k = np.maximum(np.searchsorted(starts, t / scale, side="right") - 1, 0)
    s, (x, v, a) = t / scale - starts[k], np.asarray(parabolas)[k].T
    return scale**2 * (x + s * v + 0.5 * s * s * a), scale * (v + s * a)


def pulses():
    """It takes off at 4^k and flies over the pulse at 2 4^k, or the other way round."""
    parts, q, u = [], [0.0], [0.0]
    for t, end, force in ((1, 1.25, 1.6), (1.25, 2, -1.0), (2, 2.5, 1.6), (2.5, 4, -1.0)):
        particle = jo.Motion(q0=q, v0=u, force=[force], within=jo.HalfSpace([1.0]))
        run = jo.solve_by_events(particle, t=end - t)
        parts.append(np.column_stack([t + run.starts, run.parabolas[:, :, 0]]))
        q, u = run.q(end - t), run.u(end - t)
    parts = np.concatenate(parts)
    both = (parts, parts * [2.0, 4.0, 2.0, 1.0])
    motions = (partial(self_similar, each[:, 0], each[:, 1:], 4.0) for each in both)
    return lambda t: 1.6 if frexp(t)[0] < 0.625 else -1.0, 0.0, *motions


def pressing(e):
    """It rests, or it bounces and leaves the floor at t = 2^n with velocity a 2^n."""
    a, strong = 2.0 / (2.0 + e), -((2.0 / e) ** 2)
    parabolas = [[0.0, a, -1.0], [0.5 * a * a, 0.0, strong]]
    rest = partial(self_similar, np.ones(1), np.zeros((1, 3)), 2.0)
    bounces = partial(self_similar, np.array([1.0, 1.0 + a]), parabolas, 2.0)
    return lambda t: -1.0 if 2.0 * frexp(t)[0] < 1.0 + a else strong, e, rest, bounces


def smooth():
    """The force becomes positive at t_n; it takes off at those with even n, or odd n."""
    force = lambda t: exp(-1.0 / t) * (6.0 * sin(t**-3) - 1.0)  # noqa: E731
    starts = [(pi - asin(1.0 / 6.0) + 2.0 * pi * n) ** (-1 / 3) for n in (40, 41)]
    given = {"force": lambda t, q: [force(t)], "within": jo.HalfSpace([1.0])}
    runs = (jo.solve_by_events(jo.Motion(q0=[0.0], **given), t=(t, 0.28)) for t in starts)
    motions = (lambda t, run=run: (run.q(t)[:, 0], run.u(t)[:, 0]) for run in runs)
    return force, 0.0, *motions


pairs = {
    "$e = 0$, a force with pulses": pulses(),
    "$e = 1/2$, a force that presses": pressing(0.5),
    "$e = 1$, a force that presses": pressing(1.0),
    "$e = 0$, a smooth force": smooth(),
}
figure, axes = plt.subplots(2, 2, figsize=(11, 6.4), layout="constrained")
for axis, (title, (force, e, *motions)) in zip(axes.flat, pairs.items(), strict=True):
    last = axis is axes[1, 1]
    t = np.linspace(0.2, 0.28, 4001) if last else np.geomspace(2.0**-5, 4.0, 4001)
    scale = np.exp(-1.0 / t) * t**8 if last else t**2
    strong = [force(s) > 0.0 if e == 0.0 else force(s) < -1.5 for s in t]
    across = axis.get_xaxis_transform()
    axis.fill_between(t, 0, 1, where=strong, color="0.9", transform=across)
    for motion, style in zip(motions, ("-", "--"), strict=True):
        axis.plot(t, motion(t)[0] / scale, style)
    label = "$q \\,/\\, t^8 e^{-1/t}$" if last else "$q / t^2$"
    axis.set(xlabel="$t$", ylabel=label, title=title, xscale="linear" if last else "log")
