"""What separates grains from densities: the matrix B B*, its rank, its signs, and the maximum principle.

Bourdin & Maury 2020, section 3 and Definition 3: (B, Lambda_+) verifies the maximum principle if

    B U >= 0   implies   B B* p = B U for some p >= 0,

so that grains that are pushed against each other may be treated as glued together. It holds for the isotropic law
(Prop. 4), where B B* is minus the Laplacian, and for rows and square lattices of grains; it fails as soon as contacts
of one disc meet at an acute angle, whose cosine is then a positive entry of B B*. (B = -G, and B B* = G M^-1 G^T.)
"""

from __future__ import annotations

from dataclasses import dataclass
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


@dataclass(frozen=True, eq=False)
class Structure:
    """The contacts of a cone, as a matrix B B*; see `structure`.

    >>> found = Structure(np.array([[2.0, 0.5], [0.5, 2.0]]), velocities=6, rank=2)
    >>> found.dependent, found.is_m_matrix, found.maximum_principle
    (0, False, False)
    """

    matrix: Array
    """(m, m): B B*."""
    velocities: int
    """The number of degrees of freedom."""
    rank: int
    """The rank of B."""

    @property
    def contacts(self) -> int:
        """m."""
        return len(self.matrix)

    @property
    def dependent(self) -> int:
        """The dimension of ker B*: how far pressures are from being unique."""
        return self.contacts - self.rank

    @property
    def is_m_matrix(self) -> bool:
        """No entry off the diagonal is positive: then the maximum principle holds, as for the Laplacian."""
        off = self.matrix - np.diag(np.diag(self.matrix))
        return bool(off.max(initial=0.0) <= ROUND_OFF * np.abs(self.matrix).max(initial=0.0))

    @property
    def maximum_principle(self) -> bool | None:
        """Does it hold? It does if (B B*)^-1 has no negative entries. None: contacts depend on each other."""
        if self.is_m_matrix:
            return True
        if self.dependent:
            return None
        inverse = np.linalg.inv(self.matrix)
        return bool(inverse.min() >= -ROUND_OFF * np.abs(inverse).max())


def structure(cone: Cone, *, mass: ArrayLike | Metric = 1.0, size: tuple[int, ...] | None = None) -> Structure:
    """B B*, rank and maximum principle of the contacts of a cone.

    >>> import jostle as jo
    >>> row = structure(jo.Cone([[-1.0, 1.0, 0.0], [0.0, -1.0, 1.0]]))
    >>> row.matrix.tolist(), row.rank, row.maximum_principle
    ([[2.0, -1.0], [-1.0, 2.0]], 2, True)
    """
    m, n = cone.G.shape
    if m > DENSE:
        raise InvalidValue(f"the structure of {m} contacts is a dense matrix; {DENSE} is the most")
    white: Any = metric(mass, size or (n,)).whiten(cone.G.toarray())
    singular = np.linalg.svd(white, compute_uv=False) if m else np.zeros(0)
    rank = int((singular > ROUND_OFF * singular.max(initial=0.0)).sum())
    return Structure(white @ white.T, n, rank)
