"""Paoli's scheme warns of impacts that its step cannot tell apart, and only of those; the step it names is enough."""

import re
import warnings

import numpy as np
import pytest

import jostle as jo

LAST_LEAVES = [0.0, 0.0, 0.0, 0.0, 1.0]


def balls_in_a_row(gap, *, first):
    """Five balls of diameter 1 on a line; ball 0 comes with velocity 1 from a distance `first`."""
    q0 = np.array([0.0, *(1.0 + first + (1.0 + gap) * np.arange(4))])
    v0 = [1.0, 0.0, 0.0, 0.0, 0.0]
    return jo.Motion(q0=q0, v0=v0, within=jo.Line(np.full(5, 0.5)), law=jo.Restitution(1.0))


def advised(warned):
    return float(re.search(r"Choose h up to ([0-9.e-]+)", str(warned[0].message))[1])


def energy(sol):
    kinetic = sol.energy().kinetic
    return kinetic[-1] / kinetic[0]


@pytest.mark.parametrize("gap", [4e-3, 1e-3, 1e-4])
def test_two_impacts_within_two_steps_are_told_with_a_step_that_is_short_enough(gap):
    """Without the warning: 1.2 times the energy, at gap = 1e-3 and h = 0.01."""
    row = balls_in_a_row(gap, first=0.0555)
    with pytest.warns(jo.errors.CloseImpacts, match=r"balls 0 and 1 and balls 1 and 2 collide within") as warned:
        wrong = jo.solve(row, jo.Paoli(), t=0.3, h=0.01)
    assert len(warned) == 1  # once a run
    assert np.abs(wrong.u[-1] - LAST_LEAVES).max() > 0.1
    h = advised(warned)
    np.testing.assert_allclose(h, gap / 2, rtol=0.1)
    fine = np.full(int(np.ceil((0.06 + 5 * gap) / h)), h)
    right = jo.solve(row, jo.Paoli(), t=fine.sum(), h=fine, every=1000)  # a warning would be an error
    np.testing.assert_allclose(right.u[-1], LAST_LEAVES, atol=1e-9)


@pytest.mark.parametrize(
    ("light", "gap"), [(0.5, 0.012), (0.5, 0.014), (0.1, 0.012), (0.1, 0.014), (0.1, 0.016)]
)  # fmt: skip
def test_a_light_ball_that_flies_off_to_a_third_one_is_told_of(light, gap):
    """Before the first impact the second pair is further apart than its velocities reach: 1.7 to 7 % of the energy."""
    q0 = [[0.0, 0.0], [1.051, 0.0], [2.051 + gap, 0.0]]
    row = {"q0": q0, "v0": [[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]], "mass": [2.0, light, 2.0]}
    motion = jo.Motion(**row, within=jo.Balls(np.full(3, 0.5)), law=jo.Restitution(1.0))
    with pytest.warns(jo.errors.CloseImpacts, match="balls 0 and 1 and balls 1 and 2 collide within") as warned:
        wrong = jo.solve(motion, jo.Paoli(), t=0.2, h=0.01)
    assert energy(wrong) < 0.99
    assert advised(warned) < 0.01


def test_an_oblique_impact_of_two_discs_keeps_its_energy_up_to_the_step_and_needs_no_warning():
    """The impact takes two steps, in which the normal turns: an error of order 1, and none in a central impact."""

    def change(h, offset):
        starts = ([[0.0, offset], [1.3 + shift * h, 0.0]] for shift in np.linspace(0.0, 1.0, 5))
        discs = (
            jo.Motion(q0=q0, v0=[[1.0, 0.0], [0.0, 0.0]], within=jo.Balls([0.5, 0.5]), law=jo.Restitution(1.0))
            for q0 in starts
        )
        return max(abs(energy(jo.solve(two, jo.Paoli(), t=0.9, h=h, every=1000)) - 1.0) for two in discs)

    assert change(0.02, 0.0) < 1e-12
    coarse, fine = change(0.02, 0.7), change(0.005, 0.7)
    assert coarse < 0.4 * 0.02  # h v / d
    assert fine < 0.4 * coarse


