"""Curved walls and moving equalities: no scheme sinks into them, however long the run, and nobody leaves in silence."""

import contextlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jostle as jo
from jostle.vibro import Copies, Gaps, advance
from rows import examples, whole

CIRCLE = jo.Inside([0.0, 0.0], 1.0)


def sliding(e, h, v=1.0):
    """A point that slides along the inside of the unit circle, for 12 time units."""
    point = jo.Motion(q0=[1.0, 0.0], v0=[0.0, v], within=CIRCLE, law=jo.Restitution(e))
    return jo.solve(point, jo.MoreauJean(), t=12.0, h=h)


@pytest.mark.parametrize("e", [0.0, whole(0.5), 1.0])
def test_a_point_never_sinks_into_a_circle_by_more_than_second_order(e):
    """Without the bound on closed gaps, |q| - 1 grows like T h |v|^2 / 2 R: 0.2 here for e = 0."""
    sol = sliding(e, 0.04)
    assert np.abs(np.linalg.norm(sol.q, axis=1) - 1.0).max() <= 0.04**2
    assert np.abs(np.linalg.norm(sol.u, axis=1) - 1.0).max() <= 0.04**2, "nor does it lose or gain speed"


def test_the_overlap_along_a_circle_is_of_second_order_and_the_path_too():
    errors = []
    for h in (0.08, 0.04):
        sol = sliding(0.0, h)
        errors.append([sol.overlap, np.abs(sol.q[-1] - [np.cos(12.0), np.sin(12.0)]).max()])
    assert (np.log2(np.array(errors)[:-1] / np.array(errors)[1:]) > 1.9).all()


CIRCLES = {"wall": CIRCLE, "equality": jo.constraints(lambda t, q: [1.0 - np.hypot(*q)], equal=True)}


@pytest.mark.each_value
@pytest.mark.parametrize("within", CIRCLES.values(), ids=CIRCLES)
@pytest.mark.parametrize("scheme", [jo.Maury(), jo.MoreauJean()], ids=["Maury", "MoreauJean"])
@pytest.mark.parametrize("rest", [3e-3, 1e-3, 1e-5, 1e-7])
def test_a_time_that_is_no_multiple_of_the_step_makes_no_high_speed(within, scheme, rest):
    point = jo.Motion(q0=[1.0, 0.0], v0=[0.0, 1.0], within=within)
    sol = jo.solve(point, scheme, t=0.5 + rest, h=0.02)
    assert np.abs(np.linalg.norm(sol.u, axis=1) - 1.0).max() <= 0.01
    assert sol.t[-1] == 0.5 + rest


@settings(max_examples=8)
@given(
    h=st.lists(st.sampled_from([0.02, 0.01, 1e-3, 1e-6]), min_size=10, max_size=60),
    within=st.sampled_from([*CIRCLES.values()]),
)
def test_steps_of_any_lengths_neither_speed_a_body_up_nor_let_it_sink(h, within):
    point = jo.Motion(q0=[1.0, 0.0], v0=[0.0, 1.0], within=within)
    sol = jo.solve(point, jo.MoreauJean(), t=float(np.sum(h)), h=h)
    assert np.abs(np.linalg.norm(sol.u, axis=1) - 1.0).max() <= 2.0 * 0.02**2
    assert np.abs(np.linalg.norm(sol.q, axis=1) - 1.0).max() <= 0.02**2


TUBE = jo.Inside([0.0, 0.0], 1.1, radii=0.1) & jo.Outside([0.0, 0.0], 0.9, radii=0.1)


@pytest.mark.parametrize("scheme", [jo.Maury(), jo.MoreauJean()], ids=["Maury", "MoreauJean"])
def test_a_bead_in_a_round_tube_that_it_fills_keeps_its_speed(scheme):
    """Rows that were linearised at different places would make a wedge of the two walls."""
    bead = jo.Motion(q0=[[1.0, 0.0]], v0=[[0.0, 1.0]], within=TUBE)
    sol = jo.solve(bead, scheme, t=1.0, h=0.01)
    assert np.linalg.norm(sol.u[-1]) == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("scheme", [whole(jo.Maury()), jo.MoreauJean()], ids=["Maury", "MoreauJean"])
