"""The time loop and its solution: times, saving, stopping, statistics, impacts, energy, errors, and empty problems."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jostle as jo
from rows import examples

MOTION_SCHEMES = [jo.Maury(), jo.Paoli(), jo.MoreauJean()]
SWEEPING_SCHEMES = [jo.Venel(), jo.CatchingUp()]
every_motion_scheme = pytest.mark.parametrize("scheme", MOTION_SCHEMES, ids=lambda scheme: type(scheme).__name__)
every_sweeping_scheme = pytest.mark.parametrize("scheme", SWEEPING_SCHEMES, ids=lambda scheme: type(scheme).__name__)
every_scheme = pytest.mark.parametrize(
    "scheme", MOTION_SCHEMES + SWEEPING_SCHEMES, ids=lambda scheme: type(scheme).__name__
)


def drift(scheme, q0, within=None):
    """The problem that the scheme solves, moving at unit velocity along the first axis."""
    along = np.zeros(np.shape(q0))
    along[..., 0] = 1.0
    if type(scheme) in map(type, MOTION_SCHEMES):
        return jo.Motion(q0=q0, v0=along, within=within)
    return jo.Sweeping(q0=q0, velocity=along, within=within)


def falling(**more):
    return jo.Motion(q0=[1.0], force=[-10.0], within=jo.HalfSpace([1.0]), **more)


# --- times ---


@pytest.mark.each_value
@every_scheme
@pytest.mark.parametrize(
    ("t", "h", "steps"),
    [
        (1.0, 0.3, [0.3, 0.3, 0.3, 0.1]),
        (1.0, 0.25, [0.25] * 4),
        (0.3, 0.1, [0.1] * 3),
        (0.7, 0.1, [0.1] * 7),
        (2.9, 0.1, [0.1] * 29),
        (0.2, 0.5, [0.2]),
        (1.0, [0.5, 0.2, 0.3], [0.5, 0.2, 0.3]),
        ((2.0, 3.0), 0.4, [0.4, 0.4, 0.2]),
        ((-1.0, 0.5), [1.0, 0.5], [1.0, 0.5]),
    ],
)
def test_a_run_ends_exactly_at_its_time(scheme, t, h, steps):
    """T a multiple of h, not a multiple, shorter than h, steps given one by one, and a first time."""
    first, last = t if isinstance(t, tuple) else (0.0, t)
    sol = jo.solve(drift(scheme, [0.0, 5.0]), scheme, t=t, h=h)
    assert sol.status == "finished"
    assert len(sol.t) == len(steps) + 1
    assert sol.t[0] == first
    assert sol.t[-1] == last
    np.testing.assert_allclose(np.diff(sol.t), steps, rtol=1e-12)
    np.testing.assert_allclose(sol.stats["h"], steps, rtol=1e-12)
    np.testing.assert_allclose(sol.stats["t"], sol.t[1:], rtol=1e-15)
    np.testing.assert_allclose(sol.q[-1], [last - first, 5.0], rtol=1e-12)
    assert (sol(last) == sol.q[-1]).all()


@every_scheme
def test_no_time_is_no_step(scheme):
    sol = jo.solve(drift(scheme, [0.0, 5.0]), scheme, t=0.0, h=0.1)
    assert sol.t.tolist() == [0.0]
    assert sol.q.tolist() == [[0.0, 5.0]]
    assert len(sol.stats) == 0
    assert sol.status == "finished"
    assert sol(0.0).tolist() == [0.0, 5.0]
    assert sol.residual == 0.0


def test_the_first_time_is_the_time_of_the_forces():
    """q'' = t from t = 1 to 2: with Gauss points the velocity is exact, 1/2 (4 - 1)."""
    sol = jo.solve(jo.Motion(q0=[0.0], force=lambda t, q: [t]), jo.Maury(), t=(1.0, 2.0), h=0.1)
    assert sol.u[-1][0] == pytest.approx(1.5, rel=1e-13)


@pytest.mark.parametrize(
    ("t", "h", "what"),
    [
        (1.0, 0.0, "h must be positive"),
        (1.0, -0.1, "h must be positive"),
        (1.0, np.nan, "h must be positive"),
        (1.0, [], "h must be positive"),
        (1.0, [0.5, -0.5, 1.0], "h must be positive"),
        (1.0, [[0.5, 0.5]], "h "),
        (1.0, [0.5, 0.2], r"lead to t = 0\.7, not to 1"),
        (-1.0, 0.1, "must be a time after the start"),
        ((3.0, 2.0), 0.1, "must be a time after the start 3"),
        (np.inf, 0.1, "must be a time"),
    ],
)
def test_impossible_times_are_refused(t, h, what):
    with pytest.raises(jo.InvalidValue, match=what):
        jo.solve(falling(), jo.Maury(), t=t, h=h)


# --- saving and stopping ---


@pytest.mark.parametrize(
    ("every", "saved"),
    [
        (None, np.arange(11)),
        (1, np.arange(11)),
        (3, [0, 3, 6, 9, 10]),
        (np.int64(3), [0, 3, 6, 9, 10]),
        (5, [0, 5, 10]),
        (99, [0, 10]),
        (0.2, [0, 2, 4, 6, 8, 10]),
        (0.25, [0, 3, 5, 8, 10]),
        (0.05, np.arange(11)),
        (9.0, [0, 10]),
    ],
)
def test_frames_are_saved_each_so_many_steps_or_at_each_time(every, saved):
    """An int counts steps, a float measures time; the first and the last state are always there."""
    full = jo.solve(falling(), jo.Maury(), t=1.0, h=0.1)
    sol = jo.solve(falling(), jo.Maury(), t=1.0, h=0.1, every=every)
    np.testing.assert_array_equal(sol.t, full.t[saved])
    np.testing.assert_array_equal(sol.q, full.q[saved])
    np.testing.assert_array_equal(sol.u, full.u[saved])
    assert [p.tolist() for p in sol.multipliers] == [full.multipliers[k].tolist() for k in saved]
    np.testing.assert_array_equal(sol.stats, full.stats)


def test_saving_by_time_counts_from_the_first_time():
    sol = jo.solve(falling(), jo.Maury(), t=(5.0, 6.0), h=0.1, every=0.5)
    np.testing.assert_allclose(sol.t, [5.0, 5.5, 6.0], rtol=1e-15)


def test_saving_by_time_does_not_fall_behind_long_steps():
    """A step over several multiples of `every` saves one frame; the next one comes at the next multiple after it."""
    steps = [0.35, 0.02, 0.02, 0.02, 0.02, 0.47, 0.05, 0.05]
    sol = jo.solve(falling(), jo.Maury(), t=1.0, h=steps, every=0.1)
    np.testing.assert_allclose(sol.t, [0.0, 0.35, 0.41, 0.9, 1.0], rtol=1e-14)


@given(
    steps=st.lists(st.integers(1, 40), min_size=1, max_size=30),
    every=st.integers(1, 60),
    unit=st.sampled_from([1.0, 0.1, 1e-3, 0.7]),
    start=st.sampled_from([0.0, -3.0, 1e3]),
)
@settings(max_examples=examples(40), deadline=None)
def test_each_multiple_of_every_is_saved_once_by_the_first_step_that_reaches_it(steps, every, unit, start):
    ends = np.cumsum(steps)
    reached = ends // every
    first = np.flatnonzero(np.diff(reached, prepend=0) > 0)
    saved = sorted({*first.tolist(), len(steps) - 1})
    h = np.array(steps) * unit
    sol = jo.solve(jo.Motion(q0=[0.0]), jo.Maury(), t=(start, start + float(h.sum())), h=h, every=every * unit)
    assert len(sol.t) == len(saved) + 1
    np.testing.assert_allclose(sol.t[1:] - start, ends[saved] * unit, rtol=1e-9, atol=1e-9 * unit)


@given(t=st.floats(0.01, 3.0), h=st.floats(0.01, 1.0), start=st.sampled_from([0.0, -2.0, 7.0]))
@settings(max_examples=examples(60), deadline=None)
def test_steps_of_one_length_cover_the_time_exactly(t, h, start):
    """All steps but the last have the length h; the last one is not longer, and ends at t."""
    sol = jo.solve(jo.Motion(q0=[0.0], v0=[1.0]), jo.Maury(), t=(start, start + t), h=h)
    lengths = sol.stats["h"]
    assert (lengths[:-1] == h).all()
    assert 0.0 < lengths[-1] <= h
    assert sol.t[-1] == start + t
    assert sol.q[-1][0] == pytest.approx(t, rel=1e-8)


@pytest.mark.parametrize("every", [0, -1, 0.0, -0.5, np.nan])
def test_saving_must_advance(every):
    with pytest.raises(jo.InvalidValue, match="every must be positive"):
        jo.solve(falling(), jo.Maury(), t=1.0, h=0.1, every=every)


def test_until_stops_the_run_and_saves_where_it_stopped():
    """Stops when the ball is below 1/2: y = 1 - 10 h^2 n (n + 1) / 2 first at n = 11, h = 0.03."""
    seen = []

    def low(state):
        seen.append(state.t)
        return state.q[0] < 0.5

    sol = jo.solve(falling(), jo.Maury(), t=1.0, h=0.03, every=7, until=low)
    assert sol.status == "stopped"
    np.testing.assert_allclose(sol.t, [0.0, 0.21, 0.33], rtol=1e-14)
    assert sol.q[-1][0] == pytest.approx(1.0 - 10.0 * 0.03**2 * 11 * 12 / 2, rel=1e-13)
    assert len(sol.stats) == len(seen) == 11


def test_each_end_of_a_run_has_its_word_and_its_message():
    """A condition may be an array of NumPy; "blocked" is the only word that it may say."""
    for said, status, message in [
        (False, "finished", "reached the end time"),
        (np.bool_(False), "finished", "reached the end time"),
        (True, "stopped", "stopping condition met"),
        (np.bool_(True), "stopped", "stopping condition met"),
        ("blocked", "blocked", "blocked: nobody has moved for a while"),
    ]:
        seen = []
        sol = jo.solve(falling(), jo.Maury(), t=1.0, h=0.1, until=lambda state, said=said: said, progress=seen.append)
        assert (sol.status, sol.message) == (status, message)
        assert seen[-1].status == status
        assert len(sol.stats) == (10 if status == "finished" else 1)


def test_until_that_never_holds_changes_nothing():
    sol = jo.solve(falling(), jo.Maury(), t=1.0, h=0.1, until=lambda state: False)
    assert (sol.status, len(sol.t)) == ("finished", 11)


# --- the solution ---


def test_a_solution_is_affine_between_its_times():
    sol = jo.solve(falling(), jo.Maury(), t=0.3, h=0.1)
    np.testing.assert_allclose(sol.q[:, 0], [1.0, 0.9, 0.7, 0.4], rtol=1e-14)
    np.testing.assert_allclose(sol(0.15), [0.8], rtol=1e-14)
    np.testing.assert_allclose(
        sol(np.array([0.0, 0.05, 0.225, sol.t[-1]])), [[1.0], [0.95], [0.625], [0.4]], rtol=1e-13
    )
    for outside in (-0.01, 0.31, np.array([0.1, 0.4])):
        with pytest.raises(jo.InvalidValue, match=r"t must lie in \[0, 0\.3\]"):
            sol(outside)


def test_a_solution_of_bodies_is_affine_too():
    sol = jo.solve(drift(jo.Venel(), np.zeros((3, 2))), jo.Venel(), t=1.0, h=0.5)
    assert sol(0.25).shape == (3, 2)
    assert sol(np.array([0.25, 0.75])).shape == (2, 3, 2)
    np.testing.assert_allclose(sol(np.array([0.25, 0.75]))[:, 1, 0], [0.25, 0.75], rtol=1e-14)


@every_scheme
def test_the_statistics_have_one_record_for_each_step(scheme):
    """Two discs and a wall: two rows of the wall and one of the pair."""
    within = jo.Balls([0.5, 0.5]) & jo.HalfSpace([-1.0, 0.0], -3.0, radii=0.5)
    sol = jo.solve(drift(scheme, [[0.0, 0.0], [1.5, 0.0]], within), scheme, t=2.0, h=0.1)
    assert sol.stats.dtype.names == (
        "t", "h", "rows", "active", "iterations", "primal", "dual", "complementarity", "overshoot", "converged",
        "solver", "dissipated", "wall_work",
    )  # fmt: skip
    assert len(sol.stats) == 20
    np.testing.assert_allclose(sol.stats["t"], np.arange(1, 21) * 0.1, rtol=1e-12)
    assert sol.stats["converged"].all()
    assert set(sol.stats["rows"]) <= {0, 1, 2, 3}  # what is out of reach may be left out
    assert sol.stats["active"].max() == 2
    assert sol.stats["active"][0] == sol.stats["iterations"][0] == 0
    assert (sol.stats["active"] <= sol.stats["rows"]).all()
    assert set(sol.stats["solver"]) <= {"ActiveSet", "Automatic"}
    worst = max(sol.stats[name].max() for name in ("primal", "dual", "complementarity"))
    assert sol.residual == worst <= 1e-8


@every_scheme
def test_each_saved_time_has_its_multipliers_and_their_pairs(scheme):
    within = jo.Balls([0.5, 0.5]) & jo.HalfSpace([-1.0, 0.0], -3.0, radii=0.5)
    sol = jo.solve(drift(scheme, [[0.0, 0.0], [1.5, 0.0]], within), scheme, t=2.0, h=0.1, every=2)
    assert len(sol.multipliers) == len(sol.pairs) == len(sol.t)
    assert len(sol.multipliers[0]) == len(sol.pairs[0]) == 0
    for p, pairs in zip(sol.multipliers[1:], sol.pairs[1:], strict=True):
        assert pairs.shape == (len(p), 2)
        assert (p >= 0.0).all()
        assert {tuple(pair) for pair in pairs.tolist()} <= {(0, 1), (0, -1), (1, -1)}


def test_gaps_are_the_smallest_at_each_saved_time():
    sol = jo.solve(falling(), jo.Maury(), t=1.0, h=0.1, every=3)
    np.testing.assert_allclose(sol.gaps(), sol.q[:, 0], atol=1e-15)
    table = jo.Sweeping(q0=[2.0], within=jo.HalfSpace([1.0], lambda t: t))
    np.testing.assert_allclose(jo.solve(table, jo.Venel(), t=3.0, h=1.0).gaps(), [2.0, 1.0, 0.0, 0.0], atol=1e-14)


# --- energy ---


def test_energy_of_a_constant_force_is_kinetic_and_potential():
    """Paoli's first step is exact in free flight: m u^2 / 2 at the middle of a step, -f q at its end."""
    ball = jo.Motion(q0=[[0.0, 5.0]], v0=[[1.0, 0.0]], force=[[0.0, -20.0]], mass=2.0)
    sol = jo.solve(ball, jo.Paoli(), t=0.5, h=0.1)
    energy = sol.energy()
    velocity = -10.0 * (sol.t[1:] - 0.05)
    np.testing.assert_allclose(energy.kinetic[1:], 0.5 * 2.0 * (1.0 + velocity**2), rtol=1e-12)
    np.testing.assert_allclose(energy.potential, 20.0 * (5.0 - 5.0 * sol.t**2), rtol=1e-12)
    np.testing.assert_allclose(energy.total, energy.kinetic + energy.potential, rtol=1e-15)
    assert energy.kinetic[0] == 1.0


