"""The compiled loops over many copies against the schemes and `solve_by_events`, copy by copy."""

import warnings

import numpy as np
import pytest
from copies_at_work import H, at_work, common, drive, flying, gravity, planes, problem

import jostle as jo
from jostle.kernels import functions
from jostle.kernels.cpu.copies import march
from jostle.kernels.cpu.flights import fly
from jostle.kernels.reference.copies import (
    DONE,
    GOES_ON,
    HITS,
    MOREAU_JEAN,
    NO_NEAREST,
    NO_POINT,
    NOT_FINITE,
    PAOLI,
    STATUS,
    Q,
    U,
)

SETS = {"floor": [[0.0, 1.0]], "corner": [[0.0, 1.0], [1.0, 0.0]], "valley": [[0.6, 0.8], [-0.6, 0.8]]}
SCHEMES = {PAOLI: jo.Paoli(), MOREAU_JEAN: jo.MoreauJean()}
SECTIONS, STEPS = 20, 5
GRAVITY = [0.0, -5.0]


def half_spaces(normals):
    first, *others = [jo.HalfSpace(normal) for normal in normals]
    for one in others:
        first = first & one
    return first


def solved(one, scheme, h=H):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", jo.errors.CloseImpacts)
        return jo.solve(one, scheme, t=SECTIONS * STEPS * h, h=h)


def assert_marched(scheme, within, force, common, copies, atol=1e-9):
    """All sections, the last state, the multipliers and the impacts of each copy are those of its run by `solve`."""
    new, saved = march(common, scheme, copies, STEPS, SECTIONS, 0, SECTIONS)
    assert (new.counts[:, STATUS] == GOES_ON).all()
    assert (new.counts[:, DONE] == STEPS * SECTIONS).all()
    for c in range(len(new.states)):
        sol = solved(problem(copies, c, within, force), SCHEMES[scheme])
        np.testing.assert_allclose(saved[c, :, :2], sol.q[STEPS::STEPS], rtol=0.0, atol=atol)
        np.testing.assert_allclose(saved[c, :, 2:], sol.u[STEPS::STEPS], rtol=0.0, atol=atol / H)
        np.testing.assert_array_equal(saved[c, -1], np.concatenate([new.states[c, Q], new.states[c, U]]))
        touched = np.array([np.asarray(p).any() for p in sol.multipliers])
        assert new.touched[c, 0].any() == touched[-1]
        if scheme == PAOLI:
            np.testing.assert_allclose(new.states[c, 1], sol.q[-2], rtol=0.0, atol=atol)
        assert (new.counts[c, HITS] > 0) == touched.any()
        hits, found = new.hits[c, : new.counts[c, HITS]], sol.impacts().faster_than(0.3)
        for moment, before in zip(found.moment, found.before, strict=True):
            nearest = hits[np.argmin(np.abs(hits[:, 0] - moment))]
            assert nearest[0] == pytest.approx(moment, abs=0.5 * H)
            assert nearest[1] == pytest.approx(-before, abs=12.0 * H)  # as fast as a step before, but for the force
    return new


@pytest.mark.each_value
@pytest.mark.parametrize("normals", SETS.values(), ids=list(SETS))
@pytest.mark.parametrize("scheme", SCHEMES, ids=["Paoli", "MoreauJean"])
@pytest.mark.parametrize("e", [0.0, 0.4, 1.0])
def test_steps_are_those_of_the_scheme(scheme, normals, e):
    m = len(normals)
    new = assert_marched(scheme, half_spaces(normals), None, common(drive(), planes(normals), m), at_work(m, e=e))
    assert (new.counts[:, HITS] > 0).any()


def disc(t, q, parameters):
    return np.sqrt(q[0] ** 2 + q[1] ** 2) - 1.0


def outwards(t, q, parameters):
    return q / np.sqrt(q[0] ** 2 + q[1] ** 2)


@pytest.mark.parametrize("scheme", SCHEMES, ids=["Paoli", "MoreauJean"])
def test_steps_on_curved_gaps_are_those_of_the_scheme(scheme):
    rows = functions.rows_of(disc, outwards, 1.0, 2, 1)
    within = jo.constraints(lambda t, q: [disc(t, q, ())], gradient=lambda t, q: [outwards(t, q, ())], length=1.0)
    new = assert_marched(
        scheme, within, GRAVITY, common(gravity(), rows, flat=False, length=1.0), at_work(1, n=2, above=1.0)
    )
    assert new.counts[:, HITS].any()


def bowl(t, q, parameters):
    return 1.0 - np.sqrt(q[0] ** 2 + q[1] ** 2)


