"""Each scheme refuses, by name and with a remedy, what it cannot do; and the remedy can do it."""

import itertools
import re

import numpy as np
import pytest

import jostle as jo

BALL = {"q0": [0.5], "v0": [-1.0], "within": jo.HalfSpace([1.0])}
TABLE = jo.HalfSpace([1.0], lambda t: 0.1 * t)
CONCAVE = jo.constraints(convex=False)(lambda t, q: [1.0 - q @ q])


@jo.constraints
def sliding_floor(t, q):
    """A floor that moves without saying so."""
    return [q[0] - 0.1 * t]


def bouncing():
    return jo.Motion(law=jo.Restitution(0.5), **BALL)


def bouncing_softly():
    return jo.Motion(law=jo.Restitution(lambda v: 0.5 + 0.0 * v), **BALL)


def bouncing_on_a_table():
    return jo.Motion(q0=[0.5], v0=[-1.0], within=TABLE, law=jo.Restitution(0.5))


def heavy_here():
    return jo.Motion(mass=lambda q: [[1.0 + q[0] ** 2]], **BALL)


def on_a_table():
    return jo.Motion(q0=[0.5], v0=[-1.0], within=TABLE)


def on_a_sliding_floor():
    return jo.Motion(q0=[0.5], v0=[-1.0], within=sliding_floor)


def in_a_users_bowl():
    return jo.Motion(q0=[0.0, 0.5], force=[0.0, -1.0], within=CONCAVE)


def drifting():
    return jo.Sweeping(q0=[0.5], velocity=[-1.0], within=jo.HalfSpace([1.0]))


def drifting_in_a_users_bowl():
    return jo.Sweeping(q0=[0.0, 0.5], velocity=[1.0, 0.0], within=CONCAVE & jo.HalfSpace([0.0, 1.0]))


def plain():
    return jo.Motion(**BALL)


REFUSALS = {
    "Maury: first order": (jo.Maury(), drifting, "Motion", jo.Venel()),
    "Maury: restitution": (jo.Maury(), bouncing, "e = 0.5", jo.Paoli()),
    "Maury: M(q)": (jo.Maury(), heavy_here, "constant mass", jo.Paoli()),
    "Maury: a user's bowl": (jo.Maury(), in_a_users_bowl, "convex in q", jo.Paoli()),
    "Paoli: first order": (jo.Paoli(), drifting, "Motion", jo.CatchingUp()),
    "Paoli: moving set": (jo.Paoli(), on_a_table, "does not move", jo.Maury()),
    "Paoli: moving set of a user": (jo.Paoli(), on_a_sliding_floor, "does not move", jo.Maury()),
    "Paoli: implicit restitution": (jo.Paoli(implicit=True), bouncing, "e = 0.5", jo.Paoli(implicit=False)),
    "MoreauJean: first order": (jo.MoreauJean(), drifting, "Motion", jo.Venel()),
    "Maury: restitution of the speed": (jo.Maury(), bouncing_softly, "an e that differs", jo.MoreauJean()),
    "Paoli: restitution of the speed": (jo.Paoli(), bouncing_softly, "with one number e", jo.MoreauJean()),
    "Paoli: restitution on a table": (jo.Paoli(), bouncing_on_a_table, "does not move", jo.MoreauJean()),
    "Maury: restitution on a table": (jo.Maury(), bouncing_on_a_table, "e = 0.5", jo.MoreauJean()),
    "MoreauJean: M(q)": (jo.MoreauJean(), heavy_here, "constant mass", jo.Paoli()),
    "Venel: second order": (jo.Venel(), plain, "Sweeping", jo.Maury()),
    "Venel: a user's bowl": (jo.Venel(), drifting_in_a_users_bowl, "convex in q", jo.CatchingUp()),
    "CatchingUp: second order": (jo.CatchingUp(), plain, "Sweeping", jo.MoreauJean()),
}


