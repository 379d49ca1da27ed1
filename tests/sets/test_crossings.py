"""A centre that goes through a wall is an error with a step that would do, never a finished run."""

import re

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

import jostle as jo
from jostle.sets.surfaces import Step
from rows import examples, whole

CAN = jo.Vessel([(0, 0), (1, 0), (1, 3), (0, 3)], radii=[0.06])
BAR = [[[0.0, -1.0], [0.0, 1.0]]]
PLATE = [(-0.01, -1.0), (0.01, -1.0), (0.01, 1.0), (-0.01, 1.0)]


def pushed(within, q0, v, e=0.0):
    return jo.Motion(q0=q0, v0=v, within=within, law=jo.Restitution(e))


def shifted(shape, speed):
    return lambda t: np.add(shape, [speed * t, 0.0])


CASES = {
    "a ball along the wall of a vessel": (pushed(CAN, [0.9, 0.0, 1.5], [0.0, 30.0, 0.0]), jo.Maury(), 0.02),
    "a ball through a moving bottom": (
        pushed(jo.Vessel([(0, 0), (1, 0)], radii=0.1, base=lambda t: [0, 0, 20 * t - 1]), [0.3, 0.0, 0.0], 0.0),
        jo.Maury(), 0.03),
    "a ball through a turning plate": (
        pushed(jo.Vessel([(0, 0), (1, 0)], radii=0.05, axis=lambda t: [np.sin(9 * t), 0, np.cos(9 * t)]),
               [0.8, 0.0, -0.3], 0.0),
        jo.Maury(), 0.07),
    "a moving segment": (pushed(jo.Segments(shifted(BAR, 20.0), radii=0.1), [1.0, 0.0], 0.0), jo.Maury(), 0.03),
    "a turning segment": (
        pushed(jo.Segments(lambda t: [[[0, 0], [np.cos(9 * t), np.sin(9 * t)]]], radii=0.05), [0.8, 0.3], 0.0),
        jo.Gluey(), 0.07),
    "a moving polygon": (pushed(jo.Polygons(shifted(PLATE, 20.0), radii=0.1), [1.0, 0.0], 0.0), jo.Maury(), 0.03),
    "a moving disc": (pushed(jo.Outside(lambda t: [20 * t, 0.0], 0.05, radii=0.1), [1.0, 0.0], 0.0), jo.Maury(), 0.03),
    "people and a moving segment": (
        jo.Sweeping(q0=[1.0, 0.0], within=jo.Segments(shifted(BAR, 20.0), radii=0.1)), jo.Venel(), 0.03),
    "catching up through a segment": (
        jo.Sweeping(q0=[-1.0, 0.0], velocity=[20.0, 0.0], within=jo.Segments(BAR, radii=0.1)), jo.CatchingUp(), 0.07),
    "catching up through a plate": (
        jo.Sweeping(q0=[-1.0, 0.0], velocity=[20.0, 0.0], within=jo.Polygons(PLATE, radii=0.1)), jo.CatchingUp(), 0.07),
    **{
        f"{type(scheme).__name__} through {name}, e = {e}": (pushed(within, [-1.1, 0.0], [20.0, 0.0], e), scheme, 0.07)
        for name, within in {
            "a segment": jo.Segments(BAR, radii=0.1),
            "a plate": jo.Polygons(PLATE, radii=0.1),
            "a plate, as a point": jo.Polygons(PLATE),
            "a disc": jo.Outside([0.0, 0.0], 0.2, radii=0.1),
        }.items()
        for scheme in (jo.Paoli(), jo.MoreauJean())
        for e in (0.0, 0.5, 1.0)
    },
}  # fmt: skip


@pytest.mark.parametrize(
    ("problem", "scheme", "h"),
    [whole(case) if name.endswith("e = 0.5") else case for name, case in CASES.items()],
    ids=CASES,
)
def test_a_centre_that_crosses_a_wall_ends_the_run(problem, scheme, h):
    """The error names the body and the wall; below the step that it advises, nothing is crossed."""
    with pytest.raises(jo.LeftTheSet, match=r"step \d+ .*centre of body 0 went through .*choose h below") as raised:
        jo.solve(problem, scheme, t=5 * h, h=h)
    advised = float(re.search(r"choose h below (\S+)", str(raised.value))[1])
    assert 0.0 < advised < h
    assert jo.solve(problem, scheme, t=2 * h, h=0.9 * advised).status == "finished"


