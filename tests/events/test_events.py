"""Event-driven integration: exact answers, what it refuses, and the schemes held against it."""

from decimal import Context, Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import jostle as jo
from jostle.events.accumulations import RecentImpact, limit_of
from rows import examples, whole

G = 9.81
FLOOR = jo.HalfSpace([0.0, 1.0])


def bouncing(e, **changes):
    given = {"q0": [1.0], "force": [-G], "within": jo.HalfSpace([1.0]), "law": jo.Restitution(e), **changes}
    return jo.Motion(**given)


def energy(problem, q, u):
    M, f = problem.metric(problem.q0), problem.constant_force
    return 0.5 * M.inner(u.ravel(), u.ravel()) - float((f * q).sum())


def times(sol):
    return np.array([event.t for event in sol.events])


@pytest.mark.parametrize("e", [0.5, 0.8, 0.9])
def test_a_bouncing_ball_has_the_times_heights_and_limit_of_the_geometric_series(e):
    fall = np.sqrt(2.0 / G)
    limit = fall * (1.0 + e) / (1.0 - e)
    sol = jo.solve_by_events(bouncing(e), t=limit + 1.0)
    k = np.arange(len(sol.events))
    exact = fall * (1.0 + 2.0 * e * (1.0 - e**k) / (1.0 - e))
    assert len(k) >= 25
    np.testing.assert_allclose(times(sol), exact, rtol=1e-13)
    tops = 0.5 * (exact[1:] + exact[:-1])
    np.testing.assert_allclose(sol.q(tops)[:, 0], e ** (2.0 * k[1:]), rtol=0.0, atol=1e-12)
    (end,) = sol.accumulations
    np.testing.assert_allclose(end.t, limit, rtol=1e-13)
    assert end.pairs.tolist() == [[0, -1]]
    np.testing.assert_array_equal(sol.q([limit, limit + 0.5, limit + 1.0]), 0.0)
    np.testing.assert_array_equal(sol.u([limit, limit + 0.5, limit + 1.0]), 0.0)
    assert sol.status == "finished"


def test_p04_a_bouncing_ball_with_an_accumulation_point():
    sol = jo.solve_by_events(bouncing(0.5), t=2.0)
    np.testing.assert_allclose(sol.events[0].t, 0.451523640986, atol=1e-11)
    np.testing.assert_allclose(sol.accumulations[0].t, 1.35457092296, atol=1e-11)
    at = [0.6, 1.0, 1.3]
    np.testing.assert_allclose(sol.q(at)[:, 0], [0.220702226263, 0.0612555656575, 0.000241637333295], atol=1e-11)
    np.testing.assert_allclose(sol.u(at)[:, 0], [0.758170377105, 0.156255565658, 0.120080105641], atol=1e-11)
    late = jo.solve_by_events(bouncing(0.9), t=9.0)
    np.testing.assert_allclose(late.accumulations[0].t, 8.57894917873, atol=1e-10)


def test_small_bounces_beside_a_fast_body_and_late_in_a_run_are_resolved():
    floor = jo.HalfSpace([0.0, 1.0])
    two = {"q0": [[0.0, 1.0], [5.0, 1.0]], "v0": [[0.0, 0.0], [1e7, 0.0]], "force": [[0.0, -G], [0.0, 0.0]]}
    beside = jo.solve_by_events(jo.Motion(**two, within=floor, law=jo.Restitution(0.5)), t=1.3)
    np.testing.assert_allclose(beside.q(1.3)[0, 1], 0.000241637333295, atol=1e-11)
    low = jo.solve_by_events(bouncing(0.5, q0=[1e-10], v0=[1e3 * G]), t=3002.0)  # lands after 2000
    k = np.arange(len(low.events))
    np.testing.assert_allclose(np.diff(times(low)), 2000.0 * 0.5 ** k[1:], atol=1e-11)
    hit = {"q0": [[0.0, 0.5], [-1001.0, 0.5 - 1e-5]], "v0": [[0.0, 0.0], [1.0, 0.0]], "force": two["force"]}
    late = jo.Motion(**hit, within=jo.Balls([0.5, 0.4]) & floor, law=jo.Restitution(0.5))  # lifted a little at t = 1000
    bounces = jo.solve_by_events(late, t=1000.2).events[1:]
    assert len(bounces) >= 5  # until they are lower than 1e-13
    assert all(bounce.pairs.tolist() == [[0, -1]] for bounce in bounces)


def test_p31_balls_that_are_apart_collide_two_by_two():
    row = {"q0": [0.0, 1.0, 2.0], "v0": [1.0, 0.0, 0.0], "within": jo.Line(np.zeros(3))}
    elastic = jo.solve_by_events(jo.Motion(**row, law=jo.Restitution(1.0)), t=20.0)
    np.testing.assert_allclose(elastic.u(20.0), [0.0, 0.0, 1.0], atol=1e-14)
    np.testing.assert_allclose(times(elastic), [1.0, 2.0], atol=1e-14)
    half = jo.solve_by_events(jo.Motion(**row, law=jo.Restitution(0.5)), t=20.0)
    np.testing.assert_allclose(half.u(20.0), [13 / 64, 15 / 64, 9 / 16], atol=1e-14)
    np.testing.assert_allclose(times(half)[-1], 13.0, atol=1e-12)
    assert [event.pairs.tolist() for event in half.events] == [[[0, 1]], [[1, 2]], [[0, 1]]]


