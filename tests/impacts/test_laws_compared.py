"""Impact laws side by side: where they agree, where each has a known answer, and springs as an oracle."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import jostle as jo
from rows import examples, whole

SPRINGS = [1.0, 1.5]


def line(v, e, mass=1.0):
    n = len(v)
    return jo.Motion(q0=np.arange(n) * 1.0, v0=v, within=jo.Line(np.full(n, 0.5)), mass=mass, law=jo.Restitution(e))


def wedge(degrees):
    a = np.radians(degrees)
    return jo.convex.Cone([[0.0, 1.0], [np.sin(a), -np.cos(a)]])


@pytest.mark.parametrize("e", [0.0, 0.3, 1.0])
def test_two_balls_obey_all_laws_alike(e):
    found = jo.impacts.compare(line([1.0, -0.5], e, mass=[1.0, 3.0]))
    common = (1.0 - 1.5) / 4.0
    exact = [common - e * (1.0 - common), common - e * (-0.5 - common)]
    assert len(found.outcomes) == 4
    for one in found.outcomes:
        np.testing.assert_allclose(one.velocity, exact, atol=1e-11)
        assert one.admissible
        assert one.momentum == pytest.approx(-0.5, abs=1e-12)
    assert found.spread < 1e-11


@pytest.mark.parametrize("e", [whole(0.0), 0.4, 1.0])
def test_where_contacts_are_orthogonal_in_the_kinetic_metric_all_laws_agree(e):
    """P11 and P12: a right angle, and a corner that is right in the metric of a mass matrix alone."""
    for cone, mass, u in (
        (jo.convex.Cone(np.eye(2)), 1.0, [-1.0, -1.0]),
        (jo.convex.Cone([[1.0, 0.0], [1.0, 1.0]]), [[2.0, 1.0], [1.0, 1.0]], [-1.0, -0.5]),
    ):
        found = jo.impacts.compare(u, cone, law=jo.Restitution(e), mass=mass)
        for one in found.outcomes:
            np.testing.assert_allclose(one.velocity, -e * np.array(u), atol=1e-11)


def test_p30_p31_three_balls_in_a_row_by_each_law():
    found = jo.impacts.compare(line([1.0, 0.0, 0.0], 1.0))
    np.testing.assert_allclose(found["Moreau"].velocity, [-1 / 3, 2 / 3, 2 / 3], atol=1e-12)
    assert [one.rows for one in found.binary.outcomes] == [(0, 1)]
    np.testing.assert_allclose(found["binary"].velocity, [0.0, 0.0, 1.0], atol=1e-15)
    # linear springs: (x_1 - x_2) + (x_2 - x_3) and their difference oscillate with the frequencies 1 and sqrt 3
    w = np.sqrt(3.0)
    first = brentq(lambda t: np.sin(t) + np.sin(w * t) / w, 2.0, 2.6, xtol=1e-15)
    left = 0.5 * (np.sin(first) - np.sin(w * first) / w)
    rates = 0.5 * np.array([np.cos(first) + np.cos(w * first), np.cos(first) - np.cos(w * first)])
    u1 = (1.0 + 2.0 * rates[0] + rates[1]) / 3.0
    last = -np.sqrt(rates[1] ** 2 + 2.0 * left**2)  # v_2 - v_3 when the second contact opens
    exact = [u1, (1.0 - u1 + last) / 2.0, (1.0 - u1 - last) / 2.0]
    np.testing.assert_allclose(found["Liu-Zhao-Brogliato, linear"].velocity, exact, atol=1e-11)


@pytest.mark.each_value
@pytest.mark.parametrize("exponent", SPRINGS)
@pytest.mark.parametrize("mass", [[1.0, 1.0, 1.0, 1.0], [3.0, 1.0, 0.7, 1.0]])
def test_elastic_contacts_move_like_springs(exponent, mass):
    v, k, m = np.array([1.0, 0.2, 0.0, -0.4]), np.array([1.0, 4.0, 0.5]), np.array(mass)

    def moving(t, y):
        force = k * np.maximum(y[:3] - y[1:4], 0.0) ** exponent
        return np.concatenate([y[4:], np.append(-force, 0.0) / m + np.insert(force, 0, 0.0) / m])

    end = solve_ivp(moving, (0.0, 60.0), np.concatenate([np.zeros(4), v]), method="DOP853", rtol=1e-12, atol=1e-13)
    hit = jo.impacts.liu_zhao_brogliato(line(v, 1.0, mass), stiffness=7.0 * k, exponent=exponent)
    np.testing.assert_allclose(hit.velocity, end.y[4:, -1], atol=2e-9)


@pytest.mark.each_value
@pytest.mark.parametrize("exponent", SPRINGS)
@pytest.mark.parametrize("e", [0.5, 0.9])
def test_impulses_are_distributed_in_the_ratio_of_the_potential_energies(e, exponent):
    """The law as it is printed, dP_j / dP_i in powers of E_j / E_i, from a small energy in each contact."""
    v, k = np.array([1.0, 0.0, -0.3]), np.array([1.0, 2.0])
    G = np.array([[-1.0, 1.0, 0.0], [0.0, -1.0, 1.0]])

    def increments(s, y):
        E, P = np.maximum(y[:2], 0.0), y[2:]
        rate = G @ (v + G.T @ P)
        dP = k ** (1.0 / (1.0 + exponent)) * E ** (exponent / (1.0 + exponent))
        dP /= dP.max() or 1.0
        dE = np.where(rate < 0.0, -rate, np.where(E > 0.0, -rate / e**2, 0.0)) * dP
        return np.concatenate([dE, dP])

    def over(s, y):
        return y[:2].max() - 1e-9

    over.terminal, over.direction = True, -1.0
    start = np.concatenate([np.full(2, 1e-8), np.zeros(2)])
    end = solve_ivp(increments, (0.0, 9.0), start, rtol=1e-9, atol=1e-12, max_step=1e-3, events=over)
    hit = jo.impacts.liu_zhao_brogliato(line(v, e), stiffness=k, exponent=exponent)
    np.testing.assert_allclose(hit.impulse, end.y[2:, -1], atol=2e-4)
    lost = 0.5 * (v @ v - hit.velocity @ hit.velocity)
    np.testing.assert_allclose((1.0 - e**2) * hit.absorbed.sum(), lost, atol=1e-10)


def test_twice_the_speed_has_twice_the_impulse_and_four_times_the_work():
    slow, fast = (jo.impacts.liu_zhao_brogliato(line([v, 0.0, 0.0], 0.7)) for v in (1.0, 2.0))
    np.testing.assert_allclose(fast.impulse, 2.0 * slow.impulse, rtol=1e-9)
    np.testing.assert_allclose(fast.absorbed, 4.0 * slow.absorbed, rtol=1e-9)


def test_units_do_not_matter():
    one = jo.impacts.liu_zhao_brogliato(line([1.0, 0.0, 0.0], 0.7, [1.0, 2.0, 1.0]), stiffness=[1.0, 3.0])
    row = line([1e-5, 0.0, 0.0], 0.7, [1e7, 2e7, 1e7])
    other = jo.impacts.liu_zhao_brogliato(row, stiffness=[1e9, 3e9])
    np.testing.assert_allclose(other.velocity, 1e-5 * one.velocity, atol=1e-15)
    np.testing.assert_allclose(other.impulse, 1e2 * one.impulse, rtol=1e-9)


def test_p09_p10_corners_by_orders():
    """Faces hit one after the other: 120 degrees with e = 0, and three reflections in 60 degrees with e = 1."""
    inward = -np.array([np.cos(np.pi / 3), np.sin(np.pi / 3)])
    found = jo.impacts.compare(inward, wedge(120), law=jo.Restitution(0.0))
    np.testing.assert_allclose(found["Moreau"].velocity, 0.0, atol=1e-12)
    first = [one for one in found.binary.outcomes if one.rows[0] == 0]
    np.testing.assert_allclose(first[0].velocity, [-0.125, 0.216506350946], atol=1e-9)
    shot = -np.array([np.cos(np.pi / 6 + 0.2), np.sin(np.pi / 6 + 0.2)])
    elastic = jo.impacts.compare(shot, wedge(60))
    np.testing.assert_allclose(elastic["Moreau"].velocity, -shot, atol=1e-12)
    (both,) = elastic.binary.outcomes  # either face first
    assert len(both.rows) == 3
    np.testing.assert_allclose(both.velocity, [0.948097219208, 0.317980601499], atol=1e-11)


@settings(max_examples=examples(20), deadline=None)
@given(st.lists(st.floats(-1.0, 1.0), min_size=2, max_size=5))
def test_equal_balls_on_a_line_sort_their_velocities_in_every_order(v):
    found = jo.impacts.binary_impacts(line(v, 1.0))
    (only,) = found.outcomes
    assert found.complete
    np.testing.assert_allclose(only.velocity, np.sort(v), atol=1e-8)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("e", [0.0, 0.3, 0.8, 1.0])
@pytest.mark.filterwarnings("ignore::jostle.errors.NotApproaching")
def test_no_law_makes_energy_or_loses_momentum(seed, e):
    mass, v = np.array([1.0, 2.0, 0.5, 1.0]), np.random.default_rng(seed).uniform(-1.0, 1.0, 4)
    found = jo.impacts.compare(line(v, e, mass))
    before, momentum = 0.5 * mass @ v**2, mass @ v
    G = found.meeting.G
    assert (G @ v).min() < -0.1  # something collides
    for one in found.outcomes:
        assert one.energy == pytest.approx(0.5 * mass @ one.velocity**2, abs=1e-14)
        assert one.energy <= before + (1e-9 if one.law.startswith("Liu") else 1e-11)  # springs are integrated
        assert one.momentum == pytest.approx(mass @ one.velocity, abs=1e-14)
        assert one.momentum == pytest.approx(momentum, abs=1e-11)
        assert (one.impulse >= 0.0).all()
        np.testing.assert_allclose(mass * (one.velocity - v), G.T @ one.impulse, atol=1e-11)
        if e == 1.0:
            assert one.energy >= before - 1e-9
        if not one.law.startswith("Moreau"):  # whose law needs all contacts to approach
            assert one.admissible
            assert (G @ one.velocity).min() >= -1e-8


def test_an_outcome_in_which_bodies_still_approach_is_not_admissible():
    """With e = 1 Moreau's law turns round the rates of both contacts, also of the one that opens."""
    with pytest.warns(jo.errors.NotApproaching):
        found = jo.impacts.compare(line([1.0, 0.0, 0.5], 1.0))
    assert not found["Moreau"].admissible
    assert found["binary"].admissible