def test_touching_balls_on_a_rod_turn_and_swing_as_without_their_contacts(scheme):
    rods, balls = jo.Rods([(0, 1), (1, 2)], 0.4), jo.Balls([0.2, 0.2, 0.2])
    q0 = np.array([[0.0, 0.0], [0.4, 0.0], [0.8, 0.0]])
    v0 = np.array([[0.0, -1.0], [0.0, 0.0], [0.0, 1.0]])
    for force, start in (([0.0, 0.0], v0), ([0.0, -9.81], 0.0 * v0)):
        with_balls, alone = (
            jo.solve(jo.Motion(q0=q0, v0=start, force=force, within=within), scheme, t=0.5, h=0.005)
            for within in (rods & balls, rods)
        )
        np.testing.assert_allclose(with_balls.q[-1], alone.q[-1], atol=2e-3)


def test_a_body_pressed_on_a_round_obstacle_slides_along_it_with_order_two():
    """It circles a planet that it is pulled to five times as strongly as an orbit needs."""
    errors = []
    for h in (0.02, 0.01, 0.005):
        body = jo.Motion(
            q0=[1.0, 0.0], v0=[0.0, 1.0], force=lambda t, q: -5.0 * q / np.hypot(*q) ** 3,
            within=jo.Outside([0.0, 0.0], 1.0),
        )  # fmt: skip
        sol = jo.solve(body, jo.MoreauJean(), t=1.0, h=h)
        errors.append(np.abs(sol.q[-1] - [np.cos(1.0), np.sin(1.0)]).max())
    assert errors[-1] < 1e-3
    assert np.log2(errors[0] / errors[-1]) / 2.0 > 1.6


@pytest.mark.parametrize("convex", [None, whole(True)])
def test_a_fast_point_seldom_jumps_over_an_obstacle_of_the_user(convex):
    """In half a step the point moves by the radius of the obstacle."""
    obstacle = jo.constraints(convex=convex)(lambda t, q: [np.hypot(*q) - 0.1])
    through = 0
    for start in np.linspace(1.003, 1.203, 20, endpoint=False):
        point = jo.Motion(q0=[start, 0.0], v0=[-20.0, 0.0], within=obstacle)
        through += jo.solve(point, jo.MoreauJean(), t=0.2, h=0.01).q[-1, 0] < -0.2
    assert through <= 2


def test_a_resumed_run_with_a_rod_has_the_same_bits(tmp_path):
    pendulum = jo.Motion(
        q0=[[1.0, 0.0]],
        v0=[[0.3, 0.2]],
        force=[0.0, -9.81],
        within=jo.constraints(lambda t, q: [np.hypot(*q[0]) - 1.0], equal=True),
    )
    whole = jo.solve(pendulum, jo.MoreauJean(), t=1.0, h=0.01)
    file = tmp_path / "run.checkpoint"
    jo.solve(pendulum, jo.MoreauJean(), t=0.43, h=0.01, output=jo.io.Output(checkpoint=file))
    rest = jo.solve(pendulum, jo.MoreauJean(), t=1.0, h=0.01, output=jo.io.Output(checkpoint=file, resume=True))
    np.testing.assert_array_equal(rest.q[-1], whole.q[-1])


@pytest.mark.parametrize("scheme", [jo.MoreauJean(), jo.Paoli()], ids=["MoreauJean", "Paoli"])
def test_grains_that_are_smaller_than_their_steps_are_not_stopped(scheme):
    drum = jo.Inside([0.0, 0.0], 1.0, radii=1e-3)
    for angle in (0.0, 1.0):
        grain = jo.Motion(q0=[0.3, 0.1], v0=[np.cos(angle), np.sin(angle)], within=drum, law=jo.Restitution(0.5))
        assert jo.solve(grain, scheme, t=3.0, h=0.01).status == "finished"


@st.composite
def bowls(draw):
    """A smooth curved floor y >= a x^2 + b cos(c x), its second derivative at most 2 a + |b| c^2, and a start on it."""
    a, b, c = draw(st.floats(0.1, 1.0)), draw(st.floats(-0.2, 0.2)), draw(st.floats(0.5, 2.0))
    x = draw(st.floats(-1.0, 1.0))
    return lambda x: a * x * x + b * np.cos(c * x), x, 2.0 * a + abs(b) * c * c