def test_the_body_that_crossed_is_named_among_many():
    q0 = np.array([[-1.0, 0.0], [-1.0, 3.0], [-1.0, 6.0]])
    within = jo.Balls([0.1] * 3) & jo.Segments([[[0.0, -1.0], [0.0, 1.0]], [[0.0, 2.0], [0.0, 4.0]]], radii=0.1)
    problem = jo.Motion(q0=q0, v0=[[0.0, 0.0], [20.0, 0.0], [20.0, 0.0]], within=within)
    with pytest.raises(jo.LeftTheSet, match=r"ball 1 went through segment \[0.0, 2.0\] to \[0.0, 4.0\]") as raised:
        jo.solve(problem, jo.MoreauJean(), t=1.0, h=0.07)
    assert raised.value.step == 1
    assert raised.value.solution.t.tolist() == [0.0]


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(0, 10_000))
def test_paths_through_segments_are_those_that_shapely_finds(seed):
    random = np.random.default_rng(seed)
    ends, x, y = random.normal(size=(5, 2, 2)), random.normal(size=(1, 2)), random.normal(size=(1, 2))
    path = shapely.LineString([x[0], y[0]])
    expected = any(path.intersects(shapely.LineString(segment)) for segment in ends)
    found = jo.Segments(ends, radii=0.0).crossing(Step((0.0, 1.0), (x, y), False))
    assert (found is not None) == expected


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(0, 10_000))
def test_what_crosses_does_not_depend_on_the_observer(seed):
    """Body and segments in a frame that moves along: the same paths go through."""
    random = np.random.default_rng(seed)
    ends, x, y, drift = (
        random.normal(size=(5, 2, 2)),
        random.normal(size=(1, 2)),
        random.normal(size=(1, 2)),
        [3.0, 1.0],
    )
    still = jo.Segments(ends, radii=0.0).crossing(Step((0.0, 1.0), (x, y), False))
    moving = jo.Segments(lambda t: ends + t * np.array(drift), radii=0.0)
    seen = moving.crossing(Step((0.0, 1.0), (x, y + drift), False))
    assert (still is None) == (seen is None)


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(0, 10_000))
def test_paths_through_a_vessel_end_on_its_other_side(seed):
    """A closed can: a path between the inside and the outside goes through its wall once, or three times, ..."""
    random = np.random.default_rng(seed)
    x, y = random.uniform([-1.5, -1.5, -0.5], [1.5, 1.5, 3.5], (2, 1, 3))

    def inside(q):
        return bool(np.hypot(q[0, 0], q[0, 1]) < 1.0 and 0.0 < q[0, 2] < 3.0)

    found = CAN.crossing(Step((0.0, 1.0), (x, y), False))
    assert found is not None if inside(x) != inside(y) else (found is None or not inside(x))


@pytest.mark.parametrize("scheme", [jo.Maury(), jo.MoreauJean(), jo.Paoli()], ids=["Maury", "MoreauJean", "Paoli"])
def test_bodies_that_do_not_jump_cross_nothing(scheme):
    """Discs that ignore each other, in a room of segments with a pillar and a plate: two tenths of a radius a step."""
    room = np.array([[0.0, 0.0], [3.0, 0.0], [3.0, 2.0], [0.0, 2.0]])
    within = (
        jo.Segments(np.stack([room, np.roll(room, -1, axis=0)], axis=1), radii=0.1)
        & jo.Outside([2.0, 0.5], 0.2, radii=0.1)
        & jo.Polygons([(0.8, 0.6), (0.9, 0.6), (0.9, 1.6), (0.8, 1.6)], radii=0.1)
    )
    angles = np.linspace(0.1, 6.2, 7)
    v = 2.0 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    problem = pushed(within, np.tile([1.5, 1.2], (7, 1)), v, 0.0 if scheme == jo.Maury() else 0.9)
    sol = jo.solve(problem, scheme, t=2.0, h=0.01)
    assert sol.status == "finished"
    assert (sol.q.min(axis=(0, 1)) > 0.0).all()
    assert (sol.q.max(axis=(0, 1)) < room[2]).all()


def test_a_linearised_step_past_walls_at_rest_is_not_looked_at():
    """Convex gaps at rest cannot be crossed, and cost nothing."""
    wall = jo.Segments(BAR, radii=0.1)
    x, y = np.array([[-1.0, 0.0]]), np.array([[1.0, 0.0]])
    assert wall.crossing(Step((0.0, 1.0), (x, y), True)) is None
    assert wall.crossing(Step((0.0, 1.0), (x, y), False)) is not None


