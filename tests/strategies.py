"""What hypothesis draws: clusters of touching discs, rows of balls, polyhedra, masses, units.

Sizes and shapes are drawn by hypothesis, so that a failure shrinks to a small one; numbers in bulk come from a
generator whose seed is drawn.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import jostle as jo

TOUCHING = 1e-12
"""Two discs touch if their gap is smaller than this; the clusters have radii of about one."""


class Cluster(NamedTuple):
    """Discs, some of which touch; none overlap."""

    q: np.ndarray
    radii: np.ndarray
    G: np.ndarray
    """(m, 2 n) the rows of the contacts, dense: -normal at i, +normal at j."""
    cone: jo.convex.Cone
    """The same contacts as pairs."""


class Case(NamedTuple):
    """A projection to be made: w on K = {c + G u >= 0} in the metric of mass."""

    w: np.ndarray
    G: np.ndarray
    c: np.ndarray
    mass: np.ndarray
    """(N,) one a coordinate."""
    inside: np.ndarray
    """A point of K, known by construction."""

    @property
    def K(self) -> jo.convex.Polyhedron:
        return jo.convex.Polyhedron(self.G, self.c)


def cluster(q: np.ndarray, radii: np.ndarray) -> Cluster:
    """The discs and their contacts."""
    i, j = np.triu_indices(len(q), k=1)
    apart = q[j] - q[i]
    distance = np.linalg.norm(apart, axis=1)
    touching = np.abs(distance - radii[i] - radii[j]) < TOUCHING
    i, j, normal = i[touching], j[touching], (apart / distance[:, None])[touching]
    G = np.zeros((len(i), *q.shape))
    rows = np.arange(len(i))
    G[rows, i], G[rows, j] = -normal, normal
    return Cluster(q, radii, G.reshape(len(i), q.size), jo.convex.Cone(jo.convex.NormalRows(i, j, normal, len(q))))


def generators() -> st.SearchStrategy[np.random.Generator]:
    return st.integers(0, 2**32 - 1).map(np.random.default_rng)


def velocities(size: int) -> st.SearchStrategy[np.ndarray]:
    """Often with zeros and repeated entries, as hypothesis likes them."""
    return arrays(float, size, elements=st.floats(-4.0, 4.0, width=32, allow_subnormal=False).map(_no_dust))


def _no_dust(x: float) -> float:
    return x if abs(x) > 1e-3 else 0.0


def moderate_masses(size: int) -> st.SearchStrategy[np.ndarray]:
    return arrays(float, size, elements=st.sampled_from([0.25, 0.5, 1.0, 2.0, 3.0]))


def wild_masses(size: int) -> st.SearchStrategy[np.ndarray]:
    """From 1e-6 to 1e6."""
    return arrays(float, size, elements=st.floats(-6.0, 6.0).map(lambda power: 10.0**power))


@st.composite
def trees(draw: st.DrawFn, most: int = 7) -> Cluster:
    """Discs of several sizes, each put against an earlier one; one that would overlap is left out."""
    n = draw(st.integers(2, most))
    random = draw(generators())
    q, radii = [np.zeros(2)], [1.0]
    for _ in range(n - 1):
        other, angle = random.integers(len(q)), random.uniform(0.0, 2.0 * np.pi)
        r = float(random.choice([0.5, 1.0, 1.5]))
        centre = q[other] + (radii[other] + r) * np.array([np.cos(angle), np.sin(angle)])
        gaps = np.linalg.norm(centre - np.array(q), axis=1) - np.array(radii) - r
        gaps[other] = 0.0
        if gaps.min() >= 0.0:
            q.append(centre)
            radii.append(r)
    return cluster(np.array(q), np.array(radii))


@st.composite
def lattices(draw: st.DrawFn, most: int = 4) -> Cluster:
    """A patch of the triangular or square lattice, with holes: more contacts than the velocities determine."""
    rows, columns = draw(st.integers(2, most)), draw(st.integers(2, most))
    shear, height = draw(st.sampled_from([(0.5, np.sqrt(3.0) / 2.0), (0.0, 1.0)]))
    k, row = np.meshgrid(np.arange(columns), np.arange(rows))
    q = 2.0 * np.stack([k + shear * row, height * row], axis=-1).reshape(-1, 2)
    kept = draw(arrays(bool, len(q), elements=st.sampled_from([True, True, True, False])))
    kept[:2] = True
    return cluster(q[kept], np.ones(kept.sum()))


def clusters() -> st.SearchStrategy[Cluster]:
    return trees() | lattices()


@st.composite
def moving_clusters(
    draw: st.DrawFn, of: st.SearchStrategy[Cluster] | None = None, wild: bool = False
) -> tuple[Cluster, np.ndarray, np.ndarray]:
    """(cluster, velocities (n, 2), masses (n,))."""
    discs = draw(of if of is not None else clusters())
    n = len(discs.q)
    u = draw(velocities(2 * n)).reshape(n, 2)
    return discs, u, draw(wild_masses(n) if wild else moderate_masses(n))


@st.composite
def rows_of_balls(draw: st.DrawFn, most: int = 12, wild: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """(velocities, masses) of balls that touch in a row."""
    n = draw(st.integers(2, most))
    return draw(velocities(n)), draw(wild_masses(n) if wild else moderate_masses(n))


@st.composite
def polyhedra(draw: st.DrawFn, hard: bool = False) -> Case:
    """A polyhedron around a known point, half of whose rows touch it, and a point to project on it.

    Numbers are small multiples of powers of two: the known point satisfies every row exactly. Hard ones have masses
    from 1e-6 to 1e6, rows that are repeated in lengths from 1e-6 to 1e6, and rows that are nearly parallel.
    """
    n, m = draw(st.integers(1, 6)), draw(st.integers(1, 12))
    random = draw(generators())
    G = random.integers(-4, 5, (m, n)).astype(float)
    G[~G.any(axis=1), 0] = 1.0
    inside = random.integers(-256, 257, n) / 64.0
    slack = random.integers(0, 129, m) / 64.0 * random.integers(0, 2, m)
    c = slack - G @ inside
    w = inside + random.integers(-512, 513, n) / 64.0
    if not hard:
        return Case(w, G, c, draw(moderate_masses(n)), inside)
    again, beside = random.integers(0, m, (2, m))
    scale = 2.0 ** random.integers(-20, 21, m)
    turned = G[beside] + 2.0 ** -random.integers(3, 31, (m, 1)) * random.integers(-4, 5, (m, n))
    rows = np.concatenate([G, scale[:, None] * G[again], turned])
    offsets = np.concatenate([c, scale * c[again], slack[beside] - turned @ inside])
    return Case(w, rows, offsets, draw(wild_masses(n)), inside)


@st.composite
def contradictions(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(w, G, c) with {c + G u >= 0} empty: some y > 0 has G^T y = 0 and c . y <= -1/4."""
    n, m, k = draw(st.integers(1, 5)), draw(st.integers(0, 6)), draw(st.integers(1, 3))
    random = draw(generators())
    G = random.integers(-4, 5, (m, n)).astype(float)
    fighting = random.integers(-4, 5, (k, n)).astype(float)
    fighting[0, 0] = 1.0 + abs(fighting[0, 0])
    y = random.integers(1, 4, k).astype(float)
    offset = random.integers(-64, 65, k) / 16.0
    rows = np.concatenate([G, fighting, -(y @ fighting)[None]])
    c = np.concatenate([random.integers(-64, 65, m) / 16.0, offset, [-(y @ offset) - 0.25]])
    order = random.permutation(len(rows))
    return random.integers(-64, 65, n) / 16.0, rows[order], c[order]


class Units(NamedTuple):
    """Factors of the units of length, mass and time."""

    length: float
    mass: float
    time: float


def units() -> st.SearchStrategy[Units]:
    """From 1e-6 to 1e6, as powers of two (of four for masses), by which floating point numbers scale exactly."""
    power = st.integers(-20, 20)
    return st.builds(lambda a, b, c: Units(2.0**a, 4.0 ** (b // 2), 2.0**c), power, power, power)


def angles() -> st.SearchStrategy[float]:
    return st.floats(0.0, 6.25)


def restitutions() -> st.SearchStrategy[float]:
    return st.sampled_from([0.0, 0.25, 0.5, 0.9, 1.0])
