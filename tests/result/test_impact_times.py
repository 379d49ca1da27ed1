"""When impacts happened inside a step: exact under a constant force, of order 2 up to the first impact, then 1."""

import numpy as np
import pytest

import jostle as jo
from jostle.result.impacts import Impacts
from rows import WHOLE

G = 9.81


def bouncing(e):
    return jo.Motion(q0=[1.0], force=[-G], within=jo.HalfSpace([1.0]), law=jo.Restitution(e))


@pytest.mark.parametrize("scheme", [jo.Paoli(), jo.MoreauJean()])
@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
def test_p04_the_first_impact_of_a_falling_ball_is_exact_whatever_the_step(scheme, e):
    for steps in (7, 20, 33, 100):
        hits = jo.solve(bouncing(e), scheme, t=0.6, h=0.6 / steps).impacts(speed=1.0)
        assert hits.moment[0] == pytest.approx(np.sqrt(2.0 / G), abs=1e-11)
        assert abs(hits.t[0] - hits.moment[0]) <= 2.0 * 0.6 / steps


@pytest.mark.parametrize("scheme", [jo.Paoli(), jo.MoreauJean()])
def test_p04_later_impacts_are_as_late_as_the_scheme(scheme):
    exact = np.array([event.t for event in jo.solve_by_events(bouncing(0.5), t=1.2).events])
    for h in (0.012, 0.006):
        hits = jo.solve(bouncing(0.5), scheme, t=1.2, h=h).impacts(speed=0.3)
        assert len(hits) == len(exact) == 3
        assert np.abs(hits.moment - exact).max() <= 3.0 * h


@pytest.mark.parametrize(("scheme", "expected"), [(jo.Paoli(), 2.0), (jo.Maury(), 1.0)])
def test_under_a_force_that_varies_the_moment_has_the_order_of_the_scheme_and_at_most_two(scheme, expected):
    """The time of a step that an impact led to is off by anything up to h; the moment converges."""
    oscillator = jo.models.impact_oscillator(e=0.0)
    exact = jo.solve_by_events(oscillator, t=2.0).events[0].t
    steps = 2.0 / np.array([50, 73, 101, 150, 211, 300])
    errors = [abs(jo.solve(oscillator, scheme, t=2.0, h=h).impacts().moment[0] - exact) for h in steps]
    assert jo.analysis.order(steps, errors).order == pytest.approx(expected, abs=0.35)


def test_two_discs_meet_inside_the_step():
    """P41: oblique, so that the gap is not linear; and the wall of a moving piston."""
    discs = jo.Motion(
        q0=[[0.0, 0.0], [3.0, 0.4]], v0=[[1.0, 0.0], [-0.5, 0.0]], mass=[1.0, 2.0], within=jo.Balls([0.5, 0.5]),
        law=jo.Restitution(0.7),
    )  # fmt: skip
    steps = 2.0 / np.array([40, 57, 83, 120, 171, 240, 350] if WHOLE else [40, 57, 83, 120])
    for scheme in (jo.Paoli(), jo.MoreauJean()):
        errors = [jo.solve(discs, scheme, t=2.0, h=h).impacts().moment[0] - 1.38898990734 for h in steps]
        assert np.abs(errors).max() <= 0.1 * steps[0]
        assert (np.abs(errors) <= 3.0 * steps**2).all()
    piston = jo.Motion(q0=[1.0], within=jo.HalfSpace([1.0], offset=lambda t: 2.0 * t))
    for h in (0.3, 0.07, 0.011):
        assert jo.solve(piston, jo.Maury(), t=0.9, h=h).impacts().moment[0] == pytest.approx(0.5, abs=1e-12)


@pytest.mark.parametrize("speed", [0.0, 2.0])
def test_a_round_obstacle_that_half_a_step_jumps_over_is_met_in_time(speed):
    obstacle = jo.Outside((lambda t: [-speed * t, 0.0]) if speed else [0.0, 0.0], 0.5)
    point = jo.Motion(q0=[-1.0, 0.0], v0=[10.0, 0.0], within=obstacle, law=jo.Restitution(0.5))
    found = jo.solve(point, jo.MoreauJean(), t=0.25, h=0.25).impacts()
    assert found.before == pytest.approx([-10.0 - speed])
    assert found.moment == pytest.approx([0.5 / (10.0 + speed)])


@pytest.mark.parametrize("scheme", [jo.Maury(), jo.MoreauJean()], ids=lambda scheme: type(scheme).__name__)
def test_an_impact_counts_in_the_step_in_which_another_contact_opens(scheme):
    """The first point presses on a wall until t = 0.5; in the step after, the second one meets the other wall."""
    points = jo.Motion(
        q0=[[0.0], [0.45]], v0=[[0.0], [1.0]], within=jo.Box([0.0], [1.0]),
        force=lambda t, q, u: np.array([[-10.0 if t < 0.5 else 0.0], [0.0]]),
    )  # fmt: skip
    found = jo.solve(points, scheme, t=1.0, h=0.1).impacts(speed=0.5)
    assert found.pairs.tolist() == [[1, -2]]


def test_impacts_that_are_left_out_take_their_moments_along():
    sol = jo.solve(bouncing(0.5), jo.Paoli(), t=1.25, h=0.01)
    everything, hard = sol.impacts(), sol.impacts(speed=2.0)
    assert len(hard) < len(everything)
    np.testing.assert_array_equal(hard.moment, everything.moment[: len(hard)])
    assert len(jo.solve(jo.Motion(q0=[0.0]), jo.Paoli(), t=1.0, h=0.5).impacts().moment) == 0


@pytest.mark.parametrize("scheme", [jo.Paoli(), jo.MoreauJean()], ids=lambda scheme: type(scheme).__name__)
def test_the_impulse_of_an_impact_is_that_of_both_of_its_steps(scheme):
    """m (1 + e) v, of which `Paoli` does a part in the first step and the rest in the second."""
    ball = jo.Motion(q0=[1.0], v0=[-2.0], mass=3.0, within=jo.HalfSpace([1.0]), law=jo.Restitution(0.5))
    found = jo.solve(ball, scheme, t=1.0, h=0.03).impacts()
    assert found.impulse == pytest.approx([9.0])
    assert found.after == pytest.approx([1.0])


def test_hard_impacts_keep_their_own_numbers():
    columns = np.arange(1.0, 4.0), np.array([[0, -1], [1, -1], [2, -1]])
    before, after, impulse, moment = -columns[0], 0.1 * columns[0], 2.0 * columns[0], columns[0] - 0.5
    found = Impacts(*columns, before, after, impulse, moment, np.outer(columns[0], [0.0, 1.0])).faster_than(1.5)
    assert found.t.tolist() == [2.0, 3.0]
    assert found.pairs[:, 0].tolist() == [1, 2]
    assert found.before.tolist() == [-2.0, -3.0]
    assert found.after.tolist() == [0.2, pytest.approx(0.3)]
    assert found.impulse.tolist() == [4.0, 6.0]
    assert found.moment.tolist() == [1.5, 2.5]
    assert found.tangential.tolist() == [[0.0, 2.0], [0.0, 3.0]]
