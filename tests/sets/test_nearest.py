"""P_Q(w), the nearest point of the set itself in the M-norm, against closed forms and brute force, to 1e-10."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import brentq, minimize_scalar

import jostle as jo

TOL = 1e-10


def assert_optimal(Q, w, P, matrix, t=0.0):
    """M (x - w) = G(x)^T p, 0 <= p ⟂ g(x) >= 0, with gradients differenced from the gaps alone."""
    x, step = np.asarray(P.point, dtype=float), 1e-6
    G = np.empty((len(P.multipliers), x.size))
    for k in range(x.size):
        ahead, behind = x.copy(), x.copy()
        ahead.flat[k] += step
        behind.flat[k] -= step
        G[:, k] = (Q.gaps(t, ahead) - Q.gaps(t, behind)) / (2.0 * step)
    gaps, p = Q.gaps(t, x), P.multipliers
    moved = x.ravel() - np.ravel(w)
    assert gaps.min() >= -TOL
    assert p.min() >= 0.0
    np.testing.assert_allclose(matrix @ moved, G.T @ p, atol=1e-7 * np.abs(matrix @ moved).max())
    assert p @ np.abs(gaps) <= TOL * max(moved @ matrix @ moved, 1e-30)


def full(mass, size):
    mass = np.asarray(mass, dtype=float)
    return mass if mass.ndim == 2 else np.diag(np.broadcast_to(mass, size))


MASSES = {"one": 1.0, "diagonal": np.array([1.0, 4.0]), "matrix": np.array([[2.0, 1.0], [1.0, 1.5]])}
every_mass = pytest.mark.parametrize("mass", MASSES.values(), ids=MASSES)


@every_mass
@pytest.mark.parametrize("w", [(-1.0, 0.3), (0.2, -4.0), (-1e3, 2.0)])
def test_half_space(w, mass):
    """x = w - M^-1 n (n.w - b) / (n M^-1 n)."""
    n, b, M = np.array([3.0, 4.0]), 2.0, full(mass, 2)
    inverse = np.linalg.inv(M)
    expected = np.array(w) - inverse @ n * (n @ w - b) / (n @ inverse @ n)
    Q = jo.HalfSpace(n, b)
    P = jo.nearest(w, Q, mass=mass)
    np.testing.assert_allclose(P.point, expected, rtol=TOL)
    assert_optimal(Q, w, P, M)


def test_project_refuses_an_admissible_set_and_names_nearest():
    with pytest.raises(jo.InvalidValue, match=r"not HalfSpace; jo\.nearest\(w, within\) projects on admissible sets"):
        jo.project([1.0, -1.0], jo.HalfSpace([0.0, 1.0]))


@pytest.mark.parametrize("w", [(-1.0, 0.3, 9.0), (0.2, -4.0, 0.5), (5.0, 5.0, -5.0)])
@pytest.mark.parametrize("mass", [1.0, [1.0, 2.0, 3.0]])
def test_box(w, mass):
    """Each coordinate alone, whatever the masses."""
    lower, upper = [0.0, 0.0, 0.0], [1.0, 2.0, np.inf]
    P = jo.nearest(w, jo.Box(lower, upper), mass=mass)
    np.testing.assert_allclose(P.point, np.clip(w, lower, upper), atol=TOL)


@every_mass
@pytest.mark.parametrize("w", [(0.3, 0.2), (-0.5, 0.1), (0.02, -0.9), (1e-3, 1e-3)])
def test_outside_of_a_disc(w, mass):
    """P22: the nearest point of the circle, by minimising over its angle in the same half of the plane of angles."""
    M = full(mass, 2)
    Q = jo.Outside([0.0, 0.0], 1.0)
    P = jo.nearest(w, Q, mass=mass)
    best = on_circle(w, M)
    assert np.linalg.norm(P.point) == pytest.approx(1.0, abs=TOL)
    assert_optimal(Q, w, P, M)
    moved = P.point - w
    assert moved @ M @ moved == pytest.approx(best, rel=TOL)


@pytest.mark.parametrize("heavier", [1.1, 1.01])
def test_a_shallow_minimum_is_found_to_the_last_digits(heavier):
    """Nearly round masses, from near the centre: the nearest angle is the best root of d/d angle |x - w|_M^2 = 0."""
    w, M = np.array([1e-3, 2e-3]), np.array([1.0, heavier])

    def slope(angle):
        x = np.array([np.cos(angle), np.sin(angle)])
        return (M * (x - w)) @ [-x[1], x[0]]

    grid = np.linspace(0.0, 2.0 * np.pi, 201)
    roots = [brentq(slope, a, b, xtol=1e-15) for a, b in pairwise(grid) if slope(a) * slope(b) < 0.0]
    points = np.stack([np.cos(roots), np.sin(roots)], axis=1)
    P = jo.nearest(w, jo.Outside([0.0, 0.0], 1.0), mass=M)
    best = points[np.argmin(((points - w) ** 2) @ M)]
    np.testing.assert_allclose(P.point, best, atol=1e-8)
    assert_optimal(jo.Outside([0.0, 0.0], 1.0), w, P, np.diag(M))


@every_mass
@pytest.mark.parametrize("w", [(3.0, 4.0), (-2.0, 0.1), (0.0, -1.001)])
def test_inside_of_a_disc(w, mass):
    M = full(mass, 2)
    Q = jo.Inside([0.0, 0.0], 1.0)
    P = jo.nearest(w, Q, mass=mass)
    moved = P.point - w
    assert np.linalg.norm(P.point) == pytest.approx(1.0, abs=TOL)
    assert moved @ M @ moved == pytest.approx(on_circle(w, M), rel=TOL)
    assert_optimal(Q, w, P, M)


def on_circle(w, M):
    """The smallest |x - w|_M^2 over the unit circle: a fine grid, then a bounded search around its best angle."""

    def square(angle):
        moved = np.array([np.cos(angle), np.sin(angle)]) - w
        return moved @ M @ moved

    grid = np.linspace(0.0, 2.0 * np.pi, 721)
    start = grid[np.argmin([square(angle) for angle in grid])]
    found = minimize_scalar(square, bounds=(start - 0.02, start + 0.02), method="bounded", options={"xatol": 1e-13})
    return found.fun


def test_the_reference_case_of_the_metric():
    """P22: K = {|x| >= 1}, M = diag(1, 4), W = (0.3, 0.2)."""
    P = jo.nearest([0.3, 0.2], jo.Outside([0.0, 0.0], 1.0), mass=[1.0, 4.0])
    np.testing.assert_allclose(P.point, [0.970337966165, 0.241752417607], atol=TOL)
    moved = P.point - [0.3, 0.2]
    assert np.sqrt(moved @ [1.0 * moved[0], 4.0 * moved[1]]) == pytest.approx(0.675519094021, abs=TOL)


def test_the_choice_at_a_centre_is_one_of_the_nearest_and_always_the_same():
    """P22: W = 0 with M = diag(1, 4): (1, 0) and (-1, 0) are nearest; the documented choice is towards (1, 1/2)."""
    Q = jo.Outside([0.0, 0.0], 1.0)
    points = [jo.nearest([0.0, 0.0], Q, mass=[1.0, 4.0]).point for _ in range(3)]
    np.testing.assert_allclose(points[0], [1.0, 0.0], atol=TOL)
    assert all((point == points[0]).all() for point in points)


def test_at_the_centre_of_a_round_obstacle_all_directions_are_as_good():
    P = jo.nearest([2.0, -1.0], jo.Outside([2.0, -1.0], 3.0))
    assert np.linalg.norm(P.point - [2.0, -1.0]) == pytest.approx(3.0, abs=TOL)
    direction = np.array([1.0, 0.5]) / np.linalg.norm([1.0, 0.5])
    np.testing.assert_allclose((P.point - [2.0, -1.0]) / 3.0, direction, atol=1e-9)


def test_a_point_inside_stays_where_it_is():
    w = np.array([2.0, 0.0])
    P = jo.nearest(w, jo.Outside([0.0, 0.0], 1.0))
    assert (P.point == w).all()
    assert (P.iterations, P.converged, P.multipliers.tolist()) == (0, True, [0.0])


@every_mass
def test_corner_of_half_spaces(mass):
    """Both rows active at the corner (1, 1), reached from where both multipliers are positive."""
    Q = jo.HalfSpace([1.0, 0.0], 1.0) & jo.HalfSpace([1.0, 1.0], 2.0)
    M = full(mass, 2)
    pull = np.array([[1.0, 0.0], [1.0, 1.0]]).T @ [0.7, 0.4]
    w = np.array([1.0, 1.0]) - np.linalg.solve(M, pull)
    P = jo.nearest(w, Q, mass=mass)
    np.testing.assert_allclose(P.point, [1.0, 1.0], atol=TOL)
    np.testing.assert_allclose(P.multipliers, [0.7, 0.4 * np.sqrt(2.0)], atol=1e-9)


def test_two_discs_meet_in_a_cusp():
    """Outside two overlapping discs, from between them: the intersection point of the circles."""
    Q = jo.Outside([[-0.6, 0.0], [0.6, 0.0]], 1.0)
    P = jo.nearest([0.01, 0.3], Q)
    np.testing.assert_allclose(P.point, [0.0, 0.8], atol=TOL)
    assert_optimal(Q, [0.01, 0.3], P, np.eye(2))


def test_a_disc_and_a_wall():
    """Outside the unit disc and above y = 1/2, from (0.1, 0.2): the circle is nearer than the corner."""
    Q = jo.Outside([0.0, 0.0], 1.0) & jo.HalfSpace([0.0, 1.0], 0.5)
    P = jo.nearest([0.1, 0.2], Q)
    np.testing.assert_allclose(P.point, np.array([0.1, 0.2]) / np.sqrt(0.05), atol=TOL)
    P = jo.nearest([0.5, 0.1], Q)
    np.testing.assert_allclose(P.point, [np.sqrt(0.75), 0.5], atol=TOL)
    assert (P.multipliers > 0.1).all()


def test_an_annulus_from_both_sides():
    """P49's set: 1 <= |q| <= 3."""
    Q = jo.Outside([0.0, 0.0], 1.0) & jo.Inside([0.0, 0.0], 3.0)
    for w, radius in (((0.3, 0.4), 1.0), ((6.0, 8.0), 3.0)):
        np.testing.assert_allclose(jo.nearest(w, Q).point, radius * np.array([0.6, 0.8]), atol=TOL)