def test_energy_uses_the_kinetic_metric():
    M = np.array([[2.0, 1.0], [1.0, 3.0]])
    for mass in (M, lambda q: M):
        sol = jo.solve(jo.Motion(q0=[0.0, 0.0], v0=[1.0, -2.0], mass=mass), jo.Paoli(), t=0.2, h=0.1)
        np.testing.assert_allclose(sol.energy().kinetic, 0.5 * (2.0 - 4.0 + 12.0), rtol=1e-12)


def test_a_force_that_varies_has_no_potential():
    energy = jo.solve(jo.Motion(q0=[1.0], force=lambda t, q: -q), jo.Maury(), t=0.2, h=0.1).energy()
    assert energy.potential is None
    assert energy.total is None


def test_first_order_problems_have_neither_energy_nor_impacts():
    sol = jo.solve(drift(jo.Venel(), [0.0]), jo.Venel(), t=0.2, h=0.1)
    with pytest.raises(jo.InvalidValue, match="no kinetic energy"):
        sol.energy()
    with pytest.raises(jo.InvalidValue, match="no impacts"):
        sol.impacts()


# --- impacts ---


def test_the_table_of_impacts_of_a_bouncing_ball():
    """Times sqrt(2/g) (1 + 2 (e + ... + e^k)) and speeds e^k sqrt(2 g), to a few steps; the impulse is their sum."""
    e, g, h = 0.8, 9.81, 1e-3
    ball = jo.Motion(q0=[0.0, 1.0], v0=[1.0, 0.0], force=[0.0, -g], within=jo.HalfSpace([0, 1]), law=jo.Restitution(e))
    impacts = jo.solve(ball, jo.Paoli(), t=2.0, h=h).impacts()
    speed = np.sqrt(2.0 * g)
    times = np.sqrt(2.0 / g) * np.array([1.0, 1.0 + 2.0 * e, 1.0 + 2.0 * e + 2.0 * e**2])
    assert len(impacts) == 3
    np.testing.assert_allclose(impacts.t, times, atol=6.0 * h)
    np.testing.assert_allclose(impacts.before, -speed * e ** np.arange(3), atol=3.0 * g * h)
    np.testing.assert_allclose(impacts.after, speed * e ** np.arange(1, 4), atol=3.0 * g * h)
    np.testing.assert_allclose(impacts.impulse, impacts.after - impacts.before, atol=3.0 * g * h)
    assert impacts.pairs.tolist() == [[0, -1]] * 3
    lines = str(impacts).splitlines()
    assert lines[0] == "3 impacts"
    assert lines[1].split() == ["t", "pair", "before", "after", "impulse"]
    assert len(lines) == 5
    for line, t, before, after, impulse in zip(
        lines[2:], impacts.t, impacts.before, impacts.after, impacts.impulse, strict=True
    ):
        first, body, dash, wall, number, *numbers = line.split()
        assert (body, dash, wall, number) == ("0", "-", "wall", "0")
        np.testing.assert_allclose(float(first), t, atol=5.1e-5)
        np.testing.assert_allclose([float(text) for text in numbers], [before, after, impulse], atol=5.1e-5)


