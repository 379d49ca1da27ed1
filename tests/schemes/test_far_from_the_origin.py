"""Coordinates and their round-off: gaps far from the origin, and coordinates too large for the bodies."""

import numpy as np
import pytest

import jostle as jo

G = 9.81
SCHEMES = [jo.MoreauJean(), jo.Paoli(), jo.Maury()]
every_scheme = pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: type(scheme).__name__)


def kinds_of_floors(far):
    """Floors at height `far`, for a point."""
    return {
        "half-space": jo.HalfSpace([1.0], far),
        "tilted normal": jo.HalfSpace([3.0], 3.0 * far),
        "box": jo.Box([far], [far + 1.0]),
        "open box": jo.Box([far], [np.inf]),
        "moving": jo.HalfSpace([1.0], lambda t: far),
        "constraints": jo.constraints(lambda t, q: [q[0] - far]),
    }


@pytest.mark.parametrize("far", [-3e6, 2e6, 4e7])
@pytest.mark.parametrize("kind", kinds_of_floors(0.0))
def test_a_point_falls_through_a_small_gap_far_from_the_origin(kind, far):
    """3 mm above the floor, where 1e-9 of the coordinate is as much."""
    t, h = 0.016, 5e-4
    ball = jo.Motion(q0=[far + 3e-3], force=[-G], within=kinds_of_floors(far)[kind])
    y = jo.solve(ball, jo.MoreauJean(), t=t, h=h).q[-1][0] - far
    assert y == pytest.approx(3e-3 - 0.5 * G * t * t, abs=1e-6)


def test_a_point_rests_on_a_floor_far_from_the_origin():
    far = 7e6
    ball = jo.Motion(q0=[far + 1e-3], force=[-G], within=jo.HalfSpace([1.0], far), law=jo.Restitution(0.5))
    sol = jo.solve(ball, jo.MoreauJean(), t=0.5, h=1e-4)
    assert abs(sol.q[-1][0] - far) < 1e-6
    assert abs(sol.u[-1][0]) < 1e-4


@every_scheme
def test_an_overlap_at_the_start_is_seen_far_from_the_origin(scheme):
    ball = jo.Motion(q0=[6e6 - 2e-3], within=jo.HalfSpace([1.0], 6e6))
    with pytest.raises(jo.InfeasibleStart, match="body 0 and"):
        jo.solve(ball, scheme, t=0.1, h=0.01)


def test_copies_fall_through_a_small_gap_as_one_body_does():
    far, t, h = 8e6, 0.016, 1e-3
    copies = jo.vibro.Copies(q0=[[far + 5e-3]], force=[-G], within=jo.HalfSpace([1.0], far))
    end = jo.vibro.advance(copies, jo.MoreauJean(), t=t, h=h)
    assert end.q0[0, 0] - far == pytest.approx(5e-3 - 0.5 * G * t * t, abs=1e-6)
    with pytest.raises(jo.InfeasibleStart):
        jo.vibro.Copies(q0=[[far - 5e-3]], force=[-G], within=jo.HalfSpace([1.0], far))


def problems_far_away(far):
    """Bodies whose digits end before their sizes do."""
    pair = [[far, 0.0], [far + 3.0, 0.0]]
    balls, wall = jo.Balls([1.0, 1.0]), jo.HalfSpace([0.0, 1.0], -5.0)
    return {
        "balls": (jo.Motion(q0=pair, v0=[[1.0, 0.0], [-1.0, 0.0]], within=balls), SCHEMES),
        "in space": (jo.Motion(q0=[[0.0, far, 0.0]], within=jo.Balls([0.5])), SCHEMES),
        "below zero": (jo.Motion(q0=[[0.0, -far]], within=jo.Balls([0.5])), SCHEMES),
        "a ring": (jo.Motion(q0=pair, within=jo.Balls([1.0, 1.0], period=[8.0, np.inf])), SCHEMES[2:]),
        "balls that grow": (jo.Motion(q0=pair, within=jo.Balls(lambda t: (1.0 + t) * np.ones(2)) & wall), SCHEMES[2:]),
        "rods": (jo.Motion(q0=[far, far + 4.0], within=jo.Line([1.0, 1.0])), SCHEMES),
        "one ball": (jo.Motion(q0=[far, 0.0], within=jo.HalfSpace([0.0, 1.0], -2.0, radii=[1.0])), SCHEMES),
        "points in a box": (jo.Motion(q0=[far + 0.5], within=jo.Box([far], [far + 1.0])), SCHEMES),
        "clumps": (jo.Motion(q0=[[far, 0.0]], within=jo.Clumps([([[0.4, 0.0], [-0.4, 0.0]], 0.4)])), SCHEMES[2:]),
        "people": (jo.Sweeping(q0=pair, velocity=[1.0, 0.0], within=balls), [jo.Venel(), jo.CatchingUp()]),
        "points": (jo.Motion(q0=[far], v0=[1e-3], force=[0.0], within=jo.HalfSpace([1.0], far)), SCHEMES),
        "points that fall": (jo.Motion(q0=[far], force=[-1e-3], within=jo.HalfSpace([1.0], far - 1.0)), SCHEMES),
        "points that walk": (jo.Sweeping(q0=[far], velocity=[1e-3], within=jo.HalfSpace([1.0], far)), [jo.Venel()]),
    }