def test_p64_a_tonks_gas_has_the_period_of_its_points():
    rods = jo.Line(np.full(3, 0.5), lower=0.0, upper=10.0)
    gas = jo.Motion(q0=[2.0, 5.0, 8.0], v0=[1.0, -2.0, 3.0], within=rods, law=jo.Restitution(1.0))
    sol = jo.solve_by_events(gas, t=14.0)
    np.testing.assert_allclose(sol.q(14.0), [2.0, 5.0, 8.0], atol=1e-12)
    np.testing.assert_allclose(np.sort(np.abs(sol.u(14.0))), [1.0, 2.0, 3.0], atol=1e-13)
    at_walls = [event.impulse[event.pairs[:, 1] < 0].sum() for event in sol.events]
    np.testing.assert_allclose(sum(at_walls) / 14.0 / 2.0, 2.0, rtol=1e-12)  # two walls, mean force 2


def test_the_touching_cradle_obeys_moreaus_law_in_one_impact():
    sol = jo.solve_by_events(jo.models.cradle(5), t=3.0)
    assert len(sol.events) == 1
    assert sol.events[0].pairs.tolist() == [[0, 1], [1, 2], [2, 3], [3, 4]]
    np.testing.assert_allclose(sol.u(3.0), [-0.6, 0.4, 0.4, 0.4, 0.4], atol=1e-14)
    apart = jo.solve_by_events(jo.models.cradle(5, gap=1e-6), t=3.0)
    np.testing.assert_allclose(apart.u(3.0), [0.0, 0.0, 0.0, 0.0, 1.0], atol=1e-14)
    assert [event.pairs.tolist() for event in apart.events] == [[[k, k + 1]] for k in range(4)]


@pytest.mark.parametrize(("ratio", "collisions"), [(1.0, 3), (100.0, 31), (1e4, 314)])
def test_two_balls_and_a_wall_count_the_digits_of_pi(ratio, collisions):
    line = jo.Line(np.zeros(2), lower=0.0)
    q0, v0, mass = [1.0, 2.0], [0.0, -1.0], [1.0, ratio]
    sol = jo.solve_by_events(jo.Motion(q0=q0, v0=v0, mass=mass, within=line, law=jo.Restitution(1.0)), t=1000.0)
    assert len(sol.events) == collisions
    np.testing.assert_allclose(energy(sol.problem, sol.q(1000.0), sol.u(1000.0)), ratio / 2.0, rtol=1e-13)


@pytest.mark.parametrize("t", [300.0, whole(1200.0)])
def test_a_ball_in_a_box_keeps_its_energy_for_a_thousand_impacts(t):
    box = jo.Box([0.0, 0.0], [3.0, 2.0], radii=0.25)
    ball = jo.Motion(q0=[1.0, 0.7], v0=[1.3, 0.77], within=box, law=jo.Restitution(1.0))
    sol = jo.solve_by_events(ball, t=t)
    assert len(sol.events) > t / 1.2
    np.testing.assert_allclose(np.abs(sol.u(t)), [1.3, 0.77], rtol=1e-13)
    period = np.array([2.5, 1.5])  # unfolded, the ball goes straight
    unfolded = np.mod(np.array([0.75, 0.45]) + t * np.array([1.3, 0.77]), 2.0 * period)
    np.testing.assert_allclose(sol.q(t), 0.25 + np.minimum(unfolded, 2.0 * period - unfolded), atol=1e-10)


@pytest.mark.parametrize(("t", "least"), [(25.0, 83), whole((150.0, 500))])
def test_several_discs_in_a_box_keep_their_energy_and_stay_apart(t, least):
    within = jo.Balls(np.full(4, 0.3)) & jo.Box([0.0, 0.0], [3.0, 2.0])
    q0 = [[0.5, 0.5], [1.5, 0.6], [2.5, 1.4], [0.8, 1.5]]
    v0 = [[1.0, 0.3], [-0.4, 0.9], [0.2, -1.1], [0.7, 0.1]]
    discs = jo.Motion(q0=q0, v0=v0, mass=[1.0, 2.0, 1.5, 0.7], within=within, law=jo.Restitution(1.0))
    sol = jo.solve_by_events(discs, t=t)
    assert len(sol.events) > least
    at = np.linspace(0.0, t, 501)
    energies = [energy(discs, q, u) for q, u in zip(sol.q(at), sol.u(at), strict=True)]
    np.testing.assert_allclose(energies, energies[0], rtol=1e-13)
    assert min(within.gap(0.0, q) for q in sol.q(at)) > -1e-12


def test_an_inelastic_ball_lands_and_slides_down_an_inclined_plane():
    slope = np.array([np.sin(0.3), np.cos(0.3)])  # normal of the plane
    along = np.array([np.cos(0.3), -np.sin(0.3)])
    ball = jo.Motion(q0=slope, force=[0.0, -G], within=jo.HalfSpace(slope))
    sol = jo.solve_by_events(ball, t=3.0)
    landing = np.sqrt(2.0 / (G * np.cos(0.3)))
    np.testing.assert_allclose(times(sol), [landing], rtol=1e-14)
    at = np.linspace(0.0, 3.0, 50)
    np.testing.assert_allclose(sol.q(at) @ along, 0.5 * G * np.sin(0.3) * at**2, atol=1e-12)
    np.testing.assert_allclose(sol.q(at[at > landing]) @ slope, 0.0, atol=1e-14)
    assert sol.accumulations == ()