def test_impacts_are_iterated_as_plain_numbers():
    ball = jo.Motion(q0=[1.0], v0=[-2.0], mass=3.0, within=jo.HalfSpace([1.0]))
    (impact,) = jo.solve(ball, jo.Maury(), t=1.0, h=0.1).impacts()
    t, pair, before, after, impulse = impact
    assert pair == (0, -1)
    assert abs(t - 0.5) <= 0.1 + 1e-12
    assert [type(value) for value in (t, before, after, impulse)] == [float] * 4
    np.testing.assert_allclose([before, after, impulse], [-2.0, 0.0, 6.0], atol=1e-12)


def test_slow_impacts_can_be_left_out():
    ball = falling(law=jo.Restitution(0.5))
    sol = jo.solve(ball, jo.Paoli(), t=1.2, h=1e-3)
    everything, hard = sol.impacts(), sol.impacts(speed=2.0)
    assert len(everything) == 3
    np.testing.assert_allclose(hard.before, [-np.sqrt(20.0), -np.sqrt(5.0)], atol=0.05)


def test_impacts_name_bodies_walls_and_rows():
    """Ball 0 hits ball 1, both hit a wall with ball 1 ahead; another point hits a constraint that a user wrote."""
    within = jo.Balls([0.5, 0.5]) & jo.HalfSpace([-1.0, 0.0], -4.0, radii=0.5)
    q0, v0 = [[0.0, 0.0], [2.0, 0.0]], [[2.0, 0.0], [0.0, 0.0]]
    sol = jo.solve(jo.Motion(q0=q0, v0=v0, within=within), jo.Maury(), t=3.0, h=0.01)
    impacts = sol.impacts(speed=0.5)
    assert impacts.pairs.tolist() == [[0, 1], [1, -1]]
    np.testing.assert_allclose(impacts.t, [0.5, 2.0], atol=0.03)
    np.testing.assert_allclose(impacts.impulse, [1.0, 2.0], atol=1e-9)
    assert "0 - 1 " in str(impacts)
    assert "1 - wall 0" in str(impacts)
    floor = jo.constraints(lambda t, q: [q[0]])
    fall = jo.solve(jo.Motion(q0=[1.0], v0=[-1.0], within=floor), jo.Maury(), t=2.0, h=0.1)
    assert fall.impacts().pairs.tolist() == [[-1, 0]]
    assert "row 0" in str(fall.impacts())


