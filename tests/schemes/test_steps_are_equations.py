"""What surrounds the equation of a step is done once, for every scheme: a new one cannot forget it."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import jostle as jo
from jostle.schemes.capabilities import EXCHANGE, FIRST, NOT_CONVEX, REASONS
from jostle.schemes.state import State


@dataclass(frozen=True, kw_only=True)
class Careless(jo.Scheme):
    """Venel's scheme, by somebody who thinks of nothing but the equation."""

    capabilities: ClassVar[frozenset[str]] = frozenset(REASONS)

    def step(self, problem, state, h):
        t, q = state.t, state.q
        contacts = problem.within.linearise(t + h, q)
        P = self.solver.project(problem.velocity(t, q), contacts.velocities(h))
        return State.of(t + h, q + h * P.point, P.point, P, contacts, P.multipliers)


@dataclass(frozen=True, kw_only=True)
class Blind(jo.Scheme):
    """No constraint at all."""

    def step(self, problem, state, h):
        u, nothing = problem.velocity(state.t, state.q), jo.Free().linearise(state.t, state.q)
        P = self.solver.project(u, nothing.velocities(h))
        return State.of(state.t + h, state.q + h * u, u, P, nothing, P.multipliers)


@pytest.mark.parametrize("samples", [1, 2, 3])
def test_maury_takes_the_mean_of_the_force_over_the_time_alone(samples):
    spring = jo.Motion(q0=[1.0], v0=[8.0], force=lambda t, q: t - 3.0 * q)
    sol = jo.solve(spring, jo.Maury(samples=samples), t=0.5, h=0.5)
    assert sol.u[-1] == pytest.approx([8.0 + 0.5 * (0.25 - 3.0)])


def crowd(present):
    q0 = np.array([[0.0, 0.0], [1.5, 0.0], [3.0, 0.0]])
    within = jo.Balls([0.5, 0.5, 0.5]) & jo.Box([-np.inf, -1.0], [3.6, 1.0])
    return jo.Sweeping(q0=q0, velocity=lambda t, q: np.full_like(q, [1.0, 0.0]), within=within, present=present)


def test_those_who_are_not_there_neither_move_nor_push():
    sol = jo.solve(crowd([True, False, True]), Careless(), t=3.0, h=0.1)
    assert np.isnan(sol.q[:, 1]).all() or (sol.q[:, 1] == sol.q[0, 1]).all()
    np.testing.assert_allclose(sol.q[-1, [0, 2], 0], [2.1, 3.1], atol=1e-9)


def test_the_careless_scheme_is_that_of_venel():
    mine, theirs = (jo.solve(crowd([True, False, True]), scheme, t=1.0, h=0.1) for scheme in (Careless(), jo.Venel()))
    np.testing.assert_allclose(mine.q, theirs.q, atol=1e-12)


def test_overlaps_of_a_scheme_that_says_nothing_are_measured():
    sol = jo.solve(crowd(None), Blind(), t=1.0, h=0.1)
    assert sol.overlap == pytest.approx((4.0 - 3.1) / 0.5)  # the wall allows the third 3.1, its radius is 0.5
    assert jo.solve(crowd(None), Careless(), t=1.0, h=0.1).overlap < 1e-8


def test_overlap_of_the_blind_is_that_of_its_positions():
    sol = jo.solve(crowd(None), Blind(), t=0.5, h=0.1)
    deepest = max(0.0, -min(crowd(None).within.gap(0.0, q) for q in sol.q)) / 0.5
    assert sol.overlap == pytest.approx(deepest)


def test_a_scheme_without_the_ability_is_refused_when_the_first_body_goes():
    @dataclass(frozen=True, kw_only=True)
    class Everyone(Careless):
        capabilities: ClassVar[frozenset[str]] = frozenset({FIRST, NOT_CONVEX})

    outlet = jo.Outlet(lambda q: q[:, 0] > 2.9)
    with pytest.raises(jo.errors.SchemeRefuses, match=REASONS[EXCHANGE]):
        jo.solve(crowd(None), Everyone(), t=1.0, h=0.1, changes=outlet)


def test_a_scheme_that_cannot_have_moving_sets_notices_that_one_moves():
    @dataclass(frozen=True, kw_only=True)
    class Still(Careless):
        capabilities: ClassVar[frozenset[str]] = frozenset({FIRST, NOT_CONVEX})

    point = jo.Sweeping(q0=[0.0], velocity=[0.0], within=jo.constraints(lambda t, q: [q[0] + 1.0 - t]))
    with pytest.raises(jo.errors.SchemeRefuses, match="needs a set that does not move"):
        jo.solve(point, Still(), t=1.0, h=0.1)


def test_a_step_without_a_projection_is_an_error():
    @dataclass(frozen=True, kw_only=True)
    class Silent(jo.Scheme):
        def step(self, problem, state, h):
            return State.of(state.t + h, state.q, state.u)

    with pytest.raises(jo.InvalidValue, match="the step of Silent must return a state with its projection"):
        jo.solve(crowd(None), Silent(), t=1.0, h=0.1)


def test_a_position_that_is_not_finite_is_named():
    @dataclass(frozen=True, kw_only=True)
    class Exploding(Careless):
        def step(self, problem, state, h):
            return super().step(problem, state, h).replace(q=state.q + np.inf)

    with pytest.raises(jo.errors.NotFinite, match=r"position \(0, 0\) became inf"):
        jo.solve(crowd(None), Exploding(), t=1.0, h=0.1)


def test_a_mass_matrix_that_couples_absent_bodies_is_an_error():
    mass = np.eye(4) + 0.3
    pair = jo.Motion(
        q0=[[0.0, 0.0], [3.0, 0.0]], force=[1.0, 0.0], mass=mass, within=jo.Balls([0.5, 0.5]), present=[True, False]
    )
    with pytest.raises(jo.InvalidValue, match=r"moved body 1, which is not present: a matrix of mass.*couples bodies"):
        jo.solve(pair, jo.Maury(), t=1.0, h=0.1)
