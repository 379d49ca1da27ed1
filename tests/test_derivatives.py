"""Derivatives of functions whose scale is not known."""

import numpy as np
import pytest

import jostle as jo
from jostle.differences import continued, differentiated


@pytest.mark.parametrize("longest", [0.01, 8.0, 1e6])
@pytest.mark.parametrize("t", [0.0, 0.25, 0.4, 37.0])
def test_steps_that_are_whole_periods_are_not_taken(longest, t):
    """sin(2 pi t) is the same at all steps 1, 2, 4, ... that a search from above tries first."""
    w = 2.0 * np.pi
    found = differentiated(lambda s: np.array([np.sin(w * (t + s))]), longest, size=t)
    assert found.first[0] == pytest.approx(w * np.cos(w * t), abs=1e-10)
    assert found.second[0] == pytest.approx(-(w**2) * np.sin(w * t), abs=1e-7)
    assert (found.first_error < 1e-9).all()


def test_second_differences_that_vanish_do_not_hide_the_scale_of_an_odd_function():
    found = differentiated(lambda s: np.array([np.sin(300.0 * s)]), 100.0)
    assert found.second[0] == 0.0
    assert found.second_step < 0.01


def test_a_ripple_that_is_faster_than_the_rest_sets_the_step():
    found = differentiated(lambda s: np.array([np.sin(s) + 1e-4 * np.sin(2.0 * np.pi * 256.0 * s)]), 64.0)
    assert found.first[0] == pytest.approx(1.0 + 1e-4 * 2.0 * np.pi * 256.0, abs=1e-9)


def test_functions_are_not_evaluated_where_they_are_not_defined():
    def root(s):
        if s < -0.01:
            raise jo.InvalidValue("the root of a negative number")
        return np.array([np.sqrt(0.01 + s)])

    assert differentiated(root, 10.0).first[0] == pytest.approx(5.0, rel=1e-9)


def test_steps_serve_on_while_a_function_varies_as_fast_and_no_longer():
    def wave(w, t):
        return lambda s: np.array([np.sin(w * (t + s)), t + s])

    found = differentiated(wave(7.0, 0.3), 100.0, size=0.3)
    for t in (0.35, 0.6, 2.0):
        again = continued(wave(7.0, t), found, 100.0, size=t)
        assert again is not None
        assert again.first == pytest.approx([7.0 * np.cos(7.0 * t), 1.0], abs=1e-9)
        assert again.second == pytest.approx([-49.0 * np.sin(7.0 * t), 0.0], abs=1e-6)
    for w in (70.0, 0.7):
        assert continued(wave(w, 0.3), found, 100.0, size=0.3) is None


def test_a_pendulum_on_a_shaken_point_looks_at_it_about_as_often_as_its_forces_need():
    """256 integration steps with 15 forces, each of which is a second difference with 9 values."""
    calls = []

    def points(t):
        calls.append(t)
        return [[0.1 * np.sin(2.0 * np.pi * t), 0.0]]

    rod = jo.Rods([(0, -1)], 0.5, points=points)
    pendulum = jo.Motion(q0=[[0.0, -0.5]], v0=[[0.2 * np.pi, 0.0]], force=[0.0, -9.81], within=rod)
    sol = jo.solve_by_events(pendulum, t=0.5)
    assert len(calls) < 1.6 * 15 * 9 * len(sol.pieces)