@pytest.mark.parametrize("masses", [(1.0, 1.0), (1.0, 3.0)])
def test_two_overlapping_balls_share_the_way_by_their_masses(masses):
    q, radii, m = np.array([[0.0, 0.0], [0.6, 0.8]]), np.array([0.7, 0.8]), np.array(masses)
    P = jo.nearest(q, jo.Balls(radii), mass=m)
    overlap, direction = 0.5, np.array([0.6, 0.8])
    share = (1.0 / m) / (1.0 / m).sum()
    expected = q + overlap * share[:, None] * np.array([-direction, direction])
    np.testing.assert_allclose(P.point, expected, atol=TOL)
    assert P.point.shape == (2, 2)


def test_six_overlapping_balls_are_at_a_stationary_point():
    random = np.random.default_rng(4)
    q, radii = random.uniform(0.0, 2.0, (6, 2)), random.uniform(0.4, 0.6, 6)
    Q = jo.Balls(radii) & jo.Box([0.0, 0.0], [4.0, 4.0], radii=radii)
    mass = random.uniform(0.5, 2.0, 6)
    P = jo.nearest(q, Q, mass=mass)
    assert P.converged
    assert_optimal(Q, q, P, np.diag(np.repeat(mass, 2)))
    assert np.count_nonzero(P.multipliers) >= 4