@pytest.mark.parametrize(("scheme", "problem", "what", "remedy"), REFUSALS.values(), ids=REFUSALS)
def test_a_scheme_refuses_by_name_and_the_remedy_works(scheme, problem, what, remedy):
    with pytest.raises(jo.errors.SchemeRefuses) as caught:
        jo.solve(problem(), scheme, t=1.0, h=0.1)
    text = str(caught.value)
    assert f"{type(scheme).__name__} " in text
    assert what in text
    assert type(remedy).__name__ in text or "implicit=False" in text
    assert isinstance(caught.value, NotImplementedError)
    assert jo.solve(problem(), remedy, t=1.0, h=0.1).status == "finished"


@pytest.mark.parametrize("scheme", [jo.Maury(), jo.Paoli(), jo.MoreauJean(), jo.Venel(), jo.CatchingUp()])
def test_what_is_no_problem_is_refused(scheme):
    with pytest.raises(jo.errors.SchemeRefuses, match=f"{type(scheme).__name__} solves .* not str"):
        jo.solve("a ball", scheme, t=1.0, h=0.1)


def test_a_moving_part_makes_the_whole_move():
    both = jo.Motion(q0=[0.5], within=jo.Box(-9.0, 9.0) & TABLE)
    with pytest.raises(jo.errors.SchemeRefuses, match="does not move"):
        jo.solve(both, jo.Paoli(), t=1.0, h=0.1)


@pytest.mark.parametrize("h", [0.3, 0.05])
def test_a_linearised_scheme_says_that_it_left_a_set_it_could_not_know(h):
    """Inside the unit disc, written by a user who did not say that the gap is not convex."""

    @jo.constraints
    def disc(t, q):
        return [1.0 - np.linalg.norm(q)]

    fast = jo.Motion(q0=[0.0, 0.9], v0=[1.0, 0.0], within=disc)
    with pytest.raises(
        jo.LeftTheSet, match=r"Maury left the set: gap -.* in constraint 0 of disc.*use Paoli"
    ) as caught:
        jo.solve(fast, jo.Maury(), t=3.0, h=h)
    assert caught.value.step >= 1
    drift = jo.Sweeping(q0=[0.0, 0.9], velocity=[1.0, 0.0], within=disc)
    with pytest.raises(jo.LeftTheSet, match=r"Venel left the set.*use CatchingUp"):
        jo.solve(drift, jo.Venel(), t=3.0, h=h)


def test_a_user_who_says_convex_is_asked_in_few_steps_and_not_slowed_down():
    calls = []

    @jo.constraints(convex=True, gradient=lambda t, q: np.array([[1.0]]))
    def floor(t, q):
        calls.append(t)
        return [q[0]]

    problem = jo.Motion(q0=[9.0], within=floor)
    jo.solve(problem, jo.Maury(), t=10.0, h=1.0)
    assert len(calls) <= 50 + 1 + 10 + 5  # the check of the gradient, the start, a linearisation a step, and few checks
    calls.clear()
    jo.solve(problem, jo.Maury(), t=10.0, h=1.0)
    assert len(calls) == 1 + 10 + 5  # after steps 1, 2, 4, 8 and the last one


def drag(within=None):
    """u'' = -9.81 - 100 u': the fixed point contracts for h < 2 / 100."""
    return jo.Motion(q0=[1.0], v0=[1.0], force=lambda t, q, u: -9.81 - 100.0 * u, within=within)


def test_a_fixed_point_that_does_not_contract_is_an_error():
    """h < 2 / L: at h = 0.05 each iteration multiplies the error by c h / 2 = 2.5."""
    with pytest.raises(jo.errors.NoContraction, match=r"multiplies the error by up to 2\.5") as caught:
        jo.solve(drag(), jo.Paoli(implicit=True), t=1.0, h=0.05)
    assert isinstance(caught.value, RuntimeError)
    assert jo.solve(drag(), jo.Paoli(implicit=True), t=0.1, h=0.005).status == "finished"


