"""Schemes of plug-ins: what `Scheme.advance` puts right, and what it refuses."""

from dataclasses import dataclass

import numpy as np
import pytest

import jostle as jo


@dataclass(frozen=True, kw_only=True)
class Marking(jo.Maury):
    """Maury's scheme, which marks bodies that are not present in its own way."""

    q: float = 0.0
    u: float = 0.0

    def step(self, problem, state, h):
        after, here = super().step(problem, state, h), state.presence.here[:, None]
        return after.replace(q=np.where(here, after.q, self.q), u=np.where(here, after.u, self.u))


def falling():
    return jo.Motion(
        q0=[[0.0, 5.0], [3.0, 5.0], [6.0, 0.5]],
        force=[0.0, -9.81],
        within=jo.Balls(0.5) & jo.HalfSpace([0, 1]),
        present=[True, False, True],
    )


@pytest.mark.parametrize("scheme", [Marking(q=np.nan), Marking(u=np.nan), Marking(q=np.nan, u=np.nan), Marking(q=0.1)])
def test_bodies_that_are_not_present_stay_aside_whatever_a_scheme_leaves_there(scheme):
    expected = jo.solve(falling(), jo.Maury(), t=1.2, h=0.1)
    sol = jo.solve(falling(), scheme, t=1.2, h=0.1)
    np.testing.assert_array_equal(sol.q, expected.q)
    np.testing.assert_array_equal(sol.u, expected.u)
    kept = [s.advance(falling(), s.start(falling(), 0.0), 0.1) for s in (jo.Maury(), scheme)]
    assert (kept[0].q == kept[1].q).all()
    assert kept[0].overshoot == kept[1].overshoot


def test_a_scheme_that_says_nothing_of_its_capabilities_is_not_recommended(monkeypatch):
    monkeypatch.setattr(jo.schemes.SCHEMES, "_items", dict(jo.schemes.SCHEMES._items))
    jo.schemes.SCHEMES.register("marking", Marking)
    with pytest.raises(jo.errors.SchemeRefuses, match=r"; use Maury or MoreauJean$"):
        jo.solve(falling(), jo.Paoli(), t=1.0, h=0.1)


def test_a_scheme_that_moves_a_body_that_is_not_present_is_refused():
    with pytest.raises(jo.InvalidValue, match="Marking moved body 1, which is not present"):
        jo.solve(falling(), Marking(u=0.1), t=1.2, h=0.1)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_velocity_that_is_not_finite_is_refused_although_positions_are(value):
    class Careless(jo.Maury):
        def step(self, problem, state, h):
            after = super().step(problem, state, h)
            return after.replace(u=np.full_like(after.u, value)) if state.t > 0.85 else after

    ball = jo.Motion(q0=[0.0, 5.0], force=[0.0, -9.81], within=jo.HalfSpace([0, 1]))
    with pytest.raises(jo.errors.NotFinite, match=r"step 10 \(t = 1\): velocity \(0,\) became (nan|inf)"):
        jo.solve(ball, Careless(), t=1.0, h=0.1)


def returning(alter):
    """Maury's scheme, with something done to the state of each step."""

    class Altered(jo.Maury):
        def step(self, problem, state, h):
            return alter(super().step(problem, state, h))

    return Altered()


BALL = jo.Motion(q0=[[0.0, 1.0]], force=[0.0, -9.81], within=jo.Balls(0.5) & jo.HalfSpace([0.0, 1.0]))


@pytest.mark.parametrize(
    "alter",
    [
        lambda state: None,
        lambda state: state.replace(multipliers=None),
        lambda state: state.replace(multipliers=np.zeros(9)),
        lambda state: state.replace(contacts=state.contacts.only(np.zeros(0, dtype=int))),
        lambda state: state.replace(q=state.q.ravel()),
        lambda state: state.replace(q=state.q.astype(np.float32)),
        lambda state: state.replace(u=state.u.tolist()),
    ],
)
def test_a_state_whose_arrays_do_not_fit_is_refused(alter):
    with pytest.raises(jo.InvalidValue, match=r"step of Altered must return a state .* float64 and of shape \(1, 2\)"):
        jo.solve(BALL, returning(alter), t=1.0, h=0.05)


def test_multipliers_that_are_not_finite_are_refused():
    with pytest.raises(jo.errors.NotFinite, match=r"multiplier .* became nan"):
        jo.solve(BALL, returning(lambda state: state.replace(multipliers=np.nan * state.multipliers)), t=1.0, h=0.05)


def test_overlaps_of_a_scheme_that_moves_what_it_projected_are_measured():
    """It inherits from a scheme whose residual bounds the overlaps: they were 0 for any q."""
    sol = jo.solve(BALL, returning(lambda state: state.replace(q=state.q - [0.0, 0.3])), t=1.0, h=0.05)
    assert sol.overlap == pytest.approx(0.6)