def swinging_bowl(t, q, parameters):
    return 1.0 - np.sqrt((q[0] - 0.1 * np.sin(3.0 * t)) ** 2 + q[1] ** 2)


@pytest.mark.each_value
@pytest.mark.parametrize("e", [0.0, 0.4])
@pytest.mark.parametrize("gaps", [bowl, swinging_bowl], ids=["at rest", "moving"])
def test_steps_in_a_bowl_are_those_of_the_scheme(gaps, e):
    """Contacts that stay closed, whose largest gaps bound the next ones."""
    rows = functions.rows_of(gaps, None, functions.DIFFERENCE, 2, 1)
    within = jo.constraints(lambda t, q: [gaps(t, q, ())])
    shared = common(gravity(), rows, flat=False, moving=gaps is swinging_bowl)
    new = assert_marched(MOREAU_JEAN, within, GRAVITY, shared, at_work(1, n=2, above=0.3, e=e), atol=1e-6)
    assert np.isfinite(new.touched[:, 1]).any()


def table(t, q, parameters):
    return q[1] - 0.2 * np.sin(4.0 * t)


def test_steps_on_a_moving_table_are_those_of_the_scheme():
    within = jo.HalfSpace([0.0, 1.0], lambda t: 0.2 * np.sin(4.0 * t))
    shared = common(gravity(), functions.rows_of(table, None, 1.0, 2, 1), moving=True)
    new = assert_marched(MOREAU_JEAN, within, GRAVITY, shared, at_work(1, n=2, above=0.3))
    assert new.counts[:, HITS].any()


@pytest.mark.parametrize("scheme", SCHEMES, ids=["Paoli", "MoreauJean"])
def test_the_first_impact_on_a_plane_under_a_constant_force_is_exact(scheme):
    copies = at_work(1, e=1.0)
    new, _ = march(common(gravity(), planes([[0.0, 1.0]])), scheme, copies, STEPS, SECTIONS, 0, 0)
    (y, v), a = copies.states[:, [Q, U], 1].T, 5.0 / 0.7
    speed = np.sqrt(v * v + 2.0 * a * y)
    np.testing.assert_allclose(new.hits[:, 0, 1], speed, rtol=1e-8)
    np.testing.assert_allclose(new.hits[:, 0, 0], (v + speed) / a, rtol=1e-8)


@pytest.mark.parametrize("length", [0.0, 0.5])
def test_a_gap_is_closed_within_its_length(length):
    """The ball rests 1e-10 above the floor: a contact if the length says so."""
    copies = at_work(1, n=1)
    copies.states[0] = [[0.0, 1e-10], [0.0, 1e-10], [0.0, 0.0]]
    new, _ = march(common(gravity(), planes([[0.0, 1.0]]), length=length), MOREAU_JEAN, copies, 1, 1, 0, 0)
    assert (new.states[0, 0, 1] < 0.0) == (length == 0.0)


# --- by events ---


