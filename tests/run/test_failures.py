"""What happens when it cannot be done: one section for each failure mode, with the required reaction.

An error in the middle of a run names the step, who is concerned and what came, says what to do about it, and carries
what was computed before it: nothing written before is lost.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

import jostle as jo

FLOOR = jo.HalfSpace([1.0])
SECOND_ORDER = [jo.Maury(), jo.Paoli(), jo.MoreauJean()]
FIRST_ORDER = [jo.Venel(), jo.CatchingUp()]
SCHEMES = SECOND_ORDER + FIRST_ORDER
SOLVERS = [jo.ActiveSet(), jo.InteriorPoint(tol=1e-10), jo.GaussSeidel(tol=1e-10, max_iterations=5000), jo.Automatic()]


def name(member) -> str:
    return type(member).__name__


over_schemes = pytest.mark.parametrize("scheme", SCHEMES, ids=name)
over_second_order = pytest.mark.parametrize("scheme", SECOND_ORDER, ids=name)
over_first_order = pytest.mark.parametrize("scheme", FIRST_ORDER, ids=name)
over_solvers = pytest.mark.parametrize("solver", SOLVERS, ids=name)


def problem_for(scheme, q0, within=None, speed=0.0):
    """Bodies that start with a velocity (second order), or wish to have it (first order)."""
    velocity = np.full(np.shape(q0), speed)
    if isinstance(scheme, jo.Venel | jo.CatchingUp):
        return jo.Sweeping(q0=q0, velocity=velocity, within=within)
    return jo.Motion(q0=q0, v0=velocity, within=within)


def says(error: BaseException, *parts: str) -> None:
    """The message contains each of the parts."""
    for part in parts:
        assert re.search(part, str(error)), f"{part!r} is not in: {error}"


def failed_at(error: jo.JostleError, step: int, h: float, t0: float = 0.0) -> jo.Solution:
    """The error knows its step and time, says them first, and keeps all that came before; returns that."""
    assert error.step == step
    assert error.time == pytest.approx(t0 + step * h, rel=1e-12)
    assert str(error).startswith(f"step {step} (t = {error.time:.6g}): ")
    kept = error.solution
    assert kept.status == "failed"
    assert len(kept.stats) == step - 1
    assert kept.t[-1] == pytest.approx(t0 + (step - 1) * h, abs=1e-12)
    assert np.isfinite(kept.q).all()
    assert np.isfinite(kept.u).all()
    return kept


def same_run(kept: jo.Solution, expected: jo.Solution) -> None:
    """What was kept is, to the last bit, a run that ended before the failure."""
    assert np.array_equal(kept.t, expected.t)
    assert np.array_equal(kept.q, expected.q)
    assert np.array_equal(kept.u, expected.u)
    assert all(np.array_equal(p, r) for p, r in zip(kept.multipliers, expected.multipliers, strict=True))
    assert all(np.array_equal(a, b) for a, b in zip(kept.pairs, expected.pairs, strict=True))
    assert np.array_equal(kept.stats, expected.stats)


# q0 outside Q(0)


@over_schemes
def test_an_overlapping_start_is_refused_with_the_pair_the_gap_and_a_remedy(scheme):
    """Overlap: the error names the pair and the gap, and its remedy gives a start that works."""
    q0 = np.array([[0.0, 0.0], [1.9, 0.0], [9.0, 0.0]])
    discs = jo.Balls([1.0, 1.0, 1.0])
    with pytest.raises(jo.InfeasibleStart) as raised:
        jo.solve(problem_for(scheme, q0, discs), scheme, t=1.0, h=0.1)
    says(raised.value, "balls 0 and 1", r"-1\.00e-01", "[Mm]ove them apart", r"jo\.nearest\(q0, within\)\.point")
    assert str(raised.value).count("balls") == 1
    assert isinstance(raised.value, ValueError)
    sol = jo.solve(problem_for(scheme, jo.nearest(q0, discs).point, discs), scheme, t=1.0, h=0.1)
    np.testing.assert_allclose(sol.q[-1], [[-0.05, 0.0], [1.95, 0.0], [9.0, 0.0]], atol=1e-9)


@pytest.mark.parametrize(
    ("within", "q0", "who", "gap"),
    [
        (jo.HalfSpace([0.0, 2.0], 1.0), [3.0, 0.25], "plane with normal", "-2.50e-01"),
        (jo.Box([0.0, 0.0], [1.0, 1.0]), [0.5, 1.5], r"wall q\[1\] <= upper", "-5.00e-01"),
        (jo.Outside([[9.0, 9.0], [0.0, 0.0]], 1.0), [0.0, 0.5], "body 0 and obstacle 1", "-5.00e-01"),
        (jo.Inside([0.0, 0.0], 1.0), [0.0, 2.0], "body 0 and container 0", "-1.00e[+]00"),
        (jo.Segments([[[0.0, 0.0], [4.0, 0.0]]], radii=0.5), [2.0, 0.25], "body 0 and segment", "-2.50e-01"),
        (jo.constraints(lambda t, q: [q[0], 1.0 - q[1]]), [0.5, 3.0], "constraint 1", "-2.00e[+]00"),
        (jo.Line([0.5, 0.5]), [0.0, 0.75], "balls 0 and 1", "-2.50e-01"),
        (jo.Line([0.5, 0.5], lower=0.0), [0.25, 5.0], "ball 0 and the lower wall", "-2.50e-01"),
    ],
)
def test_every_set_names_who_is_outside(within, q0, who, gap):
    """Overlap: whichever set it is, the constraint and its value are named."""
    with pytest.raises(jo.InfeasibleStart) as raised:
        jo.solve(jo.Motion(q0=q0, within=within), jo.Paoli(), t=1.0, h=0.1)
    says(raised.value, who, gap, "nearest")


@over_schemes
def test_a_hair_of_overlap_is_no_kick(scheme):
    """Overlap of round-off, 1e-12 of a radius: accepted, and nobody is pushed farther than the overlap."""
    q0 = np.array([[0.0, 0.0], [2.0 - 1e-12, 0.0]])
    sol = jo.solve(problem_for(scheme, q0, jo.Balls([1.0, 1.0])), scheme, t=0.01, h=1e-3)
    np.testing.assert_allclose(sol.q[-1], q0, atol=1e-10)


# u0 not in C


@over_solvers
@pytest.mark.parametrize("scheme", [jo.Maury, jo.Paoli, jo.MoreauJean])
def test_a_velocity_that_points_outwards_is_projected_in_the_first_step(scheme, solver):
    """q0 on the boundary and u0 not in C: accepted; u^1 is the projection of u0, here (3, 0) of (3, -1)."""
    ball = jo.Motion(q0=[0.0, 0.0], v0=[3.0, -1.0], within=jo.HalfSpace([0.0, 1.0]))
    sol = jo.solve(ball, scheme(solver=solver), t=0.2, h=0.1)
    np.testing.assert_allclose(sol.u[1], [3.0, 0.0], atol=np.sqrt(2.0 * solver.tol))
    assert sol.status == "finished"


# e outside [0, 1]


@pytest.mark.parametrize("e", [-0.1, -1e-9, 1.0 + 1e-9, 2.0, np.nan, np.inf, -np.inf])
def test_a_restitution_outside_the_unit_interval_is_refused(e):
    """e < 0, e > 1, e = NaN: a ValueError that names the value and the reason."""
    with pytest.raises(ValueError, match=r"must lie in \[0, 1\]") as raised:
        jo.Restitution(e)
    assert isinstance(raised.value, jo.InvalidValue)
    says(raised.value, str(e).replace("+", r"\+"), r"e\^2")


@pytest.mark.parametrize("e", [0, 0.0, 0.5, 1.0, 1])
def test_the_ends_of_the_unit_interval_are_restitutions(e):
    """e = 0 and e = 1 are allowed."""
    assert jo.Restitution(e).e == e


# Gradients that are not there


@over_schemes
def test_coincident_centres_are_refused_by_name(scheme):
    """|q_i - q_j| = 0: the error names the pair and says to move one."""
    q0 = [[5.0, 5.0], [1.0, 1.0], [1.0, 1.0]]
    with pytest.raises(jo.errors.UndefinedGradient) as raised:
        jo.solve(problem_for(scheme, q0, jo.Balls([0.5, 0.5, 0.5])), scheme, t=1.0, h=0.1)
    says(raised.value, "balls 1 and 2", r"\[1\.0, 1\.0\]", "move one")


@pytest.mark.parametrize("scheme", [jo.Maury(), jo.Venel()], ids=name)
def test_the_centre_of_an_obstacle_has_no_gradient(scheme):
    """A body at the centre of an obstacle: the error names both, and what to do."""
    q0 = [[9.0, 0.0], [0.0, 0.0]]
    with pytest.raises(jo.errors.UndefinedGradient) as raised:
        jo.solve(problem_for(scheme, q0, jo.Outside([[4.0, 0.0], [0.0, 0.0]], 1.0)), scheme, t=1.0, h=0.1)
    says(raised.value, "body 1", "obstacle 1", "move it off")


@over_schemes
def test_an_active_constraint_without_gradient_is_an_error(scheme):
    """g = |q|^2 at 0: active, with gradient zero."""
    well = jo.constraints(lambda t, q: [q[1] + 5.0, q @ q])
    with pytest.raises(jo.errors.UndefinedGradient) as raised:
        jo.solve(problem_for(scheme, [0.0, 0.0], well), scheme, t=1.0, h=0.1)
    says(raised.value, "constraint 1", "gradient is", "no direction")


@pytest.mark.parametrize("slope", [0.0, np.nan, np.inf])
def test_a_gradient_that_vanishes_later_is_an_error_at_that_step(slope):
    """A floor whose gradient becomes zero or not finite at t = 0.35, under a ball that rests on it."""
    floor = jo.constraints(
        gradient=lambda t, q: [[0.0, 1.0 if t < 0.35 else slope]], convex=True, length=1.0
    )(lambda t, q: [q[1]])  # fmt: skip
    ball = jo.Motion(q0=[0.0, 0.0], v0=[1.0, 0.0], force=[0.0, -1.0], within=floor)
    with pytest.raises(jo.errors.UndefinedGradient) as raised:
        jo.solve(ball, jo.Maury(), t=1.0, h=0.1)
    kept = failed_at(raised.value, step=4, h=0.1)
    says(raised.value, "constraint 0", "gradient")
    same_run(kept, jo.solve(ball, jo.Maury(), t=3 * 0.1, h=0.1))


# Masses and radii


@pytest.mark.parametrize(
    ("mass", "what"),
    [
        (0.0, "positive.* is 0"),
        (-1.0, "positive.* is -1"),
        ([1.0, 0.0], "entry 1 is 0"),
        ([-2.0, 1.0], "entry 0 is -2"),
        ([[1.0, 0.0], [0.0, 0.0]], "not positive definite"),
        ([[1.0, 2.0], [2.0, 1.0]], "not positive definite.* -1"),
        ([[1.0, 0.5], [0.0, 1.0]], r"not symmetric.* 0\.5"),
        (np.nan, "nan"),
        ([np.inf, 1.0], "inf"),
        ([1.0, 2.0, 3.0], r"shape \(3,\)"),
    ],
)
def test_impossible_masses_are_refused(mass, what):
    """M singular, indefinite, not symmetric; mass <= 0 or not finite: the error says which and how much."""
    with pytest.raises(jo.JostleError, match=what):
        jo.Motion(q0=[0.0, 0.0], mass=mass)
    with pytest.raises(jo.JostleError, match=what):
        jo.project([-1.0, 0.0], jo.convex.Cone([[1.0, 0.0]]), mass=mass)


@pytest.mark.parametrize("seed", range(10))
def test_a_singular_mass_matrix_is_refused_although_round_off_hides_it(seed):
    """M = B B^T with B of size (4, 3): singular, whatever the sign of its smallest computed eigenvalue."""
    B = np.random.default_rng(seed).normal(size=(4, 3))
    M = B @ B.T
    with pytest.raises(jo.InvalidValue, match="positive definite"):
        jo.Motion(q0=np.zeros(4), mass=(M + M.T) / 2.0)


@pytest.mark.parametrize("seed", range(5))
def test_a_stiff_mass_matrix_is_still_a_mass_matrix(seed):
    """Masses from 1e-6 to 1e6 as a matrix, in turned axes, are not singular, and one row is solved with them."""
    turn = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))[0]
    M = turn @ np.diag([1e-6, 1.0, 1e6]) @ turn.T
    P = jo.project([-1.0, 0.0, 0.0], jo.convex.Cone([[1.0, 0.0, 0.0]]), mass=(M + M.T) / 2.0)
    assert abs(P.point[0]) <= 1e-9
    assert P.multipliers[0] > 0.0


def test_a_mass_that_becomes_singular_on_the_way_is_an_error_at_that_step():
    """M(q) = diag(q_0, 1) and q_0 falls from 0.35 at speed 1: indefinite after the fourth step."""
    problem = jo.Motion(q0=[0.35, 0.0], v0=[-1.0, 0.0], mass=lambda q: np.diag([q[0], 1.0]))
    with pytest.raises(jo.InvalidValue) as raised:
        jo.solve(problem, jo.Paoli(), t=1.0, h=0.1)
    kept = failed_at(raised.value, step=5, h=0.1)
    says(raised.value, "not positive definite", r"-0\.05")
    same_run(kept, jo.solve(problem, jo.Paoli(), t=4 * 0.1, h=0.1))


@pytest.mark.parametrize("radii", [[1.0, 0.0], [1.0, -0.5], [1.0, np.nan], [1.0, np.inf]])
def test_impossible_radii_are_refused_by_body(radii):
    """Radius <= 0 or not finite: the error names the body."""
    with pytest.raises(jo.JostleError, match="radius of ball 1"):
        jo.solve(jo.Motion(q0=[[0.0, 0.0], [9.0, 0.0]], within=jo.Balls(radii)), jo.Maury(), t=1.0, h=0.1)


@pytest.mark.parametrize("scheme", [jo.Maury(), jo.Venel()], ids=name)
@pytest.mark.parametrize(
    ("later", "what"),
    [(0.0, "is 0 .*must be positive"), (-0.25, r"is -0\.25 .*must be positive"), (np.nan, "not finite")],
)
def test_a_radius_that_shrinks_away_is_an_error_at_that_step(scheme, later, what):
    """r(t) <= 0 or NaN from t = 0.35 on."""
    discs = jo.Balls(lambda t: [1.0, 1.0 if t < 0.35 else later])
    problem = problem_for(scheme, [[0.0, 0.0], [9.0, 0.0]], discs, speed=[1.0, 0.0])
    with pytest.raises(jo.JostleError) as raised:
        jo.solve(problem, scheme, t=1.0, h=0.1)
    kept = failed_at(raised.value, step=4, h=0.1)
    says(raised.value, "radius of ball 1", what)
    same_run(kept, jo.solve(problem, scheme, t=3 * 0.1, h=0.1))


@pytest.mark.parametrize("kind", [jo.Outside, jo.Inside])
def test_an_obstacle_whose_radius_becomes_negative_is_an_error_at_that_step(kind):
    """An obstacle of radius 0.35 - t: a negative radius is no radius."""
    within = kind([0.0, 0.0], lambda t: 0.35 - t if kind is jo.Outside else 5.0 * np.sign(0.35 - t))
    problem = jo.Sweeping(q0=[2.0, 0.0], velocity=[0.0, 1.0], within=within)
    with pytest.raises(jo.InvalidValue) as raised:
        jo.solve(problem, jo.CatchingUp(), t=1.0, h=0.1)
    failed_at(raised.value, step=4, h=0.1)
    says(raised.value, "radius", "obstacle 0|container 0", "-")


# What is not finite


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@over_schemes
def test_a_force_that_is_not_finite_is_an_error_at_that_step(scheme, value):
    """Force or velocity NaN or infinite for body 1 after t = 0.45: no NaN trajectory, the step, the place, the past."""

    def push(t, q):
        f = np.ones((2, 2))
        f[1, 0] = value if t > 0.45 else 1.0
        return f

    q0 = [[0.0, 0.0], [9.0, 0.0]]
    if isinstance(scheme, jo.Venel | jo.CatchingUp):
        problem = jo.Sweeping(q0=q0, velocity=push, within=jo.Balls([1.0, 1.0]))
    else:
        problem = jo.Motion(q0=q0, force=push, within=jo.Balls([1.0, 1.0]))
    with pytest.raises(jo.errors.NotFinite) as raised:
        jo.solve(problem, scheme, t=1.0, h=0.1)
    step = 5 if isinstance(scheme, jo.Maury) else 6
    kept = failed_at(raised.value, step=step, h=0.1)
    says(raised.value, "force|velocity", str(value), r"\(1, 0\)")
    assert isinstance(raised.value, FloatingPointError)
    same_run(kept, jo.solve(problem, scheme, t=0.1 * (step - 1), h=0.1))


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("field", ["q0", "v0", "force"])
def test_a_problem_that_is_not_finite_is_refused_at_once(field, value):
    """Position, velocity or force with a NaN: the error names the field, the value and the place."""
    given = {"q0": [[0.0, 0.0], [3.0, 0.0]], "v0": np.zeros((2, 2)), "force": np.zeros((2, 2))}
    given[field] = [[0.0, 0.0], [value, 0.0]]
    with pytest.raises(jo.errors.NotFinite) as raised:
        jo.Motion(**given)
    says(raised.value, field, str(value), r"\(1, 0\)")


@pytest.mark.parametrize(
    ("make", "who"),
    [
        (lambda bad: jo.HalfSpace([0.0, 1.0], bad), "plane"),
        (lambda bad: jo.Box([-5.0, bad], [5.0, 5.0]), "lower|wall|box"),
        (lambda bad: jo.Box([-5.0, -5.0], [bad, 5.0]), "upper|wall|box"),
        (lambda bad: jo.Outside([9.0, bad], 1.0), "centre of obstacles"),
        (lambda bad: jo.Outside([9.0, 9.0], bad), "radius"),
        (lambda bad: jo.constraints(lambda t, q: [1.0, q[1] + 1.0 + bad]), "constraint 1"),
    ],
)
def test_a_set_that_is_not_finite_is_refused_by_name(make, who):
    """A wall or an obstacle at NaN is an error, never a wall that is not there."""
    with pytest.raises(jo.JostleError, match=who):
        jo.solve(jo.Motion(q0=[0.0, 0.0], v0=[1.0, -1.0], within=make(np.nan)), jo.Paoli(), t=1.0, h=0.1)


@pytest.mark.parametrize(
    ("within", "who"),
    [
        (jo.HalfSpace([0.0, 1.0], lambda t: -5.0 if t < 0.35 else np.nan), "offset of the plane"),
        (jo.Box(lambda t: [-5.0, -5.0 if t < 0.35 else np.nan], [5.0, 5.0]), r"lower\[1\] of the box"),
        (jo.Outside(lambda t: [[9.0, 9.0 if t < 0.35 else np.nan]], 1.0), "centre of obstacles"),
        (jo.constraints(lambda t, q: [1.0, 5.0 if t < 0.35 else np.nan]), "constraint 1"),
    ],
    ids=["HalfSpace", "Box", "Outside", "user"],
)
@pytest.mark.parametrize("scheme", [jo.Maury(), jo.Venel(), jo.CatchingUp()], ids=name)
def test_a_set_that_is_lost_on_the_way_is_an_error_at_that_step(scheme, within, who):
    """A gap that becomes NaN after t = 0.35: the step, the constraint, the value, the past."""
    problem = problem_for(scheme, [0.0, 0.0], within, speed=1.0)
    with pytest.raises(jo.errors.NotFinite) as raised:
        jo.solve(problem, scheme, t=1.0, h=0.1)
    kept = failed_at(raised.value, step=4, h=0.1)
    says(raised.value, who, "nan|not finite")
    np.testing.assert_allclose(kept.q[:, 0], [0.0, 0.1, 0.2, 0.3], atol=1e-12)


def test_positions_that_overflow_are_an_error_at_that_step():
    """u'' = 1e300 q: infinite after a few steps, and never a trajectory of infinities."""
    problem = jo.Motion(q0=[1.0], force=lambda t, q: 1e300 * q)
    with np.errstate(over="ignore"), pytest.raises(jo.errors.NotFinite) as raised:
        jo.solve(problem, jo.Maury(), t=10.0, h=1.0)
    failed_at(raised.value, step=raised.value.step, h=1.0)
    says(raised.value, "inf")


# K_h empty


def growing(n=4, L=10.0):
    """P17: four balls of radius 0.5 + 0.2 t between walls at 0 and 10; jammed at t = 3.75."""
    within = jo.Line(lambda t: np.full(n, 0.5 + 0.2 * t), lower=0.0, upper=L)
    return jo.Motion(q0=[1.0, 2.2, 5.0, 8.0], within=within)


@over_solvers
def test_growing_balls_that_jam_are_an_error_at_that_step_and_the_state_is_kept(solver):
    """P17: h = 0.08, the first t^{n+1} beyond 3.75 is step 47; the state before is kept, and still admissible."""
    with pytest.raises(jo.errors.EmptySet) as raised:
        jo.solve(growing(), jo.Maury(solver=solver), t=5.0, h=0.08)
    kept = failed_at(raised.value, step=47, h=0.08)
    says(raised.value, "lower wall", "upper wall", "balls 1 and 2", "contradict", "make bodies smaller")
    slack = 10.0 - 8.0 * (0.5 + 0.2 * kept.t[-1])
    assert np.abs(kept.q[-1] - [1.25, 3.75, 6.25, 8.75]).max() <= slack + 1e-6
    same_run(kept, jo.solve(growing(), jo.Maury(solver=solver), t=46 * 0.08, h=0.08))


@over_solvers
def test_the_instant_of_jamming_gives_the_one_point_or_an_error(solver):
    """P17: h = 0.25 meets t = 3.75, where Q is one point, in step 15: within 1e-6 of it or refused, never 1e8."""
    sol = jo.solve(growing(), jo.Maury(solver=solver), t=3.5, h=0.25)
    assert np.abs(sol.q[-1] - [1.25, 3.75, 6.25, 8.75]).max() <= 0.4 + 1e-6
    with pytest.raises((jo.errors.EmptySet, jo.NotConverged)) as raised:
        jo.solve(growing(), jo.Maury(solver=solver), t=5.0, h=0.25)
    assert raised.value.step in (15, 16)
    kept = failed_at(raised.value, step=raised.value.step, h=0.25)
    if raised.value.step == 16:
        np.testing.assert_allclose(kept.q[-1], [1.25, 3.75, 6.25, 8.75], atol=1e-6)
    assert np.abs(kept.u).max() <= 10.0


@pytest.mark.parametrize("scheme", [jo.Maury(), jo.Venel(), jo.CatchingUp()], ids=name)
def test_closing_walls_are_an_error_at_that_step(scheme):
    """Walls at t and 1 - t meet at 0.5: step 17 with h = 0.03."""
    problem = problem_for(scheme, [0.3], jo.Box(lambda t: [t], lambda t: [1.0 - t]))
    with pytest.raises(jo.errors.EmptySet) as raised:
        jo.solve(problem, scheme, t=1.0, h=0.03)
    kept = failed_at(raised.value, step=17, h=0.03)
    says(raised.value, r"wall q\[0\] >= lower", r"wall q\[0\] <= upper", "Move walls apart")
    assert kept.q[-1] == pytest.approx(0.48, abs=1e-12)
    same_run(kept, jo.solve(problem, scheme, t=0.48, h=0.03))


@over_solvers
def test_closing_walls_are_seen_by_every_solver(solver):
    """The ball is pushed by the left wall from t = 0.3 until the walls meet, whichever solver does it."""
    problem = jo.Motion(q0=[0.3], within=jo.Box(lambda t: [t], lambda t: [1.0 - t]))
    with pytest.raises(jo.errors.EmptySet) as raised:
        jo.solve(problem, jo.Maury(solver=solver), t=1.0, h=0.03)
    kept = failed_at(raised.value, step=17, h=0.03)
    np.testing.assert_allclose(kept.q[:, 0], np.maximum(0.3, kept.t), atol=1e-6)


@over_solvers
def test_half_planes_that_do_not_meet_are_an_error(solver):
    """x >= 1, y >= 1 and x + y <= 1: contradictory, and all three are named."""
    K = jo.convex.Polyhedron([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0], [1.0, 5.0]], [-1.0, -1.0, 1.0, 50.0])
    with pytest.raises(jo.errors.EmptySet) as raised:
        jo.project([0.0, 0.0], K, solver=solver)
    says(raised.value, "row 0; row 1; row 2\\. ", "leave one", r"Proof: .*c \. y = -")
    assert "row 3" not in str(raised.value)
    assert raised.value.rows.tolist() == [0, 1, 2]


@over_schemes
@pytest.mark.parametrize("n", [3, 4, 7])
def test_a_box_that_is_exactly_full_is_not_empty(scheme, n):
    """n balls at rest fill [0, 0.7] up to round-off of the gaps: admissible, so they may stay."""
    radius = 0.7 / (2 * n)
    q0 = radius * (1.0 + 2.0 * np.arange(n))
    problem = problem_for(scheme, q0, jo.Line(np.full(n, radius), lower=0.0, upper=0.7))
    np.testing.assert_allclose(jo.solve(problem, scheme, t=0.1, h=0.01).q[-1], q0, atol=1e-9)


@pytest.mark.parametrize("every", [10, 0.3, 1000])
def test_the_state_before_a_failure_is_kept_although_it_was_not_due(every):
    """Frames are saved rarely, the run fails in step 17: the state of step 16 is in error.solution all the same."""
    problem = jo.Motion(q0=[0.3], within=jo.Box(lambda t: [t], lambda t: [1.0 - t]))
    with pytest.raises(jo.errors.EmptySet) as raised:
        jo.solve(problem, jo.Maury(), t=1.0, h=0.03, every=every)
    kept = failed_at(raised.value, step=17, h=0.03)
    assert kept.q[-1] == pytest.approx(0.48, abs=1e-12)


@pytest.mark.parametrize(
    ("within", "w"),
    [
        (jo.Outside([[0.0, 0.0], [1.0, 0.0]], 1.0), [0.5, 0.0]),
        (jo.Outside([0.0, 0.0], 1.0) & jo.Box([-5.0, -5.0], [0.5, 5.0]), [0.1, 0.0]),
        (jo.Outside([0.0, 0.0], 1.0) & jo.Box([-5.0, -5.0], [0.5, 5.0]), [0.1, 0.01]),
        (jo.Outside([[0.0, 0.0], [1.0, 0.0], [0.5, 0.9]], 1.0), [0.5, 0.3]),
    ],
    ids=["two obstacles", "obstacle and wall", "beside the axis", "three obstacles"],
)
def test_a_set_is_not_called_empty_because_its_linearisation_is(within, w):
    """Deep inside obstacles the tangent half-spaces contradict each other, though Q has points, such as (0.5, 4):
    one is found, or it is said that none was found; not that there is none."""
    assert within.gap(0.0, [0.5, 4.0]) >= 0.0
    try:
        found = jo.nearest(w, within).point
    except jo.NotConverged:
        return
    assert within.gap(0.0, found) >= -1e-9


# The implicit force


@pytest.mark.parametrize("height", [1.0, 100.0])
def test_a_step_too_long_for_the_implicit_force_is_detected(height):
    """Paoli 2005: drag c = 100 and h = 0.05 multiply the error by c h / 2 = 2.5; h must be below 2 / c = 0.02."""
    fall = jo.Motion(q0=[height], v0=[-1.0], force=lambda t, q, u: -9.81 - 100.0 * u, within=FLOOR)
    with pytest.raises(jo.errors.NoContraction) as raised:
        jo.solve(fall, jo.Paoli(implicit=True), t=1.0, h=0.05)
    failed_at(raised.value, step=2, h=0.05)
    says(raised.value, r"h = 0\.05", "2 / L", "implicit=False")
    factor = float(re.search(r"error by\D* ([\d.]+)", str(raised.value))[1])
    remedy = float(re.search(r"choose h\D* ([\d.]+)", str(raised.value))[1])
    assert 2.0 <= factor <= 2.6
    assert remedy <= 0.025


def test_a_step_short_enough_for_the_implicit_force_is_not_refused():
    """Paoli 2005: the same drag with h = 0.016, factor 0.8, converges to the terminal velocity -g / c."""
    fall = jo.Motion(q0=[1.0], v0=[-1.0], force=lambda t, q, u: -9.81 - 100.0 * u, within=FLOOR)
    sol = jo.solve(fall, jo.Paoli(implicit=True), t=0.8, h=0.016)
    assert sol.u[-1, 0] == pytest.approx(-0.0981, abs=1e-9)


# Times and steps


@pytest.mark.parametrize("h", [0.0, -0.1, np.nan, np.inf, [], [0.5, -0.5, 1.0]])
def test_a_step_that_does_not_advance_is_refused(h):
    """h <= 0 or not finite."""
    with pytest.raises(jo.InvalidValue, match="h must be positive and finite"):
        jo.solve(jo.Motion(q0=[0.0]), jo.Maury(), t=1.0, h=h)


@pytest.mark.each_value
@over_schemes
@pytest.mark.parametrize(
    ("t", "h", "steps", "last"),
    [
        (1.0, 0.1, 10, 0.1),
        (0.3, 0.1, 3, 0.1),
        (0.7, 0.1, 7, 0.1),
        (1.0, 0.3, 4, 0.1),
        (0.03, 0.1, 1, 0.03),
        (1e-11, 0.1, 1, 1e-11),
        (0.0, 0.1, 0, None),
    ],
)
def test_a_run_takes_the_steps_it_should(scheme, t, h, steps, last):
    """T a multiple of h, not a multiple, and shorter than h: N steps, the last one shorter, no off-by-one."""
    sol = jo.solve(problem_for(scheme, [0.0, 0.0], speed=1.0), scheme, t=t, h=h)
    assert len(sol.stats) == steps
    assert len(sol.t) == steps + 1
    assert sol.t[-1] == pytest.approx(t, rel=1e-12)
    np.testing.assert_allclose(sol.q[-1], [t, t], atol=1e-12)
    if steps:
        assert sol.stats["h"][-1] == pytest.approx(last, rel=1e-9)


@over_schemes
def test_an_end_that_is_the_start_up_to_round_off_is_reached_without_a_step(scheme):
    """0.1 + 0.2 is not 0.3: over a step of 6e-17 no displacement gives a velocity."""
    sol = jo.solve(problem_for(scheme, [5.0, 5.0], speed=1.0), scheme, t=(0.3, 0.1 + 0.2), h=0.1)
    assert len(sol.stats) == 0
    assert len(jo.solve(problem_for(scheme, [5.0, 5.0], speed=1.0), scheme, t=(0.3, 0.3 + 1e-12), h=0.1).stats) == 1


@pytest.mark.each_value
@pytest.mark.parametrize("n", [3, 17, 29, 58, 115, 999])
@pytest.mark.parametrize("h", [0.1, 0.01, 1.0 / 3.0, 0.7])
def test_a_multiple_of_the_step_is_reached_exactly(n, h):
    """T = n h, however rounded: n steps that end at T itself, so that the solution is defined there."""
    T = float(f"{n * h:.12g}")
    sol = jo.solve(jo.Motion(q0=[0.0], v0=[1.0]), jo.Maury(), t=T, h=h, every=n)
    assert len(sol.stats) == n
    assert sol.t[-1] == T
    np.testing.assert_allclose(sol(T), [T], rtol=1e-11)


# Nothing to collide


@pytest.mark.each_value
@over_schemes
@pytest.mark.parametrize(
    ("q0", "within"),
    [
        ([[0.0, 0.0], [5.0, 1.0]], None),
        ([[0.0, 0.0], [5.0, 1.0]], jo.Free()),
        ([[0.0, 0.0], [50.0, 1.0]], jo.Balls([1.0, 1.0])),
        ([[0.0, 0.0]], jo.Balls([1.0])),
        ([[0.0, 0.0]], jo.Balls(1.0)),
        ([[3.0, 3.0]], jo.Box([-99.0, -99.0], [99.0, 99.0], radii=1.0)),
    ],
    ids=["no set", "Free", "far apart", "one ball", "one ball of a common radius", "far walls"],
)
def test_without_contacts_it_is_plain_integration(scheme, q0, within):
    """No constraints, no contacts, one particle: uniform motion, no multiplier."""
    sol = jo.solve(problem_for(scheme, q0, within, speed=[1.0, 2.0]), scheme, t=1.0, h=0.1)
    np.testing.assert_allclose(sol.q[-1], np.add(q0, [1.0, 2.0]), atol=1e-12)
    assert all(not p.any() for p in sol.multipliers)


@pytest.mark.each_value
@over_schemes
@pytest.mark.parametrize(
    "within",
    [
        None, jo.Balls(np.zeros(0)), jo.Balls(1.0), jo.HalfSpace([0.0, 1.0]), jo.Box([0.0, 0.0], [1.0, 1.0]),
        jo.Outside([0.0, 0.0], 1.0), jo.Balls(1.0) & jo.HalfSpace([0.0, 1.0]),
    ],
    ids=["no set", "Balls", "Balls of a common radius", "HalfSpace", "Box", "Outside", "Balls & HalfSpace"],
)  # fmt: skip
def test_nobody_moves_without_an_error(scheme, within):
    """N = 0: a run of the right length with nobody in it."""
    sol = jo.solve(problem_for(scheme, np.zeros((0, 2)), within), scheme, t=1.0, h=0.25)
    assert sol.q.shape == (5, 0, 2)
    assert sol.status == "finished"


@over_schemes
def test_two_balls_in_a_box_of_more_walls_than_balls(scheme):
    """Two balls, four walls: more walls than bodies is nothing special. The right ball hits its wall and stops."""
    q0 = np.array([[2.0, 2.0], [6.0, 2.0]])
    within = jo.Balls([1.0, 1.0]) & jo.Box([0.0, 0.0], [8.0, 4.0], radii=1.0)
    sol = jo.solve(problem_for(scheme, q0, within, speed=[[0.0, 0.0], [1.0, 0.0]]), scheme, t=2.0, h=0.05)
    np.testing.assert_allclose(sol.q[-1], [[2.0, 2.0], [7.0, 2.0]], atol=0.06)
    assert sol.gaps().min() >= -0.06


# Redundant rows, large forces, wild masses


@pytest.mark.parametrize("force", [1.0, 1e6])
@pytest.mark.parametrize("copies", [1, 4])
def test_redundant_rows_large_forces_and_wild_masses_give_the_same_velocity(force, copies):
    """Six balls of masses 1e-6 ... 1e6 fall on a floor written `copies` times: all stop, each carries those above."""
    mass = np.array([1.0, 1e6, 1e-6, 1e3, 1e-3, 1.0])
    G = np.concatenate([[[1.0, 0, 0, 0, 0, 0]], np.eye(6, k=1)[:-1] - np.eye(6)[:-1]])
    U = -force * np.ones(6)
    hit = jo.impact(U, jo.convex.Cone(np.concatenate([G] * copies)), mass=mass)
    assert np.abs(hit.velocity).max() <= 1e-8 * force
    carried = hit.impulse.reshape(copies, 6).sum(axis=0)
    np.testing.assert_allclose(carried, force * np.cumsum(mass[::-1])[::-1], rtol=1e-8)


# A target that is not unique


@pytest.mark.parametrize("mass", [1.0, [1.0, 4.0]])
def test_the_choice_at_the_centre_of_a_disc_is_deterministic(mass):
    """K = outside of a disc, W = its centre: a nearest point, the same at each call."""
    disc = jo.Outside([2.0, 1.0], 1.0)
    first, second = (jo.nearest([2.0, 1.0], disc, mass=mass).point for _ in range(2))
    assert np.array_equal(first, second)
    assert np.linalg.norm(first - [2.0, 1.0]) == pytest.approx(1.0, abs=1e-10)
    if mass != 1.0:
        assert abs(first[1] - 1.0) <= 1e-6


def test_the_choice_is_documented():
    """The page of `nearest` says what is chosen where the target is not unique."""
    from jostle.sets import nearest

    assert "centre of an obstacle" in nearest.__doc__
    assert "fixed direction" in nearest.__doc__


# The constants of Venel for few discs


def test_one_and_two_discs_have_constants_of_their_own():
    """N = 1, 2: the formulas divide by sin(pi) = 0; the true gamma is 1, eta that of one pair, or none."""
    assert jo.analysis.gamma(1) == 1.0
    assert jo.analysis.gamma(2) == 1.0
    assert jo.analysis.eta(1, 0.5) == np.inf
    assert jo.analysis.eta(2, 0.5) == pytest.approx(1.0 / np.sqrt(2.0), rel=1e-14)
    assert jo.analysis.gamma(3) == pytest.approx(529.089784441, rel=1e-9)
    assert jo.analysis.eta(3, 1.0) == pytest.approx(0.00133645895646, rel=1e-9)


@pytest.mark.parametrize("N", [0, -1])
def test_no_disc_has_no_constant(N):
    """N < 1 is refused."""
    with pytest.raises(jo.InvalidValue, match="at least 1"):
        jo.analysis.gamma(N)
    with pytest.raises(jo.InvalidValue, match="at least 1"):
        jo.analysis.eta(N, 1.0)


# U not in -C with e > 0


def test_a_contact_that_separates_is_flagged_when_the_law_fails():
    """Wall and four balls, e = 0.4: the row, its rate, the reason and the remedy; without restitution no flag."""
    chain = jo.convex.Cone([[1.0, 0, 0, 0], [-1.0, 1, 0, 0], [0, -1.0, 1, 0], [0, 0, -1.0, 1]])
    U, mass = [-1.0, 0.5, -2.0, -1.0], [1.0, 2.0, 0.5, 1.0]
    with pytest.warns(jo.errors.NotApproaching) as caught:
        hit = jo.impact(U, chain, law=jo.Restitution(0.4), mass=mass)
    assert len(caught) == 1
    says(caught[0].message, r"e = 0\.4", r"rate -0\.6", "row 1", "not all contacts approach", "leave out")
    assert not hit.approaching
    assert not hit.admissible
    inelastic = jo.impact(U, chain, mass=mass)
    assert inelastic.admissible
    assert not inelastic.approaching


def test_an_approaching_velocity_is_not_flagged():
    """U in -C: no warning, approaching and admissible."""
    hit = jo.impact([1.0, 0.0, -1.0], jo.convex.Cone([[-1.0, 1, 0], [0, -1.0, 1]]), law=jo.Restitution(0.4))
    assert hit.approaching
    assert hit.admissible


# A solver that gives up


def test_a_solver_that_gives_up_is_an_error_with_its_residuals():
    """Too few iterations in step 6: the solver, the residuals, the remedy, the past; strict=False records it."""
    rack = jo.models.rack(4, gap=0.055)
    lazy = jo.Maury(solver=jo.GaussSeidel(tol=1e-12, max_iterations=3))
    with pytest.raises(jo.NotConverged) as raised:
        jo.solve(rack, lazy, t=0.2, h=0.01)
    failed_at(raised.value, step=6, h=0.01)
    says(raised.value, "GaussSeidel stopped after 3 iterations", "violation", "more iterations", "strict=False")
    assert not raised.value.projection.converged
    sol = jo.solve(rack, lazy, t=0.2, h=0.01, strict=False)
    assert sol.status == "not converged"
    assert not sol.stats["converged"][5]
    assert sol.stats["converged"][:5].all()


def test_a_set_that_is_left_is_an_error_at_that_step():
    """A gap that is not convex, 1 - |q|^2: the linearised scheme leaves it; the step, the gap, the remedy, the past."""
    bowl = jo.constraints(lambda t, q: [1.0 - q @ q])
    problem = jo.Motion(q0=[0.0, 0.0], v0=[1.0, 0.9], force=[0.0, -5.0], within=bowl)
    with pytest.raises(jo.LeftTheSet) as raised:
        jo.solve(problem, jo.Maury(), t=2.0, h=0.1)
    kept = failed_at(raised.value, step=raised.value.step, h=0.1)
    says(raised.value, "Maury", r"gap -\d", "constraint 0", "convex", "use Paoli")
    assert (1.0 - np.einsum("kd,kd->k", kept.q, kept.q)).min() >= -1e-9


def dividing_by_zero(t, q):
    return [1.0 / 0.0] if t > 0.5 else [1.0]


def test_an_error_of_the_user_keeps_its_type_and_gets_a_note_of_the_step():
    """A force that divides by zero after t = 0.5, and is asked for in the middle of a step: the user's own error."""
    with pytest.raises(ZeroDivisionError) as raised:
        jo.solve(jo.Motion(q0=[0.0], force=dividing_by_zero), jo.MoreauJean(), t=1.0, h=0.125)
    assert any("step 5 (t = 0.625)" in note for note in raised.value.__notes__)