def test_the_search_says_when_it_was_cut():
    rack = jo.models.rack(rows=3, e=1.0)
    whole, cut = jo.impacts.binary_impacts(rack), jo.impacts.binary_impacts(rack, max_states=40)
    assert whole.complete
    assert not cut.complete
    assert 0 < len(cut.outcomes) < len(whole.outcomes)
    for one in cut.outcomes:
        assert min(np.abs(one.velocity - other.velocity).max() for other in whole.outcomes) < 1e-9
    short = jo.impacts.binary_impacts(rack, max_impacts=3)
    assert not short.complete
    assert short.outcomes == ()
    assert "or more: the search was cut" in repr(jo.impacts.compare(rack, max_states=40))
    one = jo.impacts.impacts_by_times(line([1.0, 0.0, -1.0], 0.0), gaps=[0.0, 0.0], max_impacts=5)
    assert (len(one.rows), one.finished) == (5, False)


def test_the_spread_and_the_names_of_a_table():
    found = jo.impacts.compare(line([1.0, 0.0, 0.0], 1.0))
    assert found.spread == pytest.approx(np.linalg.norm([1 / 3, -2 / 3, 1 / 3]), abs=1e-9)
    with pytest.raises(jo.InvalidValue, match="the laws are Moreau, binary, 0 1, Liu"):
        found["Newton"]
    assert "velocity" not in repr(jo.impacts.compare(jo.models.rack(rows=3, e=1.0)))


