"""Values that NumPy would stretch, convert or read below a mask are refused: each of them gave a wrong motion."""

from __future__ import annotations

import numpy as np
import pytest

import jostle as jo

FLOOR = jo.HalfSpace([0.0, 1.0])
FIRST_AND_SECOND = [jo.Maury(), jo.Paoli(), jo.MoreauJean(), jo.Venel(), jo.CatchingUp()]


def name(member) -> str:
    return type(member).__name__


def drift(scheme, within, q0=(1.0, 1.0)):
    """A body that moves, or wishes to move, with the velocity (-1, -1)."""
    if isinstance(scheme, jo.Venel | jo.CatchingUp):
        return jo.Sweeping(q0=q0, velocity=[-1.0, -1.0], within=within)
    return jo.Motion(q0=q0, v0=[-1.0, -1.0], within=within)


RAIN = jo.Balls(np.full(3, 0.2)) & jo.Box([0.0, 0.0], [4.0, 9.0])

# One entry for several coordinates


@pytest.mark.parametrize("shape", [(1,), (2, 1)])
@pytest.mark.parametrize("scheme", FIRST_AND_SECOND, ids=name)
def test_one_entry_that_a_function_returns_is_not_repeated_over_coordinates(scheme, shape):
    """A weight [-9.81] of a ball in the plane would push it sideways, too."""
    q0, weight = np.array([[0.0, 1.0], [5.0, 1.0]]), np.full(shape, -9.81)
    if isinstance(scheme, jo.Venel | jo.CatchingUp):
        problem = jo.Sweeping(q0=q0, velocity=lambda t, q: weight)
    else:
        problem = jo.Motion(q0=q0, force=lambda t, q: weight)
    with pytest.raises(jo.InvalidValue, match=r"returned at t = .*one entry for 2 coordinates") as raised:
        jo.solve(problem, scheme, t=1.0, h=0.1)
    assert raised.value.step == 1


@pytest.mark.parametrize("q0", [[0.0, 1.0], [[0.0, 1.0], [3.0, 1.0]], [0.0, 1.0, 2.0]])
@pytest.mark.parametrize(
    "build",
    [
        lambda q0, one: jo.Motion(q0=q0, force=one),
        lambda q0, one: jo.Motion(q0=q0, v0=one),
        lambda q0, one: jo.Motion(q0=q0, force=lambda t, q: one).force(0.0, np.array(q0), np.array(q0)),
        lambda q0, one: jo.Sweeping(q0=q0, velocity=one),
        lambda q0, one: jo.Sweeping(q0=q0, velocity=lambda t, q: one).velocity(0.0, np.array(q0)),
        lambda q0, one: jo.vibro.Copies(q0=q0, force=one),
        lambda q0, one: jo.vibro.Copies(q0=q0, force=np.zeros(np.shape(q0)[-1]), v0=one),
        lambda q0, one: jo.Source((np.zeros(np.shape(q0)[-1]), np.ones(np.shape(q0)[-1])), rate=1.0, within=RAIN,
                                  velocity=one),
    ],
    ids=["force", "v0", "force(t, q)", "velocity", "velocity(t, q)", "copies", "v0 of copies", "source"],
)  # fmt: skip
def test_a_number_is_not_repeated_over_coordinates_unless_it_is_zero(build, q0):
    """force=-9.81 pushed a ball in the plane sideways, too."""
    vector = "[0, -9.81]" if np.shape(q0)[-1] == 2 else "[0, 0, -9.81]"
    with pytest.raises(jo.InvalidValue, match="is one number") as raised:
        build(q0, -9.81)
    assert vector in str(raised.value)
    build(q0, 0.0)
    build([1.0] if np.ndim(q0) == 1 else [[1.0], [2.0]], -9.81)


@pytest.mark.parametrize("given", ["force", "v0"])
def test_one_entry_for_each_body_is_not_repeated_over_coordinates(given):
    with pytest.raises(jo.InvalidValue, match=rf"{given} has shape \(3, 1\), one entry for 2 coordinates"):
        jo.Motion(q0=np.zeros((3, 2)), **{given: [[1.0], [2.0], [3.0]]})


