"""What all solvers share: one call, one stopping test.

    violation <= tol r   and   sum p |s| <= tol |u - w|_M^2

with r the length of the row (the smallest radius, say). Both sides scale alike, so the test does
not change with the units. It is evaluated on what the solver returned, by `convex.residuals.residual`.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arguments import NamedArguments, check_fields
from jostle._tools.arrays import Array, floats, highest, lowest, place_of, to_host
from jostle._tools.frozen import with_fields
from jostle.convex.emptiness import Undecided, contradiction, empty_set, proof, proven_by
from jostle.convex.light_bodies import MAX_PLAIN_RATIO, error_of_light_bodies
from jostle.convex.linear_map import LinearMap
from jostle.convex.metric import Metric, metric
from jostle.convex.projection import Projection
from jostle.convex.residuals import NO_RESIDUAL, Residual, residual
from jostle.convex.rows import Rows
from jostle.errors import InvalidValue, NotFinite
from jostle.kernels import offers
from jostle.kernels.interface import KERNELS
from jostle.kernels.parallel import all_finite, by_rows
from jostle.kernels.reference.cones import laws_of_blocks, lengths
from jostle.kernels.reference.dense import ROUND_OFF
from jostle.solvers.bounded import project_within_bounds

MAX_DENSE_ENTRIES = 16_384
"""A matrix G with at most this many entries is treated as dense: it fits into the first-level cache."""
DENSE_KERNELS = frozenset({"pairs_to_dense", "residual_dense"})
"""Kernels that are needed to treat a matrix as dense."""

STUCK = 0.25
"""Contacts with friction stick where they slip by at most this fraction of tol times their length. With what the
sweeps leave, violations stay below tol."""
LOOSE = 1e-6
"""Smaller tolerances ask for the exact law, without `STUCK`; Newton's method finds it where sweeps stall."""

CLOSING_FACTOR, MAX_LEFT = 50.0, 0.5
"""A step that keeps velocities may leave a contact violated by tol times its length, but by no more than tol times this
multiple of the largest closing velocity, and by no more than this fraction of that velocity."""

MIN_ROUND_OFF = 1e-8
"""Round-off up to this fraction of the length of a row is small, also where the tolerance is smaller."""
MAX_ENTRIES = 4.0
"""The entries of a row of contacts add up to at most this number."""

MAX_NAMED = 3
"""Rows that the remark on an answer that missed the tolerance names."""

MAX_NAME_LENGTH = 32
"""Longest name of a solver, in characters: the statistics of the steps keep it."""


class Declined(Exception):
    """A solver's reason not to try, such as factors that need too much memory."""


class Whitened(NamedTuple):
    """The projection in coordinates x of u - w where the metric is Euclidean: s = s0 + A x >= 0.

    Rows are divided by their length `unit`, so that s is a distance; noise is the round-off of s0.
    """

    unit: Array
    s0: Array
    noise: Array