def test_what_cannot_be_compared_is_refused():
    row = line([1.0, 0.0], 1.0)
    with pytest.raises(jo.InvalidValue, match="leave out cone="):
        jo.impacts.compare(row, mass=2.0)
    with pytest.raises(jo.InvalidValue, match=r"cone must be a jo\.convex\.Cone"):
        jo.impacts.compare([1.0, 0.0])
    with pytest.raises(jo.InvalidValue, match="has 3 coordinates"):
        jo.impacts.compare([1.0, 0.0, 0.0], jo.convex.Cone([[1.0, 0.0]]))
    table = jo.Motion(q0=[0.0], v0=[-1.0], within=jo.HalfSpace([1.0], offset=lambda t: t))
    with pytest.raises(jo.InvalidValue, match="sets that do not move"):
        jo.impacts.compare(table)
    with pytest.raises(jo.InvalidValue, match="contact 1 is -1"):
        jo.impacts.liu_zhao_brogliato(line([1.0, 0.0, 0.0], 1.0), stiffness=[1.0, -1.0])
    with pytest.raises(jo.InvalidValue, match="gaps must be 1 numbers"):
        jo.impacts.impacts_by_times(row, gaps=[1.0, 1.0])


def test_each_contact_has_its_own_restitution():
    """A ball in a corner, whose walls are orthogonal: every law gives each wall its own e."""
    law = jo.Restitution({"wall 0": 0.2, "wall 1": 0.9})
    ball = jo.Motion(q0=[0.0, 0.0], v0=[-1.0, -2.0], within=jo.Box([0.0, 0.0], [9.0, 9.0]), law=law)
    found = jo.impacts.compare(ball)
    assert "e = 0.2 to 0.9" in repr(found)
    for one in found.outcomes:
        np.testing.assert_allclose(one.velocity, [0.2, 1.8], atol=1e-11)
    assert jo.impacts.outcomes(ball, samples=20).continuous


