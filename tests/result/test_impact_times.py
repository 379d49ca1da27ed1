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


# Rates after an impact of which a body meets another one in the next step.


def beads(e, mass, second, **more):
    """A bead that hits a second one, which hits a third one after it has moved `second`."""
    q0 = [0.0, 1.2 + 1e-6, 2.2 + second]
    return jo.Motion(q0=q0, v0=[2.0, 0.0, 0.0], within=jo.Line([0.5] * 3), law=jo.Restitution(e), mass=mass, **more)


@pytest.mark.parametrize("e", [1.0, 0.6])
@pytest.mark.parametrize("mass", [[1.0, 1.0, 1.0], [1.0, 0.2, 2.0], [2.0, 1.0, 0.3]], ids=["equal", "light", "falling"])
def test_the_rate_after_an_impact_is_its_own_when_the_next_one_follows_a_step_later(e, mass):
    """At h = 0.02 the second bead flies for a fraction of a step between its two impacts."""
    table = jo.solve(beads(e, mass, 0.012), jo.MoreauJean(), t=0.2, h=0.02).impacts()
    assert table.pairs[:2].tolist() == [[0, 1], [1, 2]]
    assert table.t[1] - table.t[0] == pytest.approx(0.02)
    speed = 2.0 * (1.0 + e) * mass[0] / (mass[0] + mass[1])
    assert table.before[:2] == pytest.approx([-2.0, -speed])
    assert table.after[:2] == pytest.approx([2.0 * e, speed * e])


def test_a_row_of_five_passes_a_blow_on_in_consecutive_steps():
    q0 = np.cumsum([0.0, 1.03, 1.0101, 1.0102, 1.0103])
    row = jo.Motion(q0=q0, v0=[1.0, 0.0, 0.0, 0.0, 0.0], within=jo.Line([0.5] * 5), law=jo.Restitution(1.0))
    table = jo.solve(row, jo.MoreauJean(), t=0.2, h=0.01).impacts()
    assert table.pairs.tolist() == [[0, 1], [1, 2], [2, 3], [3, 4]]
    assert table.after == pytest.approx(np.ones(4))


@pytest.mark.parametrize("force", [0.0, -3.0])
def test_a_ball_that_hits_a_floor_and_a_lid_in_consecutive_steps(force):
    e, h = 0.8, 0.01
    slit = jo.Balls([0.5]) & jo.HalfSpace([0.0, 1.0]) & jo.HalfSpace([0.0, -1.0], -1.03)
    ball = jo.Motion(q0=[[0.0, 0.52]], v0=[3.0, -5.0], force=[0.0, force], within=slit, law=jo.Restitution(e))
    table = jo.solve(ball, jo.MoreauJean(), t=0.03, h=h).impacts()
    assert table.pairs[:2].tolist() == [[0, -1], [0, -2]]
    assert table.t[:2] == pytest.approx([h, 2.0 * h])
    assert table.after[0] == pytest.approx(5.0 * e + h * force, rel=1e-12)  # and a step of free flight
    assert table.before[1] == pytest.approx(-5.0 * e, rel=1e-12)


@pytest.mark.parametrize("scheme", [jo.Maury(), jo.MoreauJean(), jo.Paoli()])
def test_beads_that_stay_together_have_no_rate_between_them(scheme):
    """Without restitution an impact that goes on in the next step ends with it, whatever else closes then."""
    for second in (0.012, 0.03, 0.06):
        table = jo.solve(beads(0.0, [1.0, 0.5, 2.0], second), scheme, t=0.3, h=0.02).impacts()
        assert table.pairs[0].tolist() == [0, 1]
        assert table.after == pytest.approx(np.zeros(len(table)), abs=1e-8)


@pytest.mark.parametrize("d", [2, 3])
def test_the_rate_after_an_impact_of_clumps_that_turn_is_its_own(d):
    """A dumbbell that hits a floor with one ball turns and hits it with the other one a step later."""
    arms = np.array([[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])[:, :d]
    tilt, h = 0.01, 0.01
    turn = tilt if d == 2 else [np.cos(tilt / 2), 0.0, 0.0, np.sin(tilt / 2)]
    within = jo.Clumps([(arms, 0.3)]) & jo.HalfSpace(np.eye(d)[1])
    bar = jo.Motion(
        q0=[[0.0, 0.3213, 0.0][:d]],
        v0=[0.0, -1.0, 0.0][:d],
        orientation0=turn,
        within=within,
        law=jo.Restitution(0.5),
        inertia=0.2,
    )
    table = jo.solve(bar, jo.MoreauJean(), t=0.05, h=h).impacts()
    assert table.pairs[:2].tolist() == [[0, -1], [1, -1]]
    assert table.t[1] - table.t[0] == pytest.approx(h)
    assert table.after[:2] == pytest.approx(-0.5 * table.before[:2], rel=1e-3)
