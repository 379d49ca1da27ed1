"""Algebraic properties of contacts that separate grains from densities: B B*, its kernel, and the maximum principle.

Bourdin & Maury 2020, sections 2 and 3, and Definition 3: (B, Lambda_+) verifies the maximum principle if

    B U >= 0   implies   B B* p = B U for some p >= 0,

so that grains pushed against each other may be treated as glued together. The principle holds for the isotropic law
(Prop. 4), where B B* is minus the Laplacian, and for rows and square lattices of grains. It may fail where two contacts
of one disc form an acute angle, whose cosine is then a positive entry of B B*. (B = -G, and B B* = G M^-1 G^T.)

By Farkas' lemma it holds if and only if any two x, x' of D = {x in the range of B* : B x >= 0} have x . x' >= 0. The
lengths of the rows of B do not matter: in an orthonormal basis Q of the range, x = Q* y and D = {y : R y >= 0}, where
the rows of R have length one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, islice
from math import comb
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import check_arguments
from jostle._tools.arrays import Array
from jostle.convex.metric import Metric, metric
from jostle.convex.polyhedron import Cone
from jostle.errors import InvalidValue

ZERO_TOLERANCE = 1e-10
"""Singular values below this fraction of the largest, and rates and products of unit vectors below it, count as
zero."""
SEARCH_TOLERANCE = ZERO_TOLERANCE**0.5
"""Tolerance of the search for edges of the cone D; only edges verified to ZERO_TOLERANCE count as proofs."""
MAX_CONTACTS = 4000
"""Largest number of contacts, since the matrix is dense."""
MAX_CANDIDATES = 20_000
"""The edges of the cone D are enumerated if there are at most this many candidates, and searched for otherwise."""
SEARCH_STARTS, SEARCH_TURNS = 12, 20
"""Number of starts of the search for an obtuse pair of edges, and of turns between its two edges."""


@dataclass(frozen=True, eq=False)
class CounterExample:
    """A velocity for which the maximum principle fails; see `Structure`.

    It pushes all contacts together, but grains glued together would have to pull at some contact.

    Attributes
    ----------
    velocity : array, shape (n,)
        U, with B U >= 0.
    rates : array, shape (m,)
        B U.
    pressure : array, shape (m,)
        The p with B B* p = B U that has the smallest norm for contacts of one length. Some entries are negative, as in
        every solution.
    proof : array, shape (m,)
        v with B B* v >= 0 and v . B U < 0, which is impossible if some p >= 0 solves B B* p = B U.
    """

    velocity: Array
    rates: Array
    pressure: Array
    proof: Array


@dataclass(frozen=True, eq=False)
class Structure:
    """The contact matrix B of a cone, made by `structure`, and its algebraic properties.

    Attributes
    ----------
    B : array, shape (m, n)
        -G, in coordinates in which the metric is Euclidean.
    metric : Metric
        The metric of the velocities.

    Examples
    --------
    >>> acute = structure(Cone([[1.0, 0.0], [0.5, 0.75**0.5]]))
    >>> acute.matrix.round(12).tolist(), acute.dependent, acute.is_m_matrix, acute.maximum_principle
    ([[1.0, 0.5], [0.5, 1.0]], 0, False, False)
    >>> found = acute.counter_example
    >>> bool(found.rates.min() > -1e-12), bool(found.pressure.min() < 0)
    (True, True)
    """

    B: Array
    metric: Metric

    @cached_property
    def matrix(self) -> Array:
        """(m, m): B B*."""
        return np.asarray(self.B @ self.B.T)

    @cached_property
    def lengths(self) -> Array:
        """(m,): lengths of the rows of B; 1 for a zero row."""
        length = np.sqrt((self.B**2).sum(axis=1))
        return np.where(length > 0.0, length, 1.0)

    @cached_property
    def _svd(self) -> tuple[Array, Array, Array]:
        """P (m, r), s (r,), Q (r, n) with B = lengths P diag(s) Q, without the zero singular values."""
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
        """Number n of degrees of freedom."""
        return int(self.B.shape[1])

    @property
    def contacts(self) -> int:
        """Number m of contacts."""
        return len(self.B)

    @property
    def rank(self) -> int:
        """Rank of B."""
        return len(self._svd[1])

    @property
    def dependent(self) -> int:
        """Dimension of ker B*. If it is positive, the pressures are not unique (hyperstatic)."""
        return self.contacts - self.rank

    @cached_property
    def kernel(self) -> Array:
        """(m, k): an orthonormal basis of ker B*, the pressures that change no velocity."""
        full = np.linalg.svd(self.B, full_matrices=True)[0]
        return np.asarray(full[:, self.rank :])

    @property
    def constant(self) -> float:
        """Largest beta with |B* q| >= beta |q| for all q orthogonal to ker B*: the Poincaré inequality of the contacts.

        >>> row = structure(Cone(np.diff(np.eye(4), axis=0)))
        >>> float(round(row.constant / (2 * np.sin(np.pi / 8)), 12))                                # 2 sin(pi / 2n)
        1.0
        """
        return float(np.linalg.svd(self.B, compute_uv=False)[self.rank - 1]) if self.rank else np.inf

    @cached_property
    def self_stress(self) -> Array | None:
        """(m,): a nonzero q >= 0 with B* q = 0, for which pressures are unbounded; None if they are bounded (Lemma 1).

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
        """True if no off-diagonal entry of B B* is positive. The maximum principle then holds, as for the Laplacian."""
        cosines = self.matrix / np.outer(self.lengths, self.lengths)
        return bool((cosines - np.diag(np.diag(cosines))).max(initial=0.0) <= ZERO_TOLERANCE)

    @property
    def maximum_principle(self) -> bool | None:
        """Whether the maximum principle holds; None if the search found no counter-example that could be verified."""
        return self._verdict[0]

    @property
    def counter_example(self) -> CounterExample | None:
        """A velocity with a proof that the maximum principle fails for it, or None."""
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
        """Verify B U >= 0, B B* v >= 0 and v . B U < 0; U and B* v have length one."""
        least = min((rates / self.lengths).min() for rates in (found.rates, self.B @ (self.B.T @ found.proof)))
        return bool(least >= -ZERO_TOLERANCE and found.proof @ found.rates < -ZERO_TOLERANCE)

    @cached_property
    def _wedged(self) -> bool:
        """True if D = {0}: no motion pushes contacts together, so B U >= 0 implies B U = 0, and p = 0 is a solution."""
        if not self.dependent:
            return False
        R, m = self._rows, self.contacts
        limits = np.repeat([1.0, 0.0], m)  # 0 <= R y <= 1
        y = _linear_programme(-R.sum(axis=0), A_ub=np.concatenate([R, -R]), b_ub=limits, bounds=(None, None))
        return bool((R @ y).max() <= SEARCH_TOLERANCE)

    def _least_product(self) -> tuple[Array, Array, bool]:
        """Unit vectors y, y' of D with the smallest product found, and whether it is the global minimum."""
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
        """(k, r): all edges of D, along each of which r - 1 independent rows of R are zero."""
        R, found = self._rows, []
        subsets = combinations(range(self.contacts), self.rank - 1)
        while chunk := list(islice(subsets, 2000)):
            _, size, right = np.linalg.svd(R[np.array(chunk, dtype=int)], full_matrices=True)
            y = right[:, -1][size.min(axis=1, initial=1.0) > SEARCH_TOLERANCE]
            rates = y @ R.T
            found += [y[rates.min(axis=1) >= -SEARCH_TOLERANCE], -y[rates.max(axis=1) <= SEARCH_TOLERANCE]]
        return np.concatenate(found)

    def _searched(self) -> tuple[Array, Array]:
        """Alternate between y and y' from several starts: for fixed y' the smallest product is a linear program."""
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
    """Analyse the contacts of a cone: B B*, rank, kernel and maximum principle.

    Parameters
    ----------
    cone : Cone
        The contacts, at most 4000 rows.
    mass : float, array_like or Metric, default 1.0
        Masses of the velocities.
    size : tuple of int, optional
        Shape of the velocities, if masses are given per body. None: (n,).

    Returns
    -------
    Structure
        The matrix and its properties, which are computed when they are read.

    Examples
    --------
    >>> import jostle as jo
    >>> row = structure(jo.convex.Cone([[-1.0, 1.0, 0.0], [0.0, -1.0, 1.0]]))
    >>> row.matrix.tolist(), row.rank, row.maximum_principle
    ([[2.0, -1.0], [-1.0, 2.0]], 2, True)
    """
    m, n = cone.G.shape
    if m > MAX_CONTACTS:
        raise InvalidValue(
            f"the cone has {m} contacts; structure() builds dense matrices and takes at most {MAX_CONTACTS}"
        )
    M = metric(mass, size or (n,))
    return Structure(-M.whiten(cone.G.toarray()), M)


def _least(R: Array, weights: Array) -> Array:
    """Unit vector along the y with R y >= 0, sum R y = 1 and the smallest weights . y."""
    y = _linear_programme(
        weights, A_ub=-R, b_ub=np.zeros(len(R)), A_eq=R.sum(axis=0)[None], b_eq=np.ones(1), bounds=(None, None)
    )
    return np.asarray(y / np.sqrt(y @ y))


def _linear_programme(weights: Array, **conditions: Any) -> Array:
    from scipy.optimize import linprog

    found = linprog(weights, method="highs-ds", **conditions)
    if found.status != 0:
        raise InvalidValue(f"a linear program in structure() was not solved: {found.message}")
    return np.asarray(found.x)