@pytest.mark.parametrize("value", [{"force": [-10.0]}, {"v0": [-1.0]}, {"mass": [2.0]}, {"v0": [[1.0], [2.0]]}])
def test_copies_do_not_repeat_one_entry_over_coordinates(value):
    start = {"q0": [[0.0, 1.0], [1.0, 1.0]], "force": [0.0, -10.0], "within": FLOOR}
    with pytest.raises(jo.InvalidValue, match=next(iter(value))):
        jo.vibro.Copies(**{**start, **value})


@pytest.mark.parametrize(
    ("box", "velocity", "what"),
    [
        (([1.0], [3.0]), 0.0, r"box of a source has shape \(1,\)"),
        ((1.0, 3.0), 0.0, r"box of a source has shape \(\)"),
        (([1.0, 4.0, 0.0], [3.0, 8.0, 1.0]), 0.0, r"box of a source has shape \(3,\)"),
        (([1.0, 4.0], [3.0, 8.0]), [-1.0], r"velocity has shape \(1,\), one entry for 2 coordinates"),
        (([1.0, 4.0], [3.0, 8.0]), [-1.0, 0.0, 0.0], r"velocity of a source has shape \(3,\)"),
    ],
)
def test_a_source_has_the_dimension_of_its_bodies(box, velocity, what):
    """A box ([1], [3]) would let all bodies in on the diagonal."""
    rain = jo.Motion(q0=np.zeros((3, 2)), within=RAIN, present=np.zeros(3, dtype=bool))
    with pytest.raises(jo.InvalidValue, match=what):
        jo.solve(rain, jo.Maury(), t=0.5, h=0.1, changes=jo.Source(box, rate=10.0, within=RAIN, velocity=velocity))


def test_one_radius_does_not_make_a_ball_in_the_plane_two_balls_on_a_line():
    """q0 = (0, 2) is one body in the plane for the floor, and was two for the balls: they pushed it sideways."""
    ball = jo.Motion(q0=[0.0, 2.0], force=[0.0, -9.81], within=jo.Balls(0.5) & FLOOR)
    with pytest.raises(jo.InvalidValue, match=r"one ball or 2 balls on a line: give q the shape \(1, 2\) or \(2, 1\)"):
        jo.solve(ball, jo.Maury(), t=1.0, h=0.01)
    ball = jo.Motion(q0=[[0.0, 2.0]], force=[0.0, -9.81], within=jo.Balls(0.5) & FLOOR)
    np.testing.assert_allclose(jo.solve(ball, jo.Maury(), t=1.0, h=0.01).q[-1], [[0.0, 0.5]], atol=1e-12)


# What is not a number, or not a truth


def test_masked_entries_are_not_read_below_their_mask():
    masked = np.ma.array([1.0, 2.0], mask=[True, False])
    for make in (
        lambda: jo.Motion(q0=masked),
        lambda: jo.Motion(q0=[0.0, 0.0], mass=masked),
        lambda: jo.Balls(masked),
        lambda: jo.solve(jo.Motion(q0=[0.0, 0.0], force=lambda t, q: masked), jo.Maury(), t=0.1, h=0.1),
    ):
        with pytest.raises(jo.InvalidValue, match="mask"):
            make()
    assert jo.Motion(q0=np.ma.array([1.0, 2.0])).q0.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("leaves", [[0, 1], [0.5, -1.0], [np.nan, 0.0], ["False", "False"]])
def test_bodies_do_not_leave_unless_it_is_true_or_false(leaves):
    """The numbers of bodies, distances to a line and NaN would all count as True."""
    with pytest.raises(jo.InvalidValue, match="one True or False for each body"):
        jo.solve(jo.Motion(q0=[[0.0, 0.0], [5.0, 5.0]]), jo.Maury(), t=1.0, h=0.1, changes=jo.Outlet(lambda q: leaves))


@pytest.mark.parametrize("said", [None, np.nan, 0.3, 1, "no", "", np.array([True, False]), []])
def test_a_condition_that_is_neither_true_nor_false_does_not_end_a_run(said):
    """NaN and a distance would both count as True, and the run would end after its first step; without a return, a
    run would never end early."""
    with pytest.raises(jo.InvalidValue, match=r"until.* must return True, False or 'blocked'"):
        jo.solve(jo.Motion(q0=[1.0]), jo.Maury(), t=1.0, h=0.1, until=lambda state: said)


