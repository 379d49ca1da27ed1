"""What separates grains from densities: the matrix B B*, its kernel, its signs, and the maximum principle.

Bourdin & Maury 2020, sections 2 and 3, and Definition 3: (B, Lambda_+) verifies the maximum principle if

    B U >= 0   implies   B B* p = B U for some p >= 0,

so that grains that are pushed against each other may be treated as glued together. It holds for the isotropic law
(Prop. 4), where B B* is minus the Laplacian, and for rows and square lattices of grains; it may fail where contacts
of one disc meet at an acute angle, whose cosine is then a positive entry of B B*. (B = -G, and B B* = G M^-1 G^T.)

By Farkas' lemma it holds if and only if any two x, x' of D = {x in the range of B* : B x >= 0} have x . x' >= 0. The
lengths of the rows of B do not matter: in an orthonormal basis Q of the range, x = Q* y and D = {y : R y >= 0}, with
the rows of R of length one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, islice
from math import comb
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jostle.arguments import check_arguments
from jostle.arrays import Array
from jostle.convex.metric import Metric, metric
from jostle.convex.polyhedron import Cone
from jostle.errors import InvalidValue

ZERO_TOLERANCE = 1e-10
"""Singular values below this fraction of the largest, and rates and products of unit vectors below it, count as
zero."""
SEARCH_TOLERANCE = ZERO_TOLERANCE**0.5
"""Tolerance of the search for edges of the cone D; only edges that hold up to ZERO_TOLERANCE count as proofs."""
MAX_CONTACTS = 4000
"""Largest number of contacts: the matrix is dense."""
MAX_CANDIDATES = 20_000
"""The edges of the cone D are enumerated if there are at most this many candidates, and searched for otherwise."""
SEARCH_STARTS, SEARCH_TURNS = 12, 20
"""Number of starts of the search for an obtuse pair of edges, and of turns between its two edges."""


@dataclass(frozen=True, eq=False)
class CounterExample:
    """A velocity that pushes all contacts together, and yet glued grains would have to pull; see `Structure`."""

    velocity: Array
    """(n,): U, with B U >= 0."""
    rates: Array
    """(m,): B U."""
    pressure: Array
    """(m,): p with B B* p = B U, the smallest for contacts of one length. Some entries are negative, as in every
    other such p."""
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
    def lengths(self) -> Array:
        """(m,): of the rows of B, or 1 where one is zero."""
        length = np.sqrt((self.B**2).sum(axis=1))
        return np.where(length > 0.0, length, 1.0)

    @cached_property
    def _svd(self) -> tuple[Array, Array, Array]:
        """P (m, r), s (r,), Q (r, n) with B = lengths P diag(s) Q, and no s that is zero."""
        P, s, Q = np.linalg.svd(self.B / self.lengths[:, None], full_matrices=False)
        rank = int((s > ZERO_TOLERANCE * s.max(initial=0.0)).sum())
        return P[:, :rank], s[:rank], Q[:rank]

    @property
    def _rows(self) -> Array:
        """(m, r): R = P diag(s)."""
        P, s, _ = self._svd
        return P * s

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
        full = np.linalg.svd(self.B, full_matrices=True)[0]
        return np.asarray(full[:, self.rank :])

    @property
    def constant(self) -> float:
        """beta: |B* q| >= beta |q| for all q orthogonal to ker B*; the Poincaré inequality of the contacts.

        >>> row = structure(Cone(np.diff(np.eye(4), axis=0)))
        >>> float(round(row.constant / (2 * np.sin(np.pi / 8)), 12))                                # 2 sin(pi / 2n)
        1.0
        """
        return float(np.linalg.svd(self.B, compute_uv=False)[self.rank - 1]) if self.rank else np.inf

    @cached_property
    def self_stress(self) -> Array | None:
        """(m,): q >= 0, not zero, with B* q = 0; then pressures are unbounded. None: they are bounded (Lemma 1).

        >>> wedged = structure(Cone([[1.0], [-1.0]]))
        >>> wedged.self_stress.tolist(), structure(Cone([[1.0]])).self_stress
        ([1.0, 1.0], None)
        """
        if self.dependent == 0:
            return None
        rows = self.B / self.lengths[:, None]
        q = _linear_programme(-np.ones(self.contacts), A_eq=rows.T, b_eq=np.zeros(self.velocities), bounds=(0.0, 1.0))
        if q.max() <= SEARCH_TOLERANCE:
            return None
        stress = q / self.lengths
        return np.asarray(stress / stress.max())

    @property
    def is_m_matrix(self) -> bool:
        """No entry off the diagonal is positive: then the maximum principle holds, as for the Laplacian."""
        cosines = self.matrix / np.outer(self.lengths, self.lengths)
        return bool((cosines - np.diag(np.diag(cosines))).max(initial=0.0) <= ZERO_TOLERANCE)

    @property
    def maximum_principle(self) -> bool | None:
        """Does it hold? None: a search found no counter-example, or none that is beyond doubt."""
        return self._verdict[0]

    @property
    def counter_example(self) -> CounterExample | None:
        """U and a proof that the maximum principle fails for it, or None."""
        return self._verdict[1]

    @cached_property
    def _verdict(self) -> tuple[bool | None, CounterExample | None]:
        if self.is_m_matrix or self._wedged:
            return True, None
        y, other, sure = self._least_product()
        if y @ other >= -ZERO_TOLERANCE:
            return (True if sure else None), None
        P, s, Q = self._svd
        velocity, pressure, proof = self.metric.unwhiten(y @ Q), P @ (y / s), P @ (other / s)
        found = CounterExample(velocity, self.lengths * (self._rows @ y), pressure / self.lengths, proof / self.lengths)
        return (False, found) if self._proved(found) else (None, None)

    def _proved(self, found: CounterExample) -> bool:
        """B U >= 0, B B* v >= 0 and v . B U < 0, as they stand; U and B* v have the length one."""
        least = min((rates / self.lengths).min() for rates in (found.rates, self.B @ (self.B.T @ found.proof)))
        return bool(least >= -ZERO_TOLERANCE and found.proof @ found.rates < -ZERO_TOLERANCE)

    @cached_property
    def _wedged(self) -> bool:
        """D = {0}: no motion pushes the contacts together, B U >= 0 says that B U = 0, and p = 0 does."""
        if not self.dependent:
            return False
        R, m = self._rows, self.contacts
        limits = np.repeat([1.0, 0.0], m)  # 0 <= R y <= 1
        y = _linear_programme(-R.sum(axis=0), A_ub=np.concatenate([R, -R]), b_ub=limits, bounds=(None, None))
        return bool((R @ y).max() <= SEARCH_TOLERANCE)

    def _least_product(self) -> tuple[Array, Array, bool]:
        """y, y' of D, of length one, whose product is the least that was found, and whether there is no lesser one."""
        if not self.dependent:  # R is square: the edges of D are the columns of its inverse
            P, s, _ = self._svd
            edges = P / s
        elif comb(self.contacts, self.rank - 1) <= MAX_CANDIDATES:
            edges = self._edges()
        else:
            edges = np.zeros((0, self.rank))
        if not len(edges):
            return *self._searched(), False
        edges = edges / np.sqrt((edges**2).sum(axis=1))[:, None]
        products, proved = edges @ edges.T, (edges @ self._rows.T).min(axis=1) >= -ZERO_TOLERANCE
        certain = np.where(np.outer(proved, proved), products, np.inf)
        chosen = certain if certain.min() < -ZERO_TOLERANCE else products
        i, j = np.unravel_index(np.argmin(chosen), chosen.shape)
        return edges[i], edges[j], True

    def _edges(self) -> Array:
        """(k, r): all edges of D: along each, r - 1 independent rows of R are zero."""
        R, found = self._rows, []
        subsets = combinations(range(self.contacts), self.rank - 1)
        while chunk := list(islice(subsets, 2000)):
            _, size, right = np.linalg.svd(R[np.array(chunk, dtype=int)], full_matrices=True)
            y = right[:, -1][size.min(axis=1, initial=1.0) > SEARCH_TOLERANCE]
            rates = y @ R.T
            found += [y[rates.min(axis=1) >= -SEARCH_TOLERANCE], -y[rates.max(axis=1) <= SEARCH_TOLERANCE]]
        return np.concatenate(found)

    def _searched(self) -> tuple[Array, Array]:
        """For a fixed y' the least product is a linear programme; turn by turn, from several starts."""
        R, m = self._rows, self.contacts
        best = (np.inf, R[0], R[0])
        for start in np.linspace(0, m - 1, min(m, SEARCH_STARTS)).astype(int):
            y, value = _least(R, -R[start]), np.inf
            for _ in range(SEARCH_TURNS):
                other, y = y, _least(R, y)
                if y @ other >= value - ZERO_TOLERANCE:
                    break
                value = float(y @ other)
            best = min(best, (value, y, other), key=lambda found: found[0])
            if best[0] < -SEARCH_TOLERANCE:
                break
        return best[1], best[2]


