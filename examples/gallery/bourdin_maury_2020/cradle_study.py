"""
Newton's cradle with several laws and gaps
==========================================

Figure 10 of Bourdin and Maury 2020 shows two results for the same cradle with :math:`e
= 1`. This example shows more of them. Left: five balls that touch, with Moreau's law,
with binary impacts in all orders, and with the law of Liu, Zhao and Brogliato for
linear springs and for Hertz contacts. Right: Moreau's law if some of the balls at rest
touch and others do not, and the results of random small gaps. In the upper row all
masses are equal; in the lower row the second and the fourth ball have 0.3 times the
mass of the others. All results conserve momentum and energy.
"""

from itertools import product

import matplotlib.pyplot as plt
import numpy as np

import jostle as jo
from jostle._tools.colours import BLUE, GREEN, PURPLE, VERMILION


def cradle(mass, gaps=(0.0, 0.0, 0.0, 0.0)):
    """Five balls, the first with velocity 1, at these distances from each other."""
    q0 = np.concatenate([[0.0], np.cumsum(1.0 + np.asarray(gaps))])
    balls, law = jo.Line(np.full(5, 0.5)), jo.Restitution(1.0)
    return jo.Motion(
        q0=q0, v0=[1.0, 0.0, 0.0, 0.0, 0.0], mass=mass, within=balls, law=law
    )


equal, mixed = np.ones(5), np.array([1.0, 0.3, 1.0, 0.3, 1.0])
styles = {
    "Moreau": "s--",
    "binary": "o-",
    "Liu-Zhao-Brogliato, linear": "^:",
    "Liu-Zhao-Brogliato, Hertz": "v-.",
}
colours = dict(zip(styles, (VERMILION, BLUE, PURPLE, GREEN), strict=True))
figure, axes = plt.subplots(
    2, 2, figsize=(11, 6.4), sharex=True, sharey=True, layout="constrained"
)
balls = np.arange(1, 6)
laws = [jo.impacts.compare(cradle(mass)) for mass in (equal, mixed)]
for left, found in zip(axes[:, 0], laws, strict=True):
    for outcome in found.outcomes:
        law = outcome.law if outcome.law in styles else "binary"
        left.plot(balls, outcome.velocity, styles[law], color=colours[law], label=law)
    keys = dict(zip(*reversed(left.get_legend_handles_labels()), strict=True))
    left.legend(keys.values(), keys.keys(), frameon=False, loc="upper left")
top, bottom, patterns, names = *axes[:, 1], {}, {}
for apart in product((False, True), repeat=3):
    gaps = np.array([0.5, *np.where(apart, 0.01, 0.0)])
    patterns[apart] = jo.solve_by_events(cradle(equal, gaps), t=100.0).u(100.0)
    name = "o" + "".join(" o" if each else "o" for each in apart)
    names.setdefault(tuple(patterns[apart].round(6)), []).append(name)
looks = ("s--", "o-", "^:", "v-.", "D--", "P:", "X-")
for look, (velocity, equivalent) in zip(looks, names.items(), strict=True):
    top.plot(balls, velocity, look, label=", ".join(equivalent))
top.legend(frameon=False, loc="upper left", ncols=2, title="touching (oo) or apart (o o)")
sampled = jo.impacts.outcomes(cradle(mixed), samples=500)
found = zip(sampled.velocities, sampled.counts, (BLUE, PURPLE, GREEN), "o^v", strict=True)
for velocity, count, colour, marker in found:
    name = f"{count / 500:.0%} of random small gaps"
    bottom.plot(balls, velocity, color=colour, marker=marker, label=name)
look = {"color": colours["Moreau"], "label": "all touching, Moreau"}
bottom.plot(balls, sampled.touching, styles["Moreau"], **look)
bottom.legend(frameon=False, loc="upper left")
titles = (
    "equal masses, all touching",
    "equal masses, some touching",
    "two light balls, all touching",
    "two light balls, apart",
)
for axis, title in zip(axes.flat, titles, strict=True):
    axis.set(title=title, xticks=balls, ylim=(-0.7, 1.8))
figure.supxlabel("ball")
figure.supylabel("velocity after")