@settings(max_examples=examples(6))
@given(bowl=bowls(), e=st.sampled_from([0.0, 0.3, 0.9]), v=st.floats(-2.0, 2.0), h=st.sampled_from([0.02, 0.01]))
def test_nothing_sinks_into_a_random_floor_by_more_than_its_fastest_impact(bowl, e, v, h):
    floor, x, curvature = bowl
    within = jo.constraints(lambda t, q: [q[1] - floor(q[0])])
    marble = jo.Motion(q0=[x, floor(x)], v0=[v, 0.0], force=[0.0, -9.81], within=within, law=jo.Restitution(e))
    sol = jo.solve(marble, jo.MoreauJean(), t=150 * h, h=h)
    gap = sol.q[:, 1] - floor(sol.q[:, 0])
    speed = np.linalg.norm(sol.u, axis=1).max()
    impacts = sol.impacts()
    hardest = np.abs(impacts.before).max(initial=0.0)
    assert gap.min() >= -1.5 * h * hardest - 2.0 * curvature * (h * speed) ** 2


@pytest.mark.parametrize("e", [whole(0.0), 0.6])
def test_discs_in_a_drum_do_not_sink_into_it_with_time(e):
    radius, rng = 0.1, np.random.default_rng(1)
    q0 = np.array([(x, y) for x in (-0.5, -0.25, 0.0, 0.25, 0.5) for y in (-0.4, -0.15, 0.1)])
    drum = jo.Balls(np.full(len(q0), radius)) & CIRCLE
    discs = jo.Motion(q0=q0, v0=rng.normal(size=q0.shape), within=drum, law=jo.Restitution(e), force=[0.0, -1.0])
    sol = jo.solve(discs, jo.MoreauJean(), t=3.0, h=0.01, every=0.1)
    depth = np.linalg.norm(sol.q, axis=2) - (1.0 - radius)
    hardest = np.abs(sol.impacts().before).max()
    assert depth.max() <= 0.01 * hardest


def test_copies_in_a_bowl_do_not_sink_either():
    def bowl(t, q, p):
        return 1.0 - np.sqrt(q[0] ** 2 + q[1] ** 2)

    def inwards(t, q, p):
        return -q / np.sqrt(q[0] ** 2 + q[1] ** 2)

    copies = Copies(q0=[[1.0, 0.0]], v0=[[0.0, 1.0]], force=[0.0, 0.0], within=Gaps(bowl, gradient=inwards))
    after = advance(copies, jo.MoreauJean(), t=40.0, h=0.04)
    assert abs(np.linalg.norm(after.q0) - 1.0) <= 0.04**2


@pytest.mark.each_value
@pytest.mark.parametrize("way", [0.5, 1.0, 1.5])
@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("scheme", [jo.MoreauJean(), jo.Paoli()], ids=["MoreauJean", "Paoli"])
@pytest.mark.filterwarnings("ignore::jostle.errors.CloseImpacts")
def test_a_ball_that_is_too_fast_for_its_container_stays_inside_or_is_an_error(scheme, e, way):
    """The ball moves by up to fifteen of its radii in a step."""
    ball = jo.Motion(
        q0=[0.3, 0.1], v0=[100.0 * way, 20.0 * way], within=jo.Inside([0.0, 0.0], 1.0, radii=0.1),
        law=jo.Restitution(e),
    )  # fmt: skip
    furthest = 0.0
    with contextlib.suppress(jo.LeftTheSet):
        furthest = np.linalg.norm(jo.solve(ball, scheme, t=0.5, h=0.01).q, axis=1).max()
    assert furthest <= 1.0


def test_a_crank_in_a_bearing_with_clearance_does_not_leave_it_in_silence():
    """The pin turns in a bearing of radius 0.05, with a clearance of 0.2 mm; a step of 0.2 ms moves it by 0.3 mm."""
    bearing = jo.Inside(lambda t: 0.05 * np.array([np.cos(10.0 * np.pi * t), np.sin(10.0 * np.pi * t)]), 2e-4)
    pin = jo.Motion(q0=[[0.05, 0.0]], v0=[[0.0, 0.5 * np.pi]], within=bearing)
    with pytest.raises(jo.LeftTheSet, match=r"body 0 went through container 0.*choose h below"):
        jo.solve(pin, jo.MoreauJean(), t=0.02, h=2e-4)
    assert jo.solve(pin, jo.MoreauJean(), t=0.005, h=1e-5).overlap <= 0.01


