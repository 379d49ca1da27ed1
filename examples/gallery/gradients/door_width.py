"""
The width of a door for an evacuation time
==========================================

Fifteen people leave a room, and the last of them passes a line 1 m behind the door. How
much time does a wider door save? If it moves the last person ahead by dx, the time
changes by -dx / speed, and ``jo.sensitivity`` has the gradients of x. At wide doors they
follow the curve, at most widths. Where another person becomes the last, the derivative
jumps. At narrow doors it is exact and useless: the time goes up and down within
millimetres. Arches block some of these doors for good (gaps in the curve). The program
prints how many steps have contacts that depend on each other, and tiny differences that
confirm the derivative of the run. ``run.rounded`` says where that of the motion differs.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

import jostle as jo
from jostle._tools.colours import BLUE, NEUTRAL, VERMILION

grid = np.array([(-0.6 * (i + 1), 0.6 * (j - 1)) for i in range(5) for j in range(3)])
q0 = grid + np.random.default_rng(1).uniform(-0.04, 0.04, grid.shape)


def walk(t, q):
    """Everyone walks at 1 m/s to a point behind the door, and on from there."""
    way = np.stack([0.5 - np.minimum(q[:, 0], 0.0), -q[:, 1]], axis=1)
    return way / np.linalg.norm(way, axis=1, keepdims=True)


def crowd(theta):
    a = theta[0] / 2.0
    walls = jo.Segments([[[0.0, a], [0.0, 4.0]], [[0.0, -a], [0.0, -4.0]]])
    return jo.Sweeping(q0=q0, velocity=walk, within=jo.Balls(np.full(15, 0.25)) & walls)


def evacuation(width):
    """The time at which the last person passes the line, who it is, and the whole run."""
    problem, out = crowd([width]), lambda state: min(state.q[:, 0]) > 1.0
    sol = jo.solve(problem, jo.Venel(), t=12.0, h=0.05, until=out)
    last = sol.q[-1, :, 0].argmin()
    late = (sol.q[-1, last, 0] - 1.0) / sol.u[-1, last, 0]
    return (sol.t[-1] - late if sol.status == "stopped" else np.nan), last, sol


def derivative(width):
    """The time, its derivative, and how many steps have weak or dependent contacts."""
    t, last, sol = evacuation(width)
    with warnings.catch_warnings(action="ignore", category=jo.JostleWarning):
        run = jo.sensitivity(crowd, jo.Venel(), t=sol.t[-1], h=0.05, theta=[width])
        dq, du = run.forward(theta=[1.0])
    dx = dq[last, 0] - (sol.t[-1] - t) * du[last, 0]  # t is within the last step
    return t, -dx / run.u[last, 0], len(run.dependent) + len(run.weak)


panels = {
    "evacuation time (s)": (np.linspace(0.78, 1.5, 37), (0.96, 1.2, 1.26, 1.44)),
    "a kink: another person is the last": (np.linspace(1.344, 1.351, 8), (1.345, 1.35)),
    "a narrow door": (np.linspace(1.0175, 1.0205, 9), (1.01825, 1.01925)),
}
figure, axes = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
slopes = {}
for ax, (title, (widths, places)) in zip(axes, panels.items(), strict=True):
    times, last = np.array([evacuation(width)[:2] for width in widths]).T
    ax.plot(widths, times, ".-", color=NEUTRAL, lw=0.8)
    same = last == 14
    ax.plot(widths[same], times[same], "o", color=BLUE, ms=4, label="last: person 14")
    for width in places:
        t, slope, count = derivative(width)
        before, after = (evacuation(width + d)[0] for d in (-1e-7, 1e-7))
        slopes[width] = slope, (after - before) / 2e-7
        print(f"{width} m: {slope:.4f} s/m, differences {slopes[width][1]:.4f}; {count}")
        reach = min(0.1 * np.ptp(widths), 0.15 * np.ptp(times[times > 0]) / abs(slope))
        d = np.array([-reach, reach])
        ax.plot(width + d, t + slope * d, color=VERMILION, alpha=0.4, lw=6)
    ax.set(xlabel="width of the door (m)", title=title)
    ax.locator_params(axis="x", nbins=4)
axes[1].legend()
