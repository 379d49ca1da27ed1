"""The derivative of a projection, from the rows that are active at its answer.

    min 1/2 |u - w|_M^2  subject to  c + G u >= 0,      M (u - w) = G^T p,   0 <= p  ⟂  c + G u >= 0

Let A be the active rows, which push (p > 0) or are equalities. Differentiating the optimality conditions gives

    M du - G_A^T dp = M dw - dM (u - w) + dG_A^T p,       G_A du = -(dc_A + dG_A u),

and the adjoint of this system is the system itself. So du = (I - M^-1 G_A^T (G_A M^-1 G_A^T)^+ G_A) dw for a change of
w alone. The pseudo-inverse serves clusters with more contacts than they need: there p is not unique, but u is.

A row is *weak* if its slack is zero and no choice of multipliers makes it push. Then only one-sided derivatives exist:
projections on the critical cone {d : G_A d = 0, G_i d >= 0 for weak rows i} (Haraux 1977; Robinson 1985).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import check_arguments
from jostle._tools.arrays import Array, Booleans, Integers, floats
from jostle.convex.linear_map import Dense, LinearMap
from jostle.convex.metric import Metric, metric
from jostle.convex.projection import Projection
from jostle.convex.rows import Rows
from jostle.errors import InvalidValue, NotConverged
from jostle.gradients.functions import spread
from jostle.kernels.reference.dense import ROUND_OFF
from jostle.solvers.automatic import Automatic
from jostle.solvers.base import Solver
from jostle.solvers.project import project

MAX_DENSE_ROWS, MAX_DENSE_ENTRIES = 64, 2**13
"""Systems with at most this many active rows, and at most this many entries in the columns that these rows use, are
solved by a singular value decomposition, larger ones by conjugate gradients."""
RANK_TOLERANCE = 1e-8
"""Singular values of the active rows below this fraction of the largest one count as zero."""
RELATIVE_RESIDUAL, ROUGH_RESIDUAL = 1e-14, 1e-3
"""Conjugate gradients and fixed points stop at this residual, relative to the right-hand side: for derivatives, and
where only the size of an answer matters."""
MAX_FIXED_POINT_STEPS = 200
"""Largest number of steps of the fixed point that takes the curvature of gaps into account."""
WEAK_MARGIN = 1e-11
"""A row that pushes and is open by less than this fraction of the largest change sqrt(m) |u - w| of a coordinate may be
weak."""
NOISE_FACTOR = 100.0
"""Slacks below this multiple of their round-off count as zero."""
ERROR_FACTOR = 10.0
"""If the active rows of an answer could not be confirmed, its estimated error times this is the margin."""
MAX_CONFIRMATIONS = 20
"""Largest number of active sets that are tried to confirm an answer."""
TIGHT = 1e-12
"""Tolerance of projections whose active rows could not be confirmed."""
LOOSEST = 1e-8
"""Largest tolerance of a solver whose answers are differentiated."""


class Saddle:
    """Solves H x + G^T y = r, G x = b for the active rows G, where H = M - B; the least-squares solution if G needs it.

    B is symmetric and given by its products; None: B = 0.

    >>> x, y = Saddle(Dense(np.array([[1.0, 0.0]])), metric(1.0, (2,))).solve(np.array([3.0, 4.0]), np.zeros(1))
    >>> x.tolist(), y.tolist()
    ([0.0, 4.0], [3.0])
    """

    def __init__(self, G: LinearMap, M: Metric, B: Callable[[Array], Array] | None = None):
        self.G, self.M, self.B = G, M, B
        self.rows = G.shape[0]
        self.unit = G.norms(M)
        self.dependent, self._factors = False, None
        if self.rows == 0:
            return
        A, self._columns = self._whitened()
        if A is None:
            self.dependent = self.rows > self._columns.size
            return
        U, sizes, V = np.linalg.svd(A / self.unit[:, None], full_matrices=False)
        rank = int((sizes > RANK_TOLERANCE * sizes[0]).sum())
        self.dependent = rank < self.rows
        self._factors = U[:, :rank], sizes[:rank], V[:rank]

    def _whitened(self) -> tuple[Array | None, Any]:
        """The columns of G M^-1/2 that are not zero, None if there are too many entries; and their numbers."""
        G, M, entries = self.G, self.M, self.rows * self.G.shape[1]
        if entries <= MAX_DENSE_ENTRIES or not M.diagonal:
            return M.whiten(G.toarray()), np.arange(G.shape[1])
        rows = G.tocsr()
        columns = np.unique(rows.indices)
        if self.rows > MAX_DENSE_ROWS or self.rows * columns.size > MAX_DENSE_ENTRIES:
            return None, columns
        return rows[:, columns].toarray() * M.root[columns], columns

    def solve(self, r: Array, b: Array, start: Array | None = None) -> tuple[Array, Array]:
        """(x, y) for flat r (N,) and b (rows,); conjugate gradients start from a y."""
        x, y = self._solve(r, b, start)
        if self.B is None or not (Bx := self.B(x)).any():
            return x, y
        for _ in range(MAX_FIXED_POINT_STEPS):
            before = x
            x, y = self._solve(r + Bx, b)
            if np.abs(x - before).max() <= RELATIVE_RESIDUAL * np.abs(x).max():
                return x, y
            Bx = self.B(x)
        return self._solve_curved(r, b)

    def self_stress(self, rng: np.random.Generator) -> Array | None:
        """Random multipliers y of dependent rows with G^T y = 0; None if there are too many rows to find one."""
        if self._factors is None:
            return None
        U, y = self._factors[0], rng.standard_normal(self.rows)
        return np.asarray((y - U @ (U.T @ y)) / self.unit)

    def roughly(self, r: Array) -> Array:
        """About x, for B = 0 and b = 0."""
        return self._solve(r, np.zeros(self.rows), None, ROUGH_RESIDUAL)[0]

    def _solve(
        self, r: Array, b: Array, start: Array | None = None, accuracy: float = RELATIVE_RESIDUAL
    ) -> tuple[Array, Array]:
        """The solution for B = 0."""
        M, G = self.M, self.G
        if self.rows == 0:
            return M.solve(r), np.zeros(0)
        if self._factors is None:
            y = self._conjugate_gradients(G @ M.solve(r) - b, start, accuracy)
            return M.solve(r - G.adjoint(y)), y
        U, sizes, V = self._factors
        white = M.root * r if M.diagonal else M.root @ r
        missing = V @ white[self._columns] - (U.T @ (b / self.unit)) / sizes
        white[self._columns] -= V.T @ missing
        return M.unwhiten(white), (U @ (missing / sizes)) / self.unit

    def _solve_curved(self, r: Array, b: Array) -> tuple[Array, Array]:
        """The solution where B is too large for the fixed point."""
        N = len(r)
        if N * self.rows > MAX_DENSE_ENTRIES or self.B is None:
            raise NotConverged(
                f"the derivative of a projection on a curved set did not converge in {MAX_FIXED_POINT_STEPS} steps: "
                f"choose a smaller h"
            )
        H = self.M.times(np.eye(N)) if not self.M.diagonal else np.diag(self.M.mass)
        G = self.G.toarray()
        system = np.block([[H - np.stack([self.B(e) for e in np.eye(N)]), G.T], [G, np.zeros((self.rows, self.rows))]])
        found = np.linalg.lstsq(system, np.append(r, b), rcond=None)[0]
        return found[:N], found[N:]

    def _conjugate_gradients(self, right: Array, start: Array | None, accuracy: float) -> Array:
        """y with G M^-1 G^T y = right, preconditioned by its diagonal."""
        unit, right = self.unit, right / self.unit

        def product(way: Array) -> Array:
            return np.asarray((self.G @ self.M.solve(self.G.adjoint(way / unit))) / unit)

        y = np.zeros(self.rows) if start is None else start * unit
        residual = right if start is None else right - product(y)
        way, size = residual, float(residual @ residual)
        enough = accuracy**2 * float(right @ right)
        for _ in range(20 * self.rows):
            if size <= enough:
                return y / unit
            image = product(way)
            step = size / float(way @ image)
            y, residual = y + step * way, residual - step * image
            size, before = float(residual @ residual), size
            way = residual + (size / before) * way
        raise NotConverged(
            f"conjugate gradients for {self.rows} active rows did not converge: these rows depend on each other, and "
            f"the change of their gaps contradicts that; only one-sided derivatives exist in this direction"
        )


def active_rows(w: Array, K: Rows, M: Metric, P: Projection) -> tuple[Integers, Integers, Array, Array]:
    """(active, weak, u, p): the active and the weak rows of a projection, and its answer, exact where possible.

    An answer P that is not exact is confirmed by an active-set iteration, or else improved to a small tolerance.
    """
    none, u, p = np.zeros(0, dtype=np.int64), P.point.ravel(), P.multipliers
    slack = K.c + (K.G @ u)
    if not p.any() and bool((slack > NOISE_FACTOR * _noise(K, w, u)).all()):
        return none, none, u, p
    unit = K.G.norms(M)
    unit = np.where(unit > 0.0, unit, 1.0)
    equal, error = np.zeros(len(p), dtype=bool) if K.equal is None else K.equal, 0.0
    if P.residual.worst > ROUND_OFF:
        found = _confirmed(w, K, M, unit, p, equal | (p * unit**2 > slack), equal)
        if found is None:
            again = Automatic(tol=TIGHT).project(w, K, M, p)
            found, error = (again.point, again.multipliers), ERROR_FACTOR * again.residual.eta
        u, p = found
        slack = K.c + (K.G @ u)
    moved = M.norm(u - w) if error or not M.diagonal else float(np.abs((u - w) / M.root).max(initial=0.0))
    margin = NOISE_FACTOR * _noise(K, w, u) / unit + max(WEAK_MARGIN, error) * moved
    push, open_by = p * unit, slack / unit
    unclear = ~equal & (np.maximum(push, open_by) <= margin)
    strong, doubtful = np.flatnonzero(equal | (~unclear & (push > open_by))), np.flatnonzero(unclear)
    weak = _never_pushing(K, M, unit, strong, doubtful) if len(doubtful) else none
    return np.union1d(strong, np.setdiff1d(doubtful, weak)), weak, u, p


def _noise(K: Rows, w: Array, u: Array) -> Array:
    """(m,) the round-off of the slacks."""
    return K.noise + ROUND_OFF * (np.abs(K.c) + K.G.magnitude(np.abs(u) + np.abs(w)))


def _confirmed(
    w: Array, K: Rows, M: Metric, unit: Array, p: Array, active: Booleans, equal: Booleans
) -> tuple[Array, Array] | None:
    """The exact (u, p), by a primal-dual active-set iteration from a guess; None if it does not settle."""
    for _ in range(MAX_CONFIRMATIONS):
        rows = np.flatnonzero(active)
        saddle = Saddle(K.G.rows(rows), M)
        if saddle.dependent:
            return None
        try:
            u, y = saddle.solve(M.times(w), -K.c[rows], -p[rows])
        except NotConverged:
            return None
        p = np.zeros(len(K.c))
        p[rows] = -y
        before, active = active, equal | (p * unit**2 > K.c + (K.G @ u))
        if np.array_equal(before, active):
            return u, p
    return None


def _never_pushing(K: Rows, M: Metric, unit: Array, strong: Integers, doubtful: Integers) -> Integers:
    """The doubtful rows that push for no choice of the multipliers.

    A doubtful row pushes for some choice if its gap cannot open in any direction of the critical cone. Directions that
    open as many gaps as possible are projections of sum G_i: rows that open are weak. If none opens, a positive sum of
    these rows is zero, and each of them can push.
    """
    left, weak = doubtful, [doubtful[:0]]
    while len(left):
        rows = np.concatenate([strong, left])
        G = K.G.rows(rows)
        cone = _with_equalities(G, np.zeros(len(rows)), len(strong))
        upwards = M.solve(G.adjoint(np.where(np.arange(len(rows)) < len(strong), 0.0, 1.0 / unit[rows])))
        opening = project(upwards, cone, mass=M, solver=Automatic(tol=TIGHT)).point
        rates = (G @ opening)[len(strong) :] / unit[left]
        opens = rates > RANK_TOLERANCE * M.norm(upwards)
        if not opens.any():
            break
        weak.append(left[opens])
        left = left[~opens]
    return np.sort(np.concatenate(weak))


def _with_equalities(G: LinearMap, c: Array, count: int) -> Rows:
    """The rows c + G u, of which the first `count` are equalities and the others are not negative."""
    none = np.zeros(len(c))
    return Rows(G, c, none, none, np.arange(len(c)) < count if count else None)


class ProjectionGradient(NamedTuple):
    """The gradient of <v, u> for a projection u, with respect to everything that u depends on.

    Attributes
    ----------
    w : array
        Derivative with respect to the projected point, in its shape.
    c : array, shape (m,)
        Derivative with respect to the offsets of the rows.
    G : array or scipy.sparse.csr_array, shape (m, N)
        Derivative with respect to the gradients of the rows; sparse where G is, with the same pattern.
    mass : array
        Derivative with respect to the mass of each coordinate, in the shape of w; shape (N, N) for a matrix.

    Examples
    --------
    >>> import jostle as jo
    >>> K = jo.convex.Polyhedron([[1.0, 1.0]], [-2.0])               # x + y >= 2
    >>> jo.gradients.of_projection([0.0, 0.0], K).reverse([1.0, 0.0]).c.round(12).tolist()
    [-0.5]
    """

    w: Array
    c: Array
    G: Any
    mass: Array


@dataclass(frozen=True, eq=False, repr=False)
class ProjectionDerivative:
    """The derivative of a projection at one answer, made by `of_projection`.

    Attributes
    ----------
    point : array
        The nearest point u, in the shape of w.
    multipliers : array, shape (m,)
        Multipliers p of the rows.
    active : array of int
        Rows that push, and equalities.
    weak : array of int
        Rows without slack that do not push, for any choice of the multipliers: the projection is not differentiable
        there. `forward` and `reverse` take them as open; `one_sided` is exact.

    Examples
    --------
    >>> import jostle as jo
    >>> floor = jo.convex.Cone([[0.0, 1.0]], describe="plane {}".format)
    >>> derivative = jo.gradients.of_projection([1.0, 0.0], floor)         # it slides, and is not pushed
    >>> derivative
    ProjectionDerivative(active rows: 0, weak: plane 0)
    >>> [derivative.one_sided(w=[0.0, way]).tolist() for way in (1.0, -1.0)]
    [[0.0, 1.0], [0.0, 0.0]]
    """

    point: Array
    multipliers: Array
    active: Integers
    weak: Integers
    _w: Array
    _K: Rows
    _M: Metric
    _saddle: Saddle

    @property
    def dependent(self) -> bool:
        """True if active rows depend on each other.

        Then u is differentiable with respect to w and the mass, but a change of c or G that opens some of these rows
        has a one-sided derivative only.
        """
        return self._saddle.dependent

    def __repr__(self) -> str:
        words = ", ".join(self._K.describe(int(row)) for row in self.weak) or "none"
        return f"ProjectionDerivative(active rows: {len(self.active)}, weak: {words})"

    def forward(
        self, *, w: ArrayLike | None = None, c: ArrayLike | None = None, G: Any = None, mass: ArrayLike | None = None
    ) -> Array:
        """The change of the nearest point for small changes of the data, J v.

        Parameters
        ----------
        w : array_like, optional
            Change of the projected point. None, here and below: no change.
        c : array_like, shape (m,), optional
            Change of the offsets.
        G : array_like or sparse matrix, shape (m, N), optional
            Change of the gradients.
        mass : float or array_like, optional
            Change of the mass, in one of the forms in which a mass is given.

        Returns
        -------
        array
            The change of u, in the shape of w.

        Examples
        --------
        >>> import jostle as jo
        >>> K = jo.convex.Polyhedron([[1.0, 1.0]], [-2.0])               # x + y >= 2
        >>> jo.gradients.of_projection([0.0, 0.0], K, mass=[1.0, 3.0]).forward(c=[-1.0]).round(12).tolist()
        [0.75, 0.25]
        """
        r, rates = self._changes(w, c, G, mass)
        du, _ = self._saddle.solve(r, -rates[self.active])
        return du.reshape(self.point.shape)

    def one_sided(
        self, *, w: ArrayLike | None = None, c: ArrayLike | None = None, G: Any = None, mass: ArrayLike | None = None
    ) -> Array:
        """The derivative of the nearest point in one direction, lim (u(a) - u(0)) / a for a > 0, also with weak rows.

        Parameters
        ----------
        w, c, G, mass : array_like, optional
            The changes, as in `forward`.

        Returns
        -------
        array
            The change of u, in the shape of w.
        """
        r, rates = self._changes(w, c, G, mass)
        rows = np.concatenate([self.active, self.weak])
        cone = _with_equalities(self._K.G.rows(rows), rates[rows], len(self.active))
        du = project(self._M.solve(r), cone, mass=self._M, solver=Automatic(tol=TIGHT)).point
        return du.reshape(self.point.shape)

    def reverse(self, v: ArrayLike) -> ProjectionGradient:
        """The gradient of <v, u> with respect to all data, J^T v.

        Parameters
        ----------
        v : array_like
            Weights of the coordinates of u, in the shape of w.

        Returns
        -------
        ProjectionGradient
            Derivatives with respect to w, c, G and the mass.

        Examples
        --------
        >>> import jostle as jo
        >>> K = jo.convex.Polyhedron([[1.0, 1.0]], [-2.0])               # x + y >= 2
        >>> jo.gradients.of_projection([0.0, 0.0], K).reverse([1.0, 0.0]).w.round(12).tolist()
        [0.5, -0.5]
        """
        weights = floats(v, name="v").ravel()
        if weights.size != self.point.size:
            raise InvalidValue(f"v has {weights.size} numbers, the projected point has {self.point.size}")
        K, M, u = self._K, self._M, self.point.ravel()
        a, z = self._saddle.solve(weights, np.zeros(len(self.active)))
        of_c, p = np.zeros(len(K.c)), np.zeros(len(K.c))
        of_c[self.active], p[self.active] = -z, self.multipliers[self.active]
        moved = u - self._w
        mass = -a * moved if M.diagonal else -(np.outer(a, moved) + np.outer(moved, a)) / 2.0
        return ProjectionGradient(
            M.times(a).reshape(self.point.shape),
            of_c,
            _on_pattern(K.G, p, a, of_c, u),
            mass.reshape(self.point.shape) if M.diagonal else mass,
        )

    def _changes(self, w: Any, c: Any, G: Any, mass: Any) -> tuple[Array, Array]:
        """M dw - dM (u - w) + dG^T p, and dc + dG u."""
        K, M, u, shape = self._K, self._M, self.point.ravel(), self.point.shape
        r, rates = np.zeros(u.size), np.zeros(len(K.c))
        if w is not None:
            r += M.times(spread(w, shape, "w").ravel())
        if mass is not None:
            moved = u - self._w
            r -= times_mass(mass, moved.reshape(shape)).ravel()
        if c is not None:
            rates += spread(c, rates.shape, "c")
        if G is not None:
            p = np.zeros(len(K.c))
            p[self.active] = self.multipliers[self.active]
            dG = G if hasattr(G, "tocsr") else floats(G)
            if dG.shape != K.G.shape:
                raise InvalidValue(f"the change of G has shape {dG.shape}, G has shape {K.G.shape}")
            r, rates = r + dG.T @ p, rates + dG @ u
        return r, rates


def times_mass(mass: ArrayLike, v: Array) -> Array:
    """The product of v with a mass, or a change of it: one number, one per body, one per coordinate, or a matrix."""
    m = floats(mass, name="mass")
    if m.shape == (v.size, v.size) and m.shape != v.shape:
        return np.asarray((m @ v.ravel()).reshape(v.shape))
    if v.ndim > 1 and m.shape == v.shape[:1]:
        m = m.reshape(-1, *[1] * (v.ndim - 1))
    try:
        return np.broadcast_to(m, v.shape) * v
    except ValueError:
        raise InvalidValue(f"the change of the mass has shape {m.shape}, the coordinates have {v.shape}") from None


def by_bodies(of_mass: Array, M: Metric, shape: tuple[int, ...]) -> Array:
    """Derivatives with respect to the masses of coordinates as those of bodies, if each body has one mass."""
    bodies = shape[0] if len(shape) > 1 else 1
    if of_mass.size == 0 or M.of_bodies(bodies) is None:
        return of_mass.reshape(shape)
    each: Array = of_mass.reshape(bodies, -1).sum(axis=1)
    return each if len(shape) > 1 else each.reshape(())


def _on_pattern(G: LinearMap, p: Array, a: Array, of_c: Array, u: Array) -> Any:
    """p_i a_k + (dL/dc)_i u_k for the entries of G."""
    if isinstance(G, Dense):
        return np.outer(p, a) + np.outer(of_c, u)
    found = G.tocsr().copy()
    row = np.repeat(np.arange(found.shape[0]), np.diff(found.indptr))
    found.data = p[row] * a[found.indices] + of_c[row] * u[found.indices]
    return found


@check_arguments
def of_projection(
    w: ArrayLike, K: Rows, *, mass: ArrayLike | Metric = 1.0, solver: Solver | None = None
) -> ProjectionDerivative:
    """The projection of w on a polyhedron, with its derivative with respect to w, the rows and the mass.

    Parameters
    ----------
    w : array_like
        The point to project.
    K : Polyhedron or Cone
        The set to project on; equalities are allowed, friction cones are not.
    mass : float, array_like or Metric, default 1.0
        One number, one for each body, one for each coordinate, or a symmetric positive definite matrix.
    solver : Solver, optional
        Solves the projection, with a tolerance of at most 1e-8. Its active rows are confirmed, and the point is that of
        these rows, exact up to round-off. None: ``Automatic()``.

    Returns
    -------
    ProjectionDerivative
        The nearest point, the active and the weak rows, and products with the derivative.

    Raises
    ------
    NotConverged
        If the projection misses its tolerance.

    Examples
    --------
    >>> import jostle as jo
    >>> K = jo.convex.Polyhedron([[1.0, 1.0]], [-2.0])               # x + y >= 2
    >>> derivative = jo.gradients.of_projection([0.0, 0.0], K)
    >>> derivative.point.round(12).tolist(), derivative.forward(w=[1.0, 0.0]).round(12).tolist()
    ([1.0, 1.0], [0.5, -0.5])
    """
    solver = solver or Automatic()
    check_certain(solver)
    if not isinstance(K, Rows):
        raise InvalidValue(f"K must be a polyhedron or a cone, such as jo.convex.Polyhedron(G, c), not {K!r}")
    if K.cones is not None:
        raise InvalidValue("K has friction cones, for which derivatives are not available: leave out cones")
    P = project(w, K, mass=mass, solver=solver)
    flat, M = floats(w, name="w").ravel(), metric(mass, P.point.shape)
    active, weak, u, p = active_rows(flat, K, M, P)
    return ProjectionDerivative(u.reshape(P.point.shape), p, active, weak, flat, K, M, Saddle(K.G.rows(active), M))


def check_certain(solver: Solver) -> None:
    """Refuse a solver whose answers do not tell which rows are active."""
    if not solver.strict or solver.tol > LOOSEST:
        what = f"has tol = {solver.tol:g}" if solver.strict else "stops after a fixed number of iterations"
        raise InvalidValue(
            f"derivatives need to know which rows are active, and {solver.name} {what}; use jo.Automatic(), or a tol "
            f"of at most {LOOSEST:g}"
        )