def test_the_step_advised_is_smaller_than_the_step_that_failed():
    """Also where a floor keeps the iterates from running away."""
    for within in (None, jo.HalfSpace([1.0])):
        with pytest.raises(jo.errors.NoContraction) as caught:
            jo.solve(drag(within), jo.Paoli(implicit=True), t=1.0, h=0.05)
        advised = re.search(r"choose h well below ([0-9.e-]+),", str(caught.value))
        assert float(advised[1]) <= 0.02


@pytest.mark.parametrize("samples", [0, -1])
def test_maury_needs_a_sample_of_the_force(samples):
    with pytest.raises(jo.InvalidValue, match="samples must be a whole number, at least 1"):
        jo.Maury(samples=samples)


@pytest.mark.parametrize("e", [-0.1, 1.1, np.nan, np.inf])
def test_a_restitution_lies_between_zero_and_one(e):
    with pytest.raises(jo.InvalidValue, match=r"e must lie in \[0, 1\]"):
        jo.Restitution(e)


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        ({"q0": "here"}, "q0 must be numbers"),
        ({"v0": [1.0, 2.0]}, r"v0 has shape \(2,\), q0 has shape \(1,\)"),
        ({"force": [1.0, 2.0]}, r"force has shape \(2,\)"),
        ({"mass": -1.0}, "mass must be positive"),
    ],
)
def test_a_motion_that_does_not_fit_together_is_refused_when_made(wrong, what):
    with pytest.raises(jo.InvalidValue, match=what):
        jo.Motion(**{"q0": [1.0], **wrong})


def test_a_force_of_another_shape_is_refused_at_its_first_step():
    twice = jo.Motion(q0=[1.0], force=lambda t, q: [1.0, 2.0])
    with pytest.raises(jo.InvalidValue, match=r"step 1 .*force returned shape \(2,\), q has shape \(1,\)"):
        jo.solve(twice, jo.Maury(), t=1.0, h=0.1)


SCHEMES = {scheme.__name__: scheme() for scheme in (jo.Maury, jo.Paoli, jo.MoreauJean, jo.Venel, jo.CatchingUp)}
COMBINATIONS = list(itertools.product((1, 2), (0.0, 0.5), (False, True, None), (False, True), (True, False), (0, 1)))


def problem_of(order, e, moving, variable, convex, absent):
    """One body in the plane above a line, which may move, with the outside or the inside of a circle."""
    height = (lambda t: -1.0 - 0.1 * t) if moving else -1.0
    within = jo.HalfSpace([0.0, 1.0], height)
    if moving is None:  # it moves, and does not say so
        within = jo.constraints(lambda t, q: [q.reshape(-1, 2)[0, 1] + 1.0 + 0.1 * t])
    within = within & (jo.Outside([0.0, 9.0], 1.0) if convex else jo.Inside([0.0, 0.0], 9.0))
    q0 = np.array([[0.5, 0.0], [2.0, 0.0]]) if moving is not None else np.array([0.5, 0.0])
    present = [True, False] if absent else None
    if order == 1:
        return jo.Sweeping(q0=q0, within=within, velocity=[0.1, 0.1], present=present)
    mass = (lambda q: np.eye(q.size)) if variable else 1.0
    return jo.Motion(q0=q0, within=within, v0=[0.1, 0.1], mass=mass, law=jo.Restitution(e), present=present)


@pytest.mark.parametrize("start", SCHEMES)
def test_every_refusal_ends_at_a_scheme_that_accepts_or_says_that_none_does(start):
    solved = none = 0
    for combination in COMBINATIONS:
        order, e, moving, variable, _, absent = combination
        if (order == 1 and (e or variable)) or (moving is None and absent):  # there is no such problem
            continue
        problem, tried, ahead = problem_of(*combination), set(), [start]
        while ahead:
            name = ahead.pop()
            tried.add(name)
            try:
                assert jo.solve(problem, SCHEMES[name], t=0.2, h=0.1).status == "finished"
                solved += 1
                assert len(tried) <= 3, (combination, tried)
                break
            except jo.errors.SchemeRefuses as error:
                text = str(error)
                named = re.findall(r"\b(" + "|".join(SCHEMES) + r")\b", text.split(";", 1)[1])
                assert bool(named) != ("no known scheme" in text), text
                assert not set(named) & tried, f"{combination}: {text}"  # no circle
                if not named:
                    accepted = [one for one in SCHEMES if accepts(problem, SCHEMES[one])]
                    assert accepted == [], (combination, accepted)
                    none += 1
                    break
                if moving is not None:  # the problem says all about itself: each scheme named accepts it
                    assert all(accepts(problem, SCHEMES[one]) for one in named), text
                ahead = named
    assert solved > 20
    assert none >= 10