NOT_REAL = {
    "complex": np.array([[1.0, 2.0j]]),
    "dates": np.array([["2026-05-01", "2026-05-02"]], dtype="datetime64[D]"),
    "durations": np.array([[3, 4]], dtype="timedelta64[h]"),
    "objects": np.array([[object(), 2.0]], dtype=object),
    "text": np.array([["3", "4"]]),
    "ragged": [[1.0], [2.0, 3.0]],
    "masked": np.ma.array([[1.0, 2.0]], mask=[[False, True]]),
    "a generator": (x for x in (1.0, 2.0)),
    "bytes": b"34",
}


@pytest.mark.parametrize("kind", NOT_REAL)
def test_positions_and_velocities_that_are_not_real_numbers_are_refused_everywhere(kind):
    """NumPy takes the real part of complex numbers, counts days, and reads numbers in text."""
    wrong, within = NOT_REAL[kind], jo.Balls([0.1]) & jo.HalfSpace([0.0, 1.0])
    K, start = jo.convex.Cone([[1.0, 0.0]]), [[0.0, 1.0]]
    calls = [
        lambda: jo.nearest(wrong, within),
        lambda: within.gap(0.0, wrong),
        lambda: jo.nearest(wrong, jo.HalfSpace([0.0, 1.0])),
        lambda: jo.HalfSpace([0.0, 1.0]).gaps(0.0, wrong),
        lambda: jo.constraints(lambda t, q: q[..., 0]).gap(0.0, wrong),
        lambda: jo.project(wrong, K),
        lambda: jo.project(wrong, K.polar),
        lambda: jo.solvers.decompose(wrong, K),
        lambda: jo.ActiveSet().project(wrong, K),
        lambda: jo.GaussSeidel().project([-1.0, 0.0], K, guess=wrong),
        lambda: K.slack(wrong),
        lambda: jo.convex.Cone(wrong),
        lambda: jo.impact(wrong, K),
        lambda: jo.Motion(q0=wrong),
        lambda: jo.Motion(q0=start, v0=wrong),
        lambda: jo.Motion(q0=start, present=wrong),
        lambda: jo.solve(jo.Motion(q0=start, force=lambda t, q: wrong), jo.Maury(), t=0.1, h=0.1),
        lambda: jo.solve(jo.Sweeping(q0=start, velocity=lambda t, q: wrong), jo.Venel(), t=0.1, h=0.1),
        lambda: jo.solve(jo.Motion(q0=start, within=jo.constraints(lambda t, q: wrong)), jo.Maury(), t=0.1, h=0.1),
    ]
    for call in calls:
        with pytest.raises(jo.JostleError, match=r"must be|mask"):
            call()


@pytest.mark.parametrize("scheme", FIRST_AND_SECOND, ids=name)
@pytest.mark.parametrize("gap", [lambda t, q: q[0] >= 0.0, lambda t, q: q.astype(int), lambda t, q: [len(q)]])
def test_gaps_that_jump_are_refused(scheme, gap):
    """With the whole numbers of q as gaps, Paoli moved a body from 1 to 99."""
    with pytest.raises(jo.InvalidValue, match="whole numbers or True and False"):
        jo.solve(drift(scheme, jo.constraints(gap)), scheme, t=3.0, h=0.1)


@pytest.mark.parametrize("scheme", FIRST_AND_SECOND, ids=name)
@pytest.mark.parametrize(
    "beside", [None, jo.HalfSpace([0.0, 1.0], lambda t: -9.0 - t), jo.constraints(lambda t, q: [q[1] + 9.0 + t])]
)
def test_a_set_that_moves_cannot_say_that_it_is_at_rest(scheme, beside):
    """MoreauJean let the wall g = x - t through the body, and reported a finished run."""
    wall = jo.constraints(moving=False)(lambda t, q: [q[0] - 2.0 * (t > 0.25)])
    if beside is not None and not isinstance(scheme, jo.Paoli):
        wall = wall & beside
    with pytest.raises(jo.InvalidValue, match=r"constraint 0 of .* although moving=False was given") as raised:
        jo.solve(drift(scheme, wall, q0=(5.0, 1.0)), scheme, t=1.0, h=0.1)
    assert raised.value.step == 3


