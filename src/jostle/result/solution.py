"""`Solution`, the result of `solve`: trajectory, contact impulses, and how well each step was solved."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from jostle._tools.arguments import NotNegative, check_arguments
from jostle._tools.arrays import Array, Integers
from jostle._tools.displays import html
from jostle._tools.suggestions import suggestion
from jostle.bodies import contact_points
from jostle.contacts import by_pair
from jostle.errors import InvalidValue
from jostle.pose import Pose
from jostle.problems import Motion, Sweeping
from jostle.result.energies import Energy, EnergyBalance, balance, kinetic_of, potential_of
from jostle.result.facts import Facts, drawable
from jostle.result.impacts import Impacts
from jostle.result.status import MESSAGES, STOPPED, run_in_words
from jostle.sets.base import gap_of_present
from jostle.sets.outlines import Shape

DONE_WITH = {
    "plot": "jo.viz.strip(sol)", "show": "jo.viz.strip(sol)", "draw": "jo.viz.draw(sol)",
    "animate": 'jo.viz.animate(sol, "run.mp4")', "movie": 'jo.viz.animate(sol, "run.mp4")',
    "save": 'jo.io.write(sol, "run.vtkhdf")', "write": 'jo.io.write(sol, "run.vtkhdf")',
    "export": 'jo.io.export(sol, "run.csv")', "forces": "jo.analysis.forces(sol, k)",
    "contacts": "jo.analysis.forces(sol, k), or pairs, normals and multipliers", "success": "sol.status",
}  # fmt: skip
"""What does the things that solutions of other programs can do themselves."""


@dataclass(frozen=True, eq=False, repr=False)
class Solution:
    """The result of a run: trajectory, contact impulses, and how well each step was solved.

    ``sol(t)`` is the position at any time of the run, affine between the saved times.

    Attributes
    ----------
    problem : Motion or Sweeping or None
        The problem that was solved; None for a file that was read without it.
    scheme : Scheme or None
        The scheme of the run; None for a file that was read without it.
    t : array, shape (k,)
        The saved times.
    q : array, shape (k, ...)
        Positions at the saved times, in the shape of q0; NaN for a body that was not present.
    u : array, shape (k, ...)
        Velocities at the saved times.
    multipliers : tuple of k arrays, each of shape (m,)
        For each saved time, p >= 0 for each contact of the step that led there: impulses in second order, reactions M
        (u - U) = G^T p in first order. Those of equalities have any sign: p < 0 is the tension of a rod. They are not
        unique where contacts depend on each other.
    pairs : tuple of k arrays of int, each of shape (m, 2)
        For each saved time, who the multipliers act between; see `Contacts`.
    normals : tuple of k arrays, each of shape (m, d)
        For each saved time, the unit vectors from the first body of a pair to the second, or into the wall: the impulse
        on the first body is -p times the normal. The shape is (m, 0) where the constraints are not contacts of bodies.
    stats : structured array, one record for each step
        The steps, saved or not, with the fields `t`, the time that the step led to; `h`, its length; `rows` and
        `active`, the number of rows of its projection and of rows with a multiplier; `iterations`; `primal`, `dual` and
        `complementarity`, the residuals; `overshoot`, the overlap of q that `primal` does not bound, as a fraction of
        the smallest radius; `converged`; `solver`, its name; and for a `Motion` `dissipated`, the energy that its
        contacts took, and `wall_work`, the work of moving walls and radii.
    status : str
        How the run ended. "finished": it reached its end time. "stopped": the condition `until` was met. "blocked":
        nobody moved for a while. "not converged": some step missed the tolerance. "budget": a budget of iterations was
        not enough for the tolerance in some step. "interrupted": by Ctrl-C, or by a function that
        ended the program, as `sys.exit` does. "failed": by an error. "running": the file has no end yet. "killed": the
        process that wrote the file ended without notice.
    z : array, shape (k, ...), or None
        `Paoli` only: the projected positions Z^n, which are in K even where q is not.
    recorded : Impacts or None
        All impacts of the run, in memory or in its file, which `impacts` selects from; None if there are none.
    radii : array or None
        Radii of the bodies at each saved time, for a solution that was read from a file; otherwise None, and the
        problem has them.
    impulse_times : array, shape (k,), or None
        Time over which the multipliers of each saved time acted, NaN where it is not known; see `impulse_time`.
    order : int
        2 for a `Motion`, whose multipliers are impulses; 1 for a `Sweeping`, whose multipliers are not; 0 if it is not
        known.
    walls : int or None
        Number of walls, touched or not, for a solution that was read from a file.
    contacts_saved : bool
        False for a file that was written without contacts.
    saved_facts : Facts or None
        What the file says about its problem, for a solution that was read from a file.
    saved_shapes : sequence or None
        Shapes of the walls at each saved time, for a solution that was read from a file.
    refinement : Refinement or None
        How the time step was chosen, for a solution of ``solve(..., accuracy=...)``.
    orientation : array, shape (k, n) or (k, n, 4), or None
        How the bodies are turned at the saved times: angles in the plane, quaternions (w, x, y, z) in space; None if
        they do not turn.
    spin : array, shape (k, n) or (k, n, 3), or None
        Angular velocities at the saved times; None if bodies do not turn.
    tangential : tuple of k arrays, each of shape (m, d), or None
        For each saved time, the impulse of friction in each contact on the second body of its pair; that on the first
        body has the other sign. None if there is no friction.
    rolling : tuple of k arrays, each of shape (m, 1) or (m, 3), or None
        For each saved time, the angular impulse of rolling resistance on the second body of each pair.
    points : sequence of arrays, each of shape (m, d), or None
        For each saved time, where the contacts act, if a file says it; see `contact_points`.

    Examples
    --------
    >>> import jostle as jo
    >>> ball = jo.Motion(q0=[1.0], force=[-10.0], within=jo.HalfSpace([1.0]))
    >>> sol = jo.solve(ball, jo.Maury(), t=1.0, h=0.01)
    >>> sol.status, sol.t.shape, sol.q.shape, sol(0.105).round(4).tolist()
    ('finished', (101,), (101, 1), [0.9395])
    """

    problem: Any
    scheme: Any
    t: Array
    q: Array
    u: Array
    multipliers: tuple[Array, ...]
    pairs: tuple[Integers, ...]
    normals: tuple[Array, ...]
    stats: NDArray[Any]
    status: str
    z: Array | None = None
    recorded: Any = None
    radii: Any = None
    impulse_times: Array | None = None
    order: int = 0
    walls: int | None = None
    contacts_saved: bool = True
    saved_facts: Facts | None = None
    saved_shapes: Any = None
    refinement: Any = None
    orientation: Array | None = None
    spin: Array | None = None
    tangential: tuple[Array, ...] | None = None
    rolling: tuple[Array, ...] | None = None
    points: Any = None
    _repr_html_ = html

    def __post_init__(self) -> None:
        if isinstance(self.problem, Motion | Sweeping):
            object.__setattr__(self, "order", 2 if isinstance(self.problem, Motion) else 1)

    def __repr__(self) -> str:
        return f"Solution({run_in_words(self)})"

    if not TYPE_CHECKING:  # type checkers refuse names that do not exist

        def __getattr__(self, name: str) -> Any:
            """The error about an unknown attribute, which says what it is called here."""
            if hasattr(type(self), name):  # a property raised the error itself
                return object.__getattribute__(self, name)
            known = sorted(each for each in {*dir(type(self)), *vars(self)} if not each.startswith("_"))
            how = (
                f"use {DONE_WITH[name]}" if name in DONE_WITH else suggestion(name, known, f"it has {', '.join(known)}")
            )
            raise AttributeError(f"a Solution has no attribute {name!r}: {how}")

    @cached_property
    def facts(self) -> Facts:
        """Masses, names of walls, groups and units, from the file or from the problem."""
        if self.saved_facts is not None:
            return self.saved_facts
        if not isinstance(self.problem, Motion | Sweeping):
            return Facts(order=self.order, walls=self.walls)
        return Facts.of(self.problem, t=float(self.t[0]), q=np.asarray(self.q[0]))

    def shapes(self, k: int) -> tuple[Shape, ...]:
        """The shapes of the walls at one saved time.

        Parameters
        ----------
        k : int
            Number of the saved time; negative numbers count from the end.

        Returns
        -------
        tuple of Shape
            One for each wall that can be drawn; empty if neither a file nor the problem knows them.

        Examples
        --------
        >>> import jostle as jo
        >>> ball = jo.Motion(q0=[[0.0, 1.0]], within=jo.HalfSpace([0.0, 1.0], offset=lambda t: t - 1.0))
        >>> sol = jo.solve(ball, jo.Maury(), t=1.0, h=0.5)
        >>> [shape.points.tolist() for shape in sol.shapes(-1)]
        [[[0.0, 1.0], [0.0, 0.0]]]
        """
        if self.saved_shapes is not None:
            return tuple(self.saved_shapes[k])
        if not isinstance(self.problem, Motion | Sweeping):
            return ()
        return drawable(self.problem.within, float(self.t[k]), self.facts.dimension)

    @property
    def message(self) -> str:
        """How the run ended, in words."""
        if self.status == STOPPED and not np.isfinite(self.q[-1]).any():
            return "no bodies left"
        return MESSAGES.get(self.status, self.status)

    def __call__(self, t: float | Array) -> Array:
        """Position at time t, affine between the saved times: u_h in Paoli 2010, q_h in the other papers.

        Parameters
        ----------
        t : float or array_like
            Times between the first and the last saved time.

        Returns
        -------
        array
            Positions, in the shape of `t` followed by that of q0.
        """
        times = np.asarray(t, dtype=float)
        if not ((times >= self.t[0]) & (times <= self.t[-1])).all():
            raise InvalidValue(f"t must lie in [{self.t[0]:g}, {self.t[-1]:g}], not {t}")
        if len(self.t) == 1:
            return np.broadcast_to(self.q[0], times.shape + self.q.shape[1:]).copy()
        k = np.clip(np.searchsorted(self.t, times, side="right") - 1, 0, len(self.t) - 2)
        part = (times - self.t[k]) / (self.t[k + 1] - self.t[k])
        part = part.reshape(part.shape + (1,) * (self.q.ndim - 1))
        return (1.0 - part) * self.q[k] + part * self.q[k + 1]

    @check_arguments
    def impacts(self, speed: NotNegative = 0.0) -> Impacts:
        """The impacts of the run that were faster than a given speed.

        Parameters
        ----------
        speed : float, default 0.0
            Impacts whose gap closed at this rate or more slowly are left out.

        Returns
        -------
        Impacts
            Times, pairs, gap rates before and after, and impulses; it prints as a table.

        Examples
        --------
        >>> import jostle as jo
        >>> ball = jo.Motion(q0=[1.25], force=[-10.0], within=jo.HalfSpace([1.0]), law=jo.Restitution(0.5))
        >>> sol = jo.solve(ball, jo.MoreauJean(), t=1.2, h=0.01)
        >>> len(sol.impacts()), len(sol.impacts(speed=3.0))
        (2, 1)
        """
        found = self.recorded
        if found is None and self.order == 1:
            raise InvalidValue("a first-order problem has no impacts: its velocity may jump at any contact")
        if found is None:
            raise InvalidValue("the file of this run contains no impacts: write them with Writer(..., impacts=True)")
        table: Impacts = found.faster_than(speed)
        return table

    def energy(self) -> Energy:
        """Kinetic and potential energy at the saved times.

        The kinetic energy is 1/2 |u|_M^2. The potential energy is the potential of the problem, or -f . q if the force
        is constant. q and u belong to the same instant only up to half a step: the velocities of `Maury` and `Paoli`
        are those of the step that led to q, so the sum is off by O(h), and by more in the two steps of an impact.

        Returns
        -------
        Energy
            Arrays `kinetic`, `potential` and `total`, one number for each saved time; `potential` and `total` are None
            if the potential is not known.

        Examples
        --------
        >>> import jostle as jo
        >>> ball = jo.Motion(q0=[1.0], v0=[2.0], force=[-10.0])
        >>> found = jo.solve(ball, jo.Maury(), t=0.5, h=0.25).energy()
        >>> found.kinetic.tolist(), found.potential.tolist()
        ([2.0, 0.125, 4.5], [10.0, 8.75, 1.25])
        """
        if self.order == 1:
            raise InvalidValue("a first-order problem has no kinetic energy")
        kinetic = kinetic_of(self.problem, self.facts, self.q, self.u, self.orientation, self.spin)
        return Energy(kinetic, potential_of(self.problem, self.facts, (self.t, self.q, self.u)))

    def energy_balance(self) -> EnergyBalance:
        """Where the energy of a `Motion` went: work of forces, work of moving walls, dissipation, and the error.

        The parts of the contacts are summed over all steps, saved or not. The work of a force that is a function is
        computed along the saved states, and needs all of them (``every=1``) to be accurate; with a constant force, or
        with ``Motion(potential=...)``, any `every` will do. The error is of order h; with `MoreauJean` and a constant
        force it is round-off. With e = 1 there is a warning (`EnergyDrift`) if a notable part of the energy changed.

        Returns
        -------
        EnergyBalance
            Kinetic energy, works, dissipation and error from the start to each saved time; it prints as a table.

        Examples
        --------
        >>> import jostle as jo
        >>> piston = jo.HalfSpace([1.0], offset=lambda t: 2.0 * t)
        >>> ball = jo.Motion(q0=[1.0], v0=[-1.0], within=piston, law=jo.Restitution(1.0))
        >>> found = jo.solve(ball, jo.MoreauJean(), t=1.0, h=0.01).energy_balance()
        >>> [round(float(part[-1]), 9) + 0.0 for part in (found.kinetic, found.work_of_walls, found.dissipated)]
        [12.5, 12.0, 0.0]
        """
        turns = None if self.orientation is None else (self.orientation, self.spin)
        return balance(self.problem, (self.t, self.q, self.u), self.energy(), self.stats, turns)

    def impulses(self) -> dict[str, NDArray[Any]]:
        """The contacts with an impulse at the saved times, as the columns of a table in order of time.

        Steps that were not saved are not in the table. ``pandas.DataFrame(sol.impulses())`` makes a data frame.

        Returns
        -------
        dict of str to array
            `t`, the saved time; `pair`, the two names, such as "0 - 1" or "0 - wall 2", and "clump 0, ball 1 - wall 2"
            in `Clumps`; `first` and `second`, the numbers of `Contacts.pairs`, which are those of balls in clumps;
            `impulse`, of the step that led to the time; `force`, the impulse divided by its time. In first-order
            problems `impulse` and `force` are both the reaction p. With friction also `friction`, the size of the
            tangential impulse.

        Examples
        --------
        >>> import jostle as jo
        >>> ball = jo.Motion(q0=[0.0], force=[-10.0], within=jo.HalfSpace([1.0]))
        >>> table = jo.solve(ball, jo.Maury(), t=0.5, h=0.25).impulses()
        >>> {name: column.tolist() for name, column in table.items() if name in ("t", "pair", "impulse", "force")}
        {'t': [0.25, 0.5], 'pair': ['0 - wall 0', '0 - wall 0'], 'impulse': [2.5, 2.5], 'force': [10.0, 10.0]}
        """
        active = [np.flatnonzero(p) for p in self.multipliers]
        counts = [len(rows) for rows in active]
        impulse_times = [self.impulse_time(k) for k in range(len(self.t))]
        pairs = np.concatenate([pairs[rows] for pairs, rows in zip(self.pairs, active, strict=True)]).reshape(-1, 2)
        impulse = np.concatenate([np.asarray(p)[rows] for p, rows in zip(self.multipliers, active, strict=True)])
        table = {
            "t": np.repeat(self.t, counts),
            "pair": np.array([self.facts.bodies.pair_name(i, j) for i, j in pairs.tolist()], dtype=str),
            "first": pairs[:, 0],
            "second": pairs[:, 1],
            "impulse": impulse,
            "force": impulse / np.repeat(impulse_times, counts),
        }
        if self.tangential is not None:
            along = [np.asarray(grip)[rows] for grip, rows in zip(self.tangential, active, strict=True)]
            table["friction"] = np.linalg.norm(np.concatenate(along), axis=1)
        return table

    def impulse_time(self, k: int) -> float:
        """The time over which the multipliers p of a saved time acted: the forces are p / time.

        In a second-order problem it is the length of the step that led to the saved time (with `Paoli` the mean of its
        last two steps, whose middles its velocities belong to). In a first-order problem p is not an impulse, and the
        time is 1.

        Parameters
        ----------
        k : int
            Number of the saved time; negative numbers count from the end.

        Returns
        -------
        float
            The time, in the unit of `t`.

        Examples
        --------
        >>> import jostle as jo
        >>> ball = jo.Motion(q0=[0.0], force=[-10.0], within=jo.HalfSpace([1.0]))
        >>> sol = jo.solve(ball, jo.Maury(), t=1.0, h=0.25)
        >>> sol.impulse_time(-1), float(sol.multipliers[-1][0] / sol.impulse_time(-1))
        (0.25, 10.0)
        """
        if not self.contacts_saved:
            raise InvalidValue(
                "the file of this run contains no contacts, so forces are not known: run it again with "
                "output=jo.io.Output(path, contacts=True)"
            )
        if self.order == 1 or not np.any(self.multipliers[k]):
            return 1.0
        if self.impulse_times is None or not np.isfinite(self.impulse_times[k]):
            raise InvalidValue(
                f"the time over which the impulses of t = {self.t[k]:g} acted is not known, so neither are forces: "
                f"write it into the file with jo.io.Writer.frame(impulse_time=...)"
            )
        return float(self.impulse_times[k])

    @cached_property
    def motor_torque(self) -> Array:
        """(k, motors): the torque of each motor of `Motors` on its first body, in the step that led to a saved time.

        It is 0 at the start of the run.

        Examples
        --------
        >>> import jostle as jo
        >>> wheel = jo.Clumps([([[0.0, 0.0]], 1.0)]) & jo.Motors([(0, -1)], speed=lambda t: 3.0 * t)
        >>> jo.solve(jo.Motion(q0=[[0.0, 0.0]], within=wheel), jo.Maury(), t=1.0, h=0.5).motor_torque.round(9).tolist()
        [[0.0], [1.5], [1.5]]
        """
        numbers = np.array(self.facts.motors, dtype=np.int64)
        rows = np.stack([np.full_like(numbers, -1), numbers], axis=1)
        saved = zip(self.pairs, self.multipliers, strict=True)
        each = [
            by_pair(np.asarray(pairs), np.asarray(p), rows) / self.impulse_time(k) for k, (pairs, p) in enumerate(saved)
        ]
        return np.stack(each) if each else np.zeros((0, len(numbers)))

    def gaps(self) -> Array:
        """The smallest gap at each saved time.

        Returns
        -------
        array, shape (k,)
            Smallest gap, where an equality counts as -|g_i|: a negative number is an overlap or a violated equality.

        Examples
        --------
        >>> import jostle as jo
        >>> ball = jo.Motion(q0=[1.0], force=[-10.0], within=jo.HalfSpace([1.0]))
        >>> jo.solve(ball, jo.Maury(), t=0.5, h=0.25).gaps().tolist()
        [1.0, 0.375, 0.0]
        """
        if self.problem is None:
            raise InvalidValue(
                "gaps need the admissible set, which is not in the file: give the problem, jo.io.read(path, problem)"
            )
        within = self.problem.within
        return np.array([gap_of_present(within, float(t), self.pose(k)) for k, t in enumerate(self.t)])

    def pose(self, k: int) -> Pose:
        """Where the bodies are and how they are turned at one saved time.

        Parameters
        ----------
        k : int
            Number of the saved time; negative numbers count from the end.

        Returns
        -------
        Pose
            The pose.
        """
        bodies = self.problem.bodies if isinstance(self.problem, Motion | Sweeping) else self.facts.bodies
        return Pose.of(
            bodies, np.asarray(self.q[k]), None if self.orientation is None else np.asarray(self.orientation[k])
        )

    def places(self, k: int) -> Array:
        """The centres of the balls at one saved time.

        Parameters
        ----------
        k : int
            Number of the saved time; negative numbers count from the end.

        Returns
        -------
        array
            ``q[k]`` itself if each body is one ball; shape (b, d) for `Clumps` of b balls together.

        Examples
        --------
        >>> import jostle as jo
        >>> dumbbell = [[-1.0, 0.0], [1.0, 0.0]], 0.5
        >>> one = jo.Motion(q0=[[0.0, 3.0]], orientation0=np.pi / 2, within=jo.Clumps([dumbbell]))
        >>> jo.solve(one, jo.Maury(), t=1.0, h=1.0).places(-1)[:, 1].tolist()
        [2.0, 4.0]
        """
        return self.pose(k).centres

    def contact_points(self, k: int) -> Array:
        """Where the contacts of one saved time act: on the surface of the first body of each pair.

        Parameters
        ----------
        k : int
            Number of the saved time; negative numbers count from the end.

        Returns
        -------
        array, shape (m, d)
            One point for each of ``sol.pairs[k]``; NaN for rods and for constraints on the whole configuration.

        Examples
        --------
        >>> import jostle as jo
        >>> ball = jo.Motion(q0=[[2.0, 0.5]], force=[0.0, -10.0], within=jo.Balls([0.5]) & jo.HalfSpace([0.0, 1.0]))
        >>> jo.solve(ball, jo.Maury(), t=0.5, h=0.25).contact_points(-1).tolist()
        [[2.0, 0.0]]
        """
        if self.points is not None:
            return np.asarray(self.points[k])
        places = np.asarray(self.places(k), dtype=float)
        places = places.reshape(-1, self.facts.dimension or 1)
        t, saved = float(self.t[k]), self.radii
        radii = self.problem.bodies.radii_at(t) if saved is None else saved[k]
        return contact_points(places, np.ravel(radii), np.asarray(self.pairs[k]), np.asarray(self.normals[k]))

    @property
    def overlap(self) -> float:
        """Worst overlap of all steps, as a fraction of a length such as the smallest radius, if its constraint has one.

        Examples
        --------
        >>> import jostle as jo
        >>> balls = jo.Motion(q0=[0.0, 1.5], v0=[1.0, 0.0], within=jo.Line([0.5, 0.5]), law=jo.Restitution(1.0))
        >>> round(jo.solve(balls, jo.Paoli(), t=1.0, h=0.04).overlap, 3)       # 0.02 of 0.5
        0.04
        """
        return float(max(self.stats[name].max(initial=0.0) for name in ("primal", "overshoot")))

    @property
    def residual(self) -> float:
        """Worst residual of all steps."""
        return float(max(self.stats[name].max(initial=0.0) for name in ("primal", "dual", "complementarity")))