def test_above_a_parabola():
    """A set that a user wrote, y >= x^2, from below: the foot of the normal solves 2 x^3 + (1 - 2 b) x - a = 0."""
    above = jo.constraints(lambda t, q: [q[1] - q[0] ** 2])
    for a, b in ((1.0, -1.0), (-2.0, 0.5), (0.3, 0.0)):
        x = brentq(lambda x, a=a, b=b: 2.0 * x**3 + (1.0 - 2.0 * b) * x - a, -5.0, 5.0, xtol=1e-15)
        P = jo.nearest([a, b], above)
        np.testing.assert_allclose(P.point, [x, x * x], atol=TOL)


def test_below_a_parabola_the_set_is_not_convex():
    """y <= x^2 from (0.1, 1): the nearer branch, by brute force over the curve."""
    below = jo.constraints(lambda t, q: [q[0] ** 2 - q[1]])
    a, b = 0.1, 1.0

    def square(x):
        return (x - a) ** 2 + (x * x - b) ** 2

    best = minimize_scalar(square, bounds=(0.0, 3.0), method="bounded", options={"xatol": 1e-13}).x
    P = jo.nearest([a, b], below)
    np.testing.assert_allclose(P.point, [best, best**2], atol=1e-7)
    assert 2.0 * (P.point[0] - a) + 4.0 * P.point[0] * (P.point[0] ** 2 - b) == pytest.approx(0.0, abs=1e-9)
    assert P.point[1] == pytest.approx(P.point[0] ** 2, abs=TOL)


def test_the_set_is_taken_at_its_time():
    disc = jo.Outside(lambda t: [t, 0.0], lambda t: 1.0 + t)
    np.testing.assert_allclose(jo.nearest([1.0, 0.5], disc, t=1.0).point, [1.0, 2.0], atol=TOL)


def test_the_units_do_not_matter():
    for unit in (1e-6, 1e6):
        P = jo.nearest([0.3 * unit, 0.2 * unit], jo.Outside([0.0, 0.0], unit), mass=[1.0, 4.0])
        np.testing.assert_allclose(P.point / unit, [0.970337966165, 0.241752417607], atol=TOL)