def test_bounces_on_an_inclined_plane_end_in_sliding():
    slope, along = np.array([np.sin(0.3), np.cos(0.3)]), np.array([np.cos(0.3), -np.sin(0.3)])
    ball = jo.Motion(q0=slope, force=[0.0, -G], within=jo.HalfSpace(slope), law=jo.Restitution(0.6))
    sol = jo.solve_by_events(ball, t=4.0)
    (end,) = sol.accumulations
    np.testing.assert_allclose(end.t, np.sqrt(2.0 / (G * np.cos(0.3))) * 1.6 / 0.4, rtol=1e-12)
    np.testing.assert_allclose(sol.q(4.0), 0.5 * G * np.sin(0.3) * 16.0 * along, atol=1e-11)


def test_a_contact_without_a_pressing_force_is_lost():
    up = jo.Motion(q0=[0.0, 0.0], v0=[1.0, 0.0], force=[0.0, 2.0], within=FLOOR)
    sol = jo.solve_by_events(up, t=3.0)
    assert sol.events == ()
    np.testing.assert_allclose(sol.q(3.0), [3.0, 9.0], rtol=1e-15)
    pulled = jo.Motion(q0=[0.0, 1.0], force=[0.0, 1.0], within=jo.Line([0.5, 0.5]))
    np.testing.assert_allclose(jo.solve_by_events(pulled, t=2.0).q(2.0), [0.0, 3.0], rtol=1e-15)


def test_two_balls_pushed_as_one_take_a_third_along():
    """Forces on the first ball alone: contacts with e = 0 carry them, before and after the third ball is reached."""
    line = {"q0": [0.0, 1.0, 4.0], "mass": [1.0, 1.0, 1.0], "within": jo.Line(np.full(3, 0.5))}
    sol = jo.solve_by_events(jo.Motion(**line, force=[2.0, 0.0, 0.0]), t=5.0)
    np.testing.assert_allclose(times(sol), [2.0], rtol=1e-14)  # 2 = a t^2 / 2 with a = 2 / 2
    np.testing.assert_allclose(sol.u(2.0), 4.0 / 3.0, rtol=1e-14)
    # at t = 2 the balls touch at 2, 3, 4, and then have the acceleration 2 / 3
    np.testing.assert_allclose(sol.q(5.0), np.array([2.0, 3.0, 4.0]) + 4.0 + 3.0, rtol=1e-14)


@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
def test_a_corner_is_one_impact_of_both_walls(e):
    corner = jo.Box([0.0, 0.0], [np.inf, np.inf])
    ball = jo.Motion(q0=[1.0, 2.0], v0=[-1.0, -2.0], within=corner, law=jo.Restitution(e))
    sol = jo.solve_by_events(ball, t=3.0)
    assert [event.pairs.tolist() for event in sol.events] == [[[0, -1], [0, -2]]]
    np.testing.assert_allclose(sol.u(3.0), [e, 2.0 * e], atol=1e-15)
    np.testing.assert_allclose(sol.q(3.0), [2.0 * e, 4.0 * e], atol=1e-15)


def test_an_obtuse_corner_obeys_the_law_of_its_cone():
    within = jo.HalfSpace([1.0, 1.0]) & jo.HalfSpace([-0.5, 1.0])
    for e in (0.0, 0.7):
        ball = jo.Motion(q0=[0.0, 1.0], v0=[0.0, -1.0], within=within, law=jo.Restitution(e))
        cone = within.linearise(0.0, np.zeros(2)).cone()
        sol = jo.solve_by_events(ball, t=1.5)
        np.testing.assert_allclose(sol.u(1.2), jo.impact([0.0, -1.0], cone, law=ball.law).velocity, atol=1e-14)


def test_oblique_balls_exchange_their_normal_velocities():
    q0, v0 = [[0.0, 0.0], [3.0, 1.0]], [[1.0, 0.0], [0.0, 0.0]]
    sol = jo.solve_by_events(jo.Motion(q0=q0, v0=v0, within=jo.Balls([1.0, 1.0]), law=jo.Restitution(1.0)), t=5.0)
    hit = 3.0 - np.sqrt(3.0)
    normal = np.array([np.sqrt(3.0), 1.0]) / 2.0
    np.testing.assert_allclose(times(sol), [hit], rtol=1e-15)
    np.testing.assert_allclose(sol.u(5.0)[1], normal[0] * normal, atol=1e-14)
    soft = jo.solve_by_events(jo.Motion(q0=q0, v0=v0, within=jo.Balls([1.0, 1.0])), t=5.0)  # they slide off at once
    np.testing.assert_allclose(soft.u(5.0)[1], normal[0] * normal / 2.0, atol=1e-14)


def test_balls_with_different_accelerations_meet_at_the_root_of_a_quartic():
    """The heavy ball feels a force across: |d(s)|^2 = 4 with d = (4 - 2 s, s^2 / 4)."""
    q0, v0, force = [[0.0, 0.0], [4.0, 0.0]], [[2.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 1.0]]
    discs = jo.Motion(q0=q0, v0=v0, force=force, mass=[1.0, 2.0], within=jo.Balls([1.0, 1.0]), law=jo.Restitution(1.0))
    sol = jo.solve_by_events(discs, t=3.0)
    roots = np.roots([1.0 / 16.0, 0.0, 4.0, -16.0, 12.0])
    exact = min(root.real for root in roots if abs(root.imag) < 1e-12 and root.real > 0.0)
    np.testing.assert_allclose(sol.events[0].t, exact, rtol=1e-13)


