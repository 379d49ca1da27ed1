"""What a user's function returns is copied and checked: its buffers stay its own, and nonsense is named."""

from fractions import Fraction

import numpy as np
import pytest

import jostle as jo


def buffered(function):
    """The same function, which fills and returns one and the same array."""
    kept = []

    def filled(*state):
        value = np.array(function(*state), dtype=float)
        if not kept:
            kept.append(value)
        kept[0][...] = value
        return kept[0]

    takes = function.__code__.co_argcount
    return {1: lambda a: filled(a), 2: lambda t, q: filled(t, q), 3: lambda t, q, u: filled(t, q, u)}[takes]


def floor(t, q):
    return [q[0] + 1.0 - 0.1 * np.sin(t), 3.0 - q[0]]


def force_problem(wrap):
    return jo.Motion(q0=[0.0], force=wrap(lambda t, q: [np.cos(7 * t)])), jo.Maury(samples=4)


def drag_problem(wrap):
    return jo.Motion(q0=[0.0], v0=[1.0], force=wrap(lambda t, q, u: -u)), jo.Paoli(implicit=True)


def velocity_problem(wrap):
    return jo.Sweeping(q0=[0.0], velocity=wrap(lambda t, q: [np.cos(7 * t)])), jo.Venel()


def mass_problem(wrap):
    heavy = wrap(lambda q: [[1.0 + q[0] ** 2]])
    return jo.Motion(q0=[0.0], v0=[-1.0], mass=heavy, within=jo.HalfSpace([1.0], -0.5)), jo.Paoli()


def gap_problem(wrap):
    return jo.Motion(q0=[0.0], v0=[-1.0], within=jo.constraints(wrap(floor))), jo.Maury()


def gradient_problem(wrap):
    slopes = wrap(lambda t, q: [[1.0], [-1.0]])
    return jo.Motion(q0=[0.0], v0=[-1.0], within=jo.constraints(gradient=slopes)(floor)), jo.Maury()


def radii_problem(wrap):
    radii = wrap(lambda t: [0.5 + 0.1 * t, 0.5])
    return jo.Motion(q0=[[0.0, 0.0], [1.0, 0.0]], within=jo.Balls(radii)), jo.Maury()


def wall_problem(wrap):
    return jo.Motion(q0=[0.0], within=jo.Box(wrap(lambda t: [t - 0.5]), wrap(lambda t: [t + 0.5]))), jo.Maury()


PROBLEMS = [
    force_problem, drag_problem, velocity_problem, mass_problem, gap_problem, gradient_problem, radii_problem,
    wall_problem,
]  # fmt: skip
every_callback = pytest.mark.parametrize("make", PROBLEMS, ids=lambda make: make.__name__.removesuffix("_problem"))


@every_callback
def test_a_function_that_returns_its_own_buffer_gives_the_same_run(make):
    plain, reused = (jo.solve(*make(wrap), t=1.0, h=0.1) for wrap in (lambda f: f, buffered))
    assert plain.q.tobytes() == reused.q.tobytes()
    assert plain.u.tobytes() == reused.u.tobytes()


@every_callback
def test_a_buffer_that_is_overwritten_afterwards_changes_nothing(make):
    """All values of the run are kept by the user, and overwritten at the end."""
    given = []

    def keeping(function):
        def kept(*state):
            given.append(np.array(function(*state), dtype=float))
            return given[-1]

        takes = function.__code__.co_argcount
        return {1: lambda a: kept(a), 2: lambda t, q: kept(t, q), 3: lambda t, q, u: kept(t, q, u)}[takes]

    sol = jo.solve(*make(keeping), t=1.0, h=0.1)
    before = sol.q.tobytes(), sol.u.tobytes(), [p.tobytes() for p in sol.multipliers]
    for value in given:
        value[...] = np.nan
    assert (sol.q.tobytes(), sol.u.tobytes(), [p.tobytes() for p in sol.multipliers]) == before


def test_a_change_that_returns_its_own_buffer_does_not_share_it():
    velocity = np.zeros(1)

    def push(state):
        velocity[:] = state.t
        return state.replace(u=velocity)

    sol = jo.solve(jo.Motion(q0=[0.0]), jo.Maury(), t=1.0, h=0.25, changes=push)
    np.testing.assert_allclose(sol.u[:, 0], [0.0, 0.25, 0.5, 0.75, 1.0])


def test_a_force_cannot_change_the_state_that_it_is_given():
    def spoil(t, q, u):
        u += 1.0
        return u

    with pytest.raises(ValueError, match="read-only"):
        jo.solve(jo.Motion(q0=[0.0], v0=[1.0], force=spoil), jo.Maury(), t=1.0, h=0.5)


WRONG = {
    "None": (None, "None"),
    "a list with None": ([None], r"\[None\]"),
    "words": ("fast", "'fast'"),
    "complex": ([1j], r"\[1j\]"),
}


@every_callback
@pytest.mark.parametrize(("value", "shown"), WRONG.values(), ids=WRONG)
def test_what_is_no_number_is_named(make, value, shown):
    def wrong(function):
        takes = function.__code__.co_argcount
        return {1: lambda a: value, 2: lambda t, q: value, 3: lambda t, q, u: value}[takes]

    with pytest.raises(jo.InvalidValue, match=rf"returned.* must be numbers, not {shown}"):
        jo.solve(*make(wrong), t=1.0, h=0.5)


SHAPES = {
    "force": (lambda: jo.Motion(q0=[0.0], force=lambda t, q: [1.0, 2.0]), jo.Maury(), "force returned shape"),
    "velocity": (
        lambda: jo.Sweeping(q0=[0.0], velocity=lambda t, q: [1.0, 2.0]),
        jo.Venel(),
        "velocity returned shape",
    ),
    "mass": (lambda: jo.Motion(q0=[0.0], mass=lambda q: np.eye(2)), jo.Paoli(), r"mass has shape \(2, 2\)"),
    "z": (lambda: jo.Motion(q0=[0.0]), jo.Paoli(z=lambda h: None), r"what z\(h\) returned must be numbers"),
}


@pytest.mark.parametrize(("problem", "scheme", "what"), SHAPES.values(), ids=SHAPES)
def test_wrong_shapes_are_named(problem, scheme, what):
    with pytest.raises(jo.InvalidValue, match=what):
        jo.solve(problem(), scheme, t=1.0, h=0.5)


def test_exact_fractions_are_numbers():
    assert jo.Motion(q0=[Fraction(1, 2)]).q0.tolist() == [0.5]
    with pytest.raises(jo.InvalidValue, match=r"q0 must be numbers, not \[None\]"):
        jo.Motion(q0=[None])
