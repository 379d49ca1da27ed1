"""Correct runs are accepted, however bodies meet; runs that overlap more than their scheme allows are not."""

from dataclasses import replace

import numpy as np
import pytest

import jostle as jo
from jostle.theory import promises
from jostle.theory.report import FAILS, HOLDS
from rows import whole


def pair(e, x=1.2, y=0.0, d=2, drift=0.0):
    """Two balls of radius 0.6 that close at 3, and drift on together."""
    q0, v0 = np.zeros((2, d)), np.zeros((2, d))
    q0[:, :2], v0[:, 0] = [[-x, y], [x, -y]], [1.5 + drift, -1.5 + drift]
    return jo.Motion(q0=q0, v0=v0, within=jo.Balls([0.6, 0.6]), law=jo.Restitution(e))


def failing(sol, problem=None):
    return [line.name for line in promises(sol, problem).failing]


def shifted(sol, by):
    """The solution in which the first body is elsewhere from the start, which no velocity shows."""
    q, z = np.array(sol.q), None if sol.z is None else np.array(sol.z)
    for places in (q,) if z is None else (q, z):
        places[:, 0] += by
    return replace(sol, q=q, z=z)


@pytest.mark.each_value
@pytest.mark.parametrize("e", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("x", [1.2, 1.2037, 1.2081, 1.2111])
@pytest.mark.parametrize(("d", "scheme"), [(2, jo.Paoli()), (3, jo.Paoli()), (2, jo.MoreauJean())])
def test_pairs_that_meet_head_on_overlap_by_what_the_scheme_allows(e, x, d, scheme):
    """Each moves by h |v|, and both together by twice that, wherever in a step they meet."""
    sol = jo.solve(pair(e, x, d=d), scheme, t=0.8, h=0.01)
    assert failing(sol) == []
    assert promises(shifted(sol, [0.12] + [0.0] * (d - 1)))["feasible"].verdict == FAILS  # by 0.2 R


@pytest.mark.parametrize("scheme", [jo.Paoli(), jo.MoreauJean()], ids=["Paoli", "MoreauJean"])
def test_overlaps_are_bounded_by_how_fast_gaps_close_and_not_by_how_fast_bodies_slide(scheme):
    """A disc that slides at speed 20 along a floor that it does not approach must not be in it."""
    disc = jo.Motion(q0=[[0.0, 0.5]], v0=[[20.0, 0.0]], within=jo.Balls([0.5]) & jo.HalfSpace([0.0, 1.0]),
                     law=jo.Restitution(1.0))  # fmt: skip
    sol = jo.solve(disc, scheme, t=0.2, h=0.01)
    assert failing(sol) == []
    assert promises(shifted(sol, [0.0, -0.01]))["feasible"].verdict == FAILS


def test_the_allowance_of_a_pair_does_not_depend_on_its_drift():
    still, drifting = (jo.solve(pair(0.5, 1.2037, drift=v), jo.Paoli(), t=0.8, h=0.01) for v in (0.0, 70.0))
    allowed = [promises(sol)["feasible"].values["allowed"] for sol in (still, drifting)]
    assert allowed[0] == pytest.approx(allowed[1], rel=1e-6)


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
def test_gaps_of_the_user_may_have_any_unit(unit):
    """The gap of a pin on a curved rail, in metres or in millimetres: the same run is accepted."""
    rail = jo.constraints(lambda t, q: [unit * (q @ q - 1.0)])
    pin = jo.Motion(q0=[0.1, 1.3], v0=[0.0, -1.0], force=[0.0, -2.0], within=rail, law=jo.Restitution(0.9))
    assert failing(jo.solve(pin, jo.MoreauJean(), t=1.0, h=0.01)) == []


def test_walls_that_move_and_turn_are_followed_between_the_nodes():
    plank = jo.HalfSpace(lambda t: [-np.sin(t), np.cos(t)])
    table = jo.HalfSpace([0.0, 1.0], offset=lambda t: 0.2 * np.sin(20.0 * t))
    for wall in (plank, table):
        disc = jo.Motion(q0=[[0.0, 0.7]], force=[0.0, -9.81], within=jo.Balls([0.3]) & wall)
        for scheme in (jo.Maury(), jo.MoreauJean()):
            assert failing(jo.solve(disc, scheme, t=0.8, h=0.01)) == []


@pytest.mark.parametrize(("x", "h"), [(1.25, 1e-2), (1.2537, 1e-2), (1.2537, 2e-3)])
def test_elastic_pairs_in_the_plane_keep_their_energy(x, h):
    """Paoli's impact takes two steps, whose normals differ by O(h): so does the energy. Its loss by e = 0.9 is seen."""
    for drift in (0.0, 50.0):
        elastic = jo.solve(pair(1.0, x, 0.15, drift=drift), jo.Paoli(), t=0.8, h=h)
        assert failing(elastic) == []
        lossy = jo.solve(pair(0.9, x, 0.15, drift=drift), jo.Paoli(), t=0.8, h=h)
        assert promises(lossy, pair(1.0, x, 0.15, drift=drift))["energy"].verdict == FAILS


@pytest.mark.parametrize("gap", [1e-7, 2e-4])
def test_energy_that_the_first_impact_creates_is_seen(gap):
    """A dumbbell that turns hits a floor with one ball: with friction and restitution its energy grows by a third."""
    a = np.radians(40.0)
    arm = 0.5 * np.array([np.cos(a), -np.sin(a)])
    dumbbell = jo.Motion(
        q0=[[0.0, 0.05 + 0.5 * np.sin(a) + gap]], v0=[[0.0, -2.0]], spin0=-7.5, inertia=0.1,
        within=jo.Clumps([(np.array([arm, -arm]), 0.05)]) & jo.HalfSpace([0.0, 1.0]), law=jo.Coulomb(0.6, e=0.95),
    )  # fmt: skip
    sol = jo.solve(dumbbell, jo.MoreauJean(), t=1e-3, h=5e-5)
    energy = [0.5 * (sol.u[k] ** 2).sum() + 0.05 * sol.spin[k, 0] ** 2 for k in (0, -1)]
    assert energy[1] > 1.3 * energy[0]
    assert promises(sol)["energy"].verdict == FAILS


def test_an_impact_of_round_off_is_no_impact():
    """Two discs that stay in touch for a while: their last impulse is 1e-16, and has no law."""
    n = 4
    q0 = np.stack(np.meshgrid(np.arange(n), np.arange(n)), -1).reshape(-1, 2) * 1.3 + 0.8
    v0 = np.random.default_rng(3).normal(size=(n * n, 2))
    gas = jo.Motion(q0=q0, v0=v0, within=jo.Balls(np.full(n * n, 0.4)) & jo.Box([0.0, 0.0], [5.5, 5.5]))
    sol = jo.solve(gas, jo.Maury(), t=2.0, h=0.01)
    assert promises(sol)["impact law"].verdict == HOLDS


@pytest.mark.parametrize("h", [0.003, 0.007, whole(0.0013)])
def test_a_ball_that_rests_at_the_origin_up_to_round_off_does_not_overlap(h):
    """The round-off of its height is that of the way in a step, not that of the height itself."""
    for height in (0.7, 0.55):
        ball = jo.Motion(q0=[0.0, height], v0=[0.4, -0.3], force=[0.0, -9.81], within=jo.HalfSpace([0.0, 1.0]))
        sol = jo.solve(ball, jo.Maury(), t=0.6, h=h)
        assert jo.theory.promises(sol)["feasible"].verdict == "holds"
        assert jo.theory.promises(replace(sol, q=sol.q - 1e-6))["feasible"].verdict == "fails"


def test_a_velocity_of_round_off_that_changes_is_no_impact():
    line = jo.Motion(q0=[0.0, 1.3, 2.7], v0=[1.0, 0.0, -0.5], mass=[1.0, 3.0, 2.0], within=jo.Line([0.5] * 3))
    for h in (0.003, 0.002):
        assert jo.theory.promises(jo.solve(line, jo.Maury(), t=0.9, h=h)).failing == ()
