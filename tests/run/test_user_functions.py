"""Functions of the user that take the wrong arguments are refused when they are given, in words."""

import re

import numpy as np
import pytest

import jostle as jo

FLOOR = jo.HalfSpace([0.0, 1.0])
BALL = jo.Motion(q0=[0.0, 1.0], within=FLOOR)


def a_gap(t):
    return [t]


WRONG = [
    (lambda: jo.Motion(q0=[1.0], force=lambda: 0.0), "force must be a function of (t, q) or (t, q, u), not <lambda>()"),
    (lambda: jo.Motion(q0=[1.0], force=lambda t, q, u, x: 0.0),
     "force must be a function of (t, q) or (t, q, u), not <lambda>(t, q, u, x)"),
    (lambda: jo.Motion(q0=[1.0], force=lambda t, q, *, u: 0.0),
     "force must be a function of (t, q) or (t, q, u), not <lambda>(t, q, *, u)"),
    (lambda: jo.Motion(q0=[1.0], mass=lambda t, q: 1.0),
     "mass must be numbers or a metric or a function of (Array), not <lambda>(t, q)"),
    (lambda: jo.Sweeping(q0=[1.0], velocity=lambda t: 0.0), "velocity must be a function of (t, q), not <lambda>(t)"),
    (lambda: jo.Sweeping(q0=[1.0], velocity=lambda t, q, u: 0.0),
     "velocity must be a function of (t, q), not <lambda>(t, q, u)"),
    (lambda: jo.constraints(a_gap), "g must be a function of (t, q) or None, not a_gap(t)"),
    (lambda: jo.constraints(length=1.0)(a_gap), "g must be a function of (t, q), not a_gap(t)"),
    (lambda: jo.constraints(gradient=lambda q: q), "gradient must be a function of (t, q) or None, not <lambda>(q)"),
    (lambda: jo.HalfSpace([0.0, 1.0], lambda t, q: 0.0),
     "offset must be numbers or a function of (t), not <lambda>(t, q)"),
    (lambda: jo.Balls(lambda: [1.0]), "radii must be numbers or a function of (t), not <lambda>()"),
    (lambda: jo.solve(BALL, jo.Maury(), t=1.0, h=0.1, until=lambda: True),
     "until must be a function of (State) or None, not <lambda>()"),
    (lambda: jo.solve(BALL, jo.Maury(), t=1.0, h=0.1, until=lambda t, q: True),
     "until must be a function of (State) or None, not <lambda>(t, q)"),
    (lambda: jo.solve(BALL, jo.Maury(), t=1.0, h=0.1, changes=lambda t, q: q),
     "changes must be functions of the state, such as jo.Outlet(...), not <lambda>(t, q)"),
    (lambda: jo.solve(BALL, jo.Maury(), t=1.0, h=0.1, progress=lambda step, t: None),
     "progress must be True or False or a function of (Progress) or None, not <lambda>(step, t)"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "message"), WRONG, ids=[message for _, message in WRONG])
def test_a_function_with_the_wrong_arguments_is_refused_in_words(call, message):
    with pytest.raises(jo.InvalidValue, match=f"^{re.escape(message)}$"):
        call()


class Wind:
    """A force with a parameter of its own."""

    def __call__(self, t, q, u, strength=2.0):
        return strength - u


RIGHT = [
    lambda t, q: -q,
    lambda t, q, u: -u,
    lambda t, q, u=None: -q,
    lambda *state: -state[1],
    np.minimum,  # a function written in C
    Wind(),
    Wind().__call__,
]


@pytest.mark.parametrize("force", RIGHT, ids=range(len(RIGHT)))
def test_every_function_that_can_be_called_is_accepted(force):
    spring = jo.Motion(q0=[1.0, 2.0], force=force)
    assert jo.solve(spring, jo.Maury(), t=0.1, h=0.1, until=lambda *state: False).status == "finished"


def test_a_mistake_inside_a_function_is_shown_as_python_shows_it():
    """Only the call itself is checked; an error in the function keeps its traceback."""
    spring = jo.Motion(q0=[1.0], force=lambda t, q: np.zeros() * q)
    with pytest.raises(TypeError, match="zeros"):
        jo.solve(spring, jo.Maury(), t=0.1, h=0.1)