@dataclass(frozen=True, kw_only=True)
class Solver(NamedArguments):
    """Base class of the solvers of projections.

    A new solver inherits from this class and defines `_solve`; its answers are checked like those of all others.

    Parameters
    ----------
    tol : float, default 1e-8
        Largest residual of an answer that counts as converged; dimensionless, between 0 and 1.
    max_iterations : int, default 1000
        Largest number of iterations of one projection, of all algorithms together that try it.

    Attributes
    ----------
    strict : bool
        True if an answer that misses the tolerance is an error in a strict run.
    accepts_start : bool
        True if a start that passes the stopping test is returned at once; otherwise it is projected all the same.
    takes_cones : bool
        True if the solver projects on sets with friction cones (`jostle.convex.Cones`); otherwise it refuses them.
    slow : bool
        True if an iteration takes much longer than those of the solvers before it in a plan, so that a remark says so.
    kernels : frozenset of str
        Names of the kernels that the solver needs (see `jostle.kernels.interface`). Where they do not all exist for the
        arrays of a run, such as on a GPU, `solve` refuses the solver. By default it needs all of them.
    name : str
        Name of the solver in ``Projection.solver`` and in the statistics of a run.

    Examples
    --------
    >>> import jostle as jo
    >>> K = jo.convex.Cone([[1.0]])
    >>> [solver.project([-1.0], K).converged for solver in (jo.ActiveSet(), jo.InteriorPoint(), jo.GaussSeidel())]
    [True, True, True]
    """

    accepts_start: ClassVar[bool] = True
    slow: ClassVar[bool] = False
    takes_cones: ClassVar[bool] = False
    examined: ClassVar[bool] = True
    """Whether multipliers that missed the tolerance are examined for a contradiction."""

    kernels: ClassVar[frozenset[str]] = frozenset(KERNELS)

    tol: float = 1e-8
    max_iterations: int = 1000

    @property
    def strict(self) -> bool:
        """True if an answer that misses the tolerance is an error in a strict run."""
        return True

    def __post_init__(self) -> None:
        check_fields(self)
        if not 0 < self.tol < 1:
            raise InvalidValue(f"tol must lie between 0 and 1, not {self.tol}")
        if self.max_iterations < 1:
            raise InvalidValue(f"max_iterations must be at least 1, not {self.max_iterations}")
        if len(self.name) > MAX_NAME_LENGTH or not self.name.isascii():
            raise InvalidValue(
                f"the name of the solver {self.name} must have at most {MAX_NAME_LENGTH} ASCII characters, which the "
                f"statistics of the steps keep: give its class a shorter name"
            )

    @property
    def name(self) -> str:
        """Name of the solver in ``Projection.solver`` and in the statistics of a run."""
        return type(self).__name__

    def project(
        self,
        w: ArrayLike,
        K: Rows,
        mass: ArrayLike | Metric = 1.0,
        guess: Array | None = None,
    ) -> Projection:
        """The projection of w on K in the metric of a mass.

        Parameters
        ----------
        w : array_like
            The point to project.
        K : Rows
            The set {u : c + G u >= 0}, such as a `Polyhedron`.
        mass : float, array_like or Metric, default 1.0
            One number, one for each body, one for each coordinate, or a symmetric positive definite matrix.
        guess : array, shape (m,), optional
            Multipliers to start from. None: zeros.

        Returns
        -------
        Projection
            The best answer that was found; ``converged`` is False if it misses the tolerance.

        Raises
        ------
        EmptySet
            If K has no points; the error holds a proof.
        NotFinite
            If w or a row of K is NaN or infinite.
        """
        target, guess = floats(w, name="w"), None if guess is None else floats(guess, name="guess")
        M, flat = metric(mass, target.shape), target.ravel()
        if K.bound is not None:
            return project_within_bounds(self, target, K, M, guess)
        rows, coordinates = K.G.shape
        dense = 0 < rows * coordinates <= MAX_DENSE_ENTRIES and offers(K.c, DENSE_KERNELS)
        _check_shapes(flat, K, guess)
        if dense and guess is None and M.ratio <= MAX_PLAIN_RATIO:
            P = self._at_once(target, K, M, self.name)
            if P is not None and P.converged:  # which it has not if something is NaN
                return P
        if K.cones is not None and self.tol >= LOOSE:
            K = K.with_noise(STUCK * self.tol)
        if K.cones is not None and M.ratio <= MAX_PLAIN_RATIO:
            P = self._swept_at_once(target, K, M, guess, self.name)
            if P is not None and P.converged:
                return P
        _check_finite(flat, guess)
        if dense and not _has_loop(K, M):
            K = K.dense()
        slack = K.c + (K.G @ flat)
        margin = slack if K.equal is None and K.cones is None else K.margin(slack)
        least = lowest(margin, 0.0)
        if not math.isfinite(least):
            raise NotFinite(f"{K.describe(int(np.argmin(np.isfinite(slack))))} is not finite")
        if least >= 0.0 or (margin >= -K.noise).all():
            return Projection(target.copy(), place_of(slack).zeros(len(slack)), NO_RESIDUAL, 0, True, self.name)
        return self._tried(target, flat, K, M, slack, guess)

    def _measured(self, w: Array, K: Rows, M: Metric, u: Array, p: Array) -> Residual:
        """The residuals of an answer; its complementarity counts the errors of light bodies too."""
        found = residual(w, K, M, u, p)
        if M.ratio <= MAX_PLAIN_RATIO or not found.within(self.tol):
            return found
        error = error_of_light_bodies(w, K, M, u, p, self.tol)
        return replace(found, complementarity=max(found.complementarity, error * error / 2.0))

    def _tried(self, target: Array, w: Array, K: Rows, M: Metric, slack: Array, guess: Array | None) -> Projection:
        """The first answer of the plan that passes the test, or else the best one."""
        tried: list[Projection] = []
        said: list[str] = []
        used, looked, remarks, slow = 0, False, [], 0
        if K.cones is not None and not self.takes_cones:
            raise InvalidValue(
                f"{self.name} solves no projections with friction cones; use jo.GaussSeidel or jo.Automatic"
            )
        plan = self._plan(K)
        solver: Solver | None = next(plan)
        while solver is not None and used < self.max_iterations:
            cold = solver.accepts_start and not tried and (guess is None or not guess.any())
            if cold and (K.margin(slack) >= -self.tol * K.length).all():
                start = self._start(target, w, K, M, slack)
                if start.converged:
                    return start
            if solver.max_iterations > self.max_iterations - used:
                solver = replace(solver, max_iterations=self.max_iterations - used)
            try:
                u, guess, iterations = solver._answer(w, K, M, slack, guess)
            except Declined as reason:
                left_out = f"{solver.name} was left out: {reason}"
                remarks += [] if left_out in remarks else [left_out]
                solver = next(plan, None)
                continue
            used += iterations
            slow += iterations if solver.slow and tried else 0
            found = self._measured(w, K, M, u, guess)
            said = (
                [f"{used - slow} sweeps missed the tolerance; Newton's method took {slow} iterations"] if slow else []
            )
            good, remark = found.worst <= self.tol, "; ".join(said + remarks)
            tried.append(Projection(u.reshape(target.shape), guess, found, used, good, solver.name, remark))
            if good:
                return tried[-1]
            if self.strict and solver.examined:
                self._raise_if_proven(guess, slack, K, M, used)
            if solver.strict and not looked and K.cones is None:  # with friction, rounds are cheaper than a proof
                remarks += self._raise_if_empty(K, M, used)
                looked = True
            solver = _next(plan, tried[-1])
        outside = bool(tried) and K.cones is None and self._is_outside(w, K, slack)
        answers = tried if outside else [*tried, self._start(target, w, K, M, slack)]
        best = answers[-1] if answers[-1].converged else min(tried, key=_worst, default=answers[-1])
        if not best.converged and self.strict and not looked:
            remarks += self._raise_if_empty(K, M, used)
        if not best.converged and self.strict:
            remarks.insert(0, f"the largest errors are those of {_worst_rows(to_host(K), to_host(best))}")
        return replace(best, iterations=used, remark="; ".join(said + remarks))

    def _is_outside(self, w: Array, K: Rows, slack: Array) -> bool:
        """Whether the most violated row alone shows that w misses the tolerance; False if it does not show that."""
        margin = K.margin(slack)
        row = int(margin.argmin())
        one = K.only(place_of(margin).asarray([row]))
        noise = one.noise + ROUND_OFF * (np.abs(one.c) + 2.0 * one.G.magnitude(np.abs(w)))
        violation, length = -float(margin[row]), float(one.length[0])
        return length > 0.0 and violation > max(self.tol * length, float(noise[0]))

    def _start(self, target: Array, w: Array, K: Rows, M: Metric, slack: Array) -> Projection:
        """The point itself as an answer, without multipliers."""
        p = place_of(slack).zeros(len(slack))
        found = self._measured(w, K, M, w, p)
        return Projection(target.copy(), p, found, 0, found.within(self.tol), self.name)

    def _plan(self, K: Rows) -> Generator[Solver, Projection, None]:
        """The solvers to try, one after the other; each yield returns the answer, which did not converge."""
        yield self

    def _at_once(self, w: Array, K: Rows, M: Metric, name: str) -> Projection | None:
        """The projection by one compiled call, converged or not; None if there is no such call.

        A point of K is its own projection, in the name of the solver that was asked.
        """
        return None

    def _swept_at_once(self, w: Array, K: Rows, M: Metric, guess: Array | None, name: str) -> Projection | None:
        """The projection on a few friction cones, like `_at_once`; None if others have to try."""
        return None

    def _stop(self, K: Rows, unit: Array, s0: Array, noise: Array, part: float) -> tuple[Array, float]:
        """(violation allowed a row, tolerance of the complementarity) at a part of tol, for rows of length one."""
        # Without a length the violation is compared with the distance moved, which is not known before the end; the
        # largest violation at w is a lower bound of it.
        tol = part * self.tol
        return by_rows(_allowed, (K.length, unit, noise), tol, -K.margin(s0).min()), tol

    def _solve(self, w: Array, K: Rows, M: Metric, slack: Array, guess: Array | None) -> tuple[Array, Array, int]:
        """(u, p, iterations) for a w outside K, all flat; slack = c + G w."""
        raise NotImplementedError

    def _answer(self, w: Array, K: Rows, M: Metric, slack: Array, guess: Array | None) -> tuple[Array, Array, int]:
        """What `_solve` found. A solver outside jostle gets copies to write on, and its shapes are checked."""
        if type(self).__module__.startswith("jostle."):
            return self._solve(w, K, M, slack, guess)
        u, p, iterations = self._solve(w.copy(), K, M, slack.copy(), None if guess is None else guess.copy())
        if np.shape(u) != w.shape or np.shape(p) != slack.shape:
            raise InvalidValue(
                f"{self.name}._solve must return u of shape {w.shape}, p of shape {slack.shape} and the number of "
                f"iterations; it returned shapes {np.shape(u)} and {np.shape(p)}"
            )
        return floats(u, "C"), floats(p, "C"), int(iterations)

    def _whitened(self, w: Array, K: Rows, M: Metric, slack: Array) -> Whitened:
        unit, s0, noise = K.G.whitened(K.c, K.noise, M, w, slack)
        if not lowest(unit, 1.0) > 0.0:
            flat = np.flatnonzero((unit == 0.0) & (K.margin(slack) < (0.0 if K.equal is None else -K.noise)))
            if len(flat):
                self._raise_if_proof(K, np.where(np.arange(len(unit)) == int(flat[0]), -np.sign(slack), 0.0))
            unit = np.where(unit > 0.0, unit, 1.0)
        return Whitened(unit, s0, noise)

    def _raise_if_proof(self, K: Rows, y: Array, used: int = 0) -> None:
        """Raise `EmptySet` if weights near y, which a solver reached after that many iterations, are a proof."""
        weights = proof(K, y, self.tol)
        if weights is not None:
            raise empty_set(K, weights, used)

    def _raise_if_proven(self, p: Array, slack: Array, K: Rows, M: Metric, used: int) -> None:
        """Raise `EmptySet` if multipliers that a solver reached after that many iterations prove that K is empty."""
        if K.cones is not None:  # a contradiction of the normal rows is one of the cones
            K, p, slack, M = to_host(K), to_host(p), to_host(slack), to_host(M)
            p, slack, K = K.normal_parts(p), K.normal_parts(slack), K.normals()
        y = proven_by(p, slack, K, M, self.tol)
        if y is not None:
            raise empty_set(K, y, used)

    def _raise_if_empty(self, K: Rows, M: Metric, used: int) -> list[str]:
        """Raise `EmptySet` if K is empty, after that many iterations; remark if that could not be decided."""
        if K.cones is not None:
            K, M = to_host(K).normals(), to_host(M)
        try:
            y = contradiction(K, M, self.tol)
        except Undecided as reason:
            return [f"whether the set is empty was not decided: {reason}"]
        if y is not None:
            raise empty_set(K, y, used)
        return []


