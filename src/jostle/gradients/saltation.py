"""How a motion from event to event changes with its data: saltation matrices, and linearised flights.

Neighbouring motions hit the same contact at times that differ by dt = -(G dq + dg) / (G u- + dg/dt), where dq is their
distance at a fixed time and dg the change of the gap with the parameters. Both fly on with other velocities meanwhile.
With the impact u+ = R(t, q, u-) and the accelerations a- and a+ before and after it, the distances after the impact are

    dq+ = dq + (u- - u+) dt
    du+ = R_q (dq + u- dt) + R_u (du + a- dt) + R_t dt + R_p dp - a+ dt

(Aizerman & Gantmakher 1958). For a flat wall at rest, a unit mass and a constant force these are dq+ = R dq and
du+ = R du + (1 + e) n (n.f)(n.dq) / (n.u-) with R = I - (1 + e) n n^T. Between two impacts the distances obey the
linearised equation of motion, which has a closed form where the force is constant and the contacts that stay closed are
flat. Where contacts come to rest, neighbours come to rest as well: G dq = 0 and G du = 0 from there on.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jostle._tools.arrays import Array, Integers, finite
from jostle.convex.metric import Metric
from jostle.differences import (
    EPS,
    Function,
    differentiated,
    extrapolated,
    first_differences,
    second_differences,
)
from jostle.errors import InvalidValue, JostleError, NoDerivative, SchemeRefuses
from jostle.events.parabolas import has_parabolas
from jostle.events.run import EVENT_ROUND_OFF
from jostle.events.smooth import CLOSED, GAP_NOISE, GOLDEN, SmoothContacts, Steps, equalised
from jostle.events.solution import Event, EventSolution, Flight
from jostle.gradients.functions import Slopes, WithDerivative, spread
from jostle.gradients.projection import by_bodies
from jostle.gradients.steps import check_twin, share_radii
from jostle.problems import Motion
from jostle.sets.base import parts
from jostle.sets.nearest import curvature
from jostle.sets.user import UserSet

THETA_ROOM = 1.0 / 16.0
"""Longest difference step of a parameter, as a fraction of the parameter, or of 1 if it is 0. A parameter for which
there is no problem this far away, such as a restitution of 1, is changed to the other side alone."""
FAR_TO_NEAR = 64.0
"""Ratio of the two changes of a parameter through which a parabola is drawn."""
PARABOLA_NOISE = 256.0
"""Values that a parabola predicts up to this multiple of their round-off are those of a parabola."""
CLOSE = 1e-9
"""Gaps, gap rates and contact forces below this fraction of the lengths, velocities and forces around are zero."""
SAMPLES = 33
"""Number of times in each flight at which the gaps are looked at to find contacts that almost close."""
FORCE_SAMPLES = 5
"""Number of times in each flight at which the difference steps of a force are searched for; the shortest serves."""
VARIATION_TOLERANCE = 1e-9
"""Relative error of each step of the linearised equation of motion."""


class Matrix(NamedTuple):
    """A linear map of the distances of some coordinates, which adds that of some parameters."""

    at: Integers
    of: Integers
    L: Array
    """(2 c, 2 c + p) for c coordinates, positions before velocities, and p parameters."""

    def product(self, z: Array, d: Array) -> Array:
        """The distances of these coordinates afterwards."""
        return np.asarray(self.L @ np.concatenate([z[self._rows(z)], d[self.of]]))

    def forward(self, z: Array, d: Array) -> Array:
        after = z.copy()
        after[self._rows(z)] = self.product(z, d)
        return after

    def reverse(self, z: Array, d: Array) -> Array:
        rows = self._rows(z)
        back, z = self.L.T @ z[rows], z.copy()
        z[rows] = back[: len(rows)]
        d[self.of] += back[len(rows) :]
        return z

    def _rows(self, z: Array) -> Integers:
        """Where the positions and the velocities of these coordinates are in z."""
        return np.concatenate([self.at, len(z) // 2 + self.at])


class Parabola(NamedTuple):
    """A flight of length s with a constant acceleration a; the contacts G that stay closed are flat."""

    start: float
    s: float
    a: Array
    mass: Array
    G: Array
    inverse: Array
    """(G M^-1 G^T)^+."""
    slope: Array
    """(N, k) da/dtheta."""

    def forward(self, z: Array, d: Array) -> Array:
        return np.asarray(self._after(np.array([self.s]), z, d)[0])

    def reverse(self, z: Array, d: Array) -> Array:
        return self._before(np.array([self.s]), z[None], d)

    def along(self, t: Array, z: Array, d: Array) -> Array:
        """(k, 2 N, c) the distances at some times of the flight."""
        return self._after(t - self.start, z, d)

    def back(self, t: Array, z: Array, d: Array) -> Array:
        """The transpose of `along`: what distances (k, 2 N, c) at some times make of those at the start."""
        return self._before(t - self.start, z, d)

    def _after(self, s: Array, z: Array, d: Array) -> Array:
        N, k = self.slope.shape
        da = self.slope @ d[len(d) - k :] + self._across(-self.a[:, None] * d[:N] / self.mass[:, None])
        s, dq, du = s[:, None, None], z[:N], z[N:]
        return np.concatenate([dq + s * du + 0.5 * s**2 * da, du + s * da], axis=1)

    def _before(self, s: Array, z: Array, d: Array) -> Array:
        N, k = self.slope.shape
        s, q, u = s[:, None, None], z[:, :N], z[:, N:]
        a = (0.5 * s**2 * q + s * u).sum(axis=0)
        d[len(d) - k :] += self.slope.T @ a
        d[:N] -= self.a[:, None] * self._across(a / self.mass[:, None])  # M^-1 P^T = P M^-1
        return np.concatenate([q.sum(axis=0), (u + s * q).sum(axis=0)])

    def _across(self, v: Array) -> Array:
        """v without its part along the contacts that stay closed, v - M^-1 G^T (G M^-1 G^T)^+ G v."""
        if len(self.G) == 0:
            return v
        along: Array = self.G.T @ (self.inverse @ (self.G @ v))
        return v - along / self.mass[:, None]


class Variation(NamedTuple):
    """A flight whose linearised motion was integrated."""

    start: float
    end: float
    of: Integers
    L: Callable[[Array], Array]
    """(k, 2 N, 2 N + p) the linear map of the distances at the start, and of p parameters, to those at times (k,)."""

    def forward(self, z: Array, d: Array) -> Array:
        return np.asarray(self.along(np.array([self.end]), z, d)[0])

    def reverse(self, z: Array, d: Array) -> Array:
        return self.back(np.array([self.end]), z[None], d)

    def along(self, t: Array, z: Array, d: Array) -> Array:
        """See `Parabola.along`."""
        return np.asarray(self.L(t) @ np.concatenate([z, d[self.of]]))

    def back(self, t: Array, z: Array, d: Array) -> Array:
        """See `Parabola.back`."""
        found = (self.L(t).transpose(0, 2, 1) @ z).sum(axis=0)
        d[self.of] += found[z.shape[1] :]
        return np.asarray(found[: z.shape[1]])


Flown = Parabola | Variation
Part = Matrix | Flown
"""An impact or a flight: `forward` and `reverse` change distances (2 N, k), by parameters (p, k)."""


class Model:
    """A problem as functions of flat states: gaps, impacts and accelerations."""

    def __init__(self, problem: Motion, span: tuple[float, float], theta: Array | None = None):
        self.problem, self.contacts = problem, SmoothContacts(problem, *span)
        self.e, self.shape = float(problem.law.number), problem.q0.shape
        self.N = problem.q0.size
        self.constant_mass = isinstance(problem.mass, Metric)
        self.diagonal = isinstance(problem.mass, Metric) and problem.mass.diagonal
        self.masses = self.N if self.diagonal else self.N**2 if self.constant_mass else 0
        """Number of parameters of the mass: those of a diagonal, or of a matrix."""
        known = problem.bodies.radii is not None
        self.bodies = max(self.contacts.linearise(span[0], problem.q0.ravel()).part_count, 1) if known else 0
        """Number of bodies with radii."""
        counts = [len(part.gaps(span[0], problem.q0)) for part in parts(problem.within)]
        self.sized = np.repeat(share_radii(problem.within), counts) & known
        """(m,) whether each gap depends on the radii."""
        self.theta, self.thetas = theta, 0 if theta is None else theta.size
        self.parameters = self.masses + self.bodies + 1 + self.thetas
        """Number of all parameters: masses, radii, e and theta."""

    def rows(self, t: float, q: Array, rows: Integers) -> tuple[Array, Array]:
        """(k, N) gradients and (k,) gap rates at rest of some rows."""
        if self.contacts.straight is not None:
            return self.contacts.straight[0].T[rows], np.zeros(len(rows))
        return self.contacts.linearise(t, q).G.toarray()[rows], self.contacts.drift(t, q).rate[rows]

    def gaps(self, t: float, q: Array, rows: Integers) -> Array:
        return np.asarray(self.contacts.gaps_along(np.array([t]), q[None])[0, rows])

    def rates(self, t: float, q: Array, u: Array, rows: Integers) -> Array:
        G, drift = self.rows(t, q, rows)
        return G @ u + drift

    def after(self, t: float, q: Array, u: Array, rows: Integers) -> Array:
        """The velocities after an impact in which some rows push."""
        G, drift = self.rows(t, q, rows)
        return u + (1.0 + self.e) * (equalised(u, G, -drift, self.contacts.metric(q))[0] - u)

    def radii_slopes(self, rows: Integers) -> Array:
        """(k, n) the derivative of the gaps of some rows with respect to the radii."""
        slopes = np.zeros((len(rows), self.bodies))
        for k, row in enumerate(rows):
            if self.sized[row]:
                slopes[k, [body for body in self.contacts.pairs[row] if body >= 0]] = -1.0
        return slopes

    def mass_times(self, y: Array) -> Array:
        """(N, p) the derivative of M y with respect to the parameters of the mass."""
        if self.diagonal:
            return np.diag(y)
        return np.asarray(np.kron(np.eye(self.N), y)) if self.constant_mass else np.zeros((self.N, 0))

    def mass_changes(self, given: ArrayLike | None) -> Array:
        """(p,) a change of the mass as a change of its parameters."""
        if given is None:
            return np.zeros(self.masses)
        if not self.constant_mass:
            raise InvalidValue("the mass is a function of q, and has no derivative: make it depend on theta")
        change = finite(given, "mass")
        if not self.diagonal:
            M = spread(np.eye(self.N) * change if change.ndim == 0 else change, (self.N, self.N), "mass")
            return np.asarray((M + M.T) / 2.0).ravel()
        if change.ndim == 1 and change.shape == self.shape[:1]:
            change = change.reshape(-1, *[1] * (len(self.shape) - 1))
        return spread(change, self.shape, "mass").ravel()

    def of_mass(self, d: Array) -> Array | None:
        """The gradient with respect to the mass: one number for each body, if possible; None if it is a function."""
        if not self.constant_mass:
            return None
        if not self.diagonal:
            return (d.reshape(self.N, self.N) + d.reshape(self.N, self.N).T) / 2.0
        return by_bodies(d, self.problem.mass, self.shape)

    def of_radii(self, d: Array) -> Array | None:
        """The gradient with respect to the radii, one number for each body; None if the bodies are points."""
        if self.problem.bodies.radii is None:
            return None
        return d if len(self.shape) > 1 or len(d) > 1 else d.reshape(())


class Differentiation:
    """The parts of a run, differentiated one after the other."""

    def __init__(
        self,
        make: Any,
        problem: Motion,
        theta: Array | None,
        flights: list[Flight],
        solution: EventSolution,
        span: tuple[float, float],
    ):
        self.model, self.flights, self.solution = Model(problem, span, theta), flights, solution
        self.parts: list[Part] = []
        self.times: dict[int, Matrix] = {}
        """How the time of each impact changes: a row before the part with this number."""
        self.weak: list[str] = []
        self.differenced: set[str] = set() if theta is None else {"theta"}
        pairs = self.model.contacts.pairs
        self.row_of = {pair: row for row, pair in enumerate(map(tuple, pairs.tolist()))}
        self._make = make
        self.other = cache(lambda k, s: Model(check_twin(make(self._moved(k, s)), problem), span))
        """The problem with theta[k] moved by s."""
        self.side = cache(self._side)
        self.fastest = max((float(np.abs(flight.u).max(initial=0.0)) for flight in flights), default=0.0) or 1.0
        self._differentiate()

    def _differentiate(self) -> None:
        equal = np.flatnonzero(self.model.contacts.equal)
        kept, events, limits = equal, 0, 0
        self._start(equal)
        if not self.flights:  # a run of no time
            return
        for number, flight in enumerate(self.flights):
            impacts = self.solution.events[events : flight.events]
            if len(impacts) > 1:
                raise NoDerivative(
                    f"t = {flight.t:.15g}: {len(impacts)} impacts at the same time, one after the other; neighbouring "
                    f"motions have them in another order: perturb q0 or v0"
                )
            hit = kept[:0]
            if impacts:
                hit = np.setdiff1d([self.row_of[pair] for pair in map(tuple, impacts[0].pairs.tolist())], kept)
            self._check_closed(number, flight, kept, hit)
            if impacts:
                self._hits(impacts[0], flight, kept, hit)
            if flight.accumulations > limits or number == 0:
                self._settle(flight, flight.kept)
            elif impacts and self.model.e == 0.0:  # with a small e neighbours bounce, and rest at once
                self._settle(flight, self._pressed(flight))
            kept, events, limits = flight.kept, flight.events, flight.accumulations
            self._fly(flight, self.flights[number + 1] if number + 1 < len(self.flights) else None)
        self._check_end()

    # Parameters.

    def _moved(self, k: int, s: float) -> Array:
        """theta with its entry k moved by s."""
        assert self.model.theta is not None
        moved = self.model.theta.copy()
        moved.flat[k] += s
        return moved

    def _by_theta(self, of: Callable[[Model], Array], size: Array | float) -> Array:
        """(r, k) the derivative with respect to theta of a vector whose entries are computed from numbers of a size."""
        here, columns = of(self.model), []
        size = np.broadcast_to(size, here.shape)
        scale, noise = np.where(size > 0.0, size, 1.0), np.where(size > 0.0, EPS, 0.0)
        for k in range(self.model.thetas):
            slope = self._of_parabola(of, here, k, size)
            if slope is None:
                f, side, room = self._of_theta(lambda model: of(model) / scale, k), self.side(k), self._room(k)
                if side:
                    steep = EPS * room / THETA_ROOM * np.abs(f(np.sqrt(room)) - f(0.0)) / room
                    slope = differentiated(f, np.sqrt(room), noise + steep).second * side / 2.0 * scale
                else:
                    slope = differentiated(f, room, noise, room / THETA_ROOM).first * scale
            columns.append(slope)
        return np.array(columns).reshape(self.model.thetas, len(here)).T

    def _of_parabola(self, of: Callable[[Model], Array], here: Array, k: int, size: Array) -> Array | None:
        """The derivative with respect to theta[k] of what is a parabola where it is looked at; None if it is not."""
        room = self._room(k)
        far, near, tried = room, -room / FAR_TO_NEAR, -GOLDEN * room
        try:
            ahead, behind, beyond = (of(self.other(k, s)) - here for s in (far, near, tried))
        except JostleError:
            if self.side(k) == 0:
                raise
            far, near, tried = (abs(s) * self.side(k) for s in (far, near, tried))
            ahead, behind, beyond = (of(self.other(k, s)) - here for s in (far, near, tried))
        curved = (ahead / far - behind / near) / (far - near)
        slope = behind / near - near * curved
        noise = PARABOLA_NOISE * EPS * (size + np.abs(here) + np.abs(ahead))
        fits = np.abs(beyond - tried * (slope + tried * curved)) <= noise
        return np.asarray(slope) if fits.all() else None

    def _room(self, k: int) -> float:
        return THETA_ROOM * (abs(float(self.model.theta.flat[k])) or 1.0)  # type: ignore[union-attr]

    def _theta_steps(self, of: Callable[[Model], Array], size: float) -> list[float]:
        """The difference step of each parameter for a vector that is computed from numbers of this size."""
        theta = np.zeros(0) if self.model.theta is None else self.model.theta.ravel()
        steps = []
        for k, value in enumerate(np.abs(theta)):
            side, room = self.side(k), self._room(k)
            f = self._of_theta(of, k)
            if side == 0:
                steps.append(differentiated(f, room, EPS * size, float(value)).first_step)
            else:
                slope = np.abs(f(np.sqrt(room)) - f(0.0)) / room
                steps.append(differentiated(f, np.sqrt(room), EPS * (size + float(value) * slope)).second_step)
        return steps

    def _along_theta(self, of: Callable[[Model], Array], steps: list[float]) -> Array:
        """(r, k) the derivative with respect to theta of a vector that a problem has, with these steps."""
        found = [np.zeros((len(of(self.model)), 0))]
        for k, step in enumerate(steps):
            f, side = self._of_theta(of, k), self.side(k)
            slope = extrapolated(second_differences, f, step) * side / 2.0 if side else None
            found.append((extrapolated(first_differences, f, step) if slope is None else slope)[:, None])
        return np.hstack(found)

    def _of_theta(self, of: Callable[[Model], Array], k: int) -> Function:
        """A vector that a problem has by the change s of theta[k], or by its root where only one sign is possible."""
        # f(s^2) is an even function of s, and its second derivative at 0 is 2 f'(0).
        side = self.side(k)
        return lambda s: of(self.other(k, side * s * s if side else s))

    def _side(self, k: int) -> int:
        """The sign of the changes of theta[k] for which there is a problem; 0: both."""
        possible = []
        for sign in (1, -1):
            try:
                self._make(self._moved(k, sign * self._room(k)))
            except JostleError:
                continue
            possible.append(sign)
        return possible[0] if len(possible) == 1 else 0

    def _all_parameters(self, masses: Integers) -> Integers:
        """The numbers of some parameters of the mass, and of all others."""
        return np.concatenate([masses, np.arange(self.model.masses, self.model.parameters)])

    # The start, impacts, and contacts that come to rest.

    def _start(self, equal: Integers) -> None:
        """The start as a function of theta; equalities make it agree with them."""
        everything, count = np.arange(self.model.N), self.model.parameters
        if self.model.theta is not None:
            start = lambda model: np.concatenate([model.problem.q0.ravel(), model.problem.v0.ravel()])  # noqa: E731
            slope = self._by_theta(
                start, np.abs(np.concatenate([self.model.problem.q0, self.model.problem.v0]).ravel())
            )
            of = np.arange(count - self.model.thetas, count)
            self.parts.append(Matrix(everything, of, np.hstack([np.eye(2 * self.model.N), slope])))
        if len(equal) and self.flights:
            first = self.flights[0]
            self._settle(first._replace(u=first.before), equal)

    def _check_closed(self, number: int, flight: Flight, kept: Integers, hit: Integers) -> None:
        """Refuse contacts that close at gap rate 0; report those that are closed at the start, or without a force."""
        model, (t, q) = self.model, (flight.t, flight.x)
        new = np.setdiff1d(flight.closed, np.union1d(kept, hit))
        grazing = new[model.rates(t, q, flight.before, new) <= CLOSE * self.fastest]
        if len(grazing) and number > 0 and flight.accumulations == self.flights[number - 1].accumulations:
            raise NoDerivative(
                f"t = {t:.15g}: {model.contacts.describe(int(grazing[0]))} touch at gap rate 0; some neighbouring "
                f"motions have an impact there and others have none: perturb q0 or v0"
            )
        if number == 0:
            rate = model.rates(t, q, flight.u, new)
            resting = np.setdiff1d(new[np.abs(rate) <= CLOSE * self.fastest], flight.kept)
            for row in (*hit, *resting):
                self._report(t, int(row), "are closed at the start: only starts on one side are admissible")
        loose, pressed = flight.kept[~model.contacts.equal[flight.kept]], self._pressed(flight)
        for row in loose:
            if row not in pressed:
                self._report(
                    t, int(row), "stay closed without a force: a change that opens them has another derivative"
                )
            elif model.e == 1.0:
                self._report(t, int(row), "stay closed with e = 1: neighbouring motions bounce for ever")

    def _pressed(self, flight: Flight) -> Integers:
        """The contacts, without equalities, that a force keeps closed at the start of a flight."""
        model, (t, q, kept) = self.model, (flight.t, flight.x, flight.kept)
        loose = ~model.contacts.equal[kept]
        if not loose.any():
            return kept[:0]
        a, forces = model.contacts.forced(t, q, flight.u, kept, model.contacts.steps(t, q, flight.u, kept))
        free = model.contacts.acceleration(t, q, flight.u)
        small = CLOSE * max(np.abs(free).max(initial=0.0), np.abs(a).max(initial=0.0))
        heaviest = float(np.abs(model.contacts.metric(q).mass).max())
        return np.asarray(kept[loose & (forces / heaviest > small)])

    def _report(self, t: float, row: int, why: str) -> None:
        """Add a contact to the list of weak ones, once."""
        if len(self.weak) < 1000:
            told = f"{self.model.contacts.describe(row)} {why}"
            if not any(one.endswith(told) for one in self.weak):
                self.weak.append(f"t = {t:.15g}: {told}")

    def _hits(self, event: Event, flight: Flight, kept: Integers, hit: Integers) -> None:
        """The saltation of an impact: one for each contact, if several that are independent close at once."""
        model, t, q = self.model, flight.t, flight.x
        u, goal, scale = event.before.ravel(), event.after.ravel(), CLOSE * self.fastest
        rate = model.rates(t, q, goal, kept)
        held = kept[(np.abs(rate) <= scale) | model.contacts.equal[kept]]
        groups = self._groups(t, q, hit, held)
        if len(groups) > 1 and model.problem.constant_force is None:
            self._refuse_simultaneous(t, hit)
        a, done = self._acceleration(t, q, u, kept), held[:0]
        self._check_grazing(t, q, u, a, hit)
        for number, (row, rows) in enumerate(groups):
            after, done = model.after(t, q, u, rows), np.union1d(done, rows)
            last = number == len(groups) - 1
            stays = np.union1d(np.setdiff1d(kept, done), np.intersect1d(flight.kept, done))
            b = self._acceleration(t, q, after, flight.kept if last else stays)
            self._salt(flight, (u, after), (a, b), row, rows)
            u, a = after, b
        if np.abs(u - goal).max(initial=0.0) > np.sqrt(CLOSE) * self.fastest:
            self._refuse_simultaneous(t, hit)

    def _check_grazing(self, t: float, q: Array, u: Array, a: Array, hit: Integers) -> None:
        """Refuse impacts without which the gap would fall below zero by round-off alone, and rise again."""
        contacts = self.model.contacts
        here = contacts.linearise(t, q)
        rate = self.model.rates(t, q, u, hit)
        rises = (here.G @ a)[hit] + contacts.curvature(t, q, u, hit, contacts.steps(t, q, u, hit))
        known = EVENT_ROUND_OFF if has_parabolas(self.model.problem) else CLOSED
        far, fast = (np.abs([getattr(flight, name) for flight in self.flights]).max(axis=0) for name in ("x", "u"))
        lengths, speeds = contacts.sizes(here, far)[hit], here.G.magnitude(fast)[hit]
        grazing = (rises > 0.0) & (rate**2 <= known * (2.0 * lengths * rises + speeds**2))
        if grazing.any():
            raise NoDerivative(
                f"t = {t:.15g}: {contacts.describe(int(hit[np.argmax(grazing)]))} only graze, with a gap rate that "
                f"round-off decides; some neighbouring motions have an impact there and others have none: perturb q0 "
                f"or v0"
            )

    def _refuse_simultaneous(self, t: float, hit: Integers) -> None:
        names = ", and ".join(self.model.contacts.describe(int(row)) for row in hit[:3])
        raise NoDerivative(
            f"t = {t:.15g}: {names} have an impact together; neighbouring motions have these impacts one after the "
            f"other, in either order: perturb q0 or v0"
        )

    def _groups(self, t: float, q: Array, hit: Integers, held: Integers) -> list[tuple[int, Integers]]:
        """Each contact that is hit, and all that push in its impact; contacts that are hit must be independent."""
        model, rows = self.model, np.concatenate([hit, held])
        G, _ = model.rows(t, q, rows)
        M = model.contacts.metric(q)
        W = np.array([M.solve(row) for row in G]).reshape(G.shape)
        S = np.abs(G @ W.T)
        linked = CLOSE * np.sqrt(np.outer(S.diagonal(), S.diagonal())) < S
        reach = linked.copy()
        for _ in rows:
            reach = (reach.astype(float) @ linked) > 0.0
        if (reach[: len(hit), : len(hit)].sum(axis=1) > 1).any():
            self._refuse_simultaneous(t, hit)
        shares = (np.abs(G) @ np.abs(G).T > 0.0)[: len(hit)] & ~reach[: len(hit)]
        for k, j in np.argwhere(shares):  # they share a body, at a right angle: it must stay one
            if self._curved(t, q, rows[[k, j]]) or not (model.contacts.still or model.contacts.flat):
                if j < len(hit):
                    self._refuse_simultaneous(t, hit)
                self._report(t, int(rows[j]), "stay closed in an impact at a right angle to them")
        return [(int(row), np.sort(rows[reach[k]])) for k, row in enumerate(hit)]

    def _curved(self, t: float, q: Array, rows: Integers) -> bool:
        """Whether the normals of some rows depend on the place."""
        if self.model.contacts.flat:
            return False
        curvatures = self.model.contacts.linearise(t, q).curvatures[rows]
        return bool(np.isnan(curvatures).any() or curvatures.any())

    def _hessians(self, t: float, q: Array, rows: Integers, at: Integers) -> Array:
        """(k, c, c) the second derivatives of the gaps of some rows with respect to some coordinates."""
        model = self.model
        if not self._curved(t, q, rows):
            return np.zeros((len(rows), len(at), len(at)))
        here = model.contacts.linearise(t, q)
        if np.isnan(here.curvatures).any():
            self.differenced |= {part.name for part in parts(model.problem.within) if isinstance(part, UserSet)}
            gradients = lambda x: model.contacts.linearise(t, x).G.toarray()[rows].ravel()  # noqa: E731
            each = _slopes(gradients, q, _steps(gradients, q, model.contacts.size))
            return each.reshape(len(rows), model.N, model.N)[:, at][:, :, at]
        unit = np.eye(len(here.gap))
        exact = [curvature(lambda x: model.contacts.linearise(t, x), q, unit[row]) for row in rows]
        return np.array([H[np.ix_(at, at)] for H in exact])

    def _turning(self, t: float, q: Array, rows: Integers, at: Integers) -> tuple[Array, Array]:
        """(k, c) dG/dt and (k,) d^2 g / dt^2 of some rows."""
        contacts = self.model.contacts
        if contacts.still:
            return np.zeros((len(rows), len(at))), np.zeros(len(rows))
        self.differenced.add("moving sets")
        bent = contacts.changes(t, q, rows).second
        if contacts.flat:
            return np.zeros((len(rows), len(at))), bent
        gradient = lambda s: contacts.linearise(t + s, q).G.toarray()[np.ix_(rows, at)]  # noqa: E731
        return differentiated(gradient, contacts.longest, GAP_NOISE, abs(t)).first, bent

    def _local(self, t: float, q: Array, rows: Integers, also: Array) -> Integers:
        """The coordinates that an impact of some rows reads or changes."""
        if not self.model.diagonal:
            return np.arange(self.model.N)
        G, _ = self.model.rows(t, q, rows)
        return np.flatnonzero(np.abs(G).any(axis=0) | (np.abs(also) > 0.0))

    def _salt(
        self,
        flight: Flight,
        velocities: tuple[Array, Array],
        accelerations: tuple[Array, Array],
        hit: int,
        rows: Integers,
    ) -> None:
        """The saltation of the impact of one contact before a flight, in which some `rows` push."""
        model, t, q, (u, after), (a, b) = self.model, flight.t, flight.x, velocities, accelerations
        at = self._local(t, q, rows, b - a)
        c, of = len(at), self._all_parameters(at if model.diagonal else np.arange(model.masses))
        m = len(of) - (model.parameters - model.masses)
        e = 2 * c + m + model.bodies
        radii, theta = slice(2 * c + m, e), slice(e + 1, None)
        columns = 2 * c + len(of)
        G, drift = (v[:, at] if v.ndim == 2 else v for v in model.rows(t, q, rows))
        first = int(np.flatnonzero(rows == hit)[0])
        # when: the change of the time of the impact
        when = np.zeros(columns)
        when[:c] = G[first]
        when[radii] = model.radii_slopes(rows[[first]])[0]
        far = max(model.contacts.size, float(np.abs(q).max()))
        by_theta = self._by_theta(
            lambda other: np.concatenate([other.gaps(t, q, rows[[first]]), other.after(t, q, u, rows)]),
            np.repeat([far, self.fastest], [1, model.N]),
        )
        when[theta] = by_theta[0]
        rate = G @ u[at] + drift
        when /= -rate[first]
        dq = np.eye(c, columns) + np.outer(u[at], when)
        du = np.eye(c, columns, c) + np.outer(a[at], when)
        # the impact u+ = u - (1 + e) y, with M y = G^T p and G y = G u + dg/dt
        solve = self._solve(q, at)
        W, inverse = self._pushes(q, G, at)
        p = inverse @ rate
        y = W @ p
        H, (turned, bent) = self._hessians(t, q, rows, at), self._turning(t, q, rows, at)
        pushed = np.einsum("k,kij->ij", p, H) @ dq + np.outer(turned.T @ p, when)  # dG^T p
        pushed[:, 2 * c : 2 * c + m] -= model.mass_times(self._whole(y, at))[np.ix_(at, of[:m])]
        pushed -= self._mass_slope(q, self._whole(y, at))[np.ix_(at, at)] @ dq
        rates = G @ du + (np.einsum("kij,j->ki", H, u[at] - y) + turned) @ dq  # d(G u + dg/dt) - dG y
        rates += np.outer(bent + turned @ (u[at] - y), when)
        dy = solve(pushed) + W @ (inverse @ (rates - G @ solve(pushed)))
        change = du - (1.0 + model.e) * dy
        change[:, e] -= y
        change[:, theta] += by_theta[1:][at]
        L = np.vstack([dq - np.outer(after[at], when), change - np.outer(b[at], when)])
        if len(self.times) < flight.events:  # the first of several contacts that are hit at once has the time
            self.times[len(self.parts)] = Matrix(at, of, when[None, :])
        self.parts.append(Matrix(at, of, L))

    def _settle(self, flight: Flight, rows: Integers) -> None:
        """Neighbours of a motion whose contacts come to rest have them closed as well, at gap rate 0."""
        if len(rows) == 0:
            return
        model, t, q, u = self.model, flight.t, flight.x, flight.u
        at = self._local(t, q, rows, np.zeros(model.N))
        c, of = len(at), np.arange(model.masses, model.parameters)
        G = model.rows(t, q, rows)[0][:, at]
        W, inverse = self._pushes(q, G, at)
        back, far = W @ inverse, max(model.contacts.size, float(np.abs(q).max()))
        by_theta = self._by_theta(
            lambda other: np.concatenate([other.gaps(t, q, rows), other.rates(t, q, u, rows)]),
            np.repeat([far, self.fastest], len(rows)),
        )
        gaps = np.hstack(
            [
                G,
                np.zeros((len(rows), c)),
                model.radii_slopes(rows),
                np.zeros((len(rows), 1)),
                by_theta[: len(rows)],
            ]
        )
        dq = np.eye(c, gaps.shape[1]) - back @ gaps
        H, turned = self._hessians(t, q, rows, at), self._turning(t, q, rows, at)[0]
        rates = (np.einsum("kij,j->ki", H, u[at]) + turned) @ dq
        rates[:, c : 2 * c] += G
        rates[:, 2 * c + model.bodies + 1 :] += by_theta[len(rows) :]
        du = np.eye(c, gaps.shape[1], c) - back @ rates
        self.parts.append(Matrix(at, of, np.vstack([dq, du])))

    def _solve(self, q: Array, at: Integers) -> Callable[[Array], Array]:
        """M^-1 times the columns of a matrix, for some coordinates."""
        M = self.model.contacts.metric(q)
        if M.diagonal:
            return lambda v: v / M.mass[at, None]
        return lambda v: np.asarray(M.solve(v))

    def _pushes(self, q: Array, G: Array, at: Integers) -> tuple[Array, Array]:
        """M^-1 G^T and (G M^-1 G^T)^+, for some coordinates."""
        W = self._solve(q, at)(G.T)
        square = G @ W
        if len(G) == 1 and square.item() > 0.0:
            return W, 1.0 / square
        return W, np.asarray(np.linalg.pinv(square, hermitian=True))

    def _whole(self, y: Array, at: Integers) -> Array:
        """A vector of all coordinates with these entries."""
        whole = np.zeros(self.model.N)
        whole[at] = y
        return whole

    def _mass_slope(self, q: Array, y: Array) -> Array:
        """(N, N) the derivative of M(q) y with respect to q."""
        model = self.model
        if model.constant_mass:
            return np.zeros((model.N, model.N))
        self.differenced.add("mass")
        pull = lambda x: model.contacts.metric(x).times(y)  # noqa: E731
        return _slopes(pull, q, _steps(pull, q, model.contacts.size))

    def _acceleration(self, t: float, q: Array, u: Array, kept: Integers) -> Array:
        contacts = self.model.contacts
        return contacts.forced(t, q, u, kept, contacts.steps(t, q, u, kept))[0]

    # Flights.

    def _fly(self, flight: Flight, after: Flight | None) -> None:
        """The linearised motion of a flight; `after` is the next one."""
        model, t, kept = self.model, flight.t, flight.kept
        end = self.solution.end if after is None else after.t
        if end <= t:
            return
        if end - t > CLOSE * (self.solution.end - self.solution.start):
            self._check_approaches(flight, end)
        straight = len(kept) == 0 or (model.contacts.still and not self._curved(t, flight.x, kept))
        if not (straight and model.diagonal and model.problem.constant_force is not None):
            self.parts.append(self._integrated(flight, end))
            return
        G = model.rows(t, flight.x, kept)[0] if len(kept) else np.zeros((0, model.N))
        _, inverse = self._pushes(flight.x, G, np.arange(model.N))
        steps = model.contacts.steps(t, flight.x, flight.u, kept)
        a = model.contacts.forced(t, flight.x, flight.u, kept, steps)[0]
        forced = lambda other: other.contacts.forced(t, flight.x, flight.u, kept, steps)[0]  # noqa: E731
        slope = self._by_theta(forced, float(np.abs(a).max()))
        length, pull = end - t, float(a @ a)
        if after is not None and pull > 0.0 and np.abs(after.before).max() < max(abs(t), abs(end)) * np.sqrt(pull):
            length = float((after.before - flight.u) @ a) / pull  # less round-off than the difference of two times
        self.parts.append(Parabola(t, length, a, model.problem.mass.mass, G, inverse, slope))

    def _integrated(self, flight: Flight, end: float) -> Variation:
        """The linearised motion of a flight, integrated along it."""
        from scipy.integrate import solve_ivp

        model, t, kept, N = self.model, flight.t, flight.kept, self.model.N
        state, contacts, masses = self._path(t, end), model.contacts, model.masses
        curvatures = self._curvatures(kept, state)
        slopes = self._slopes_along(flight, end, state)

        def accelerated(s: float, other: Model) -> Array:
            return other.contacts.forced(s, *state(s), kept, curvatures(s))[0]

        middle = 0.5 * (t + end)
        pull = float(np.abs(accelerated(middle, model)).max())
        thetas = self._theta_steps(partial(accelerated, middle), pull)

        def derivative(s: float, y: Array) -> Array:
            q, u = state(s)
            z, d = y.reshape(2, N, -1), np.zeros((N, y.size // (2 * N)))
            a, forces = contacts.forced(s, q, u, kept, curvatures(s))
            of_q, of_u = slopes(s, q, u, a, forces)
            d[:, 2 * N : 2 * N + masses] = -self._across(s, q, kept, model.mass_times(a))
            d[:, 2 * N + masses :] = self._along_theta(partial(accelerated, s), thetas)
            return np.concatenate([z[1].ravel(), (d + of_q @ z[0] + of_u @ z[1]).ravel()])

        start = np.eye(2 * N, 2 * N + masses + model.thetas)
        length, speed = contacts.size, max(self.fastest, contacts.size / (end - t))
        given: Array = np.zeros(0) if model.theta is None else np.abs(model.theta).ravel()
        of_mass = np.full(masses, np.abs(contacts.metric(flight.x).mass).max(initial=0.0))
        columns = np.concatenate([np.full(N, length), np.full(N, speed), of_mass, given])
        columns[columns == 0.0] = 1.0
        sizes = np.repeat([length, speed], N)[:, None] / columns
        tolerances = {"rtol": VARIATION_TOLERANCE, "atol": VARIATION_TOLERANCE * sizes.ravel()}
        found = solve_ivp(derivative, (t, end), start.ravel(), method="DOP853", dense_output=True, **tolerances)
        if not found.success:
            raise NoDerivative(f"t = {t:.15g}: the linearised motion cannot be integrated: {found.message}")
        of = np.concatenate([np.arange(masses), np.arange(model.parameters - model.thetas, model.parameters)])
        return Variation(t, end, of, lambda times: found.sol(times).T.reshape(-1, *start.shape))

    def _slopes_along(self, flight: Flight, end: float, state: Any) -> Callable[..., tuple[Array, Array]]:
        """The derivatives (N, N) of the acceleration with respect to q and to u, as functions of the state."""
        model, kept, contacts, N = self.model, flight.kept, self.model.contacts, self.model.N
        self._check_known(flight)
        given, constant = model.problem._given, model.problem.constant_force is not None
        products = Slopes(model.problem.force, given, True, 0.0) if isinstance(given, WithDerivative) else None

        def force(t: float, q: Array, u: Array) -> Array:
            return model.problem.force(t, q.reshape(model.shape), u.reshape(model.shape)).ravel()

        if products is None and not constant:
            self.differenced.add("force")
            size, fastest = contacts.size, self.fastest
            steps_q, steps_u = np.full(N, np.inf), np.full(N, np.inf)
            for when in np.linspace(flight.t, end, FORCE_SAMPLES):
                q, u = state(when)
                steps_q = np.minimum(steps_q, _steps(partial(_swapped, force, when, u), q, size))
                steps_u = np.minimum(steps_u, _steps(partial(force, when, q), u, fastest))

        def slopes(t: float, q: Array, u: Array, a: Array, forces: Array) -> tuple[Array, Array]:
            if constant:
                of_q, of_u = np.zeros((N, N)), np.zeros((N, N))
            elif products is not None:
                shaped = q.reshape(model.shape), u.reshape(model.shape)
                rows = [products.reverse(t, *shaped, y.reshape(model.shape)) for y in np.eye(N)]
                of_q, of_u = (np.array([row[k].ravel() for row in rows]) for k in (0, 1))
            else:
                of_q = _slopes(lambda x: force(t, x, u), q, steps_q)
                of_u = _slopes(lambda v: force(t, q, v), u, steps_u)
            of_q = of_q - self._mass_slope(q, a)
            if len(kept) == 0:
                return self._across(t, q, kept, of_q), self._across(t, q, kept, of_u)
            # M da = df + dG^T p + G^T dp and G da = -dG a - db, with b = u . H u
            H, everything = self._hessians(t, q, kept, np.arange(N)), np.arange(N)
            of_q = of_q + np.einsum("k,kij->ij", forces, H)
            bent = np.einsum("kij,j->ki", H, a) + self._bend_slopes(t, q, u, kept)
            W, inverse = self._pushes(q, model.rows(t, q, kept)[0], everything)
            back = W @ inverse
            turned = 2.0 * np.einsum("kij,j->ki", H, u)
            return self._across(t, q, kept, of_q) - back @ bent, self._across(t, q, kept, of_u) - back @ turned

        return slopes

    def _curvatures(self, kept: Integers, state: Callable[[float], tuple[Array, Array]]) -> Callable[[float], Steps]:
        """The steps of the differences in contact forces along a flight: those at the start of each of its pieces."""
        contacts, starts = self.model.contacts, self.solution.starts

        @cache
        def steps(piece: int) -> Steps:
            return contacts.steps(float(starts[piece]), *state(float(starts[piece])), kept)

        return lambda s: steps(max(int(np.searchsorted(starts, s, side="right")) - 1, 0))

    def _check_known(self, flight: Flight) -> None:
        """Refuse contacts that stay closed if it is not known how their normals turn."""
        model, t, q, kept = self.model, flight.t, flight.x, flight.kept
        if len(kept) == 0:
            return
        curvatures = model.contacts.linearise(t, q).curvatures
        turned = self._turning(t, q, kept, np.arange(model.N))[0]
        if np.isnan(curvatures).any() or (not model.contacts.still and (curvatures[kept].any() or turned.any())):
            raise SchemeRefuses(
                f"sensitivity_by_events does not support contacts that stay closed in rods, @constraints, and curved "
                f"or turning walls that move: {model.contacts.describe(int(kept[0]))} at t = {t:.15g}"
            )

    def _bend_slopes(self, t: float, q: Array, u: Array, rows: Integers) -> Array:
        """(k, N) the derivative of u . H u with respect to q, for gaps that are distances."""
        # with the relative velocity w and H = b (I - n n^T) it is b^2 (3 (n.w)^2 n - |w|^2 n - 2 (n.w) w)
        here = self.model.contacts.linearise(t, q).only(rows)
        each, G = u.reshape(here.part_count, -1), here.G.toarray().reshape(len(rows), here.part_count, -1)
        found = np.zeros_like(G)
        for k, (i, j) in enumerate(here.pairs.tolist()):
            n, w = G[k, i], each[i] - (each[j] if j >= 0 else 0.0)
            along = float(n @ w)
            slope = here.curvatures[k] ** 2 * (3.0 * along**2 * n - (w @ w) * n - 2.0 * along * w)
            found[k, i] += slope
            if j >= 0:
                found[k, j] -= slope
        return found.reshape(len(rows), -1)

    def _across(self, t: float, q: Array, kept: Integers, F: Array) -> Array:
        """The accelerations by forces, the columns of F, with the forces that keep some rows closed."""
        everything = np.arange(self.model.N)
        free = self._solve(q, everything)(F)
        if len(kept) == 0:
            return free
        G = self.model.rows(t, q, kept)[0]
        W, inverse = self._pushes(q, G, everything)
        return free - W @ (inverse @ (G @ free))

    def _path(self, start: float, end: float) -> Callable[[Any], tuple[Array, Array]]:
        """The state at one time or at several of one flight, up to the velocities before the impact at its end."""
        sol = self.solution
        first = int(np.searchsorted(sol.starts, start, side="right")) - 1
        last = max(int(np.searchsorted(sol.starts, end, side="left")) - 1, first)

        def state(t: Any) -> tuple[Array, Array]:
            times = np.atleast_1d(t)
            q, u = sol._states(np.clip(np.searchsorted(sol.starts, times, side="right") - 1, first, last), times)
            return (q, u) if np.ndim(t) else (q[0], u[0])

        return state

    # Contacts that almost close.

    def _check_approaches(self, flight: Flight, end: float) -> None:
        """Report contacts whose gap falls to zero during a flight and rises again."""
        from scipy.optimize import minimize_scalar

        contacts, state = self.model.contacts, self._path(flight.t, end)
        count = len(contacts.pairs)
        if count == 0:
            return
        small = CLOSE * contacts.sizes(contacts.linearise(flight.t, flight.x), flight.x)
        times = np.linspace(flight.t, end, SAMPLES)
        g = contacts.gaps_along(times, state(times)[0])
        dips = (g[1:-1] <= g[:-2]) & (g[1:-1] <= g[2:])
        dips &= g.max(axis=0) > 100.0 * small  # not in the last bounces of an accumulation
        dips &= g[1:-1] <= np.abs(g[:-2] + g[2:] - 2.0 * g[1:-1]) + small
        dips[:, np.union1d(flight.kept, np.flatnonzero(contacts.equal))] = False
        after = [flight.closed for flight in self.flights if flight.t == end]
        dips[0, flight.closed] = dips[-1, np.concatenate([flight.closed[:0], *after])] = False
        for k, row in np.argwhere(dips):
            low = minimize_scalar(
                lambda t, row=row: float(contacts.gaps(t, state(t)[0])[row]),
                bounds=(times[k], times[k + 2]), method="bounded", options={"xatol": 1e-12 * (end - flight.t)},
            )  # fmt: skip
            if low.fun <= small[row]:
                self._report(float(low.x), int(row), "touch and do not push: some neighbouring motions have an impact")

    def _check_end(self) -> None:
        """Report contacts that close at the end time."""
        contacts, last = self.model.contacts, self.flights[-1]
        q = self.solution.q(self.solution.end).ravel()
        here = contacts.linearise(self.solution.end, q)
        closed = np.flatnonzero(here.gap <= CLOSE * contacts.sizes(here, q))
        for row in np.setdiff1d(closed, np.union1d(last.kept, np.flatnonzero(contacts.equal))):
            self._report(self.solution.end, int(row), "are closed at the end time")


def _swapped(force: Callable[[float, Array, Array], Array], t: float, u: Array, q: Array) -> Array:
    return force(t, q, u)


def _along(f: Callable[[Array], Array], x: Array, axis: Array) -> Function:
    """A function of x as a function of the distance along an axis."""
    return lambda s: f(x + s * axis)


def _steps(f: Callable[[Array], Array], x: Array, longest: float) -> Array:
    """(N,) the best difference step of a function of x along each coordinate."""
    far = float(np.abs(x).max(initial=0.0))
    return np.array([differentiated(_along(f, x, axis), longest, size=far).first_step for axis in np.eye(len(x))])


def _slopes(f: Callable[[Array], Array], x: Array, steps: Array) -> Array:
    """(r, N) the derivative of a function of x by differences along each coordinate."""
    each = zip(np.eye(len(x)), steps, strict=True)
    return np.stack([extrapolated(first_differences, _along(f, x, axis), h) for axis, h in each], axis=1)