def test_two_stacked_balls_come_to_rest_on_the_floor():
    sol = jo.solve_by_events(jo.models.chain(3, height=1.0, e=0.5), t=6.0)
    assert len(sol.accumulations) >= 1
    np.testing.assert_allclose(sol.u(6.0), 0.0, atol=1e-15)
    np.testing.assert_allclose(sol.q(6.0), [0.5, 1.5, 2.5], atol=1e-13)


@pytest.mark.parametrize("e", [0.0, whole(0.3), 0.5, whole(0.9)])
def test_five_balls_that_fall_one_after_the_other_come_to_rest(e):
    """Each of them bounces on a column that rests; gap rates far below round-off would keep the impacts going."""
    line = jo.Line(np.full(5, 0.5), lower=0.0)
    sol = jo.solve_by_events(
        jo.Motion(q0=1.0 + 1.5 * np.arange(5), force=[-G] * 5, within=line, law=jo.Restitution(e)), t=30.0
    )
    np.testing.assert_allclose(sol.u(30.0), 0.0, atol=1e-15)
    np.testing.assert_allclose(sol.q(30.0), 0.5 + np.arange(5), atol=1e-13)


@pytest.mark.parametrize("e", [0.01, 0.03, 0.05, 0.07])
def test_three_balls_without_force_collapse_and_move_on_together(e):
    """Impacts of two pairs in turn accumulate if e < 7 - 4 sqrt(3); momentum and the centre of mass are exact."""
    ball = jo.Motion(q0=[0.0, 2.0, 3.5], v0=[1.0, 0.0, -1.3], within=jo.Line(np.full(3, 0.5)), law=jo.Restitution(e))
    sol = jo.solve_by_events(ball, t=20.0)
    (limit,) = sol.accumulations
    assert limit.pairs.tolist() == [[0, 1], [1, 2]]
    assert abs(limit.t - collapse(e)) <= limit.error
    assert limit.error < 1e-6 or e == 0.07  # close to the critical e the ratio of flight times converges slowly
    np.testing.assert_allclose(sol.u(20.0), -0.1, atol=1e-14)
    np.testing.assert_allclose(sol.q(20.0), 5.5 / 3.0 - 0.1 * 20.0 + np.array([-1.0, 0.0, 1.0]), atol=1e-12)


def collapse(e):
    """The limit of the impacts of the three balls, by their gaps and gap rates in rational numbers."""
    e, t = Fraction(str(e)), Fraction(0)
    gap, rate = [Fraction(1), Fraction(1, 2)], [Fraction(-1), Fraction(-13, 10)]
    for _ in range(60):
        s, hit = min((-g / r, k) for k, (g, r) in enumerate(zip(gap, rate, strict=True)) if r < 0)
        t, gap = t + s, [g + s * r for g, r in zip(gap, rate, strict=True)]
        rate[1 - hit] += (1 + e) * rate[hit] / 2
        rate[hit] *= -e
    return float(t)


def turns(flights, speeds, gaps=(0.0, 0.0)):
    """Eight impacts of the contacts 0 and 1 in turn, each time with a third of the flights and speeds before."""
    return [
        RecentImpact((k % 2,), flights[k % 2] / 3**k, speeds[k % 2] / 3**k, 1.0, np.array(gaps), np.full(2, 1e-14))
        for k in range(8)
    ]


def test_impacts_in_turn_are_followed_until_the_fastest_contact_is_near_its_limit():
    """One contact hardly moves, or closes at once after the other: their gaps are 0 at the impacts, but not between."""
    moving = np.zeros(0, dtype=int)
    assert limit_of(turns((1.0, 0.1), (1.0, 1e-15)), moving) is None
    assert limit_of(turns((1.0, 0.0), (1.0, 1.0)), moving) is None


def test_impacts_at_once_have_an_exact_limit_as_soon_as_their_contacts_rest():
    at_once = turns((0.0, 0.0), (1.0, 1.0))
    assert limit_of(at_once, np.array([0])) is None
    first = at_once[0]._replace(flight=0.017)
    limit = limit_of([first, *at_once[1:6]], np.array([0, 1]))
    assert limit.remaining == limit.error == 0.0


@pytest.mark.parametrize("force", [-G, lambda t, q: [-G]], ids=["parabolas", "smooth"])
def test_impacts_are_listed_with_their_gap_rates_and_energy_is_lost_at_impacts_alone(force):
    sol = jo.solve_by_events(bouncing(0.5, force=force, mass=2.0, potential=lambda q: G * q[0]), t=1.2)
    found, fall = sol.impacts(), np.sqrt(2.0 * G / 2.0)
    np.testing.assert_allclose(found.before, -fall * 0.5 ** np.arange(len(found)), rtol=1e-9)
    np.testing.assert_allclose(found.after, -0.5 * found.before, rtol=1e-12)
    np.testing.assert_allclose(found.impulse, 2.0 * (found.after - found.before), rtol=1e-12)
    assert found.t.tolist() == found.moment.tolist() == [event.t for event in sol.events]
    assert len(sol.impacts(speed=0.9 * fall)) == 1
    at = np.linspace(0.0, 1.2, 50)
    exact = G * 0.25 ** np.searchsorted(times(sol), at, side="right")
    np.testing.assert_allclose(sol.energy(at).total, exact, rtol=1e-9)