class Idle(jo.Solver):
    """Leaves every velocity as it is, and promises nothing."""

    strict = False

    def _solve(self, w, K, M, slack, guess):
        return w, np.zeros(len(slack)), 1


def test_a_body_that_sinks_through_a_wall_little_by_little_is_noticed():
    """Each step moves the disc by less than its radius."""
    within = jo.Balls([0.1, 0.1]) & jo.Segments([[[-1.0, 0.0], [1.0, 0.0]]])
    problem = jo.Motion(q0=[[0.0, 0.1], [0.5, 5.0]], force=[0.0, -9.81], within=within)
    with pytest.raises(jo.LeftTheSet, match=r"they had overlapped before; choose h below 0\.0005, or a solver"):
        jo.solve(problem, jo.Maury(solver=Idle()), t=0.5, h=1e-3)


@pytest.mark.parametrize(("scheme", "aside"), [(jo.Paoli(), 0.0), (jo.Paoli(), 0.09), (jo.MoreauJean(), 0.0)])
@pytest.mark.parametrize("period", [None, [30.0, np.inf]])
def test_a_ball_that_goes_through_another_one_is_an_error(scheme, aside, period):
    """They do not overlap after the step, so that nothing else shows it.

    0.09 aside, the centre of the larger one misses the other one, whose centre goes through the larger one.
    """
    within = jo.Balls([0.1, 0.05], period=period)
    balls = jo.Motion(q0=[[-1.0, 0.0], [0.0, aside]], v0=[[100.0, 0.0], [0.0, 0.0]], within=within)
    with pytest.raises(jo.LeftTheSet, match=r"centre of ball 1 went through ball 0: .* by (5|2\.5) .* 0\.15 is safe"):
        jo.solve(balls, scheme, t=0.1, h=0.05)
    assert jo.solve(balls, jo.Maury(), t=0.1, h=0.05).overlap < 1e-8


def test_a_ball_that_passes_another_one_in_a_long_step_is_no_error():
    balls = jo.Motion(q0=[[-1.0, 0.0], [0.0, 0.16]], v0=[[100.0, 0.0], [0.0, 0.0]], within=jo.Balls([0.1, 0.05]))
    sol = jo.solve(balls, jo.Paoli(), t=1.0, h=0.05)
    np.testing.assert_allclose(sol.q[-1], [[99.0, 0.0], [0.0, 0.16]], atol=1e-9)


def test_balls_that_change_places_in_a_first_order_step_are_an_error():
    meeting = jo.Sweeping(q0=[[-1.0, 0.0], [1.0, 0.0]], velocity=[[5.0, 0.0], [-5.0, 0.0]], within=jo.Balls([0.2, 0.2]))
    with pytest.raises(jo.LeftTheSet, match="centre of ball 0 went through ball 1: together they moved by 5 "):
        jo.solve(meeting, jo.CatchingUp(), t=1.0, h=0.5)
    assert jo.solve(meeting, jo.Venel(), t=1.0, h=0.5).q[-1].ravel().round(9).tolist() == [-0.2, 0.0, 0.2, 0.0]


def test_a_ball_goes_through_the_place_where_an_absent_one_is_kept():
    """A body that waits has no contacts, also not with a ball that passes where it is put aside."""
    start = {"q0": [[0.0, 0.0], [3.0, 0.0]], "within": jo.Balls([0.1, 0.1]), "present": [True, False]}
    place = jo.Motion(**start).presence.aside[1]
    v0 = np.array([place / 5.5, [0.0, 0.0]])  # it is there in the middle of the sixth step
    assert np.linalg.norm(v0[0]) > 0.4
    sol = jo.solve(jo.Motion(v0=v0, **start), jo.MoreauJean(), t=7.0, h=1.0)
    np.testing.assert_allclose(sol.q[-1, 0], 7.0 * v0[0], rtol=1e-12)


@pytest.mark.parametrize("scheme", [jo.Paoli(), jo.MoreauJean()], ids=repr)
def test_balls_of_a_class_of_the_user_do_not_go_through_each_other_unnoticed(scheme):
    class Named(jo.Balls):
        pass

    for within in (Named([0.1, 0.1]), Named([0.1, 0.1]) & jo.HalfSpace([0.0, 1.0], -9.0)):
        flying = jo.Motion(q0=[[-1.0, 0.0], [1.0, 0.0]], v0=[[100.0, 0.0], [-100.0, 0.0]], within=within)
        with pytest.raises(jo.LeftTheSet, match="went through ball"):
            jo.solve(flying, scheme, t=0.05, h=0.05)