def test_a_wall_that_moves_hits_with_its_own_speed():
    """P13: the wall 2 t - t^2 / 2 meets a resting mass at 0.585786437627 with speed 1.41421356237."""
    wall = jo.HalfSpace([1.0], lambda t: 2.0 * t - t**2 / 2.0)
    h = 1e-3
    sol = jo.solve(jo.Motion(q0=[1.0], within=wall), jo.Maury(), t=1.0, h=h)
    impacts = sol.impacts(speed=0.1)
    assert len(impacts) == 1
    assert impacts.t[0] == pytest.approx(0.585786437627, abs=2.0 * h)
    assert impacts.before[0] == pytest.approx(-1.41421356237, abs=4.0 * h)
    assert impacts.after[0] == pytest.approx(0.0, abs=4.0 * h)
    assert impacts.impulse[0] == pytest.approx(1.41421356237, abs=4.0 * h)


def test_round_off_is_no_impact():
    """Three touching balls fall together: only the lowest hits something."""
    column = jo.Motion(q0=[1.0, 2.0, 3.0], force=[-1.0] * 3, within=jo.Line([0.5] * 3, lower=0.0))
    assert jo.solve(column, jo.Maury(), t=1.5, h=1e-3).impacts().pairs.tolist() == [[0, -1]]