def test_the_energy_balance_of_impacts_is_exact():
    sol = jo.solve_by_events(bouncing(0.5), t=1.2)
    found = sol.sampled(np.linspace(0.0, 1.2, 7)).energy_balance()
    np.testing.assert_allclose(found.error, 0.0, atol=1e-13)
    np.testing.assert_allclose(found.dissipated[-1], G * (1.0 - 0.25**3), rtol=1e-12)
    moving = bouncing(0.5, within=jo.HalfSpace([1.0], offset=lambda t: 0.1 * t))
    with pytest.raises(jo.InvalidValue, match="moving walls"):
        jo.solve_by_events(moving, t=1.0).sampled([0.0, 1.0]).energy_balance()


def test_thirty_six_discs_in_a_box_keep_their_energy_and_stay_apart():
    within = jo.Balls(np.full(36, 0.3)) & jo.Box([0.0, 0.0], [6.0, 6.0])
    q0 = 0.5 + np.stack(np.meshgrid(np.arange(6.0), np.arange(6.0)), axis=-1).reshape(-1, 2)
    v0 = np.random.default_rng(0).normal(size=q0.shape)
    sol = jo.solve_by_events(jo.Motion(q0=q0, v0=v0, within=within, law=jo.Restitution(1.0)), t=0.5)
    assert len(sol.events) > 20
    np.testing.assert_allclose(sol.energy([0.0, 0.25, 0.5]).kinetic, 0.5 * (v0**2).sum(), rtol=1e-13)
    assert min(within.gap(0.0, q) for q in sol.q(np.linspace(0.0, 0.5, 101))) > -1e-12


def test_impacts_on_a_moving_wall_have_the_rates_of_the_gap():
    piston = jo.HalfSpace([1.0], offset=lambda t: 2.0 * t)
    ball = jo.Motion(q0=[1.0], v0=[-1.0], within=piston, law=jo.Restitution(0.5))
    found = jo.solve_by_events(ball, t=0.5).impacts()
    np.testing.assert_allclose([found.before, found.after], [[-3.0], [1.5]], rtol=1e-9)


@pytest.mark.parametrize("within", [jo.HalfSpace([1.0]), jo.HalfSpace([1.0], offset=lambda t: 0.1 * np.sin(t - 7.0))])
def test_a_run_that_starts_later_is_the_same_run(within):
    now = within if within.moving is False else jo.HalfSpace([1.0], offset=lambda t: 0.1 * np.sin(t))
    late = jo.solve_by_events(bouncing(0.5, within=within), t=(7.0, 8.0))
    sol = jo.solve_by_events(bouncing(0.5, within=now), t=1.0)
    assert (late.start, late.end, sol.start) == (7.0, 8.0, 0.0)
    np.testing.assert_allclose(times(late) - 7.0, times(sol), atol=1e-11)
    at = np.linspace(0.0, 1.0, 11)
    np.testing.assert_allclose(late.q(at + 7.0), sol.q(at), atol=1e-10)
    with pytest.raises(jo.InvalidValue, match=r"t must lie in \[7, 8\]"):
        late.q(6.9)
    for wrong in ((2.0, 1.0), -1.0, (0.0, np.inf)):
        with pytest.raises(jo.InvalidValue, match="t must be a time after the start"):
            jo.solve_by_events(bouncing(0.5), t=wrong)


places = st.sampled_from([0.0, 0.25, 0.5, 1.0, 1.5]) | st.floats(0.01, 2.0)


@settings(max_examples=examples(10), deadline=None, derandomize=True)
@given(st.tuples(places, places), st.sampled_from([0.0, 0.3, 0.6]), st.sampled_from([0.5, 1.0, 3.0]))
@example((1.0, 2.0), 0.6, 1.0)
def test_two_points_that_fall_on_each_other_do_so_at_any_height_of_the_floor(heights, e, mass):
    """Where the floor is 0 the coordinates end as 0, but not their round-off."""
    at = []
    for floor in (0.0, 5.0):
        line = jo.Line(np.zeros(2), lower=floor)
        q0, law = floor + np.sort(heights), jo.Restitution(e)
        points = jo.Motion(q0=q0, mass=[1.0, mass], force=[-G, -G], within=line, law=law)
        sol = jo.solve_by_events(points, t=6.0)
        at.append(sol.q([0.4, 0.8, 6.0]) - floor)
        np.testing.assert_allclose(at[-1][-1], 0.0, atol=1e-12)
    np.testing.assert_allclose(*at, atol=1e-9)