def test_an_error_of_the_user_loses_nothing():
    """A force that divides by zero after t = 0.5: what was computed before is in error.solution."""
    with pytest.raises(ZeroDivisionError) as raised:
        jo.solve(jo.Motion(q0=[0.0], force=dividing_by_zero), jo.MoreauJean(), t=1.0, h=0.125)
    assert raised.value.solution.t[-1] == pytest.approx(0.5)


def test_errors_are_the_builtin_they_are():
    """except ValueError, RuntimeError, FloatingPointError and NotImplementedError work."""
    kinds = {
        jo.InvalidValue: ValueError,
        jo.InfeasibleStart: ValueError,
        jo.errors.UndefinedGradient: ValueError,
        jo.errors.EmptySet: ValueError,
        jo.NotConverged: RuntimeError,
        jo.errors.NoContraction: RuntimeError,
        jo.LeftTheSet: RuntimeError,
        jo.errors.DeviceUnavailable: RuntimeError,
        jo.errors.NotFinite: FloatingPointError,
        jo.errors.SchemeRefuses: NotImplementedError,
    }
    for error, builtin in kinds.items():
        assert issubclass(error, builtin)
        assert issubclass(error, jo.JostleError)


@pytest.mark.parametrize("name", ["force", "v0"])
def test_one_entry_is_not_repeated_over_several_coordinates(name):
    """A weight [-9.81] of a ball in the plane would push it sideways, too."""
    words = f"{name} .* for 2 coordinates"
    for value in (-9.81, [-9.81], [[-9.81]]):
        with pytest.raises(jo.InvalidValue, match=words):
            jo.Motion(q0=[0.0, 1.0], **{name: value})
    for value in (-9.81, [[1.0], [2.0]]):
        with pytest.raises(jo.InvalidValue, match=words):
            jo.Motion(q0=[[0.0, 1.0], [2.0, 3.0]], **{name: value})
    jo.Motion(q0=[[0.0, 1.0]], **{name: 0.0})


def test_one_entry_of_a_function_is_not_repeated_over_several_coordinates():
    ball = jo.Motion(q0=[[0.0, 1.0], [2.0, 3.0]], force=lambda t, q: -9.81)
    with pytest.raises(jo.InvalidValue, match=r"what force returned at t = .* for 2 coordinates"):
        jo.solve(ball, jo.Maury(), t=1.0, h=0.1)
    with pytest.raises(jo.InvalidValue, match=r"what velocity returned at t = .* for 2 coordinates"):
        jo.solve(jo.Sweeping(q0=[[0.0, 1.0]], velocity=lambda t, q: [1.0]), jo.Venel(), t=1.0, h=0.1)


def test_a_condition_in_a_tuple_or_a_list_is_what_it_contains():
    ball = jo.Motion(q0=[1.0], force=[-9.0], within=FLOOR)
    for said, status in (((False,), "finished"), ([False], "finished"), (np.array([True]), "stopped")):
        assert jo.solve(ball, jo.Maury(), t=0.3, h=0.1, until=lambda state, said=said: said).status == status
