"""Contacts for the tests of blocks of space, on a CPU and on a GPU."""

import numpy as np

from jostle.kernels import ContactRows, Stop
from kernel_sets import reference


def rows_in_space(d):
    """(i, j, normal, s0, places) of many balls and walls in d dimensions; the first two rows are of balls far apart."""
    random = np.random.default_rng(d)
    side = {1: 300, 2: 20, 3: 8}[d]
    q = np.stack(np.meshgrid(*[np.arange(float(side))] * d), axis=-1).reshape(-1, d)
    q = random.permutation(q + random.uniform(-0.1, 0.1, q.shape))
    n = len(q)
    (i, j), normal, gap = reference.all_pairs(q, np.full(n, 0.5), np.full(n, 0.1), np.full(d, np.inf))
    along, wall = np.argsort(q.sum(axis=1)), np.arange(0, n, 7)
    i, j = np.concatenate([along[:2], i, wall]), np.concatenate([along[-2:], j, -1 - wall])
    axis = np.eye(1, d)
    normal = np.vstack([axis, axis, normal, np.tile(axis, (len(wall), 1))])
    return i, j, normal, np.concatenate([[0.5, -0.5], gap, random.normal(size=len(wall))]) - 0.1, q


def sweeping(d, chunks):
    """The arguments of `gauss_seidel` for random rows of neighbouring bodies, walls, and bodies far apart."""
    random, n, m = np.random.default_rng(d), 60, 120
    q = random.permutation(np.stack(np.meshgrid(np.arange(10.0), np.arange(6.0)), axis=-1).reshape(-1, 2))
    places = np.pad(q, ((0, 0), (0, max(0, d - 2))))[:, :d].copy()
    i = random.integers(0, n - 1, m)
    j = np.where(random.uniform(size=m) < 0.2, -1, i + 1)
    normal = random.normal(size=(m, d))
    unit = np.sqrt((normal**2).sum(axis=1) * np.where(j < 0, 1.0, 2.0))
    s0, start = random.normal(size=m), random.uniform(size=m)
    stop = Stop(np.full(m, 1e-9), 1e-12, 500, 20)
    return ContactRows(i, j, normal), unit, np.ones(n), s0, start, stop, chunks, places