def row_of_three(e, other):
    law = jo.Restitution({(0, 1): e, (1, 2): other})
    return jo.Motion(q0=[0.0, 1.0, 2.0], v0=[1.0, 0.0, -0.5], within=jo.Line([0.5] * 3), law=law)


@pytest.mark.parametrize(("e", "other"), [whole((0.0, 0.7)), (0.3, 1.0), (0.9, 0.5)])
def test_restitutions_of_pairs_keep_the_momentum_and_make_no_energy(e, other):
    found = jo.impacts.compare(row_of_three(e, other))
    for one in found.outcomes:
        assert one.momentum == pytest.approx(0.5, abs=1e-9)
        assert one.energy <= 0.625 * (1.0 + 1e-9)
    springs = jo.impacts.liu_zhao_brogliato(row_of_three(e, other), exponent=1.0)
    lost = 0.625 - found["Liu-Zhao-Brogliato, linear"].energy
    returned = np.array([e, other]) ** 2
    assert lost == pytest.approx(((1.0 - returned) * springs.absorbed).sum(), abs=1e-8)


def test_a_table_with_one_value_is_that_number():
    same, number = jo.impacts.compare(row_of_three(0.4, 0.4)), jo.impacts.compare(line([1.0, 0.0, -0.5], 0.4))
    assert repr(same) == repr(number)


def test_restitutions_that_depend_on_the_speed_are_not_compared():
    with pytest.raises(jo.InvalidValue, match=r"a table of numbers in a jo.Motion, not Restitution"):
        jo.impacts.compare(row_of_three(0.4, lambda v: 0.5 + 0.0 * v))
    with pytest.raises(jo.InvalidValue, match="with one number e"):
        jo.impacts.compare([-1.0], jo.convex.Cone([[1.0]]), law=jo.Restitution(lambda v: 0.5 + 0.0 * v))