@every_motion_scheme
def test_no_impact_is_an_empty_table(scheme):
    impacts = jo.solve(drift(scheme, [0.0, 1.0], jo.HalfSpace([0, 1])), scheme, t=1.0, h=0.1).impacts()
    assert len(impacts) == 0
    assert str(impacts).startswith("0 impacts")
    assert impacts.pairs.shape == (0, 2)


# --- what goes wrong is said, with the step ---


def hurried(strict):
    """A column of three balls on the floor, projected by a solver that is not given the time."""
    column = jo.Motion(q0=[0.5, 1.5, 2.5], force=[-9.81] * 3, within=jo.Line([0.5] * 3, lower=0.0))
    return jo.solve(column, jo.Maury(solver=jo.GaussSeidel(max_iterations=1)), t=0.3, h=0.1, strict=strict)


def test_a_projection_that_does_not_converge_stops_the_run():
    with pytest.raises(
        jo.NotConverged, match=r"^step 1 \(t = 0\.1\): GaussSeidel stopped after 1 iterations"
    ) as caught:
        hurried(strict=True)
    assert "strict=False" in str(caught.value)
    assert (caught.value.step, caught.value.time) == (1, 0.1)
    assert not caught.value.projection.converged
    assert caught.value.solution.status == "failed"
    assert caught.value.solution.t.tolist() == [0.0]