def accepts(problem, scheme):
    try:
        jo.solve(problem, scheme, t=0.2, h=0.1)
    except jo.errors.SchemeRefuses:
        return False
    return True


EMPTY = {
    "walls that close": (jo.Box(lambda t: [t, 0.0], lambda t: [1.0 - t, 9.0]), [0.5, 1.0]),
    "walls that close on a ball": (
        jo.Balls([0.3, 0.3]) & jo.Box([0.0, 0.0], lambda t: [3.0 - 3.0 * t, 3.0], radii=0.3),
        [[0.5, 0.5], [0.5, 2.0]],
    ),
    "a user's walls that close": (jo.constraints(lambda t, q: [q[0] - t, 1.0 - t - q[0]]), [0.5]),
}


@pytest.mark.parametrize(("within", "q0"), EMPTY.values(), ids=EMPTY)
@pytest.mark.parametrize("scheme", [jo.Venel(), jo.CatchingUp()], ids=["Venel", "CatchingUp"])
def test_a_set_that_becomes_empty_is_called_empty_by_each_scheme(scheme, within, q0):
    with pytest.raises(jo.errors.EmptySet, match="these constraints contradict each other"):
        jo.solve(jo.Sweeping(q0=q0, within=within), scheme, t=1.0, h=0.1)


def test_walls_that_may_meet_far_away_are_not_called_an_empty_set():
    """A wall that rises to one that is tilted by 1e-11: the only points left are 1e10 away."""
    rising, tilted = jo.HalfSpace([0.0, 1.0], lambda t: 0.5 * t), jo.HalfSpace([1e-11, -1.0], -0.4)
    ball = jo.Sweeping(q0=[0.0, 0.2], within=rising & tilted & jo.Outside([9.0, 9.0], 1.0))
    with pytest.raises(jo.NotConverged, match="whether the set is empty was not decided"):
        jo.solve(ball, jo.CatchingUp(), t=2.0, h=0.1)


def test_closing_walls_with_gradients_by_differences_prove_nothing():
    """Differences have errors of 1e-12: that the walls are parallel is not known, and convexity is not to blame."""
    walls = jo.constraints(lambda t, q: [0.3 * q[0] + 0.7 * q[1] - t, 1.0 - t - 0.3 * q[0] - 0.7 * q[1]])
    with pytest.raises(jo.NotConverged, match="whether the set is empty was not decided"):
        jo.solve(jo.Sweeping(q0=[0.26, 0.6], within=walls), jo.Venel(), t=1.0, h=0.07)
    given = jo.constraints(gradient=lambda t, q: [[0.3, 0.7], [-0.3, -0.7]])(walls.g)
    with pytest.raises(jo.errors.EmptySet, match=r"constraint 0 of .*; constraint 1 of"):
        jo.solve(jo.Sweeping(q0=[0.26, 0.6], within=given), jo.Venel(), t=1.0, h=0.07)


def test_a_wrong_gradient_is_blamed_and_not_convexity():
    """The gradient is right where it is checked, at the start, and wrong elsewhere."""

    @jo.constraints(gradient=lambda t, q: [[2.0 * q[0], 0.0 if q[1] > 0.5 else 3.0]])
    def bowl(t, q):
        return [q[0] ** 2 - 1.0]

    slide = jo.Sweeping(q0=[1.0, 1.0], velocity=[-1.0, -1.0], within=bowl)
    with pytest.raises(jo.LeftTheSet, match="gradient is wrong"):
        jo.solve(slide, jo.Venel(), t=1.0, h=0.05)
