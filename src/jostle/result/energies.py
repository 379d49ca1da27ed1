"""Energies along a run, and their balance.

    kinetic(t) - kinetic(0) = work of the forces + work of walls and radii that move - dissipated + error

The kinetic energy comes from the saved velocities. In each step the contacts add p . G (u^n + u^{n+1}) / 2; its two
parts, what the walls do and what is dissipated, are recorded in each step (`recording.works`), whether or not the step
is saved. The work of the forces is the difference of the potential, f . (q - q_0) for a constant force, or the
trapezoidal rule along the saved states. What is left is the error of the scheme, and of this rule: O(h); O(h^2) for
`MoreauJean` under a force that does not depend on the velocity; and zero for `MoreauJean` under a constant force, since
its positions move by the mean of the velocities.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jostle._tools.arrays import Array
from jostle.bodies import Bodies
from jostle.errors import EnergyDrift, InvalidValue, warn
from jostle.laws import Coulomb
from jostle.pose import Pose
from jostle.problems import Motion
from jostle.result.facts import Facts
from jostle.sets.gradient_search import CERTAIN_ERROR, Differences

States = tuple[Array, Array, Array]
"""Saved times, positions and velocities."""
POTENTIAL_TOLERANCE = 1e-4
"""Largest difference between the force and the slope of the potential, relative to the force."""
NOTABLE_DRIFT = 0.01
"""With e = 1 there is a warning if energy changes by more than this fraction of the largest kinetic energy."""
FRAMES_OF_AN_IMPACT = 3
"""The velocities of an impact that is spread over two steps mean nothing in between: of this many last states the best
one tells how much energy is left."""


@dataclass(frozen=True)
class Energy:
    """Kinetic and potential energy at the saved times; the result of `Solution.energy`.

    Attributes
    ----------
    kinetic : array, shape (k,)
        Kinetic energy.
    potential : array, shape (k,), or None
        Potential energy; None unless the force is constant or its potential was given.
    """

    kinetic: Array
    potential: Array | None

    @property
    def total(self) -> Array | None:
        """(k,): kinetic plus potential energy; None if the potential energy is not known."""
        return None if self.potential is None else self.kinetic + self.potential


@dataclass(frozen=True, eq=False)
class EnergyBalance:
    """The balance of energy from the start to each saved time; the result of `Solution.energy_balance`.

    Attributes
    ----------
    t : array, shape (k,)
        The saved times.
    kinetic : array, shape (k,)
        Kinetic energy.
    work_of_forces : array, shape (k,)
        Work of the forces since the start.
    work_of_walls : array, shape (k,)
        Work since the start of walls, radii and constraints that depend on time.
    dissipated : array, shape (k,)
        Energy that the contacts have taken away since the start.

    Examples
    --------
    >>> import jostle as jo
    >>> ball = jo.Motion(q0=[1.0], force=[-10.0], within=jo.HalfSpace([1.0]), law=jo.Restitution(0.5))
    >>> print(jo.solve(ball, jo.Paoli(), t=0.6, h=0.01).energy_balance())
    from t = 0 to 0.6
    kinetic energy at the start          0
    work of the forces              +7.955
    work of moving walls                +0
    dissipated                     -7.5722
    error                           +0.045
    kinetic energy at the end      0.42781
    """

    t: Array
    kinetic: Array
    work_of_forces: Array
    work_of_walls: Array
    dissipated: Array

    @property
    def error(self) -> Array:
        """(k,): what is missing in the balance: kinetic energy gained that nothing accounts for."""
        gained = self.kinetic - self.kinetic[0]
        return np.asarray(gained - self.work_of_forces - self.work_of_walls + self.dissipated)

    def __str__(self) -> str:
        lines = [f"from t = {self.t[0]:g} to {self.t[-1]:g}"]
        for name, value, sign in (
            ("kinetic energy at the start", self.kinetic[0], ""),
            ("work of the forces", self.work_of_forces[-1], "+"),
            ("work of moving walls", self.work_of_walls[-1], "+"),
            ("dissipated", -self.dissipated[-1], "+"),
            ("error", self.error[-1], "+"),
            ("kinetic energy at the end", self.kinetic[-1], ""),
        ):
            lines.append(f"{name:27s} {value + 0.0:{sign}10.5g}")
        return "\n".join(lines)


def kinetic_of(problem: Any, facts: Facts, q: Array, u: Array, orientation: Any = None, spin: Any = None) -> Array:
    """(k,) 1/2 |u|_M^2 at the saved positions and velocities, with the masses of the problem or a file; with spins."""
    if spin is not None:
        bodies = problem.bodies if isinstance(problem, Motion) else facts.bodies
        states = zip(q, u, orientation, spin, strict=True)
        spinning = np.array([_of_spins(bodies, *each) for each in states])
        return np.asarray(kinetic_of(problem, facts, q, u) + spinning)
    if isinstance(problem, Motion):
        metrics = (problem.metric(place) for place in q)
        pairs = zip(metrics, u, strict=True)
        return np.array([0.5 * metric.inner(each.ravel(), each.ravel()) for metric, each in pairs])
    if facts.masses is None:
        raise InvalidValue("the masses are not in the file: give the problem, jo.io.read(path, problem)")
    m = facts.masses
    return np.array([0.5 * float(m @ (each.reshape(len(m), -1) ** 2).sum(axis=1)) for each in u])


def potential_of(problem: Any, facts: Facts, states: States) -> Array | None:
    """(k,) the potential energy at saved states, if the force has one that is known: given, or constant."""
    t, q, u = states
    if isinstance(problem, Motion) and problem.potential is not None:
        for k in sorted({0, len(t) // 2, len(t) - 1}) if len(t) else ():
            if problem.past is None and np.isfinite(q[k]).all():
                _check_potential(problem, float(t[k]), q[k], u[k])
        return np.array([problem.potential(one) for one in q])
    if facts.force is None:
        return None
    return -(np.nan_to_num(np.asarray(q)).reshape(len(q), -1) @ facts.force.ravel())


def _of_spins(bodies: Bodies, q: Any, u: Any, orientation: Any, spin: Any) -> float:
    """The kinetic energy of spins at one time."""
    pose = Pose.of(bodies, np.asarray(q), np.asarray(orientation))
    return bodies.energy_of_spins(pose.joined(np.asarray(u), np.asarray(spin)))


def balance(problem: Any, states: States, energy: Energy, stats: NDArray[Any], turns: Any = None) -> EnergyBalance:
    """The balance along saved states with their energies, with the records of all steps.

    `turns` are the orientations and the spins of bodies that turn.
    """
    t, q, _ = states
    if not np.isfinite(np.asarray(q)).all():
        raise InvalidValue("bodies come and go in this run and carry energy with them: there is no balance")
    if np.isnan(stats["dissipated"]).any():
        raise InvalidValue(
            "this run does not record the work of its contacts: solve_by_events does not measure that of moving walls"
        )
    steps = np.searchsorted(stats["t"], t, side="right")
    sums = [np.append(0.0, np.cumsum(stats[name]))[steps] for name in ("wall_work", "dissipated")]
    work = _work_of_forces(problem, states, energy.potential)
    if isinstance(problem, Motion) and problem.torque is not None:
        work = work + _work_of_torque(problem.torque, t, *turns)
    found = EnergyBalance(t, energy.kinetic, work, *(each - each[0] for each in sums))
    if isinstance(problem, Motion) and problem.law.uniform == 1.0 and not isinstance(problem.law, Coulomb):
        _warn_of_drift(found)
    return found


def _work_of_forces(problem: Any, states: States, V: Array | None) -> Array:
    t, q, u = states
    if V is not None:
        return np.asarray(V[0] - V)
    if not isinstance(problem, Motion):
        raise InvalidValue(
            "the force is not in the file, because it is a function: give the problem, jo.io.read(path, problem)"
        )
    if problem.past is not None:
        raise InvalidValue("the force depends on the past of the run, so its work cannot be computed afterwards")
    f = np.stack([problem.force(time, *state) for time, *state in zip(t.tolist(), q, u, strict=True)])
    flat, places = f.reshape(len(t), -1), np.asarray(q).reshape(len(t), -1)
    steps = 0.5 * ((flat[1:] + flat[:-1]) * np.diff(places, axis=0)).sum(axis=1)
    return np.append(0.0, np.cumsum(steps))


def _work_of_torque(torque: Any, t: Array, orientation: Array, spin: Array) -> Array:
    """The work of torques along saved orientations and spins, by the trapezoidal rule; in the plane along angles."""
    states = zip(t.tolist(), orientation, spin, strict=True)
    each = np.stack([torque(*state) for state in states])
    if spin.ndim == 2:
        steps = 0.5 * ((each[1:] + each[:-1]) * np.diff(orientation, axis=0)).sum(axis=1)
    else:
        power = (each * spin).sum(axis=(1, 2))
        steps = 0.5 * (power[1:] + power[:-1]) * np.diff(t)
    return np.append(0.0, np.cumsum(steps))


def _check_potential(problem: Motion, t: float, q: Array, u: Array) -> None:
    """Compare the force with the slope of the potential in one direction."""
    along = np.random.default_rng(0).normal(size=q.shape)
    V, power = problem.potential, float((problem.force(t, q, u) * along).sum())
    assert V is not None

    def slope(t: float, s: Array) -> Array:
        return np.array([V(q + s[0] * along)])

    start = np.zeros(1)
    found = Differences(slope).search(t, start, slope(t, start))
    error = abs(float(found.G[0, 0]) + power)
    size = float(np.abs(problem.force(t, q, u) * along).sum()) + abs(float(found.G[0, 0]))
    if found.error[0] <= CERTAIN_ERROR and error > POTENTIAL_TOLERANCE * size:
        raise InvalidValue(
            f"the potential does not match the force: at t = {t:g} its slope in a direction is "
            f"{float(found.G[0, 0]):.6g}, and minus the force in that direction is {-power:.6g}; give the potential of "
            f"the whole force, or none"
        )


def _warn_of_drift(found: EnergyBalance) -> None:
    between, lost = (values[-FRAMES_OF_AN_IMPACT:] for values in (found.error, found.dissipated))
    best = int(np.argmin(np.abs(between - lost)))
    change, largest = float((between - lost)[best]), float(found.kinetic.max())
    if abs(change) <= NOTABLE_DRIFT * largest:
        return
    remedy = "MoreauJean loses nothing at impacts, whatever h"
    if abs(between[best]) > abs(lost[best]):
        remedy = "between impacts half of it makes a quarter of the error"
    warn(
        f"with e = 1 the energy should not change, but this run changed it by {change:.3g}, "
        f"{abs(change) / largest:.1%} of the largest kinetic energy: {-lost[best]:+.3g} at impacts, "
        f"{between[best]:+.3g} between them. Choose a smaller h; {remedy}",
        EnergyDrift,
    )