def test_without_strict_it_is_recorded_instead():
    sol = hurried(strict=False)
    assert sol.status == "not converged"
    assert len(sol.t) == 4
    assert not sol.stats["converged"].all()
    assert sol.residual > 1e-6


def test_a_run_that_did_not_converge_does_not_say_that_it_stopped_well():
    column = jo.Motion(q0=[0.5, 1.5, 2.5], force=[-9.81] * 3, within=jo.Line([0.5] * 3, lower=0.0))
    scheme = jo.Maury(solver=jo.GaussSeidel(max_iterations=1))
    sol = jo.solve(column, scheme, t=0.3, h=0.1, strict=False, until=lambda state: state.t > 0.15)
    assert sol.status == "not converged"
    assert len(sol.t) == 3


@pytest.mark.parametrize("device", ["gpu", "", "CPU"])
def test_another_device_is_refused(device):
    with pytest.raises(jo.errors.DeviceUnavailable, match=f"device '{device}' is not supported"):
        jo.solve(falling(), jo.Maury(), t=1.0, h=0.1, device=device)
    assert issubclass(jo.errors.DeviceUnavailable, RuntimeError)


class Mine(Exception):
    """What a user's own code raises."""


def fails_after(t, q):
    if t > 0.44:
        raise Mine("no such force")
    return np.zeros_like(q)


def fails_when_late(state):
    if state.t > 0.44:
        raise Mine("no such condition")
    return False


@jo.constraints
def fails_as_a_set(t, q):
    if t > 0.44:
        raise Mine("no such wall")
    return [q[0] + 9.0]