@settings(max_examples=examples(10), deadline=None, derandomize=True)
@given(st.tuples(places, places), st.tuples(*[st.sampled_from([0.0, 0.25, 0.5])] * 2), st.sampled_from([0.2, 0.6]))
@example((0.5, 1.25), (0.5, 0.25), 0.6)
def test_atwoods_machines_above_floors_at_zero_run_to_the_end(heights, slack, e):
    """Two weights on a string over a pulley: strings become taut, and impacts of floors and string accumulate."""
    string = jo.HalfSpace([1.0, 1.0], max(sum(heights) - slack[0], 0.0))
    floors = jo.HalfSpace([1.0, 0.0]) & jo.HalfSpace([0.0, 1.0])
    mass = np.array([2.0, 1.0 + slack[1]])
    weights = jo.Motion(q0=heights, mass=mass, force=-mass * G, within=floors & string, law=jo.Restitution(e))
    sol = jo.solve_by_events(weights, t=2.0)
    at = np.linspace(0.0, 2.0, 41)
    assert min(weights.within.gap(0.0, q) for q in sol.q(at)) > -1e-12
    energies = [energy(weights, q, u) for q, u in zip(sol.q(at), sol.u(at), strict=True)]
    assert np.diff(energies).max() <= 1e-12


def test_a_velocity_out_of_the_set_is_an_impact_at_the_start():
    sol = jo.solve_by_events(bouncing(0.5, q0=[0.0], v0=[-2.0]), t=0.1)
    assert sol.events[0].t == 0.0
    np.testing.assert_allclose(sol.u(0.0), [1.0])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"q0": [[1.0, 1.0]], "within": jo.Segments([[[0.0, 0.0], [1.0, 0.0]]], radii=0.1)},
            "sets other than HalfSpace",
        ),
        ({"q0": np.arange(402.0).reshape(201, 2), "force": 0.0, "within": FLOOR}, "more than 200 bodies"),
        ({"q0": np.arange(402.0).reshape(201, 2), "force": lambda t, q: -q, "within": FLOOR}, "there are 201"),
        ({"q0": [[1.0, 1.0]], "within": jo.Balls([0.1], period=5.0)}, "Balls with a period"),
        ({"q0": [[1.0, 1.0]], "within": FLOOR, "present": [True]}, "bodies that come and go"),
        ({"q0": [[1.0, 1.0]], "force": lambda t, q: -q, "within": FLOOR, "present": [True]}, "bodies that come and go"),
    ],
)
def test_what_is_not_supported_is_refused_by_name(changes, words):
    with pytest.raises(jo.errors.SchemeRefuses, match=words):
        jo.solve_by_events(bouncing(0.5, **{"force": 0.0, **changes}), t=1.0)


def test_errors_name_the_cause_and_keep_the_motion_until_then():
    with pytest.raises(jo.InfeasibleStart, match="body 0"):
        jo.solve_by_events(bouncing(0.5, q0=[-0.1]), t=1.0)
    with pytest.raises(jo.errors.UnresolvedEvent, match="more than 3 events") as caught:
        jo.solve_by_events(bouncing(0.5), t=2.0, max_events=3)
    assert len(caught.value.solution.events) == 2  # the first event is the start
    assert caught.value.solution.status == "failed"
    with pytest.raises(jo.InvalidValue, match="Motion"):
        jo.solve_by_events(jo.Sweeping(q0=[1.0]), t=1.0)
    with pytest.raises(jo.InvalidValue, match=r"\[0, 1\]"):
        jo.solve_by_events(bouncing(0.5), t=1.0).q(1.5)


def test_balls_that_would_roll_over_each_other_are_an_error():
    within = jo.Balls([0.5, 0.5]) & jo.HalfSpace([0.0, 1.0])
    q0 = [[0.0, 0.5], [0.3, 3.0]]
    pile = jo.Motion(q0=q0, force=[0.0, -G], mass=[100.0, 1.0], within=within)
    with pytest.raises(jo.errors.UnresolvedEvent, match="balls 0 and 1 stay in contact and move along each other"):
        jo.solve_by_events(pile, t=3.0)


def test_a_ball_that_passes_fast_enough_leaves_although_a_force_pulls_it_back():
    """The gap grows with the acceleration |w|^2 / d - 0.3 = 0.2, where w = 1 and d = 2; it would be -0.3 on a plane."""
    q0, v0, force = [[0.0, 0.0], [2.0, 0.0]], [[0.0, 0.0], [0.0, 1.0]], [[0.0, 0.0], [-0.3, 0.0]]
    sol = jo.solve_by_events(jo.Motion(q0=q0, v0=v0, force=force, within=jo.Balls([1.0, 1.0])), t=0.5)
    np.testing.assert_allclose(sol.q(0.5), [[0.0, 0.0], [2.0 - 0.15 * 0.25, 0.5]], rtol=1e-15)
    held = jo.Motion(q0=q0, v0=v0, force=np.multiply(2.0, force), within=jo.Balls([1.0, 1.0]))
    with pytest.raises(jo.errors.UnresolvedEvent, match="not parabolas") as caught:
        jo.solve_by_events(held, t=0.5)
    np.testing.assert_array_equal(caught.value.solution.q(0.0), q0)


def test_a_touching_ball_that_is_pulled_across_leaves_in_fourth_order():
    q0, force = [[0.0, 0.0], [1.0, 0.0]], [[0.0, 0.0], [0.0, -1.0]]
    sol = jo.solve_by_events(jo.Motion(q0=q0, force=force, within=jo.Balls([0.5, 0.5])), t=2.0)
    assert sol.events == ()
    np.testing.assert_allclose(sol.q(2.0), [[0.0, 0.0], [1.0, -2.0]], rtol=1e-15)