def test_an_empty_set_is_an_error():
    with pytest.raises(jo.errors.EmptySet):
        jo.nearest([0.0], jo.HalfSpace([1.0], 1.0) & jo.HalfSpace([-1.0], 1.0))


def test_what_does_not_converge_is_an_error():
    """Between three circles that leave no room, the linearised sets are not empty at once."""
    Q = jo.Outside([0.0, 0.0], 1.0) & jo.Inside([0.0, 0.0], 0.5)
    with pytest.raises((jo.errors.EmptySet, jo.NotConverged)):
        jo.nearest([0.1, 0.7], Q)


@pytest.mark.parametrize("w", [(0.9999999999, 0.0), (0.0, -1.0 + 1e-13)])
def test_a_point_barely_outside_goes_to_the_boundary(w):
    P = jo.nearest(w, jo.Outside([0.0, 0.0], 1.0))
    assert P.converged
    np.testing.assert_allclose(P.point, np.array(w) / np.linalg.norm(w), atol=1e-15)


def test_many_balls_use_the_linearised_sets_alone():
    """40 discs in a row, each overlapping the next: more coordinates than Newton's method takes."""
    n = 40
    q = np.stack([0.95 * np.arange(n), np.zeros(n)], axis=1)
    Q = jo.Balls(np.full(n, 0.5))
    P = jo.nearest(q, Q)
    expected = (np.arange(n) - (n - 1) / 2.0) * 1.0 + 0.95 * (n - 1) / 2.0
    np.testing.assert_allclose(P.point[:, 0], expected, atol=1e-9)
    np.testing.assert_allclose(P.point[:, 1], 0.0, atol=1e-12)


def in_a_channel(n, first):
    """n discs of radius 0.3 in a channel of width 1: three side by side, which only fit one above the other."""
    q = np.stack([np.full(n, 0.5), 3.0 + 0.7 * np.arange(n)], axis=1)
    q[first : first + 3] = [[0.3, 0.0], [0.5, 0.0], [0.7, 0.0]]
    return q, jo.Balls(np.full(n, 0.3)) & jo.Box([0.0, -np.inf], [1.0, np.inf], radii=0.3)


@pytest.mark.parametrize("solver", [jo.ActiveSet(), jo.Automatic(tol=1e-10)], ids=lambda solver: solver.name)
@pytest.mark.parametrize(("n", "first"), [(10, 0), (64, 61), (65, 0), (65, 62), (200, 100)])
def test_linearised_constraints_that_contradict_each_other_do_not_make_a_set_empty(n, first, solver):
    """The same three discs, alone with few others or among many: the same distance, 0.76955751671549."""
    q, within = in_a_channel(n, first)
    P = jo.nearest(q, within, solver=solver)
    assert P.converged
    assert np.linalg.norm(P.point - q) == pytest.approx(0.76955751671549, rel=1e-9)
    assert within.gap(0.0, P.point) >= -1e-10
    others = np.delete(np.arange(n), np.arange(first, first + 3))
    assert (P.point[others] == q[others]).all()


def test_several_contradictions_among_many_bodies_are_left_one_after_the_other():
    height = np.repeat(3.0 * np.arange(24), 3)
    q = np.stack([0.3 + 0.2 * (np.arange(72) % 3), height], axis=1)
    q[9:, 0] = 0.5
    q[9:, 1] = 30.0 + 0.7 * np.arange(63)
    within = jo.Balls(np.full(72, 0.3)) & jo.Box([0.0, -np.inf], [1.0, np.inf], radii=0.3)
    P = jo.nearest(q, within)
    assert P.converged
    assert within.gap(0.0, P.point) >= -1e-10
    assert np.linalg.norm(P.point - q) <= np.sqrt(3.0) * 0.76955751671549 * (1.0 + 1e-9)


def test_two_of_many_balls_with_the_same_centre_are_moved_apart():
    q = np.stack([2.0 * np.arange(100.0), np.zeros(100)], axis=1)
    q[51] = q[50]
    within = jo.Balls(np.full(100, 0.5))
    P = jo.nearest(q, within)
    assert within.gap(0.0, P.point) >= -1e-10
    assert np.linalg.norm(P.point - q) == pytest.approx(np.sqrt(0.5))


def test_flat_constraints_on_many_bodies_that_contradict_each_other_are_an_empty_set():
    with pytest.raises(jo.errors.EmptySet):
        jo.nearest(np.full((100, 2), 0.5), jo.Box([0.0, 0.0], [1.0, 1.0], radii=np.full(100, 0.7)))
