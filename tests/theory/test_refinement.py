"""solve(..., accuracy=...): the accuracy is reached, and a problem with two limits is told."""

import warnings

import numpy as np
import pytest

import jostle as jo
from jostle.run import refinement
from jostle.run.refinement import difference
from rows import whole


def ball(e=0.5):
    return jo.Motion(q0=[1.0], force=[-9.81], within=jo.HalfSpace([1.0]), law=jo.Restitution(e))


def shot(degrees, e, aim=0.0):
    """A point that is shot at the vertex of a wedge, `aim` radians off the bisector."""
    theta = np.radians(degrees)
    walls = jo.HalfSpace([0.0, 1.0]) & jo.HalfSpace([np.sin(theta), -np.cos(theta)])
    c = np.array([np.cos(theta / 2.0 + aim), np.sin(theta / 2.0 + aim)])
    return jo.Motion(q0=c, v0=-c, within=walls, law=jo.Restitution(e))


@pytest.mark.parametrize(("e", "tol"), [whole((0.0, 0.1)), whole((0.5, 0.1)), (0.5, 0.04)])
def test_the_bouncing_ball_is_within_the_tolerance_of_the_exact_solution(e, tol):
    """P04: with accumulation of impacts at t = 1.35."""
    problem = ball(e)
    sol = jo.solve(problem, jo.Paoli(), t=1.5, h=0.1, accuracy=tol)
    exact = jo.solve_by_events(problem, t=1.5).q(sol.t)
    assert np.abs(sol.q - exact).max() <= tol
    assert sol.refinement.reached
    assert sol.refinement.continuous
    assert sol.refinement.error <= tol


def test_maury_reaches_the_tolerance_with_the_steps_it_needs():
    """P02: the error is g t_i h / 2 = 2.2 h, and so is the difference of two runs, over 2."""
    sol = jo.solve(ball(0.0), jo.Maury(), t=1.0, h=0.1, accuracy=0.02)
    exact = np.maximum(1.0 - 9.81 * sol.t**2 / 2.0, 0.0)
    assert np.abs(sol.q[:, 0] - exact).max() <= 0.02
    assert np.abs(sol.q[:, 0] - exact).max() == pytest.approx(sol.refinement.error, rel=0.2)
    np.testing.assert_allclose(sol.refinement.h, 0.1 / 2.0 ** np.arange(len(sol.refinement.h)))
    assert sol.refinement.difference[-2] > 0.02  # not shorter than needed


@pytest.mark.parametrize(
    ("problem", "scheme", "t"),
    [
        (shot(60.0, 0.0), jo.Maury(), 1.5),
        (shot(90.0, 0.0), jo.Maury(), 1.5),
        (shot(90.0, 0.5), jo.Paoli(), 1.5),
        (jo.models.cradle(3, e=0.0), jo.Maury(), 2.0),
        (jo.models.cradle(3, gap=0.5), jo.Paoli(), 2.5),
    ],
    ids=["60 degrees, e = 0", "90 degrees, e = 0", "90 degrees, e = 1/2", "cradle, e = 0", "cradle, apart"],
)
def test_where_the_angle_condition_holds_the_solution_is_continuous(problem, scheme, t):
    """P09, P11, P31."""
    sol = jo.solve(problem, scheme, t=t, h=0.1, accuracy=0.05)
    assert sol.refinement.continuous
    assert sol.refinement.other is None


@pytest.mark.parametrize(
    ("problem", "scheme", "jump"),
    [
        (shot(120.0, 0.0), jo.Maury(), 0.25 * 0.75**0.5),
        whole((shot(120.0, 0.0), jo.Paoli(), 0.25 * 0.75**0.5)),
        (shot(60.0, 1.0, aim=0.2), jo.Paoli(), 0.344),
        (jo.models.cradle(3), jo.MoreauJean(), 2.0 / 3.0),
    ],
    ids=["120 degrees, Maury", "120 degrees, Paoli", "60 degrees, e = 1", "cradle"],
)
def test_two_limits_are_told_and_both_solutions_handed_out(problem, scheme, jump):
    """P09, P10, P30: the velocities after the impact differ by this much, whichever way the start is moved."""
    with pytest.raises(jo.errors.NotContinuous, match="does not depend continuously") as told:
        jo.solve(problem, scheme, t=2.0, h=0.1, accuracy=0.05)
    one, other = told.value.solution, told.value.other
    assert np.abs(one.u[-1] - other.u[-1]).max() == pytest.approx(jump, abs=0.01)
    assert difference(one, other) == pytest.approx(one.refinement.ends)
    assert np.abs(other.q[0] - one.q[0]).max() <= 1.01 * one.refinement.apart
    assert one.refinement.apart < 0.1 * one.refinement.ends


def test_without_strict_the_refinement_says_so():
    sol = jo.solve(shot(120.0, 0.0), jo.Maury(), t=2.0, h=0.1, accuracy=0.05, strict=False)
    assert sol.refinement.continuous is False
    assert np.abs(sol.u[-1]).max() < 1e-9  # the shot at the vertex itself stops
    assert np.linalg.norm(sol.refinement.other.u[-1]) == pytest.approx(0.25, abs=0.01)


def test_the_error_estimate_looks_back_at_three_differences():
    """The last two are small by accident: impacts happen to fall on the same places inside their steps."""
    ball = jo.Motion(q0=[1.0], force=[-10.0], within=jo.HalfSpace([1.0]), law=jo.Restitution(0.5))
    found = jo.solve(ball, jo.MoreauJean(), t=0.6, h=0.05, accuracy=0.01, strict=False).refinement
    third, second, last = found.difference[-3:]
    assert found.error == third / 4.0 > max(second / 2.0, last)