def test_a_ball_beside_a_resting_one_falls_past_it():
    within = jo.Balls([0.5, 0.5]) & jo.HalfSpace([0.0, 1.0])
    held = jo.Motion(q0=[[0.0, 0.5], [1.0, 2.0]], v0=0.0, force=[0.0, -G], within=within)
    sol = jo.solve_by_events(held, t=2.0)
    np.testing.assert_allclose(sol.q(2.0), [[0.0, 0.5], [1.0, 0.5]], atol=1e-14)


def test_the_table_names_times_contacts_and_limits():
    sol = jo.solve_by_events(bouncing(0.5), t=2.0)
    text = str(sol)
    assert text.startswith(f"{len(sol.events)} impacts until t = 2, finished")
    assert "0.451523640986  0 - wall 0: 6.64" in text
    assert "1.35457092296" in text.splitlines()[-1]
    assert "accumulation of impacts: 0 - wall 0" in text


@pytest.mark.parametrize("scheme", [jo.Paoli(), jo.MoreauJean()])
def test_the_schemes_converge_to_it_with_their_order(scheme):
    ball = bouncing(0.8, q0=[0.3, 1.0], v0=[0.5, 0.0], force=[0.0, -G], within=FLOOR)
    exact = jo.solve_by_events(ball, t=1.5)
    steps = 1.5 / np.round(1.5 / (0.02 * 2.0 ** -np.arange(0.0, 5.0, 0.5)))
    errors = []
    for h in steps:
        sol = jo.solve(ball, scheme, t=1.5, h=h)
        errors.append(np.abs(sol.q - exact.q(np.minimum(sol.t, 1.5))).max())
    assert 0.8 < jo.analysis.order(steps, errors).order < 1.2
    assert errors[-1] < 0.01


velocities = st.lists(st.floats(-2.0, 2.0), min_size=6, max_size=6)


def three_discs(v, e, within=None, force=0.0):
    q0 = [[0.0, 0.0], [1.5, 0.3], [0.4, 1.6]]
    discs = jo.Balls([0.5, 0.6, 0.4])
    within = discs if within is None else discs & within
    return jo.Motion(
        q0=q0, v0=np.reshape(v, (3, 2)), mass=[1.0, 2.0, 3.0], force=force, within=within, law=jo.Restitution(e)
    )


@settings(max_examples=examples(20), deadline=None, derandomize=True)
@given(velocities, st.floats(0.0, 1.0))
def test_momentum_is_conserved_and_energy_never_grows(v, e):
    discs = three_discs(v, e)
    sol = jo.solve_by_events(discs, t=5.0)
    at = np.linspace(0.0, 5.0, 21)
    momentum = np.einsum("n,knd->kd", [1.0, 2.0, 3.0], sol.u(at))
    np.testing.assert_allclose(momentum - momentum[0], 0.0, atol=1e-12)
    energies = [energy(discs, q, u) for q, u in zip(sol.q(at), sol.u(at), strict=True)]
    assert np.diff(energies).max() <= 1e-13


@settings(max_examples=examples(20), deadline=None, derandomize=True)
@given(velocities)
def test_an_elastic_motion_can_be_reversed(v):
    box = jo.Box([-1.0, -1.0], [3.0, 3.0])
    there = jo.solve_by_events(three_discs(v, 1.0, box), t=4.0)
    turned = jo.Motion(
        q0=there.q(4.0), v0=-there.u(4.0), mass=[1.0, 2.0, 3.0], within=there.problem.within, law=jo.Restitution(1.0)
    )
    back = jo.solve_by_events(turned, t=4.0)
    np.testing.assert_allclose(back.q(4.0), there.problem.q0, atol=1e-9)
    np.testing.assert_allclose(back.u(4.0), -there.problem.v0, atol=1e-9)


def limit_in_many_digits(rows, mass, q, u, e):
    """The time at which the impacts of constraints rows . q >= 0 under gravity accumulate, in 80 digits."""
    with localcontext(Context(prec=80)):
        m, q, u = ([Decimal(x) for x in given] for given in (mass, q, u))
        e, a, last, times = Decimal(e), [Decimal(0) if rows[0][1] else -Decimal(G), -Decimal(G)], None, [Decimal(0)]
        rows = [[Decimal(x) for x in row] for row in rows]
        while len(times) < 30 or times[-1] - times[-10] > Decimal("1e-40"):
            flights = []
            for k, row in enumerate(rows):
                gap, rate, change = (sum(x * y for x, y in zip(row, z, strict=True)) for z in (q, u, a))
                gap = Decimal(0) if k == last else gap
                if change < 0 and (k != last or rate > 0):
                    flights.append(((-rate - (rate * rate - 2 * change * gap).sqrt()) / change, k))
                elif change == 0 and rate < 0:
                    flights.append((-gap / rate, k))
            s, last = min(flights)
            q = [x + s * (v + s * b / 2) for x, v, b in zip(q, u, a, strict=True)]
            u = [v + s * b for v, b in zip(u, a, strict=True)]
            row = rows[last]
            push = sum(x * v for x, v in zip(row, u, strict=True)) / sum(x * x / y for x, y in zip(row, m, strict=True))
            u = [v - (1 + e) * push * x / y for v, x, y in zip(u, row, m, strict=True)]
            times.append(times[-1] + s)
        return float(times[-1])


