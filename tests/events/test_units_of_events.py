"""`solve_by_events` in other units of length, time and mass: the same events at the same times, and the same path."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings

import jostle as jo
from rows import few, whole
from strategies import Units, units


def discs(L, m, T):
    box = jo.Box([0.0, 0.0], [4.0 * L, 4.0 * L])
    return {
        "q0": L * np.array([[1.0, 1.2], [3.0, 2.0], [2.2, 3.4]]),
        "v0": L / T * np.array([[1.0, 0.3], [-0.7, 0.2], [0.1, -1.0]]),
        "force": m * L / T**2 * np.array([0.0, -1.0]),
        "mass": m * np.array([1.0, 2.0, 0.5]),
        "within": jo.Balls(0.4 * L) & box,
        "law": jo.Restitution(0.8),
    }


def row_of_three(L, m, T):
    """Balls that fall one after the other on a floor at the origin; their impacts accumulate."""
    weight = m * L / T**2 * np.array([-1.0, -1.0, -1.0])
    row = jo.Line(np.full(3, 0.5 * L), lower=0.0)
    return {
        "q0": L * np.array([1.0, 2.5, 4.0]),
        "force": weight,
        "mass": m,
        "within": row,
        "law": jo.Restitution(0.3),
    }


def in_a_bowl(L, m, T):
    return {
        "q0": L * np.array([0.1, 0.5]),
        "v0": L / T * np.array([0.3, 0.0]),
        "force": m * L / T**2 * np.array([0.0, -1.0]),
        "mass": m,
        "within": jo.Inside([0.0, 0.0], L),
        "law": jo.Restitution(0.5),
    }


def on_a_table(L, m, T):
    return {
        "q0": [0.5 * L],
        "force": lambda t, q: [-m * L / T**2],
        "mass": m,
        "within": jo.HalfSpace([1.0], lambda t: 0.2 * L * np.sin(3.0 * t / T)),
        "law": jo.Restitution(0.5),
    }


def on_a_spring(L, m, T):
    return {
        "q0": L * np.array([0.5, 0.7]),
        "v0": L / T * np.array([1.0, 0.0]),
        "force": lambda t, q, u: -m / T**2 * (q * [1.0, 4.0] + 0.1 * T * u),
        "mass": m,
        "within": jo.HalfSpace([1.0, 0.0], -0.3 * L),
        "law": jo.Restitution(0.5),
    }


def above_a_wave(L, m, T):
    wave = jo.constraints(moving=False, gradient=lambda t, q: [[-0.1 * np.cos(q[0] / L), 1.0]])
    return {
        "q0": L * np.array([0.1, 1.0]),
        "v0": L / T * np.array([0.3, 0.0]),
        "force": m * L / T**2 * np.array([0.0, -1.0]),
        "mass": m,
        "within": wave(lambda t, q: [q[1] - 0.1 * L * np.sin(q[0] / L)]),
        "law": jo.Restitution(0.3),
    }


def at_rest_until_the_force_turns(L, m, T):
    return {
        "q0": [0.0],
        "force": lambda t, q: [m * L / T**2 * (t / T - 1.0)],
        "mass": m,
        "within": jo.HalfSpace([1.0]),
    }


CASES = {
    discs: 3.0, row_of_three: 4.0, in_a_bowl: 3.0, on_a_table: 2.0, on_a_spring: 4.0, above_a_wave: 2.2,
    at_rest_until_the_force_turns: 2.0,
}  # fmt: skip
"""The problems, and how long they last."""


@cache
def found(case, unit):
    end = CASES[case] * unit.time
    sol = jo.solve_by_events(jo.Motion(**case(*unit)), t=end)
    times = np.array([event.t for event in sol.events]) / unit.time
    limits = np.array([limit.t for limit in sol.accumulations]) / unit.time
    return times, limits, sol.q(np.linspace(0.0, end, 21)) / unit.length


def same(one, other, atol):
    for a, b in zip(one, other, strict=True):
        np.testing.assert_allclose(a, b, atol=atol)


ONE = Units(1.0, 1.0, 1.0)


@pytest.mark.parametrize("case", [whole(case) if case is on_a_table else case for case in CASES])
def test_events_do_not_depend_on_the_units(case):
    same(found(case, Units(2.0**11, 4.0**-4, 2.0**-9)), found(case, ONE), 1e-12)


@pytest.mark.whole
@pytest.mark.parametrize("case", CASES)
@settings(max_examples=3, deadline=None, derandomize=True)
@given(unit=units())
def test_events_do_not_depend_on_any_units(case, unit):
    same(found(case, unit), found(case, ONE), 1e-12)


def test_round_off_of_a_velocity_at_rest_does_not_shorten_the_integration_steps():
    """A contact that opens after a rest: u was 1e-16 there, and the tolerance of what followed a part of that."""
    unit = Units(1e3, 1e-3, 1e3)
    sol = jo.solve_by_events(jo.Motion(**at_rest_until_the_force_turns(*unit)), t=2.0 * unit.time)
    assert len(sol.pieces) < 100


@pytest.mark.parametrize("case", few(CASES))
def test_events_in_decimal_units_are_the_same_up_to_round_off(case):
    same(found(case, Units(1e3, 1e-3, 1e3)), found(case, ONE), 1e-8)