def test_an_impact_in_the_first_step_is_told():
    """Newton's cradle with gaps of 1e-4 kept a fifth of its energy, in silence."""
    cradle = jo.models.cradle(5, gap=1e-4)
    with pytest.warns(
        jo.errors.CloseImpacts, match="balls 0 and 1 collide in the first step, which has no restit"
    ) as warned:
        wrong = jo.solve(cradle, jo.Paoli(), t=0.5, h=0.01)
    assert energy(wrong) < 0.21
    right = jo.solve(cradle, jo.Paoli(), t=1e-3, h=advised(warned))
    np.testing.assert_allclose(right.u[-1], LAST_LEAVES, atol=1e-12)


@pytest.mark.parametrize("first", [0.0555, 1e-3])
def test_the_warning_names_the_line_that_called_solve(first):
    with pytest.warns(jo.errors.CloseImpacts) as warned:
        jo.solve(balls_in_a_row(1e-3, first=first), jo.Paoli(), t=0.1, h=0.01)
    assert warned[0].filename == __file__


def test_a_start_in_an_impact_is_told_to_begin_earlier():
    touching = jo.Motion(q0=[0.0, 1.0], v0=[1.0, 0.0], within=jo.Line([0.5, 0.5]), law=jo.Restitution(1.0))
    with pytest.warns(jo.errors.CloseImpacts, match="Start before the impact"):
        jo.solve(touching, jo.Paoli(), t=0.5, h=0.1)


@pytest.mark.parametrize("gap", [1e-4, 1e-2, 0.3])
def test_moreau_jean_takes_the_collisions_of_a_cradle_one_by_one_with_any_step(gap):
    sol = jo.solve(jo.models.cradle(5, gap=gap), jo.MoreauJean(), t=2.0, h=0.01)
    np.testing.assert_allclose(sol.u[-1], LAST_LEAVES, atol=1e-12)
    np.testing.assert_allclose(energy(sol), 1.0, rtol=1e-12)


def test_steps_that_are_short_while_balls_collide_give_the_exact_cradle():
    h = np.concatenate([np.full(20, 5e-5), np.full(100, 0.01)])
    sol = jo.solve(jo.models.cradle(5, gap=1e-4), jo.Paoli(), t=h.sum(), h=h)
    np.testing.assert_allclose(sol.u[-1], LAST_LEAVES, atol=1e-12)


QUIET = {
    "balls that touch are hit at once": lambda: (jo.models.cradle(5), 0.01),
    "two pairs far from each other": lambda: (
        jo.Motion(
            q0=[0.0, 1.05, 10.0, 11.0503],
            v0=[1.0, 0.0, 1.0, 0.0],
            within=jo.Line(np.full(4, 0.5)),
            law=jo.Restitution(1.0),
        ),
        0.01,
    ),
    "both walls of a right corner": lambda: (
        jo.Motion(q0=[1.0, 1.003], v0=[-1.0, -1.0], within=jo.Box(0.0, [9.0, 9.0]), law=jo.Restitution(1.0)),
        0.01,
    ),
    "two balls hit at the same time": lambda: (
        jo.Motion(
            q0=[[0.0, 0.0], [1.5, 0.6], [1.5, -0.6]],
            v0=[[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]],
            within=jo.Balls(np.full(3, 0.5)),
            law=jo.Restitution(1.0),
        ),
        0.01,
    ),
    "a ball that bounces to rest": lambda: (
        jo.Motion(q0=[0.3], force=[-9.81], within=jo.HalfSpace([1.0]), law=jo.Restitution(0.5)),
        0.01,
    ),
    "a column that falls and comes to rest": lambda: (jo.models.chain(3, height=0.05, e=0.0), 0.01),
    "a ball that falls on one at rest": lambda: (
        jo.Motion(
            q0=[0.5, 1.8], force=[-9.81, -9.81], within=jo.Line(np.full(2, 0.5), lower=0.0), law=jo.Restitution(0.5)
        ),
        0.002,
    ),
    "a point that slides along the inside of a circle": lambda: (
        jo.Motion(q0=[0.0, -0.999], v0=[1.0, 0.0], within=jo.Inside([0.0, 0.0], 1.0), law=jo.Restitution(1.0)),
        0.01,
    ),
}