def test_a_tolerance_that_is_not_reached_is_an_error_with_the_solution(monkeypatch):
    monkeypatch.setattr(refinement, "MAX_HALVINGS", 4)
    with pytest.raises(jo.NotConverged, match="was not reached") as told:
        jo.solve(ball(0.0), jo.Maury(), t=0.4, h=0.1, accuracy=1e-9)
    found = told.value.solution.refinement
    assert len(found.difference) == 4
    assert not found.reached
    assert len(found.difference) == len(found.h) - 1


def test_differences_that_no_longer_shrink_end_the_search(monkeypatch):
    """A velocity that is another one in each run: the differences stay at 2, and more halvings would not help."""
    monkeypatch.setattr(refinement, "STALLED", 3)
    runs = []

    def velocity(t, q):
        if t == 0.0:
            runs.append(t)
        return [(-1.0) ** len(runs)]

    sol = jo.solve(jo.Sweeping(q0=[0.0], velocity=velocity), jo.Venel(), t=1.0, h=0.5, accuracy=0.1, strict=False)
    np.testing.assert_allclose(sol.refinement.difference, np.full(refinement.STALLED + 1, 2.0))
    assert not sol.refinement.reached


def test_the_tolerance_has_the_unit_of_q():
    """Lengths in millimetres: a thousand times the tolerance gives the same steps."""
    metre = jo.solve(ball(0.0), jo.Maury(), t=0.8, h=0.1, accuracy=0.05).refinement
    small = jo.Motion(q0=[1e3], force=[-9.81e3], within=jo.HalfSpace([1.0]))
    assert jo.solve(small, jo.Maury(), t=0.8, h=0.1, accuracy=50.0).refinement.h.tolist() == metre.h.tolist()


def test_saved_times_are_compared_and_kept():
    """every counts the steps that were asked for: the same times are saved, whatever the last step is."""
    sol = jo.solve(ball(0.0), jo.Maury(), t=1.0, h=0.1, every=2, accuracy=0.05)
    np.testing.assert_allclose(sol.t, np.arange(6) / 5.0, atol=1e-12)
    steps = np.array([0.1, 0.2, 0.3])
    sol = jo.solve(ball(0.0), jo.Maury(), t=0.6, h=steps, every=1, accuracy=0.05)
    np.testing.assert_allclose(sol.t, [0.0, 0.1, 0.3, 0.6], atol=1e-12)
    assert sol.refinement.h[:2].tolist() == [0.3, 0.15]


@pytest.mark.parametrize("category", [UserWarning, jo.errors.JostleWarning])
def test_warnings_of_the_run_that_is_returned_are_given(category):
    def pull(t, q):
        warnings.warn("a pull without a spring", category, stacklevel=2)
        return [-1.0]

    falling = jo.Motion(q0=[1.0], force=pull, within=jo.HalfSpace([1.0]))
    with pytest.warns(category, match="a pull without a spring"):
        jo.solve(falling, jo.Maury(), t=0.5, h=0.1, accuracy=0.1)


def test_warnings_of_longer_steps_are_not_given():
    """With h = 0.1 `Paoli` warns of the impacts of a cradle that is 0.04 apart; with the steps that are taken not."""
    with pytest.warns(jo.errors.CloseImpacts):
        jo.solve(jo.models.cradle(3, gap=0.04), jo.Paoli(), t=0.5, h=0.1)
    sol = jo.solve(jo.models.cradle(3, gap=0.04), jo.Paoli(), t=0.5, h=0.1, accuracy=0.01)
    assert sol.refinement.continuous


@pytest.mark.parametrize("name", ["changes", "output"])
def test_what_cannot_be_repeated_is_refused(name, tmp_path):
    value = {"changes": lambda state: state, "output": tmp_path / "run"}[name]
    with pytest.raises(jo.InvalidValue, match=name):
        jo.solve(ball(), jo.Paoli(), t=1.0, h=0.1, accuracy=0.1, **{name: value})


def test_a_sweeping_process_is_refined_too():
    """P44: a drift past a disc leaves it at y = 1."""
    drift = jo.Sweeping(q0=[-np.cos(0.2), np.sin(0.2)], velocity=[1.0, 0.0], within=jo.Outside([0.0, 0.0], 1.0))
    sol = jo.solve(drift, jo.Venel(), t=3.0, h=0.2, accuracy=0.05)
    assert sol.refinement.continuous
    assert sol.q[-1, 1] == pytest.approx(1.0, abs=0.05)


def test_the_end_by_a_condition_is_part_of_the_error():
    """A ball that falls from 1 to 0.6: with only the start and the end saved, the error was said to be 0."""
    ball = jo.Motion(q0=[1.0], force=[-10.0], within=jo.HalfSpace([1.0]))
    sol = jo.solve(ball, jo.Maury(), t=1.0, h=0.1, accuracy=1e-2, every=10.0, until=lambda state: state.q[0] < 0.6)
    assert sol.status == "stopped"
    assert 0.0 < sol.refinement.error <= 1e-2
    assert abs(sol.q[-1, 0] - 0.6) <= 2e-2
    assert abs(sol.t[-1] - np.sqrt(0.08)) <= 2e-2


def test_saved_times_that_shorter_steps_do_not_have_are_refused():
    """Only the start and the end, where the ball rests, were compared; between them errors of any size went unseen."""
    ball = jo.Motion(q0=[1.0], force=[-10.0], within=jo.HalfSpace([1.0]))
    with pytest.raises(jo.InvalidValue, match="choose every as a multiple of h"):
        jo.solve(ball, jo.Maury(), t=1.0, h=0.047, accuracy=1e-3, every=0.31)
