"""Copies in motion in the plane, and each of them as a problem of its own."""

import numpy as np

import jostle as jo
from glides import glide_of
from jostle.kernels import functions
from jostle.kernels.reference.copies import Common, Copies

ROOT = 1.0 / np.sqrt([1.3, 0.7])
H = 0.02


def _drive(t, q, u, parameters):
    return parameters[0] * np.sin(3.0 * t) - 0.2 * u[0], -5.0 - 0.1 * q[1]


def drive():
    """A force that pulls down and shakes, the parameter as its strength."""
    return functions.force_of(_drive, 2, 1)


def gravity():
    """A constant force."""
    return functions.constant(np.array([0.0, -5.0]).tobytes())


def planes(normals):
    """Planes through the origin."""
    return functions.planes(np.array(normals), np.zeros(len(normals)))


def common(force, rows, m=1, *, flat=True, moving=False, length=0.0):
    return Common(force, rows, flat, moving, np.full(m, length), ROOT)


def flying(force, rows, m=1):
    """With a glide, which flights need and schemes do not; it is compiled for each force."""
    return common(force, rows, m)._replace(glide=glide_of(force, 2, m))


def at_work(m, *, n=4, e=0.4, above=0.5, seed=0, tangents=0):
    """n copies without a contact, of m gaps each."""
    random = np.random.default_rng(seed)
    numbers = np.stack([np.zeros(n), np.full(n, H), np.full(n, e)], axis=1)
    q = np.stack([random.uniform(0.0, 0.3, n), above + random.uniform(0.0, 0.5, n)], axis=1)
    q[0] = [0.0, above]
    states = np.stack([q, q, np.stack([np.zeros(n), random.normal(size=n)], axis=1)], axis=1)
    touched, vectors = np.tile(np.array([[0.0], [-np.inf]]), (n, 1, m)), np.zeros((n, tangents, 5))
    vectors[:, :, :4] = np.linalg.qr(np.random.default_rng(1).normal(size=(4, 4)))[0][:tangents]
    counts, hits = np.zeros((n, 3), np.int64), np.full((n, 300, 3), np.nan)
    grazing, escape = np.zeros((n, 1 + tangents)), np.full(n, np.inf)
    grazing[:, 0] = np.inf
    return Copies(numbers, random.uniform(0.0, 4.0, (n, 1)), states, counts, touched, hits, vectors, grazing, escape)


def problem(copies, c, within, force=None):
    """Copy number c as a problem: `force` is a constant one, or None for `drive`."""

    def driven(t, q, u):
        return np.array(_drive(t, q, u, copies.parameters[c]))

    q, _, u = copies.states[c]
    return jo.Motion(
        q0=q, v0=u, force=driven if force is None else force, within=within, mass=np.diag(ROOT**-2),
        law=jo.Restitution(float(copies.numbers[c, 2])),
    )  # fmt: skip