@pytest.mark.parametrize(
    ("rows", "mass", "e"),
    [
        ([[1.0, 0.0], [-1.0, 1.0]], [1.0, 1.0], 0.1),
        ([[1.0, 0.0], [-1.0, 1.0]], [1.0, 2.0], 0.3),
        ([[1.0, 0.0], [-1.0, 1.0]], [1.0, 2.0], 0.5),
        ([[1.0, 0.0], [-1.0, 1.0]], [1.0, 5.0], 0.5),
        ([[1.0, 0.0], [-1.0, 1.0]], [3.0, 1.0], 0.1),
        ([[1.0, 0.3], [-1.0, 0.3]], [1.0, 1.0], 0.2),
        ([[1.0, 0.3], [-1.0, 0.3]], [1.0, 1.0], 0.7),
    ],
)
def test_impacts_of_two_contacts_in_turn_end_at_their_limit(rows, mass, e):
    """Two points one above the other on a floor, and a point in a narrow wedge, against a computation in 80 digits."""
    stack = rows[0][1] == 0.0
    q0, v0 = ([1.0, 1.5], [0.0, -1.0]) if stack else ([0.1, 1.0], [0.2, 0.0])
    force = -G * np.array(mass) if stack else [0.0, -G]
    within = jo.HalfSpace(rows[0]) & jo.HalfSpace(rows[1])
    sol = jo.solve_by_events(
        jo.Motion(q0=q0, v0=v0, mass=mass, force=force, within=within, law=jo.Restitution(e)), t=3.0
    )
    (limit,) = sol.accumulations
    assert len(limit.pairs) == 2
    exact = limit_in_many_digits(rows, mass, q0, v0, e)
    assert abs(limit.t - exact) <= limit.error <= 1e-6
    np.testing.assert_allclose(sol.q([exact, 3.0]), 0.0, atol=1e-12)


@pytest.mark.parametrize("ceiling", [1.0, 1e12])
def test_a_point_bounces_on_the_floor_of_a_box_however_high_its_ceiling_is(ceiling):
    """Points have no size of which a gap is a difference; the size of the box is that of no gap at its floor."""
    below, open_above = (
        jo.solve_by_events(bouncing(0.5, q0=[1e-3], force=[-1.0], within=within), t=0.3)
        for within in (jo.Box([0.0], [ceiling]), jo.HalfSpace([1.0]))
    )
    assert times(below).tolist() == times(open_above).tolist()


@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize("far", [0.0, 30.0])
def test_blocks_that_come_to_rest_between_each_other_and_a_wall_are_hit_as_one(mirrored, far):
    """Pairs collide one by one in 260 decimal digits, until three contacts accumulate at t = 2.0931855872827."""
    q0, v0 = np.array([0.99, 3.06, 4.57, 6.54]), np.array([3.64, 1.9, -0.27, 1.32])
    exact = np.array([5.2324909318, 6.5, 7.5, 8.5])
    if mirrored:
        q0, v0, exact = 9.0 - q0[::-1], -v0[::-1], 9.0 - exact[::-1]
    line = jo.Line(np.full(4, 0.5), lower=far, upper=far + 9.0)
    sol = jo.solve_by_events(jo.Motion(q0=far + q0, v0=v0, within=line, law=jo.Restitution(0.18)), t=3.0)
    np.testing.assert_allclose(sol.q(3.0) - far, exact, atol=1e-9)


def test_blocks_that_rest_after_many_impacts_at_once_do_not_move():
    """Their velocities were round-off, and the contact with the wall open when the last block came."""
    x, v = np.array([2.51, 3.76, 4.99, 7.56]), np.array([1.4, 2.83, -0.44, -0.1])
    line = jo.Line(np.full(4, 0.5), lower=-4.0, upper=5.0)
    sol = jo.solve_by_events(jo.Motion(q0=x - 3.5, v0=3.0 * v, within=line, law=jo.Restitution(0.2)), t=0.75)
    np.testing.assert_allclose(np.delete(sol.q(0.75), 0), [2.5, 3.5, 4.5], atol=1e-14)
    np.testing.assert_allclose(sol.u(0.75)[1:], 0.0, atol=1e-25)
    assert sol.accumulations[-1].pairs.tolist() == [[1, 2], [2, 3], [3, -2]]
    assert sol.u(0.75)[0] == pytest.approx(-3.0 * 0.21616, abs=1e-12)


@pytest.mark.parametrize(
    ("q0", "v0", "e"),
    [
        ([0.87, 5.52, 6.62, 8.33], [2.8, 3.12, -0.21, 0.2], 0.29),  # without the check 0.92 away from 260 digits
        ([1.27, 3.32, 5.35, 8.35], [1.62, -1.08, -3.12, -1.6], 0.18),  # 0.011
        ([0.69, 4.21, 5.87, 7.03], [3.92, 3.81, 2.11, -3.73], 0.12),  # 0.24
    ],
)
def test_a_motion_that_hangs_on_rounding_is_refused(q0, v0, e):
    blocks = jo.Motion(q0=q0, v0=v0, within=jo.Line(np.full(4, 0.5), lower=0.0, upper=9.0), law=jo.Restitution(e))
    with pytest.raises(jo.errors.UnresolvedEvent, match=r"hangs on rounding before here.*perturb q0 or v0") as told:
        jo.solve_by_events(blocks, t=3.0)
    known = told.value.solution
    assert 0.5 < known.end < 3.0
    assert all(event.t < known.end for event in known.events)
