"""A constraint with a moving boundary: a piston that pushes beads along a line."""

import numpy as np

import jostle as jo

STROKE, FREQUENCY = 0.5, 2.0


def push(t, q):
    return np.eye(1, q.size)


@jo.constraints(gradient=push, convex=True, moving=True, length=0.1)
def piston(t, q):
    """The first bead stays in front of the piston at STROKE sin(FREQUENCY t)."""
    return [q.ravel()[0] - 0.1 - STROKE * np.sin(FREQUENCY * t)]


def beads(n=4):
    """Beads of radius 0.1 in a row; the piston behind them moves."""
    start = np.linspace(0.1, 0.1 + 0.25 * (n - 1), n)
    return jo.Sweeping(q0=start, within=jo.Line(np.full(n, 0.1)) & piston)