@pytest.mark.each_value
@pytest.mark.parametrize("normals", SETS.values(), ids=list(SETS))
@pytest.mark.parametrize("e", [0.0, 0.4, 1.0])
def test_flights_are_those_of_solve_by_events(normals, e):
    m, n, steps = len(normals), 2, 800
    copies = at_work(m, n=n, e=e)
    copies.numbers[:, 1] = 1.0 / steps
    new, saved = fly(flying(drive(), planes(normals), m), copies, steps // 20, 20, 0, 20)
    assert (new.counts[:, STATUS] == GOES_ON).all()
    for c in range(n):
        exact = jo.solve_by_events(problem(copies, c, half_spaces(normals)), t=1.0)
        for k, t in enumerate(np.arange(1, 21) / 20.0):
            tolerance = 1e-6 if e == 0.0 or 0.0 < e < 1.0 else 1e-8  # flights shorter than a thousandth of h are none
            np.testing.assert_allclose(saved[c, k, :2], exact.q(t), atol=tolerance)
        hits = new.hits[c, : min(new.counts[c, HITS], 300)]
        found = exact.impacts().t[:3]
        np.testing.assert_allclose(hits[: len(found), 0], found, atol=1e-8)
    assert (new.counts[:, HITS] > 0).any()
    assert new.touched[:, 0].any() == (e < 1.0), "contacts at rest"


@pytest.mark.parametrize("e", [0.4, 1.0])
def test_tangents_are_differences_of_flights(e):
    """The product of what they grew by, and the plane that two of them span, from neighbours of the start."""
    shared, copies, small = flying(drive(), planes([[0.6, 0.8]])), at_work(1, n=2, e=e, tangents=2), 1e-6
    steps = 6
    shared = shared._replace(directions=np.zeros((2, 2)))
    new, _ = fly(shared, copies, steps, 1, 0, 1)
    assert (new.counts[:, HITS] == 0).any() or steps
    for c in range(2):
        ends = []
        for tangent in copies.tangents[c, :, :4]:
            both = []
            for sign in (1.0, -1.0):
                states = copies.states.copy()
                states[c, Q] += sign * small * tangent[:2]
                states[c, U] += sign * small * tangent[2:]
                moved = fly(shared, copies._replace(states=states), steps, 1, 0, 1)[1][c, 0]
                both.append(moved)
            ends.append((both[0] - both[1]) / (2.0 * small))
        Q_, R = np.linalg.qr(np.array(ends).T)
        np.testing.assert_allclose(new.tangents[c, :, 4].sum(), np.log(np.abs(np.diag(R))).sum(), atol=1e-6)
        span = new.tangents[c, :, :4]
        np.testing.assert_allclose(span - (span @ Q_) @ Q_.T, 0.0, atol=1e-6)


# --- both ---


def loops(name):
    return fly if name == "fly" else lambda shared, *rest: march(shared, PAOLI, *rest)


@pytest.mark.parametrize("name", ["march", "fly"])
def test_copies_that_stop_do_not_stop_the_others(name):
    """The force of the second copy is infinite after a while."""
    copies = at_work(1, n=3)._replace(parameters=np.array([[1.0], [np.inf], [2.0]]))
    alone = at_work(1, n=3)._replace(parameters=np.array([[1.0], [1.0], [2.0]]))
    shared = flying(drive(), planes([[0.0, 1.0]]))
    new, saved = loops(name)(shared, copies, STEPS, SECTIONS, 4, 16)
    assert new.counts[:, STATUS].tolist() == [GOES_ON, NOT_FINITE, GOES_ON]
    assert new.counts[1, DONE] == 0
    assert np.isnan(saved[1]).all()
    others, kept = loops(name)(shared, alone, STEPS, SECTIONS, 4, 16)
    np.testing.assert_array_equal(new.states[[0, 2]], others.states[[0, 2]])
    np.testing.assert_array_equal(saved[[0, 2]], kept[[0, 2]])


def height(t, q, parameters):
    return q[1]


def too_flat(t, q, parameters):
    return 0.0, 0.4


def test_a_search_that_finds_no_nearest_point_ends_a_copy():
    rows, copies = functions.rows_of(height, too_flat, 1.0, 2, 1), at_work(1, n=1, above=0.2)
    new, _ = march(common(gravity(), rows, flat=False), PAOLI, copies, STEPS, SECTIONS, 0, 0)
    assert new.counts[0, STATUS] == NO_NEAREST
    assert 0 < new.counts[0, DONE] < STEPS * SECTIONS


def test_constraints_that_contradict_each_other_end_a_copy():
    """Two walls that meet: below height zero there is no point left."""
    rows = functions.planes(np.array([[0.0, 1.0], [0.0, -1.0]]), np.array([0.0, -1e-3]))
    new, _ = march(common(gravity(), rows, 2), PAOLI, at_work(2, n=1), STEPS, SECTIONS, 0, 0)
    assert new.counts[0, STATUS] == NO_POINT


@pytest.mark.parametrize("name", ["march", "fly"])
def test_saved_sections_are_those_after_the_first(name):
    shared, copies = flying(drive(), planes([[0.0, 1.0]])), at_work(1)
    _, all_of_them = loops(name)(shared, copies, 3, 5, 0, 5)
    _, some = loops(name)(shared, copies, 3, 5, 2, 2)
    np.testing.assert_array_equal(some, all_of_them[:, 2:4])


@pytest.mark.parametrize("name", ["march", "fly"])
def test_nothing_is_written_into_arguments(name):
    shared, copies, same = flying(drive(), planes([[0.0, 1.0]])), at_work(1), at_work(1)
    loops(name)(shared, copies, STEPS, SECTIONS, 0, 1)
    for one, other in zip(copies, same, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", ["march", "fly"])
def test_the_last_impacts_are_kept(name):
    shared, copies = flying(drive(), planes([[0.0, 1.0]])), at_work(1, e=1.0)
    everything, _ = loops(name)(shared, copies, 40, SECTIONS, 0, 0)
    few, _ = loops(name)(shared, copies._replace(hits=np.full((4, 3, 3), np.nan)), 40, SECTIONS, 0, 0)
    for c in range(4):
        count = everything.counts[c, HITS]
        assert few.counts[c, HITS] == count > 3
        kept = everything.hits[c, count - 3 : count]
        np.testing.assert_array_equal(few.hits[c][np.arange(count - 3, count) % 3], kept)
