"""
Mass and restitution from a noisy film
======================================

Two discs hit each other and the walls of a box, and a camera measures their places twelve
times, with an error of 1 % of the box. How much heavier is the second disc, and how much
speed is left after an impact? The Gauss-Newton method finds both numbers within a few
steps, with exact gradients: ``jo.sensitivity_by_events`` differentiates the run with all
its impacts, at the times of all pictures of the film. The bars are two standard
deviations, from the same derivatives.
"""

import matplotlib.pyplot as plt
import numpy as np

import jostle as jo
from jostle._tools.colours import BLUE, VERMILION

noise, rng = 0.01, np.random.default_rng(4)
times = np.linspace(0.1, 1.2, 12)
box = jo.Balls([0.12, 0.15]) & jo.Box([0.0, 0.0], [1.0, 1.0])


def discs(x):
    return jo.Motion(
        q0=[[0.2, 0.3], [0.65, 0.45]],
        v0=[[1.2, 0.2], [-0.5, 0.1]],
        mass=[1.0, x[0]],
        within=box,
        law=jo.Restitution(float(x[1])),
    )


truth = np.array([2.0, 0.85])
film = jo.solve_by_events(discs(truth), t=times[-1]).q(times)
film += noise * rng.normal(size=film.shape)


def derivative(x):
    """(48, 2): the places of the discs in all pictures, by the mass and by e."""
    found = jo.sensitivity_by_events(discs(x), t=times[-1]).at(times)
    columns = found.forward(mass=[0.0, 1.0])[0], found.forward(e=1.0)[0]
    return np.stack([column.ravel() for column in columns], axis=1)


x = np.array([1.0, 0.6])
history = [x]
for _ in range(5):
    missing = film - jo.solve_by_events(discs(x), t=times[-1]).q(times)
    J = derivative(x)
    x = x + np.linalg.lstsq(J, missing.ravel(), rcond=None)[0]
    history.append(x)
spread = noise * np.sqrt(np.linalg.inv(J.T @ J).diagonal())
names = ("mass of the second disc", "restitution")
for name, found, error, true in zip(names, x, spread, truth, strict=True):
    print(f"{name}: {found:.3f} +- {error:.3f}, truth {true:g}")

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
fitted = jo.solve_by_events(discs(x), t=times[-1]).q(np.linspace(0.0, times[-1], 400))
for k, color in enumerate((BLUE, VERMILION)):
    left.plot(*fitted[:, k].T, color=color, lw=1.0)
    left.plot(*film[:, k].T, "o", color=color, ms=4)
    right.plot(np.array(history)[:, k], "o-", color=color, label=names[k])
    right.axhline(truth[k], color=color, ls=":", lw=1)
    right.errorbar(len(history) - 1, x[k], 2.0 * spread[k], color=color, capsize=4)
left.set(aspect="equal", xlim=(0, 1), ylim=(0, 1), title="measured, and the motion found")
right.set(xlabel="Gauss-Newton step", title="dotted: the truth")
right.legend()