# Times


def test_a_change_cannot_turn_the_clock_back():
    """Forces and walls were taken at the changed time, and the frames had the times of the run."""
    pushed = jo.Motion(q0=[1.0], force=lambda t, q: [t])
    with pytest.raises(jo.InvalidValue, match=r"keep the time of the state, t = 0\.1; it returned t = 0"):
        jo.solve(pushed, jo.Maury(), t=1.0, h=0.1, changes=lambda state: state.replace(t=0.0))


@pytest.mark.parametrize("h", [1e-8, np.full(100, 1e-8)])
def test_steps_below_the_round_off_of_time_are_refused(h):
    """Near t = 1e9 the next time is 1.2e-7 away: saved times would repeat."""
    with pytest.raises(jo.InvalidValue, match=r"round-off of times near 1e[+]09"):
        jo.solve(jo.Motion(q0=[1.0], v0=[1.0]), jo.Maury(), t=(1e9, 1e9 + 1e-6), h=h)


def test_a_whole_number_in_an_array_counts_steps():
    ball = jo.Motion(q0=[1.0], v0=[1.0])
    assert jo.solve(ball, jo.Maury(), t=1.0, h=0.1, every=np.array(5)).t.round(9).tolist() == [0.0, 0.5, 1.0]


def test_a_solution_has_no_position_at_a_time_that_is_not_a_number():
    sol = jo.solve(jo.Motion(q0=[1.0, 2.0]), jo.Maury(), t=1.0, h=0.5)
    with pytest.raises(jo.InvalidValue, match=r"t must lie in \[0, 1\]"):
        sol(np.nan)
    assert sol([]).shape == (0, 2)


# Sets and laws that forget what they said


def test_a_side_of_a_box_that_is_open_at_first_cannot_close():
    """The wall that came up at t = 0.5 was not there: the body went to 13."""
    box = jo.Box([-1.0], lambda t: [9.0 if t > 0.5 else np.inf])
    with pytest.raises(jo.InvalidValue, match=r"upper\[0\] of the box is 9 at t = 0\.6, and was infinite at t = 0"):
        jo.solve(jo.Motion(q0=[3.0], v0=[10.0], within=box), jo.Maury(), t=1.0, h=0.1)
    box = jo.Box([-1.0], lambda t: [9.0 if t < 0.35 else np.inf])
    assert jo.solve(jo.Motion(q0=[8.0], v0=[1.0], within=box), jo.Maury(), t=1.0, h=0.1).q[-1, 0] == pytest.approx(9.0)


@pytest.mark.parametrize("wall", [jo.HalfSpace([1.0]), jo.Box([0.0], [9.0])])
def test_walls_take_the_radii_of_balls_on_a_line(wall):
    """The first ball, of radius 0.25, stopped with its centre on the wall."""
    balls = jo.Motion(q0=[1.0, 2.0], v0=[-1.0, 0.0], within=jo.Line([0.25, 0.5]) & wall)
    np.testing.assert_allclose(jo.solve(balls, jo.Maury(), t=2.0, h=0.1).q[-1], [0.25, 2.0], atol=1e-12)


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: jo.HalfSpace(lambda t: [0.0, 1.0] if t == 0.0 else [1.0]).gap(1.0, [0.0, 1.0]), "1 entries at t = 1"),
        (lambda: jo.HalfSpace([0.0, 1.0], [0.0, 1.0]), "offset of a half-space is one number"),
        (lambda: jo.Outside([[0.0, 0.0], [9.0, 9.0]], [1.0, 2.0, 3.0]), r"shape \(3,\) .*2 obstacles"),
        (lambda: jo.Box([0.0], [1.0]) & (1.0, 2.0), "intersection of two admissible sets"),
    ],
)
def test_walls_that_do_not_fit_are_named(make, what):
    with pytest.raises(jo.InvalidValue, match=what):
        make()


class Faster(jo.laws.ImpactLaw):
    uniform = 1.5


class Slow(jo.Restitution):
    def coefficients(self, contacts, speed):
        return np.where(speed < 1.0, 0.0, 0.5)


