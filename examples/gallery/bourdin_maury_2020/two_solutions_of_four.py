"""
Four problems with two solutions each
=====================================

A particle on a floor is at rest at :math:`t = 0`, as in figure 9 of Bourdin and Maury
2020 (after Schatzman 1978 and Ballard 2000). Each panel shows two motions under the
same force; both satisfy the equation of motion and the impact law up to round-off. The
grey bands show where the force pushes up (:math:`e = 0`) or presses most. In the first
three panels the force jumps infinitely often as :math:`t \\to 0`; in the last panel it
is infinitely smooth.
"""

import matplotlib.pyplot as plt
import numpy as np

import jostle as jo

pairs = {
    "$e = 0$, a force with pulses": jo.models.two_inelastic_motions(),
    "$e = 1/2$, a force that presses": jo.models.two_motions_with_restitution(0.5),
    "$e = 1$, a force that presses": jo.models.two_motions_with_restitution(1.0),
    "$e = 0$, a smooth force": jo.models.two_motions_under_a_smooth_force(),
}
checks = {title: pair.check() for title, pair in pairs.items()}
figure, axes = plt.subplots(2, 2, figsize=(11, 6.4), layout="constrained")
for axis, (title, pair) in zip(axes.flat, pairs.items(), strict=True):
    smooth = "smooth" in title
    t = np.linspace(0.2, pair.end, 4001) if smooth else np.geomspace(2.0**-5, 4.0, 4001)
    scale = np.exp(-1.0 / t) * t**8 if smooth else t**2
    force = np.array([pair.force(s) for s in t])
    level = 0.0 if pair.e == 0.0 else -1.5
    strong = force > level if pair.e == 0.0 else force < level
    axis.fill_between(
        t,
        0,
        1,
        where=strong,
        color="0.9",
        transform=axis.get_xaxis_transform(),
        step="mid",
    )
    for motion, style in ((pair.first, "-"), (pair.second, "--")):
        axis.plot(t, motion.q(t) / scale, style)
    worst = max(max(errors) for errors in checks[title])
    axis.set(
        xlabel="$t$",
        xscale="linear" if smooth else "log",
        title=f"{title}: residuals {worst:.0e}",
    )
    axis.set_ylabel("$q \\,/\\, t^8 e^{-1/t}$" if smooth else "$q / t^2$")
