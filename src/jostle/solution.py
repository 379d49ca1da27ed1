"""What `solve` returns: the trajectory, the reactions, and how well each step was done."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jostle.arrays import Array, Integers
from jostle.displays import html
from jostle.energies import Energy, EnergyBalance, balance, potential_of
from jostle.errors import InvalidValue
from jostle.facts import Facts, drawable
from jostle.problems import Motion, Sweeping
from jostle.schemes.paoli import Paoli
from jostle.sets.presence import Presence
from jostle.shapes import Shape
from jostle.solvers.base import MAX_NAME_LENGTH

STATISTICS = np.dtype(
    [
        ("t", float),
        ("h", float),
        ("rows", np.int64),
        ("active", np.int64),
        ("iterations", np.int64),
        ("primal", float),
        ("dual", float),
        ("complementarity", float),
        ("overshoot", float),
        ("converged", bool),
        ("solver", f"U{MAX_NAME_LENGTH}"),
        ("dissipated", float),
        ("wall_work", float),
    ]
)
"""One record a step: the time it led to, its length, the rows and active rows of its projection, iterations, the
three dimensionless residuals of the projection, the deepest overlap that `primal` does not bound, whether it converged,
which solver did it, and of a `Motion` the energy that its contacts dissipated and the work of moving walls and radii.