@pytest.mark.parametrize(
    ("problem", "scheme", "until"),
    [
        (jo.Motion(q0=[0.0], force=fails_after), jo.Maury(samples=1), None),
        (jo.Motion(q0=[0.0], force=lambda t, q: fails_after(t + 0.09, q)), jo.Paoli(), None),
        (jo.Motion(q0=[0.0], within=fails_as_a_set), jo.Maury(), None),
        (jo.Sweeping(q0=[0.0], velocity=lambda t, q: fails_after(t + 0.09, q)), jo.Venel(), None),
        (jo.Sweeping(q0=[0.0], within=fails_as_a_set), jo.CatchingUp(), None),
        (jo.Motion(q0=[0.0]), jo.Maury(), fails_when_late),
    ],
    ids=["force", "force of Paoli", "set", "velocity", "set of CatchingUp", "until"],
)
def test_an_error_of_the_user_passes_unchanged_with_a_note_of_the_step(problem, scheme, until):
    with pytest.raises(Mine, match="no such") as caught:
        jo.solve(problem, scheme, t=1.0, h=0.1, until=until)
    assert caught.value.__notes__ == ["in step 5 (t = 0.5); error.solution has what was computed before"]
    assert caught.value.solution.t[-1] == pytest.approx(0.4)


@every_scheme
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_not_finite_stops_the_run_at_its_step(scheme, value):
    def field(t, q):
        return np.where([False, t > 0.25], value, 0.0)

    problem = jo.Motion(q0=[0.0, 1.0], force=field) if type(scheme) in map(type, MOTION_SCHEMES) else None
    problem = problem or jo.Sweeping(q0=[0.0, 1.0], velocity=field)
    with pytest.raises(jo.errors.NotFinite, match=r"(force|velocity) is (nan|inf) at index \(1,\)") as caught:
        jo.solve(problem, scheme, t=1.0, h=0.1)
    assert caught.value.step in (3, 4)
    assert caught.value.time == pytest.approx(0.1 * caught.value.step)
    assert str(caught.value).startswith(f"step {caught.value.step} (t = {caught.value.time:.6g}): ")
    assert len(caught.value.solution.t) == caught.value.step
    assert caught.value.solution.status == "failed"


def test_a_number_for_q_is_enough_and_its_errors_too():
    """q0 a plain number: a configuration of shape ()."""
    ball = jo.Motion(q0=1.0, force=-10.0, within=jo.HalfSpace([1.0]))
    sol = jo.solve(ball, jo.Maury(), t=1.0, h=0.01)
    assert sol.q.shape == (101,)
    assert sol.q[-1] == pytest.approx(0.0, abs=1e-12)
    with pytest.raises(jo.errors.NotFinite, match="force is nan"):
        jo.solve(jo.Motion(q0=1.0, force=lambda t, q: np.nan), jo.Maury(), t=1.0, h=0.1)


def test_closing_walls_keep_what_was_computed_before():
    """P17: four growing balls in a box of length 10 jam at t = 3.75; the error comes at 3.8 and names the walls."""
    row = jo.Motion(q0=[1.0, 2.2, 5.0, 8.0], within=jo.Line(lambda t: np.full(4, 0.5 + 0.2 * t), lower=0.0, upper=10.0))
    with pytest.raises(jo.errors.EmptySet, match=r"^step 38 \(t = 3\.8\): .*lower wall.*upper wall") as caught:
        jo.solve(row, jo.Maury(), t=5.0, h=0.1)
    sol = caught.value.solution
    assert sol.t[-1] == pytest.approx(3.7)
    np.testing.assert_allclose(sol.q[-1], [1.25, 3.75, 6.25, 8.75], atol=0.08)


def test_a_start_outside_is_refused_before_the_first_step():
    for scheme in MOTION_SCHEMES + SWEEPING_SCHEMES:
        with pytest.raises(jo.InfeasibleStart, match="balls 0 and 1"):
            jo.solve(drift(scheme, [[0.0, 0.0], [0.9, 0.0]], jo.Balls([0.5, 0.5])), scheme, t=1.0, h=0.1)


# --- plain integration ---


def expected_fall(scheme, t, h):
    """From rest under the acceleration -2: exact, or with the missing half kick of Maury's scheme."""
    return -(t**2) - (h * t if isinstance(scheme, jo.Maury) else 0.0)


