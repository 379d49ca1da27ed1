"""What separates grains from densities: the matrix B B*, its kernel, its signs, and the maximum principle.

Bourdin & Maury 2020, sections 2 and 3, and Definition 3: (B, Lambda_+) verifies the maximum principle if

    B U >= 0   implies   B B* p = B U for some p >= 0,

so that grains that are pushed against each other may be treated as glued together. It holds for the isotropic law
(Prop. 4), where B B* is minus the Laplacian, and for rows and square lattices of grains; it fails as soon as contacts
of one disc meet at an acute angle, whose cosine is then a positive entry of B B*. (B = -G, and B B* = G M^-1 G^T.)

By Farkas' lemma it holds if and only if any two x, x' of D = {x in the range of B* : B x >= 0} have x . x' >= 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, islice
from math import comb
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jostle.arrays import Array
from jostle.convex.metric import Metric, metric
from jostle.convex.polyhedron import Cone
from jostle.errors import InvalidValue

ROUND_OFF = 1e-10
"""Singular values, and entries of the inverse, below this part of the largest are zero."""
DENSE = 4000
"""So many contacts are treated at most: the matrix is dense."""
RAYS = 20_000
"""So many candidates for edges of the cone D are looked at where contacts depend on each other; else it is searched."""
STARTS, TURNS = 12, 20
"""From so many places the search starts, and so often it turns from x to x' and back."""


@dataclass(frozen=True, eq=False)
class CounterExample:
    """A velocity that pushes all contacts together, and yet glued grains would have to pull; see `Structure`."""

    velocity: Array
    """(n,): U, with B U >= 0."""
    rates: Array
    """(m,): B U."""
    pressure: Array
    """(m,): the smallest p with B B* p = B U. Some entries are negative, as in every other such p."""
    proof: Array
    """(m,): v with B B* v >= 0 and v . B U < 0. With a p >= 0 this could not be."""


