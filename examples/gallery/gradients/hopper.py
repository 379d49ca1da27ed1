"""
The opening of a hopper for a wanted flow
=========================================

Discs sink through a liquid and leave a hopper. Which opening lets nine of them pass
within 0.7 s? The number of discs below the opening is an integer: its derivative is 0 or
does not exist. So each disc counts with a smooth weight of its height. At 0.7 s, the
gradients of ``jo.sensitivity`` are tangents of this flow, and Newton's method works.

At 1.2 s they are those of the run, too, but useless: contacts multiply the distances
between neighbouring runs, so that a derivative describes only tiny changes. Late weak
contacts, which touch and do not push, count as open; differences of 1e-7 confirm the
derivatives (right). ``run.rounded`` says where those of the motion differ.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

import jostle as jo
from jostle._tools.colours import BLUE, GREEN, VERMILION

n, drag, blur, early, late, wanted, middle = 48, 5.0, 0.2, 0.7, 1.2, 9.0, 0.6
radii = (rng := np.random.default_rng(1)).uniform(0.08, 0.12, n)
rows = [(int(y / 0.14), y) for y in 0.45 + 0.28 * np.arange(9)]
q0 = np.array([(0.28 * (k - (m - 1) / 2), y) for m, y in rows for k in range(m)])[:n]
q0 += rng.uniform(-0.02, 0.02, (n, 2))
sink = jo.gradients.with_vjp(
    lambda t, q, u: [0.0, -9.81] - drag * u, lambda t, q, u, y: (0.0 * q, -drag * y)
)


def hopper(theta):
    a = theta[0] / 2.0
    walls = jo.Segments([[[a, 0.0], [a + 3.0, 3.0]], [[-a, 0.0], [-a - 3.0, 3.0]]])
    return jo.Motion(q0=q0, force=sink, within=jo.Balls(radii) & walls)


def flow(opening):
    """The flow at all multiples of 0.1 s."""
    run = jo.solve(hopper([opening]), jo.Maury(), t=late, h=0.01, every=0.1)
    return (1.0 / (1.0 + np.exp(run.q[..., 1] / blur))).sum(axis=1)


def derivative(opening, t):
    """The flow at the time t, its derivative, and how many steps have weak contacts."""
    with warnings.catch_warnings(action="ignore", category=jo.JostleWarning):
        run = jo.sensitivity(hopper, jo.Maury(), t=t, h=0.01, theta=[opening])
    w = 1.0 / (1.0 + np.exp(run.q[:, 1] / blur))
    by_q = (-w * (1.0 - w) / blur)[:, None] * [0.0, 1.0]
    return w.sum(), run.reverse(q=by_q).theta[0], len(run.weak)


figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
openings = np.linspace(0.5, 0.7, 9)
curves = np.array([flow(opening) for opening in openings])
for t, color in ((early, BLUE), (late, VERMILION)):
    left.plot(openings, curves[:, round(10 * t)], ".-", color=color, label=f"at {t} s")
    for at in (0.52, 0.68):
        value, slope, _ = derivative(at, t)
        ends = at + np.array([-1.0, 1.0]) * min(0.04, 4.0 / abs(slope))
        left.plot(ends, value + slope * (ends - at), color=color, alpha=0.35, lw=6)
opening, newton = 0.5, []
for _ in range(5):
    value, slope, _ = derivative(opening, early)
    newton.append((opening, value))
    opening += (wanted - value) / slope
left.plot(*np.transpose(newton), "o", color=GREEN, label="Newton's method")
left.set(xlabel="opening", ylabel="flow (discs)", title="flow and its derivatives")
left.legend()
times = np.arange(2, 7) / 5.0
exact, weak = np.array([derivative(middle, t)[1:] for t in times]).T
print("steps with weak contacts:", weak.astype(int), "until", times)
right.semilogy(times, np.abs(exact), color=BLUE, lw=6, alpha=0.35, label="derivative")
slopes = {d: (flow(middle + d) - flow(middle - d))[4::2] / (2 * d) for d in (1e-7, 0.05)}
for d, color in zip(slopes, (BLUE, VERMILION), strict=True):
    right.plot(times, np.abs(slopes[d]), "o--", color=color, label=f"differences, {d:g}")
right.set(xlabel="time", title=f"slope at the opening {middle}, absolute values")
right.legend()