def test_a_bearing_written_as_a_constraint_is_left_in_silence_only_without_its_length():
    """The pin is pulled out of the bearing by 2.7 clearances in steps of 1 ms."""

    def bearing(t, q):
        return [2e-4 - np.linalg.norm(q[0] - 0.05 * np.array([np.cos(10.0 * np.pi * t), np.sin(10.0 * np.pi * t)]))]

    def pin(within, h):
        problem = jo.Motion(q0=[[0.05, 0.0]], v0=[[0.0, 0.5 * np.pi]], within=within)
        return jo.solve(problem, jo.MoreauJean(), t=0.02, h=h)

    assert 4e-4 < pin(jo.constraints(bearing), 1e-3).overlap < 6e-4
    with pytest.raises(jo.LeftTheSet, match=r"constraint 0 of bearing is .* its length 0\.0002.*choose h below"):
        pin(jo.constraints(length=2e-4)(bearing), 1e-3)
    assert pin(jo.constraints(length=2e-4)(bearing), 1e-4).overlap == pytest.approx(0.19, abs=0.01)


def test_the_error_names_the_container_and_a_step_that_is_short_enough():
    ball = jo.Motion(q0=[0.3, 0.0], v0=[100.0, 0.0], within=jo.Inside([0.0, 0.0], 1.0, radii=0.1))
    with pytest.raises(jo.LeftTheSet, match=r"body 0 went through container 0.*choose h below 0\.001"):
        jo.solve(ball, jo.MoreauJean(), t=0.5, h=0.01)


def test_a_body_that_is_carried_by_an_equality_starts_with_the_velocity_of_its_carrier():
    @jo.constraints(equal=True)
    def carried(t, q):
        return [q[0] - 2.0 * t]

    body = jo.Motion(q0=[0.0, 1.0], v0=[0.0, 0.0], force=[0.0, 0.0], within=carried)
    sol = jo.solve(body, jo.MoreauJean(), t=1.0, h=0.1)
    np.testing.assert_allclose(sol.q[1:, 0], 2.0 * sol.t[1:], atol=1e-12)
    np.testing.assert_allclose(sol.u[1:, 0], 2.0, atol=1e-12)


@settings(max_examples=examples(24))
@given(
    speed=st.floats(-2.0, 2.0).filter(lambda v: abs(v) > 0.01),
    push=st.floats(-1.0, 1.0),
    h=st.sampled_from([0.02, 0.01]),
)
def test_the_work_of_a_winch_is_the_energy_that_it_adds(speed, push, h):
    """A load of mass 2 on a rope that is pulled in by speed t + push t^2 / 2: W = m g (y(t) - y(0)) + m v(t)^2 / 2."""

    @jo.constraints(equal=True)
    def rope(t, q):
        return [q[0] - speed * t - push * t * t / 2.0]

    load = jo.Motion(q0=[0.0], v0=[speed], force=[-19.62], mass=2.0, within=rope)
    sol = jo.solve(load, jo.MoreauJean(), t=1.0, h=h)
    end = speed + push
    exact = 2.0 * (9.81 * (speed + push / 2.0) + end * end / 2.0 - speed * speed / 2.0)
    assert sol.energy_balance().work_of_walls[-1] == pytest.approx(exact, abs=40.0 * h * abs(push) + 1e-9)


def test_a_chain_of_touching_beads_that_hangs_on_a_point_falls():
    """Contacts and rods of the same pairs agree only up to round-off."""
    rods = jo.Rods([(0, -1), *((k, k + 1) for k in range(4))], [0.2] * 5, points=[[0.0, 0.0]])
    q0 = np.stack([0.2 + 0.2 * np.arange(5), np.zeros(5)], axis=1)
    chain = jo.Motion(q0=q0, force=[0.0, -9.81], within=jo.Balls([0.1] * 5) & rods)
    sol = jo.solve(chain, jo.MoreauJean(), t=0.2, h=0.01)
    assert np.abs(rods.gaps(0.0, sol.q[-1])).max() < (0.01 * np.abs(sol.u).max()) ** 2 / 0.2, "h^2 v^2 / L"
    assert sol.q[-1, -1, 1] < -0.1