@every_motion_scheme
@pytest.mark.parametrize(
    "within",
    [None, jo.Free(), jo.Balls([0.5]), jo.Free() & jo.Balls([0.5]), jo.HalfSpace([0.0, 1.0], -1e3)],
    ids=["nothing", "free", "one ball", "free and one ball", "far wall"],
)
def test_without_contacts_a_motion_is_plain_integration(scheme, within):
    one = jo.Motion(q0=[[3.0, 0.0]], v0=[[1.0, 0.0]], force=[[0.0, -6.0]], mass=3.0, within=within)
    sol = jo.solve(one, scheme, t=2.0, h=0.1)
    np.testing.assert_allclose(sol.q[:, 0, 0], 3.0 + sol.t, rtol=1e-12)
    np.testing.assert_allclose(sol.q[:, 0, 1], expected_fall(scheme, sol.t, 0.1), atol=1e-11)
    assert (sol.stats["active"] == 0).all()
    assert (sol.stats["iterations"] == 0).all()


@every_sweeping_scheme
@pytest.mark.parametrize("within", [None, jo.Balls([0.5])], ids=["nothing", "one ball"])
def test_without_contacts_a_sweeping_process_is_eulers_method(scheme, within):
    spiral = jo.Sweeping(q0=[[1.0, 0.0]], velocity=lambda t, q: 0.5 * q + t, within=within)
    q, times = np.array([[1.0, 0.0]]), np.linspace(0.0, 2.0, 21)
    for t in times[:-1]:
        q = q + 0.1 * (0.5 * q + t)
    np.testing.assert_allclose(jo.solve(spiral, scheme, t=2.0, h=0.1).q[-1], q, rtol=1e-12)


@every_motion_scheme
def test_no_ball_on_a_line_is_a_configuration_too(scheme):
    sol = jo.solve(jo.Motion(q0=np.zeros(0), within=jo.Line(np.zeros(0), lower=0.0, upper=1.0)), scheme, t=1.0, h=0.1)
    assert sol.q.shape == (11, 0)


def test_the_arrays_given_are_not_changed_by_a_run():
    q0, v0, force = np.array([1.0]), np.array([-3.0]), np.array([-10.0])
    for scheme in MOTION_SCHEMES:
        jo.solve(jo.Motion(q0=q0, v0=v0, force=force, within=jo.HalfSpace([1.0])), scheme, t=1.0, h=0.1)
    assert (q0[0], v0[0], force[0]) == (1.0, -3.0, -10.0)


@every_scheme
def test_the_same_problem_gives_the_same_bits(scheme):
    within = jo.Balls([0.5, 0.5]) & jo.HalfSpace([-1.0, 0.0], -3.0, radii=0.5)
    runs = [jo.solve(drift(scheme, [[0.0, 0.0], [1.5, 0.1]], within), scheme, t=2.0, h=0.1) for _ in range(2)]
    assert runs[0].q.tobytes() == runs[1].q.tobytes()


def test_a_run_that_ends_at_an_error_computes_each_step_once(monkeypatch, tmp_path):
    """Discs swell in a box; the last step has no solution, and the run stops before it."""
    steps, step = [], jo.Maury.step
    monkeypatch.setattr(jo.Maury, "step", lambda self, *given: steps.append(1) or step(self, *given))
    swelling = jo.Motion(q0=[[1.0], [5.0]], within=jo.Balls(lambda t: np.full(2, 1.0 + t)) & jo.Box([0.0], [6.0]))
    output, where = tmp_path / "run.vtkhdf", tmp_path / "run.checkpoint"
    sol = jo.solve(
        swelling,
        jo.Maury(),
        t=1.0,
        h=0.1,
        every=3,
        until=jo.stopping.Jammed(),
        output=jo.io.Output(output, checkpoint=where),
    )
    assert (sol.status, len(steps), sol.t[-1].round(9)) == ("stopped", 6, 0.5)
    again = jo.solve(
        swelling,
        jo.Maury(),
        t=1.0,
        h=0.1,
        every=3,
        until=jo.stopping.Jammed(),
        output=jo.io.Output(output, checkpoint=where, resume=True),
    )
    assert again.t.tolist() == sol.t.tolist()
    with pytest.raises(jo.errors.EmptySet):
        jo.solve(swelling, jo.Maury(), t=1.0, h=0.1)
