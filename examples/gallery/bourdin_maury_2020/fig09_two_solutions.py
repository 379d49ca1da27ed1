"""
Two solutions for one force
===========================

Figure 9 of Bourdin and Maury 2020. A particle lies on a floor, with :math:`e = 0`,
under a force that changes its sign infinitely often as :math:`t \\to 0`. Two sequences
of time steps that begin at different times lead to two different motions. Both motions
solve the problem.
"""

import math

import matplotlib.pyplot as plt
import numpy as np

import jostle as jo


def force(t, q):
    """1.6 on [2^n, 1.25 2^n), -1 elsewhere, for all integers n."""
    return 1.6 if math.frexp(t)[0] < 0.625 else -1.0


particle = jo.Motion(q0=[0.0], force=force, within=jo.HalfSpace([1.0]))
figure, (top, bottom) = plt.subplots(
    2, 1, figsize=(8, 5), sharex=True, height_ratios=[3, 1], layout="constrained"
)
ends = []
for octave, style in ((-7, "-"), (-8, "--")):
    times = 2.0 ** np.linspace(octave, 2, 200 * (2 - octave) + 1)
    sol = jo.solve(
        particle, jo.Maury(samples=8), t=(times[0], times[-1]), h=np.diff(times)
    )
    ends.append(sol)
    top.plot(
        sol.t,
        sol.q / sol.t[:, None] ** 2,
        style,
        label=f"from rest at $t = 2^{{{octave}}}$",
    )
bottom.step(
    times, [force(t, 0.0) for t in times], where="post", color="0.4", linewidth=0.8
)
top.set(ylabel="$q / t^2$", xscale="log")
top.legend(frameon=False, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0))
bottom.set(xlabel="$t$", ylabel="$f$")