def relative_to_closing(K: Rows, w: Array, tol: float) -> Rows:
    """The same rows, whose violations count beside the largest closing velocity at w, where their length is longer."""
    # A body at rest closes at g h in a step, which is far below tol r / h if steps are short: left alone, it would
    # fall until its overlap exceeds tol r, and be thrown up by what closes that in one step.
    closing = K.margin(K.c + (K.G @ w.ravel()))[K.length > 0.0]
    most = -min(CLOSING_FACTOR, MAX_LEFT / tol) * lowest(closing, 0.0)
    return with_fields(K, length=np.minimum(K.length, most)) if 0.0 < most < highest(K.length, 0.0) else K


def check_round_off(w: Array, K: Rows, tol: float) -> None:
    """Refuse a point so large that its round-off in a row is no longer small beside the length of the row."""
    length, allowed, flat = K.length, max(tol, MIN_ROUND_OFF), w.ravel()
    if not ROUND_OFF * MAX_ENTRIES * highest(abs(flat), 0.0) > allowed * lowest(length[length > 0.0], math.inf):
        return
    noise = ROUND_OFF * K.G.magnitude(flat)
    wrong = (length > 0.0) & (noise > allowed * length) & (K.margin(K.c + (K.G @ flat)) < 0.0)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InvalidValue(
            f"the point to project is so far away that the round-off of {K.describe(row)}, {float(noise[row]):.2g}, "
            f"is not small beside its length, {float(length[row]):.2g}: take a shorter time step, weaker forces or "
            f"heavier bodies"
        )


