"""Free flights that `solve` takes many steps at a time have the bits of the scheme's own steps."""

import dataclasses

import numpy as np
import pytest

import jostle as jo
from jostle.run import solve as evolution
from jostle.run.free_flight import FREE_STEPS, FreeFlight


def both(problem, scheme, **run):
    """The run with flights, and the one without."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evolution.FreeFlight, "of", lambda *_: None)
        plain = jo.solve(problem, scheme, **run)
    return jo.solve(problem, scheme, **run), plain


def assert_same(fast, plain):
    """Every field of a `Solution` to the bit, -0.0 counting as 0.0."""
    for field in dataclasses.fields(jo.Solution):
        one, other = getattr(fast, field.name), getattr(plain, field.name)
        if field.name in ("multipliers", "pairs", "normals"):
            assert len(one) == len(other)
            for mine, theirs in zip(one, other, strict=True):
                np.testing.assert_array_equal(mine, theirs)
                assert mine.shape == theirs.shape
        elif field.name == "recorded":
            for name in ("t", "pairs", "before", "after", "impulse", "moment"):
                np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
        elif isinstance(one, np.ndarray):
            np.testing.assert_array_equal(one, other)
            assert one.dtype == other.dtype
        elif field.name not in ("problem", "scheme"):
            assert one == other, field.name


@pytest.fixture
def flights(monkeypatch):
    """How many steps were flown, in a list."""
    counted = []
    after = FreeFlight.after

    def counting(self, *given):
        found = after(self, *given)
        counted.append(0 if found is None else len(found.t))
        return found

    monkeypatch.setattr(FreeFlight, "after", counting)
    return counted


CASES = {
    "ball": {"q0": [0.0, 1.0], "v0": [1.0, 0.0], "force": [0.0, -9.81], "within": jo.HalfSpace([0, 1])},
    "in a box": {"q0": [0.3, 0.4], "v0": [1.3, -0.7], "force": [0.1, -1.0], "within": jo.Box([0, 0], [1, np.inf])},
    "heavy": {"q0": [0.5], "force": [-1.0], "within": jo.HalfSpace([1.0]), "mass": 3.0},
    "matrix": {
        "q0": [0.2, 0.7], "force": [-1.0, -2.0], "within": jo.HalfSpace([0.6, 0.8]), "mass": [[2.0, 0.5], [0.5, 1.0]],
    },
    "valley": {
        "q0": [0.1, 1.0], "force": [0.0, -5.0], "within": jo.HalfSpace([0.6, 0.8]) & jo.HalfSpace([-0.6, 0.8]),
    },
    "space": {
        "q0": [0.0, 0.0, 0.2], "v0": [1.0, 2.0, 0.0], "force": [0.0, 0.0, -9.81], "within": jo.HalfSpace([0, 0, 1]),
    },
    "free": {"q0": [0.0, 1.0], "v0": [1.0, -0.0], "force": [0.0, -9.81]},
}  # fmt: skip


@pytest.mark.each_value
@pytest.mark.filterwarnings("ignore::jostle.errors.CloseImpacts")
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("scheme", [jo.Paoli(), jo.MoreauJean()], ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("e", [0.0, 0.8])
def test_flights_have_the_bits_of_the_scheme(case, scheme, e, flights):
    fast, plain = both(jo.Motion(**CASES[case], law=jo.Restitution(e)), scheme, t=0.8, h=4e-3)
    assert_same(fast, plain)
    assert sum(flights) > 25


@pytest.mark.each_value
@pytest.mark.parametrize("scheme", [jo.Paoli(), jo.MoreauJean()], ids=lambda one: type(one).__name__)
@pytest.mark.parametrize(
    "run", [{"t": 0.5995, "h": 2e-3}, {"t": (1.0, 1.6), "h": 2e-3, "every": 7}, {"t": 0.6, "h": 2e-3, "every": 0.0131}],
    ids=["last step cut", "every so many steps", "every so often"],
)  # fmt: skip
def test_saving_and_the_last_step_are_the_same(scheme, run, flights):
    ball = jo.Motion(**CASES["ball"], law=jo.Restitution(0.8))
    assert_same(*both(ball, scheme, **run))
    assert sum(flights) > 50


def test_a_contact_in_the_middle_of_a_step_between_two_free_places_ends_a_flight(flights):
    """Thrown down against a force that pulls up: 0.02 and 0.01 above the floor at the ends, below it between them."""
    ball = jo.Motion(q0=[21.22], v0=[-20.6], force=[10.0], within=jo.HalfSpace([1.0]), law=jo.Restitution(1.0))
    fast, plain = both(ball, jo.MoreauJean(), t=4.0, h=0.1)
    assert_same(fast, plain)
    assert len(plain.impacts()) == 1
    assert sum(flights) > 10


@pytest.mark.filterwarnings("ignore::jostle.errors.CloseImpacts")
@pytest.mark.parametrize("seed", range(6))
def test_any_ball_has_the_same_bits(seed):
    random = np.random.default_rng(seed)
    height, speed, h = random.uniform(0.0, 1.0), random.uniform(-3.0, 3.0), random.uniform(2e-3, 2e-2)
    law = jo.Restitution(float(random.choice([0.3, 0.9, 1.0])))
    ball = jo.Motion(q0=[height], v0=[speed], force=[-9.81], within=jo.HalfSpace([1.0]), law=law)
    assert_same(*both(ball, jo.Paoli() if seed % 2 else jo.MoreauJean(), t=1.0, h=h))


def test_a_flight_ends_before_the_contact(flights):
    ball = jo.Motion(**CASES["ball"], law=jo.Restitution(0.8))
    sol = jo.solve(ball, jo.Paoli(), t=2.0, h=1e-3)
    assert sum(flights) > 1500
    assert len(sol.impacts()) == 3
    assert FREE_STEPS >= 3  # what the scheme and the times of impacts remember of the steps before


STAY = {
    "a force in time": lambda: jo.Motion(q0=[1.0], force=lambda t, q: -q, within=jo.HalfSpace([1.0])),
    "a moving wall": lambda: jo.Motion(q0=[1.0], force=[-1.0], within=jo.HalfSpace([1.0], lambda t: -t)),
    "a curved wall": lambda: jo.Motion(q0=[0.0, 3.0], force=[0.0, -1.0], within=jo.Outside([0.0, 0.0], 1.0)),
    "many bodies": lambda: jo.Motion(q0=[[0.0], [3.0]], force=[-1.0], within=jo.HalfSpace([1.0], -5.0)),
    "a law of the speed": lambda: jo.Motion(q0=[1.0], law=jo.Restitution(lambda v: 0.5 + 0.0 * v)),
}


@pytest.mark.parametrize("case", STAY)
def test_other_problems_are_left_to_the_scheme(case, flights):
    jo.solve(STAY[case](), jo.MoreauJean(), t=0.5, h=0.01)
    assert flights == []


def test_who_watches_sees_every_step(flights):
    ball, seen = jo.Motion(**CASES["ball"]), []
    jo.solve(ball, jo.Paoli(), t=0.2, h=0.01, progress=lambda progress: seen.append(progress.step))
    jo.solve(ball, jo.Paoli(), t=0.2, h=0.01, until=lambda state: state.q[1] < 0.9)
    assert seen == list(range(1, 21))
    assert flights == []


def test_a_flight_into_infinity_is_the_error_of_the_scheme():
    ball = jo.Motion(q0=[0.0], v0=[1e300], force=[1e304], within=jo.HalfSpace([1.0]))
    with pytest.raises(jo.JostleError), np.errstate(over="ignore"):
        jo.solve(ball, jo.MoreauJean(), t=5e5, h=1e3)