@pytest.mark.parametrize("problem", QUIET.values(), ids=QUIET)
def test_there_is_no_warning_where_impacts_are_apart_simultaneous_or_not_coupled(problem):
    motion, h = problem()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        jo.solve(motion, jo.Paoli(), t=1.5, h=h)


def one_by_one(q, v, mass, e, until):
    """The velocities of balls of diameter 1 on a line at the end, and the times of all collisions."""
    q, v, t, times = q.copy(), v.copy(), 0.0, []
    while True:
        gap, speed = np.maximum(np.diff(q) - 1.0, 0.0), -np.diff(v)
        wait = np.divide(gap, speed, out=np.full(len(gap), np.inf), where=speed > 1e-12)
        k = int(np.argmin(wait))
        if t + wait[k] > until:
            return v, times
        q, t = q + wait[k] * v, t + wait[k]
        times.append(t)
        pair, impulse = [k, k + 1], (1.0 + e) * speed[k] / (1.0 / mass[k] + 1.0 / mass[k + 1])
        v[pair] += np.array([-impulse, impulse]) / mass[pair]


@pytest.mark.parametrize("seed", range(12))
def test_a_run_is_right_or_warns(seed):
    """Random balls on a line beside collisions one by one: no wrong velocity in silence, no warning of a right one."""
    random, end, checked = np.random.default_rng(seed), 0.6, 0
    while checked < 4:
        n, e = int(random.integers(3, 6)), float(random.choice([0.5, 0.8, 1.0]))
        gaps = np.array([random.uniform(0.05, 0.09), *(10.0 ** random.uniform(-4.0, -1.2, n - 2))])
        q0, mass = np.array([0.0, *np.cumsum(1.0 + gaps)]), random.choice([0.5, 1.0, 2.0], n)
        v0 = np.array([1.0, *random.uniform(-0.2, 0.2, n - 1)])
        _, times = one_by_one(q0, v0, mass, e, end + 0.1)
        if times and max(times) > 0.4:  # a late collision is seen two steps late
            continue
        row = jo.Motion(q0=q0, v0=v0, mass=mass, within=jo.Line(np.full(n, 0.5)), law=jo.Restitution(e))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = jo.solve(row, jo.Paoli(), t=end, h=0.01, every=100).u[-1]
        exact, _ = one_by_one(q0, v0, mass, e, end)
        right = np.abs(found - exact).max() < 1e-9
        assert right != any(issubclass(one.category, jo.errors.CloseImpacts) for one in caught), (q0, v0, mass, e)
        checked += 1


def test_a_scheme_that_refuses_the_problem_is_not_recommended():
    heavy = jo.Motion(
        q0=[0.0, 1.001, 2.002],
        v0=[1.0, 0.0, 0.0],
        within=jo.Line(np.full(3, 0.5)),
        mass=lambda q: np.eye(3),
        law=jo.Restitution(1.0),
    )
    with pytest.warns(jo.errors.CloseImpacts) as warned:
        jo.solve(heavy, jo.Paoli(), t=0.1, h=0.01)
    assert "MoreauJean" not in str(warned[0].message)


def test_the_warning_is_not_repeated_after_a_resume(tmp_path):
    row, file = balls_in_a_row(1e-3, first=0.0555), tmp_path / "row.checkpoint"
    with pytest.warns(jo.errors.CloseImpacts):
        jo.solve(row, jo.Paoli(), t=0.2, h=0.01, output=jo.io.Output(checkpoint=file))
    jo.solve(row, jo.Paoli(), t=0.3, h=0.01, output=jo.io.Output(checkpoint=file, resume=True))


def test_paoli_goes_on_from_a_velocity_that_a_change_gave():
    """Positions alone do not know it: the scheme starts anew."""
    ball = jo.Motion(q0=[0.0], v0=[1.0])

    def stop(state):
        return state.replace(u=np.zeros(1)) if 0.45 < state.t < 0.55 else state

    for scheme in (jo.Paoli(), jo.Maury(), jo.MoreauJean()):
        sol = jo.solve(ball, scheme, t=1.0, h=0.1, changes=stop)
        np.testing.assert_allclose(sol.q[-1], [0.5], atol=0.051)
        assert sol.u[-1] == 0.0