def unit_rows(G: LinearMap, M: Metric, unit: Array) -> Any:
    """G in CSR form, in coordinates where the metric is Euclidean, its rows divided by their length."""
    from scipy.sparse import csr_array

    if M.diagonal:
        A = G.tocsr().copy()
        A.data = A.data * M.root[A.indices]
    else:
        A = csr_array(M.whiten(G.toarray()))
    A.data = A.data / np.repeat(unit, np.diff(A.indptr))
    return A


def _has_loop(K: Rows, M: Metric) -> bool:
    """Whether one compiled loop takes all rows in friction cones as they are."""
    return K.G.swept(K.cones, K.equal, M) is not None


def _worst(answer: Projection) -> float:
    return answer.residual.worst


def _worst_rows(K: Rows, answer: Projection) -> str:
    """The rows, at most `MAX_NAMED`, that violate their law most, or add most to the complementarity, in words."""
    slack, p, cones = K.slack(answer.point), answer.multipliers, K.cones
    if answer.residual.primal >= answer.residual.complementarity:
        error = -K.margin(slack) / np.where(K.length > 0.0, K.length, 1.0)
    else:
        error = np.abs(p * slack)
        if cones is not None:
            kinds, quiet = (cones.axis, cones.mu, cones.resistance), lengths(cones.blocks_of(K.noise))
            lack = laws_of_blocks(cones.blocks_of(slack), cones.blocks_of(p), *kinds, cones.coulomb, quiet)[1]
            error[: cones.rows] = np.repeat(lack, cones.height)
    order = np.argsort(-error, kind="stable")
    names = dict.fromkeys(K.describe(int(row)) for row in order[: MAX_NAMED * (1 if cones is None else cones.height)])
    return ", ".join(list(names)[:MAX_NAMED])