`primal` is the worst violation of the constraints that were projected on, over the smallest radius. With `Maury` and
`Venel` it bounds every overlap of convex gaps; with `CatchingUp`, and `Paoli` with e = 0, it is the worst overlap.
`overshoot`, over the same length, is the true overlap of the positions reached where `primal` does not give it: behind
curved walls, and everywhere with `MoreauJean`, and with `Paoli` if e > 0. ``sol.overlap`` is the larger of both. Where
the set has no radius, `overshoot` is the depth itself."""


FINISHED, STOPPED, BLOCKED, INTERRUPTED, FAILED = "finished", "stopped", "blocked", "interrupted", "failed"
NOT_CONVERGED, BUDGET, RUNNING, KILLED = "not converged", "budget", "running", "killed"
MESSAGES = {
    FINISHED: "reached the end time",
    STOPPED: "condition met",
    BLOCKED: "blocked: nobody has moved for a while",
    INTERRUPTED: "interrupted by Ctrl-C",
    FAILED: "ended by an error",
    NOT_CONVERGED: "some steps were not solved to the tolerance",
    BUDGET: "the budget of iterations was not enough for the tolerance in some steps",
    RUNNING: "still running",
    KILLED: "killed: the process that wrote it ended without notice",
}
"""What each status means."""

WIDENINGS = 20
"""With bodies that are not there, `gaps` looks for the nearest pair so many times, each time four times as far."""


@dataclass(frozen=True, eq=False)
class Impacts:
    """Contacts that closed with a jump of the velocity, in order of time; each field has one entry per impact.

    `t` is the time that the step led to, `moment` the time inside it at which the gap closed along a free flight: for
    Paoli's scheme a little before the step where e > 0. The moment has an error of order h^2 against the motion that
    the scheme computes, and none for a plane and a constant force; the error of the scheme itself comes on top, which
    is of order h for `Maury`, and for all schemes after the first impact.

    >>> import jostle as jo
    >>> ball = jo.Motion(q0=[1.25], force=[-10.0], within=jo.HalfSpace([1.0]), law=jo.Restitution(0.5))
    >>> hits = jo.solve(ball, jo.MoreauJean(), t=0.9, h=0.08).impacts()
    >>> hits.t.round(9).tolist(), hits.moment.round(9).tolist()
    ([0.56], [0.5])

    The schemes spread an impact over two steps: `after` and `impulse` are taken after the second, and so contain what
    the forces did in these two steps. Piles make many small ones: `sol.impacts(speed=...)` leaves them out.
    """

    t: Array
    pairs: Integers
    """(k, 2): (i, j) two bodies, (i, -1 - w) body i and wall w, (-1, c) constraint c."""
    before: Array
    """Rate of the gap before (negative: approaching)."""
    after: Array
    """Rate of the gap after."""
    impulse: Array
    moment: Array
    """When the gap closed, inside the step."""

    def __len__(self) -> int:
        return len(self.t)

    def __iter__(self) -> Iterator[tuple[float, tuple[int, int], float, float, float]]:
        for k in range(len(self)):
            i, j = (int(body) for body in self.pairs[k])
            yield float(self.t[k]), (i, j), float(self.before[k]), float(self.after[k]), float(self.impulse[k])

    def __str__(self) -> str:
        lines = [f"{len(self)} impact{'s' * (len(self) != 1)}", "         t  pair          before     after   impulse"]
        for t, (i, j), before, after, impulse in self:
            lines.append(f"{t:10.4f}  {_name(i, j):10s} {before:9.4f} {after:9.4f} {impulse:9.4f}")
        return "\n".join(lines)


def _name(i: int, j: int) -> str:
    return f"{i} - {j}" if i >= 0 and j >= 0 else f"{i} - wall {-1 - j}" if i >= 0 else f"row {j}"


@dataclass(frozen=True, eq=False, repr=False)
class Solution:
    """The result of a run.

    >>> import jostle as jo
    >>> ball = jo.Motion(q0=[1.0], force=[-10.0], within=jo.HalfSpace([1.0]))
    >>> sol = jo.solve(ball, jo.Maury(), t=1.0, h=0.01)
    >>> sol.status, sol.t.shape, sol.q.shape, sol(0.105).round(4).tolist()
    ('finished', (101,), (101, 1), [0.9395])
    """

    problem: Any
    scheme: Any
    t: Array
    """(k,) the saved times."""
    q: Array
    """(k, *shape) positions; NaN for a body that was not there."""
    u: Array
    """(k, *shape) velocities."""
    multipliers: tuple[Array, ...]
    """For each saved time, p >= 0 per contact of the step that led there: impulses (second order), reactions
    M (u - U) = G^T p (first order). Those of equalities have any sign: p < 0 is the tension of a rod. Not unique where
    contacts depend on each other."""
    pairs: tuple[Integers, ...]
    """For each saved time, who the multipliers are between; see `Contacts.pairs`."""
    normals: tuple[Array, ...]
    """For each saved time, the (m, d) unit vectors from the first body of a pair to the second, or into the wall: the
    impulse on the first body is -p normal. (m, 0) where the constraints are not contacts of bodies."""
    stats: NDArray[Any]
    """One record for each step, saved or not: see `STATISTICS`."""
    status: str
    """One word for how the run ended; `message` says what it means. 'finished': it reached its end time. 'stopped':
    its condition was met. 'blocked': nobody moved for a while. 'not converged': some step was not solved. 'budget': a
    `Budget` was not enough for the tolerance in some step. 'interrupted', 'failed'; 'running': a file has no end."""
    z: Array | None = None
    """Paoli only: the projected positions Z^n, which are in K even where q is not."""
    recorded: Impacts | None = None
    radii: Any = None
    """Of each saved time, for a solution that was read from a file; the problem has them otherwise."""
    durations: Array | None = None
    """(k,) the time over which the multipliers of each saved time acted, NaN if it is not known; see `duration`."""
    order: int = 0
    """2 for a `Motion`, whose multipliers are impulses; 1 for a `Sweeping`, whose are not; 0 if it is not known."""
    walls: int | None = None
    """The number of walls, touched or not, for a solution that was read from a file."""
    contacts_saved: bool = True
    """False for a file that was written without contacts."""
    stored_facts: Facts | None = None
    """What the file says about its problem, for a solution that was read from a file."""
    stored_shapes: Any = None
    """The shapes of the walls at each saved time, for a solution that was read from a file."""
    refinement: Any = None
    """How the time step was chosen, a `Refinement`, for a solution of ``solve(..., tol=...)``."""

    def __post_init__(self) -> None:
        if isinstance(self.problem, Motion | Sweeping):
            object.__setattr__(self, "order", 2 if isinstance(self.problem, Motion) else 1)

    def __repr__(self) -> str:
        saved = f"t = {self.t[0]:g} to {self.t[-1]:g}, {len(self.t)} saved" if len(self.t) else "nothing saved"
        return (
            f"Solution({self.status}: {len(self.stats)} steps of {type(self.scheme).__name__}, {saved}, "
            f"q of shape {self.q.shape[1:]}, worst residual {self.residual:.1e})"
        )

    def _repr_html_(self) -> str:
        return html(self)

    @cached_property
    def facts(self) -> Facts:
        """What is known of the problem: masses, names of walls, groups, units; from the file, or from the problem.

        >>> import jostle as jo
        >>> jo.solve(jo.Motion(q0=[[0.0], [1.0]], mass=[2.0, 3.0]), jo.Maury(), t=1.0, h=0.5).facts.masses.tolist()
        [2.0, 3.0]
        """
        if self.stored_facts is not None:
            return self.stored_facts
        if not isinstance(self.problem, Motion | Sweeping):
            return Facts(order=self.order, walls=self.walls)
        return Facts.of(self.problem, t=float(self.t[0]), q=np.asarray(self.q[0]))

    def shapes(self, k: int) -> tuple[Shape, ...]:
        """The shapes of the walls at saved time k; none if neither a file nor the problem knows them.

        >>> import jostle as jo
        >>> ball = jo.Motion(q0=[[0.0, 1.0]], within=jo.HalfSpace([0.0, 1.0], offset=lambda t: t - 1.0))
        >>> sol = jo.solve(ball, jo.Maury(), t=1.0, h=0.5)
        >>> [shape.points.tolist() for shape in sol.shapes(-1)]
        [[[0.0, 1.0], [0.0, 0.0]]]
        """
        if self.stored_shapes is not None:
            return tuple(self.stored_shapes[k])
        if not isinstance(self.problem, Motion | Sweeping):
            return ()
        return drawable(self.problem.within, float(self.t[k]), self.facts.dimension)

    @property
    def message(self) -> str:
        """How the run ended, in words.

        >>> import jostle as jo
        >>> jo.solve(jo.Motion(q0=[0.0]), jo.Maury(), t=1.0, h=0.5).message
        'reached the end time'
        """
        return MESSAGES.get(self.status, self.status)

    def __call__(self, t: float | Array) -> Array:
        """q at time t, affine between the saved times (the u_h of Paoli 2010, the q_h of the others)."""
        times = np.asarray(t, dtype=float)
        if times.min() < self.t[0] or times.max() > self.t[-1]:
            raise InvalidValue(f"t must lie in [{self.t[0]:g}, {self.t[-1]:g}], not {t}")
        if len(self.t) == 1:
            return np.broadcast_to(self.q[0], times.shape + self.q.shape[1:]).copy()
        k = np.clip(np.searchsorted(self.t, times, side="right") - 1, 0, len(self.t) - 2)
        part = (times - self.t[k]) / (self.t[k + 1] - self.t[k])
        part = part.reshape(part.shape + (1,) * (self.q.ndim - 1))
        return (1.0 - part) * self.q[k] + part * self.q[k + 1]

    def impacts(self, speed: float = 0.0) -> Impacts:
        """The impacts whose approaching rate was larger than `speed`."""
        found = self.recorded
        if found is None and self.radii is not None:
            raise InvalidValue("impacts are not stored in trajectory files; run without output= to get them")
        if found is None:
            raise InvalidValue("a first-order problem has no impacts: its velocity may jump at any contact")
        hard = -found.before > speed
        rates = found.before[hard], found.after[hard]
        return Impacts(found.t[hard], found.pairs[hard], *rates, found.impulse[hard], found.moment[hard])

    def energy(self) -> Energy:
        """1/2 |u|_M^2 at the saved times, and the potential of the problem, or -f . q if the force is constant.

        q and u belong to the same instant only up to half a step: Maury's and Paoli's velocities are those of the step
        that led to q, so the sum is off by O(h), and in the two steps of an impact by more. A file has the masses and a
        constant force, unless the mass is a matrix or a function.
        """
        if self.order == 1:
            raise InvalidValue("a first-order problem has no kinetic energy")
        if isinstance(self.problem, Motion):
            metric = self.problem.metric
            states = zip(self.q, self.u, strict=True)
            kinetic = np.array([0.5 * metric(q).inner(u.ravel(), u.ravel()) for q, u in states])
        elif self.facts.masses is not None:
            m = self.facts.masses
            kinetic = np.array([0.5 * float(m @ (u.reshape(len(m), -1) ** 2).sum(axis=1)) for u in self.u])
        else:
            raise InvalidValue("the masses are not in the file: give the problem, jo.io.read(path, problem)")
        return Energy(kinetic, potential_of(self.problem, self.facts, self.q))

    def energy_balance(self) -> EnergyBalance:
        """Where the energy of a `Motion` went: work of forces, work of walls that move, dissipated, and the error.

        The parts of the contacts are summed over all steps, saved or not. The work of a force that is a function is
        computed along the saved states, and needs all of them (``every=1``) to be accurate; with a constant force, or
        with ``Motion(potential=...)``, any `every` will do. The error is of order h; with `MoreauJean` and a constant
        force it is round-off. With e = 1 there is a warning (`EnergyDrift`) if a notable part of the energy changed.
        A file has all of it, unless the force is a function; then give the problem, ``jo.io.read(path, problem)``.

        >>> import jostle as jo
        >>> piston = jo.HalfSpace([1.0], offset=lambda t: 2.0 * t)
        >>> ball = jo.Motion(q0=[1.0], v0=[-1.0], within=piston, law=jo.Restitution(1.0))
        >>> found = jo.solve(ball, jo.MoreauJean(), t=1.0, h=0.01).energy_balance()
        >>> [round(float(part[-1]), 9) + 0.0 for part in (found.kinetic, found.work_of_walls, found.dissipated)]
        [12.5, 12.0, 0.0]
        """
        kinetic = self.energy().kinetic
        return balance(self.problem, self.facts, (self.t, self.q, self.u), kinetic, self.stats)

    def impulses(self) -> dict[str, NDArray[Any]]:
        """The contacts that carry something at the saved times, as columns of a table, in order of time.

        `t`; `pair`, the two names, such as "0 - 1" or "0 - wall 2"; `first` and `second`, the numbers of
        `Contacts.pairs`; `impulse`, of the step that led to the time; `force`, the impulse over its duration. Steps
        that were not saved are not in it. ``pandas.DataFrame(sol.impulses())`` makes a data frame. In first-order
        problems both numbers are the reaction p.

        >>> import jostle as jo
        >>> ball = jo.Motion(q0=[0.0], force=[-10.0], within=jo.HalfSpace([1.0]))
        >>> table = jo.solve(ball, jo.Maury(), t=0.5, h=0.25).impulses()
        >>> {name: column.tolist() for name, column in table.items() if name in ("t", "pair", "impulse", "force")}
        {'t': [0.25, 0.5], 'pair': ['0 - wall 0', '0 - wall 0'], 'impulse': [2.5, 2.5], 'force': [10.0, 10.0]}
        """
        active = [np.flatnonzero(p) for p in self.multipliers]
        counts = [len(rows) for rows in active]
        durations = [self.duration(k) for k in range(len(self.t))]
        pairs = np.concatenate([pairs[rows] for pairs, rows in zip(self.pairs, active, strict=True)]).reshape(-1, 2)
        impulse = np.concatenate([np.asarray(p)[rows] for p, rows in zip(self.multipliers, active, strict=True)])
        return {
            "t": np.repeat(self.t, counts),
            "pair": np.array([_name(i, j) for i, j in pairs.tolist()], dtype=str),
            "first": pairs[:, 0],
            "second": pairs[:, 1],
            "impulse": impulse,
            "force": impulse / np.repeat(durations, counts),
        }

    def duration(self, k: int) -> float:
        """The time over which the multipliers p of frame k acted: the forces are p / duration.

        In a second-order problem it is the length of the step that led to the frame (with `Paoli` the mean of its last
        two steps, whose middles its velocities belong to). In a first-order problem p is no impulse, and it is 1.

        >>> import jostle as jo
        >>> ball = jo.Motion(q0=[0.0], force=[-10.0], within=jo.HalfSpace([1.0]))
        >>> sol = jo.solve(ball, jo.Maury(), t=1.0, h=0.25)
        >>> sol.duration(-1), float(sol.multipliers[-1][0] / sol.duration(-1))
        (0.25, 10.0)
        """
        if not self.contacts_saved:
            raise InvalidValue(
                "this file holds no contacts, so no forces: save them with output=jo.io.Output(path, contacts=True)"
            )
        if self.order == 1 or not np.any(self.multipliers[k]):
            return 1.0
        if self.durations is not None and np.isfinite(self.durations[k]):
            return float(self.durations[k])
        if self.order == 0 or self.scheme is None:
            raise InvalidValue(
                "this file does not say over which time its impulses acted, so its forces are not known: it is of the "
                "older format 1. Give the problem and the scheme of the run: jo.io.read(path, problem, scheme)"
            )
        step = np.flatnonzero(self.stats["t"] == self.t[k])
        if len(step) == 0:
            raise InvalidValue(
                f"the length of the step that led to t = {self.t[k]:g} is not known, so neither are forces"
            )
        h = self.stats["h"]
        if not isinstance(self.scheme, Paoli):
            return float(h[step[0]])
        # Paoli's velocities belong to the middles of the steps, the first of them to the start: (4)-(5), z = 1/2.
        return float(h[step[0]] + (h[step[0] - 1] if step[0] else 0.0)) / 2.0

    def gaps(self) -> Array:
        """The smallest gap at each saved time, -|g_i| of equalities: negative is an overlap, or a violated equality."""
        if self.problem is None:
            raise InvalidValue(
                "gaps need the admissible set, which is not in the file: give the problem, jo.io.read(path, problem)"
            )
        return np.array([self._gap(t, q) for t, q in zip(self.t, self.q, strict=True)])

    def _gap(self, t: float, q: Array) -> float:
        within = self.problem.within
        if np.isfinite(q).all():
            return float(within.gap(t, q))
        here = np.isfinite(q).all(axis=1)
        presence = Presence.of(q, here, within.widest())
        if not here.any():
            return np.inf
        spread = float(np.ptp(q[here], axis=0).max())
        reach, placed = (spread or within.widest() or 1.0) / here.sum(), presence.placed(q)
        for _ in range(WIDENINGS):
            contacts = presence.within(within).linearise(t, placed, reach)
            if len(contacts.gap):
                return float(contacts.gap.min())
            reach *= 4.0
        return np.inf

    @property
    def overlap(self) -> float:
        """The worst overlap of all steps, saved or not, over the smallest radius: a bound where gaps are convex.

        >>> import jostle as jo
        >>> balls = jo.Motion(q0=[0.0, 1.5], v0=[1.0, 0.0], within=jo.Line([0.5, 0.5]), law=jo.Restitution(1.0))
        >>> round(jo.solve(balls, jo.Paoli(), t=1.0, h=0.04).overlap, 3)       # 0.02 of 0.5
        0.04
        """
        return float(max(self.stats[name].max(initial=0.0) for name in ("primal", "overshoot")))

    @property
    def residual(self) -> float:
        """The worst residual of all steps."""
        parts = [self.stats[name].max(initial=0.0) for name in ("primal", "dual", "complementarity")]
        return float(max(parts))
