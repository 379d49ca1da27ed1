"""
The push that makes one ball hit another
========================================

A ball is pushed with a force that is linear in time until it hits a second one, which
shall be at the target one second after the start. The cost is the square of what is
missing, plus a tenth of the integral of the squared force. This is task 3 of Zhong,
Han and Brikis 2022, who tried nine differentiable simulators; the least cost is 1.3965.

Descent along the exact gradients of ``jo.sensitivity_by_events`` ends there. A program
that differentiates through the time steps does not see that a harder push also hits
*earlier*. Its gradients weaken the push until the first ball misses the second one, at
learning rates from 0.05 to 3 alike.
"""

import matplotlib.pyplot as plt
import numpy as np

import jostle as jo
from jostle._tools.colours import BLUE, NEUTRAL, VERMILION

T, epsilon, far = 1.0, 0.1, np.sqrt(2.0)  # the target is at 0, the balls on a line


def two_balls(theta):
    def force(t, q, u):
        pushed = u[1, 0] == 0.0  # until the second ball moves
        return [[pushed * (theta[0] + theta[1] * t)], [0.0]]

    push = jo.gradients.with_vjp(force, lambda t, q, u, y: (0.0 * q, 0.0 * u))
    q0, pair = [[-2.0 * far], [-far]], jo.Balls([0.2, 0.2])
    return jo.Motion(q0=q0, force=push, within=pair, law=jo.Restitution(1.0))


def effort(theta, t):
    """The integral of the squared force up to the time t, and its derivatives."""
    a, b = theta
    by_theta = np.array([2.0 * a * t + b * t**2, a * t**2 + 2.0 / 3.0 * b * t**3])
    return a**2 * t + a * b * t**2 + b**2 * t**3 / 3.0, by_theta, (a + b * t) ** 2


def exact(theta):
    """The cost and its gradient, from impact to impact."""
    found = jo.sensitivity_by_events(two_balls, t=T, theta=theta)
    end, hits = found.q[1, 0], found.solution.events
    spent, by_theta, by_time = effort(theta, hits[0].t if hits else T)
    if hits:
        later = [found.times(theta=axis)[0][0] for axis in np.eye(2)]
        by_theta = by_theta + by_time * np.array(later)
    gradient = found.reverse(q=[[0.0], [2.0 * end]]).theta + epsilon * by_theta
    return end**2 + epsilon * spent, gradient


def through_the_scheme(theta, h=1.0 / 120.0, tiny=1e-8):
    """The cost of a run and, with the same active steps, its gradient on a tape."""
    runs = [two_balls(theta + move) for move in (np.zeros(2), *(tiny * np.eye(2)))]
    ends = [jo.solve(run, jo.MoreauJean(), t=T, h=h) for run in runs]
    end, *moved = (sol.q[-1, 1, 0] for sol in ends)
    spent, by_theta, _ = effort(theta, min([T, *ends[0].impacts().t]))
    gradient = 2.0 * end * (np.array(moved) - end) / tiny + epsilon * by_theta
    return end**2 + epsilon * spent, gradient


gram = np.array([[1.0, 1.0 / 2.0], [1.0 / 2.0, 1.0 / 3.0]])  # of the functions 1 and t
ways = {"exact gradients": exact, "gradients through the time steps": through_the_scheme}
costs = {}
for name, way in ways.items():
    theta, costs[name] = np.array([3.0 * far, 0.0]), []
    for _ in range(25):
        cost, gradient = way(theta)
        costs[name].append(cost)
        theta = theta - 3.0 * np.linalg.solve(gram, gradient)
    print(f"{name}: cost {costs[name][-1]:.4f}")

figure, ax = plt.subplots(figsize=(7.5, 3.4), layout="constrained")
for (name, path), color in zip(costs.items(), (BLUE, VERMILION), strict=True):
    ax.plot(path, color=color, label=f"{name}: {path[-1]:.4f}")
ax.axhline(1.3965, color=NEUTRAL, ls="--", lw=1, label="least cost: 1.3965")
ax.set(xlabel="iteration", ylabel="cost")
ax.legend()