def _next(plan: Generator[Solver, Projection, None], answer: Projection) -> Solver | None:
    """The solver that tries after an answer that did not converge; None if there is none."""
    try:
        return plan.send(answer)
    except StopIteration:
        return None


def _allowed(length: Array, unit: Array, noise: Array, tol: float, moved: float) -> Array:
    """The violation allowed a row: tol times its length, or the distance moved; no less than the noise."""
    return np.maximum(tol * np.where(length > 0.0, length / unit, moved), noise)


def _check_shapes(w: Array, K: Rows, guess: Array | None) -> None:
    """Refuse arrays whose shapes do not fit, which kernels do not check."""
    rows, coordinates = K.G.shape
    if len(w) != coordinates:
        raise InvalidValue(f"w has {len(w)} coordinates, G has {coordinates} columns")
    if guess is not None and guess.shape != (rows,):
        raise InvalidValue(f"guess must be {rows} finite numbers, one for each row; it has shape {guess.shape}")


def _check_finite(w: Array, guess: Array | None) -> None:
    """Refuse numbers that are not finite."""
    if not math.isfinite(w.sum()):
        raise NotFinite("the point to project is not finite")
    if guess is not None and not all_finite(guess):
        raise InvalidValue(f"guess must be {len(guess)} finite numbers, one for each row")