@pytest.mark.parametrize(
    ("law", "what"),
    [(Faster(), "uniform of Faster is 1.5"), (Slow(0.9), "Slow defines coefficients, which are not used")],
)
def test_a_law_with_a_wrong_uniform_is_refused(law, what):
    """A uniform of 1.5 made energy, and a uniform that is inherited hid the coefficients of the class."""
    with pytest.raises(jo.InvalidValue, match=what):
        jo.Motion(q0=[1.0], v0=[-1.0], within=jo.HalfSpace([1.0]), law=law)
    with pytest.raises(jo.InvalidValue, match=what):
        jo.impact([-1.0], jo.convex.Cone([[1.0]]), law=law)


def test_a_group_of_a_table_is_not_a_mask():
    """[False, True] was read as the bodies 0 and 1."""
    table = jo.Restitution({"soft": 0.5}, groups={"soft": np.array([False, True])})
    with pytest.raises(jo.InvalidValue, match=r"the group 'soft' must be numbers of bodies: np\.flatnonzero"):
        jo.Motion(q0=[[0.0, 2.0], [3.0, 2.0]], within=jo.Balls([0.5, 0.5]) & FLOOR, law=table)


def test_a_stress_is_computed_with_the_radii_of_the_run(tmp_path):
    """Diameters instead of radii doubled the stress."""
    balls = jo.Motion(q0=[[0.0, 0.0], [0.6, 0.0]], force=[[6.0, 0.0], [-6.0, 0.0]], within=jo.Balls([0.3, 0.3]))
    file = jo.io.Output(tmp_path / "run.vtkhdf", contacts=True)
    sol = jo.solve(balls, jo.Maury(), t=0.1, h=0.05, output=file)
    for run in (sol, jo.io.read(file.path)):
        with pytest.raises(jo.InvalidValue, match=r"the radius of ball 0 is 0\.6, and in the run it is 0\.3"):
            jo.analysis.stress(run, radii=0.6, volume=1.0)
        np.testing.assert_allclose(jo.analysis.stress(run, radii=0.3, volume=1.0), [[3.6, 0.0], [0.0, 0.0]], rtol=1e-6)


# Files


@pytest.mark.parametrize("save", ["output", "write"])
def test_a_file_in_single_precision_does_not_move_bodies_far_from_the_origin(tmp_path, save):
    """In the coordinates of a map, 5e6 m from the origin, positions in a file were off by a radius."""
    balls = jo.Motion(q0=[[5e6, 0.0], [5e6 + 1.0, 0.0]], v0=[[0.1, 0.0], [0.0, 0.0]], within=jo.Balls([0.25, 0.25]))
    sol = jo.solve(balls, jo.Maury(), t=1.0, h=0.1)

    def written(name, dtype):
        path = tmp_path / name
        if save == "write":
            jo.io.write(sol, path, dtype=dtype)
        else:
            jo.solve(balls, jo.Maury(), t=1.0, h=0.1, output=jo.io.Output(path, dtype=dtype))
        return np.asarray(jo.io.read(path).q)

    assert np.array_equal(written("chosen.vtkhdf", None), sol.q)
    with pytest.raises(jo.InvalidValue, match=r"float32 rounds positions near 5e[+]06 by up to 0\.25"):
        written("given.vtkhdf", np.float32)


def test_a_file_is_not_read_with_another_problem(tmp_path):
    """Gaps and energies were those of the other radii and masses."""

    def balls(radius, mass):
        return jo.Motion(q0=[[0.0, 0.0], [1.0, 0.0]], mass=mass, within=jo.Balls([0.3, radius]))

    path = jo.io.write(jo.solve(balls(0.3, [1.0, 0.1]), jo.Maury(), t=0.1, h=0.1), tmp_path / "run.vtkhdf")
    with pytest.raises(jo.InvalidValue, match=r"the radius of ball 1 is 0\.3 in run\.vtkhdf and 0\.4 in the problem"):
        jo.io.read(path, balls(0.4, [1.0, 0.1]))
    with pytest.raises(jo.InvalidValue, match=r"the mass of ball 1 is 0\.1 in run\.vtkhdf and 7 in the problem"):
        jo.io.read(path, balls(0.3, [1.0, 7.0]))
    assert jo.io.read(path, balls(0.3, [1.0, 0.1])).gaps().round(6).tolist() == [0.4, 0.4]