@check_arguments
def structure(cone: Cone, *, mass: ArrayLike | Metric = 1.0, size: tuple[int, ...] | None = None) -> Structure:
    """B B*, rank, kernel and maximum principle of the contacts of a cone.

    >>> import jostle as jo
    >>> row = structure(jo.Cone([[-1.0, 1.0, 0.0], [0.0, -1.0, 1.0]]))
    >>> row.matrix.tolist(), row.rank, row.maximum_principle
    ([[2.0, -1.0], [-1.0, 2.0]], 2, True)
    """
    m, n = cone.G.shape
    if m > MAX_CONTACTS:
        raise InvalidValue(f"the structure of {m} contacts is a dense matrix; {MAX_CONTACTS} is the most")
    M = metric(mass, size or (n,))
    return Structure(-M.whiten(cone.G.toarray()), M)


def _least(R: Array, weights: Array) -> Array:
    """y of length one along the y with R y >= 0, sum R y = 1, and the least weights . y."""
    y = _linear_programme(
        weights, A_ub=-R, b_ub=np.zeros(len(R)), A_eq=R.sum(axis=0)[None], b_eq=np.ones(1), bounds=(None, None)
    )
    return np.asarray(y / np.sqrt(y @ y))


def _linear_programme(weights: Array, **conditions: Any) -> Array:
    from scipy.optimize import linprog

    found = linprog(weights, method="highs-ds", **conditions)
    if found.status != 0:
        raise InvalidValue(f"a linear programme of the structure was not solved: {found.message}")
    return np.asarray(found.x)