@pytest.mark.parametrize("kind", problems_far_away(1.0))
def test_coordinates_whose_last_digit_is_not_small_are_refused_at_the_start(kind):
    problem, schemes = problems_far_away(3e10)[kind]
    for scheme in schemes:
        with pytest.raises(
            jo.InvalidValue, match=r"3e\+10 in size, where one unit in the last place is 3.8e-06.*Shift"
        ):
            jo.solve(problem, scheme, t=1.0, h=0.01)


def test_the_unit_of_length_does_not_change_what_is_refused():
    for unit in (1e-6, 1.0, 1e6):
        for far, refused in ((1e8, False), (1e10, True)):
            ball = jo.Motion(q0=[[far * unit, 0.0]], v0=[[unit, 0.0]], within=jo.Balls([unit]))
            if refused:
                with pytest.raises(jo.InvalidValue, match="Shift the origin"):
                    jo.solve(ball, jo.Maury(), t=1.0, h=0.1)
            else:
                assert jo.solve(ball, jo.Maury(), t=1.0, h=0.1).status == "finished"


@every_scheme
def test_a_body_that_gets_too_far_away_ends_the_run_with_what_came_before(scheme):
    ball = jo.Motion(q0=[[0.0, 0.0], [0.0, 9.0]], v0=[[2e7, 0.0], [0.0, 0.0]], within=jo.Balls([1.0, 1.0]))
    with pytest.raises(jo.InvalidValue, match=r"^step \d+ .*: coordinate 0 of ball 0 is .*Shift the origin") as caught:
        jo.solve(ball, scheme, t=200.0, h=0.25)
    assert 1 < len(caught.value.solution.t) < 200


@pytest.mark.parametrize("scheme", SCHEMES[:2], ids=["MoreauJean", "Paoli"])
def test_a_flight_of_many_steps_ends_where_a_body_gets_too_far_away(scheme):
    ball = jo.Motion(q0=[0.0, 5.0], v0=[1e9, 0.0], within=jo.HalfSpace([0.0, 1.0], radii=[1.0]))
    with pytest.raises(jo.InvalidValue, match=r"q\[0\] is .* in size"):
        jo.solve(ball, scheme, t=10.0, h=1e-3)


def test_events_and_copies_refuse_such_coordinates_too():
    with pytest.raises(jo.InvalidValue, match="coordinate 0 of ball 1 is"):
        jo.solve_by_events(problems_far_away(1e12)["balls"][0], t=1.0)
    box = jo.Box([1e12], [1e12 + 2.0])
    with pytest.raises(jo.InvalidValue, match=r"q\[0\] of copy 0 is 1e\+12"):
        jo.vibro.advance(jo.vibro.Copies(q0=[[1e12 + 1.0]], force=[0.0], within=box), jo.MoreauJean(), t=1.0, h=0.1)


def test_bodies_that_are_not_there_may_be_anywhere():
    here = jo.Motion(q0=[[0.0, 0.0], [1e12, 0.0]], within=jo.Balls([1.0, 1.0]), present=[True, False])
    assert jo.solve(here, jo.Maury(), t=0.1, h=0.05).status == "finished"


@pytest.mark.parametrize(("far", "speed", "h"), [(1e14, 1.0, 1e-3), (3e13, -0.5, 1e-3)])
def test_points_whose_steps_are_lost_in_round_off_are_refused_though_they_move_by_few_units(far, speed, h):
    point = jo.Motion(q0=[far], v0=[speed], force=[0.0], within=jo.HalfSpace([1.0]))
    with pytest.raises(jo.InvalidValue, match="largest displacement of a step"):
        jo.solve(point, jo.Maury(), t=1.0, h=h)
