"""Arguments of `march` and `fly`: functions of the user, and copies in motion in the plane."""

import numpy as np

from jostle.kernels import functions


def _drive(t, q, u, parameters):
    return parameters[0] * np.sin(3.0 * t) - 0.2 * u[0], -5.0 - 0.1 * q[1]


def drive():
    """A force that pulls down and shakes, the parameter as its strength."""
    return functions.force_of(_drive)


def gravity():
    """A constant force."""
    return functions.constant(np.array([0.0, -5.0]).tobytes())


def planes(normals):
    """Planes through the origin."""
    return functions.planes(np.array(normals), np.zeros(len(normals)))


def open_contacts(n, m):
    """`touched` of n copies without a contact."""
    return np.tile(np.array([[0.0], [-np.inf]]), (n, 1, m))


def at_work(m, *, n=4, e=0.4, above=0.5, seed=0):
    """Of n copies, m gaps each: numbers, parameters, root, states, counts, touched, hits, and which steps to do."""
    random = np.random.default_rng(seed)
    numbers = np.stack([np.zeros(n), np.full(n, 0.02), np.full(n, e)], axis=1)
    q = np.stack([random.uniform(0.0, 0.3, n), above + random.uniform(0.0, 0.5, n)], axis=1)
    q[0] = [0.0, above]
    states = np.stack([q, q, np.stack([np.zeros(n), random.normal(size=n)], axis=1)], axis=1)
    root = 1.0 / np.sqrt([1.3, 0.7])
    return (
        numbers, random.uniform(0.0, 4.0, (n, 1)), root, states, np.zeros((n, 3), np.int64), open_contacts(n, m),
        np.full((n, 3, 3), -1.0), 5, 20, 4, 16,
    )  # fmt: skip


def flying(m, *, n=4, tangents=4, **more):
    """The same for `fly`: with tangents before the steps."""
    given = at_work(m, n=n, **more)
    vectors = np.zeros((n, tangents, 5))
    vectors[:, :, :4] = np.linalg.qr(np.random.default_rng(1).normal(size=(4, 4)))[0][:tangents]
    return *given[:7], vectors, *given[7:]