@dataclass(frozen=True, eq=False)
class Structure:
    """The contacts of a cone, as a matrix B; see `structure`.

    >>> acute = structure(Cone([[1.0, 0.0], [0.5, 0.75**0.5]]))
    >>> acute.matrix.round(12).tolist(), acute.dependent, acute.is_m_matrix, acute.maximum_principle
    ([[1.0, 0.5], [0.5, 1.0]], 0, False, False)
    >>> found = acute.counter_example
    >>> bool(found.rates.min() > -1e-12), bool(found.pressure.min() < 0)
    (True, True)
    """

    B: Array
    """(m, n): -G, in coordinates in which the metric is Euclidean."""
    metric: Metric

    @cached_property
    def matrix(self) -> Array:
        """(m, m): B B*."""
        return np.asarray(self.B @ self.B.T)

    @cached_property
    def _svd(self) -> tuple[Array, Array, Array]:
        """P (m, r), s (r,), Q (r, n) with B = P diag(s) Q, and no s that is zero."""
        P, s, Q = np.linalg.svd(self.B, full_matrices=False)
        rank = int((s > ROUND_OFF * s.max(initial=0.0)).sum())
        return P[:, :rank], s[:rank], Q[:rank]

    @property
    def velocities(self) -> int:
        """The number of degrees of freedom."""
        return int(self.B.shape[1])

    @property
    def contacts(self) -> int:
        """m."""
        return len(self.B)

    @property
    def rank(self) -> int:
        """The rank of B."""
        return len(self._svd[1])

    @property
    def dependent(self) -> int:
        """The dimension of ker B*: how far pressures are from being unique (hyperstatic, if it is positive)."""
        return self.contacts - self.rank

    @cached_property
    def kernel(self) -> Array:
        """(m, k): an orthonormal basis of ker B*: what may be added to the pressures and moves nothing."""
        P = self._svd[0]
        full = np.linalg.svd(P, full_matrices=True)[0] if self.contacts else np.zeros((0, 0))
        return np.asarray(full[:, self.rank :])

    @property
    def constant(self) -> float:
        """beta: |B* q| >= beta |q| for all q orthogonal to ker B*; the Poincaré inequality of the contacts.

        >>> row = structure(Cone(np.diff(np.eye(4), axis=0)))
        >>> float(round(row.constant / (2 * np.sin(np.pi / 8)), 12))                                # 2 sin(pi / 2n)
        1.0
        """
        return float(self._svd[1].min(initial=np.inf))

    @cached_property
    def self_stress(self) -> Array | None:
        """(m,): q >= 0, not zero, with B* q = 0; then pressures are unbounded. None: they are bounded (Lemma 1).

        >>> wedged = structure(Cone([[1.0], [-1.0]]))
        >>> wedged.self_stress.tolist(), structure(Cone([[1.0]])).self_stress
        ([1.0, 1.0], None)
        """
        if self.dependent == 0:
            return None
        q = _linear_programme(-np.ones(self.contacts), A_eq=self.B.T, b_eq=np.zeros(self.velocities), bounds=(0.0, 1.0))
        return q if q.max() > ROUND_OFF**0.5 else None

    @property
    def is_m_matrix(self) -> bool:
        """No entry off the diagonal is positive: then the maximum principle holds, as for the Laplacian."""
        off = self.matrix - np.diag(np.diag(self.matrix))
        return bool(off.max(initial=0.0) <= ROUND_OFF * np.abs(self.matrix).max(initial=0.0))

    @property
    def maximum_principle(self) -> bool | None:
        """Does it hold? None: a search found no counter-example, and there are too many edges to look at all."""
        if self.is_m_matrix:
            return True
        if self.counter_example is not None:
            return False
        return None if self.dependent and comb(self.contacts, self.rank - 1) > RAYS else True

    @cached_property
    def counter_example(self) -> CounterExample | None:
        """U and a proof that the maximum principle fails for it, or None."""
        if self.is_m_matrix:
            return None
        P, s, Q = self._svd
        z, other = self._least_product()
        product = float((z / s) @ (other / s))
        if product >= -ROUND_OFF * float(np.linalg.norm(z / s) * np.linalg.norm(other / s)):
            return None
        velocity = self.metric.unwhiten((z / s) @ Q)
        return CounterExample(velocity, P @ z, P @ (z / s**2), P @ (other / s**2))

    def _least_product(self) -> tuple[Array, Array]:
        """z, z' with x = Q^T z / s and x' in D, whose product x . x' is the least that was found; B x = P z."""
        P, s, _ = self._svd
        if not self.dependent:  # the edges of D are the columns of the inverse: P is square
            edges = P
        elif comb(self.contacts, self.rank - 1) <= RAYS:
            edges = self._edges()
        else:
            return self._searched()
        gram = (edges / s) @ (edges / s).T
        lengths = np.sqrt(np.diag(gram))
        i, j = np.unravel_index(np.argmin(gram / np.outer(lengths, lengths)), gram.shape)
        return edges[i], edges[j]

    def _edges(self) -> Array:
        """(k, r): all edges of {z : P z >= 0}: along each, r - 1 independent rows of P are zero."""
        P, found = self._svd[0], []
        subsets = combinations(range(self.contacts), self.rank - 1)
        while chunk := list(islice(subsets, 2000)):
            _, size, right = np.linalg.svd(P[np.array(chunk, dtype=int)], full_matrices=True)
            z = right[:, -1][size.min(axis=1, initial=1.0) > ROUND_OFF**0.5]
            rates = z @ P.T
            found += [z[rates.min(axis=1) >= -(ROUND_OFF**0.5)], -z[rates.max(axis=1) <= ROUND_OFF**0.5]]
        return np.concatenate(found)

    def _searched(self) -> tuple[Array, Array]:
        """For a fixed z' the least product is a linear programme; turn by turn, from several starts."""
        P, s, _ = self._svd
        m, best = self.contacts, (np.inf, P[0], P[0])
        for start in np.linspace(0, m - 1, min(m, STARTS)).astype(int):
            z, value = _least(P, -P[start]), np.inf
            for _ in range(TURNS):
                other, z = z, _least(P, z / s**2)
                if (z / s) @ (other / s) >= value - ROUND_OFF:
                    break
                value = float((z / s) @ (other / s))
            best = min(best, (value, z, other), key=lambda found: found[0])
            if best[0] < -(ROUND_OFF**0.5):
                break
        return best[1], best[2]


def structure(cone: Cone, *, mass: ArrayLike | Metric = 1.0, size: tuple[int, ...] | None = None) -> Structure:
    """B B*, rank, kernel and maximum principle of the contacts of a cone.

    >>> import jostle as jo
    >>> row = structure(jo.Cone([[-1.0, 1.0, 0.0], [0.0, -1.0, 1.0]]))
    >>> row.matrix.tolist(), row.rank, row.maximum_principle
    ([[2.0, -1.0], [-1.0, 2.0]], 2, True)
    """
    m, n = cone.G.shape
    if m > DENSE:
        raise InvalidValue(f"the structure of {m} contacts is a dense matrix; {DENSE} is the most")
    M = metric(mass, size or (n,))
    return Structure(-M.whiten(cone.G.toarray()), M)


def _least(P: Array, weights: Array) -> Array:
    """z with P z >= 0, sum P z = 1, and the least weights . z."""
    return _linear_programme(
        weights, A_ub=-P, b_ub=np.zeros(len(P)), A_eq=P.sum(axis=0)[None], b_eq=np.ones(1), bounds=(None, None)
    )


def _linear_programme(weights: Array, **conditions: Any) -> Array:
    from scipy.optimize import linprog

    found = linprog(weights, method="highs-ds", **conditions)
    if found.status != 0:
        raise InvalidValue(f"a linear programme of the structure was not solved: {found.message}")
    return np.asarray(found.x)
