"""Bourdin & Maury 2020, section 2: Moreau's impact law u = U - (1 + e) P_N U, equations (1) to (9), for many bodies.

The exact solver is held to the tolerance of each case. The iterative ones are held to their word: the true relative
error of P_C U must stay below the estimate `residual.eta` that they report.
"""

import numpy as np
import pytest
from scipy.linalg import null_space
from scipy.optimize import linprog, nnls

import jostle as jo
from rows import few

SOLVERS = [jo.ActiveSet(), jo.InteriorPoint(tol=1e-10), jo.GaussSeidel(tol=1e-10)]
all_solvers = pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: solver.name)
ROUND_OFF = 1e-14


def weigh(mass, v):
    """M v, for a number, one mass per body, or a matrix."""
    M = np.asarray(mass, dtype=float)
    if M.ndim == 2:
        return M @ v
    return M * v if M.ndim == 0 else M.reshape(-1, *[1] * (v.ndim - 1)) * v


def norm(mass, v):
    return np.sqrt(np.sum(v * weigh(mass, v)))


def strike(U, cone, exact, *, solver, tol, e=0.0, mass=1.0):
    """Moreau's law by jostle, compared with the exact u+; returns what it found."""
    U, exact = np.asarray(U, dtype=float), np.asarray(exact, dtype=float)
    found = jo.impact(U, cone, law=jo.Restitution(e), mass=mass, solver=solver)
    residual = found.projection.residual
    along = (exact + e * U) / (1.0 + e)
    moved, rounding = norm(mass, U - along), ROUND_OFF * norm(mass, U)
    assert residual.eta <= np.sqrt(2.0 * solver.tol)
    assert norm(mass, found.projection.point - along) <= residual.eta * moved + rounding
    assert norm(mass, found.velocity - exact) <= (1.0 + e) * (residual.eta * moved + rounding)
    # p >= 0 and M (u+ - u-) = G^T p, (8) with G = -B
    assert (found.impulse >= 0.0).all()
    unbalanced = weigh(mass, found.velocity - U).ravel() - cone.G.adjoint(found.impulse)
    assert np.abs(unbalanced).max() <= 10 * ROUND_OFF * np.abs(weigh(mass, U)).max() + residual.dual * moved
    if isinstance(solver, jo.ActiveSet):
        np.testing.assert_allclose(found.velocity, exact, rtol=0, atol=tol)
    return found


def impulses(found, exact, *, solver, tol):
    """Compare p, where it is unique, with its exact value (exact solver)."""
    if isinstance(solver, jo.ActiveSet):
        np.testing.assert_allclose(found.impulse, exact, rtol=0, atol=tol)


def row(n, wall=False):
    """The cone of n touching balls on a line, the first one at a wall or not."""
    return jo.Line([0.5] * n, lower=0.0 if wall else -np.inf).linearise(0.0, 0.5 + np.arange(n)).cone()


def discs(centres):
    """The cone of discs of diameter 1 at their contacts."""
    centres = np.asarray(centres, dtype=float)
    return jo.Balls(np.full(len(centres), 0.5)).linearise(0.0, centres).cone()


def closest(U, cone):
    """P_C U for unit masses, by non-negative least squares on the multipliers: min |U + G^T p|, p >= 0."""
    G = cone.G.toarray()
    p, _ = nnls(G.T, -U.ravel())
    return U + (G.T @ p).reshape(U.shape)


def pooled(U, m):
    """Isotonic regression of U with weights m, by pooling adjacent violators; and p, the momentum handed on."""
    blocks = []
    for value, weight in zip(U, m, strict=True):
        blocks.append((value, weight, 1))
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (a, ma, na), (b, mb, nb) = blocks[-2:]
            blocks[-2:] = [((a * ma + b * mb) / (ma + mb), ma + mb, na + nb)]
    u = np.concatenate([np.full(n, value) for value, _, n in blocks])
    return u, np.cumsum(m * (U - u))[:-1]


# A point in a corner


def wedge(theta):
    """Edges and inward normals of the wedge of interior angle theta."""
    edges = np.array([[1.0, 0.0], [np.cos(theta), np.sin(theta)]])
    return edges, np.array([[0.0, 1.0], [np.sin(theta), -np.cos(theta)]])


@pytest.mark.each_value
@all_solvers
@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("degrees", few([30, 60, 90, 120, 150]))
def test_a_shot_at_the_vertex_comes_straight_back(solver, degrees, e):
    """P09: simultaneous hit along the bisector, u+ = -e u- for every angle."""
    half = np.radians(degrees) / 2.0
    before = -np.array([np.cos(half), np.sin(half)])
    _, normals = wedge(2.0 * half)
    assert normals[0] @ normals[1] == pytest.approx(-np.cos(2.0 * half), abs=1e-15)
    found = strike(before, jo.convex.Cone(normals), -e * before, solver=solver, e=e, tol=1e-12)
    assert found.approaching
    assert found.admissible


def test_a_shot_at_the_vertex_gives_the_number_of_the_case():
    """P09: theta = 60 degrees, e = 0.5."""
    _, normals = wedge(np.pi / 3.0)
    found = jo.impact(-np.array([np.cos(np.pi / 6), 0.5]), jo.convex.Cone(normals), law=jo.Restitution(0.5))
    np.testing.assert_allclose(found.velocity, [0.433012701892, 0.25], rtol=0, atol=1e-12)


@all_solvers
@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("degrees", few([30, 60, 90, 120, 150]))
def test_one_face_first_keeps_some_speed_if_and_only_if_the_wedge_is_obtuse(solver, degrees, first):
    """P09: sequential hit, e = 0: speed cos(theta / 2) max(0, -cos theta) along the other edge."""
    theta = np.radians(degrees)
    edges, normals = wedge(theta)
    before = -np.array([np.cos(theta / 2.0), np.sin(theta / 2.0)])
    along = -np.cos(theta / 2.0) * edges[first]
    strike(before, jo.convex.Cone(normals[[first]]), along, solver=solver, tol=1e-12)
    after = np.cos(theta / 2.0) * max(0.0, -np.cos(theta)) * edges[1 - first]
    strike(along, jo.convex.Cone(normals), after, solver=solver, tol=1e-12)


def test_one_face_first_gives_the_number_of_the_case():
    """P09: theta = 120 degrees: (-1/8, sqrt(3)/8), speed 1/4, where the vertex shot stops dead."""
    _, normals = wedge(np.radians(120.0))
    first = jo.impact([-0.5, -np.sqrt(0.75)], jo.convex.Cone(normals[:1])).velocity
    found = jo.impact(first, jo.convex.Cone(normals)).velocity
    np.testing.assert_allclose(found, [-0.125, 0.216506350946], rtol=0, atol=1e-12)


@all_solvers
def test_faces_orthogonal_in_the_kinetic_metric_decouple(solver):
    """P12: n1 M^-1 n2 = 0 although n1 . n2 = 1: each n_i . u+ = -e n_i . u-, at once or in any order."""
    M, normals, e = np.array([[2.0, 1.0], [1.0, 1.0]]), np.array([[1.0, 0.0], [1.0, 1.0]]), 0.5
    before, after = np.array([-1.0, -0.5]), np.array([0.5, 0.25])
    np.testing.assert_allclose(normals @ after, -e * normals @ before, rtol=0, atol=1e-15)
    strike(before, jo.convex.Cone(normals), after, solver=solver, e=e, mass=M, tol=1e-12)
    for order in ([0, 1], [1, 0]):
        u = before
        for n in normals[order]:
            bounce = np.linalg.solve(M, n)
            reflected = u - (1.0 + e) * (n @ u) / (n @ bounce) * bounce
            strike(u, jo.convex.Cone([n]), reflected, solver=solver, e=e, mass=M, tol=1e-12)
            u = reflected
        np.testing.assert_allclose(u, after, rtol=0, atol=1e-12)


# Balls on a line


@pytest.mark.each_value
@all_solvers
@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("n", [3, 5, 10])
def test_a_touching_cradle_moves_all_at_once(solver, n, e):
    """P30: u_1 = (1 + e) / n - e, u_j = (1 + e) / n, p_j = (1 + e)(1 - j / n)."""
    U = np.eye(n)[0]
    found = strike(U, row(n), (1.0 + e) / n - e * U, solver=solver, e=e, tol=1e-12)
    impulses(found, (1.0 + e) * (1.0 - np.arange(1, n) / n), solver=solver, tol=1e-12)
    assert found.approaching
    assert found.admissible


@pytest.mark.parametrize(
    ("n", "e", "velocity"),
    [
        (3, 1.0, [-0.333333333333, 0.666666666667, 0.666666666667]),
        (5, 1.0, [-0.6, 0.4, 0.4, 0.4, 0.4]),
        (10, 1.0, [-0.8] + [0.2] * 9),
        (5, 0.5, [-0.2, 0.3, 0.3, 0.3, 0.3]),
    ],
)
def test_a_touching_cradle_gives_the_numbers_of_the_case(n, e, velocity):
    """P30: printed velocities and impulses; the energy is kept if e = 1."""
    found = jo.impact(np.eye(n)[0], row(n), law=jo.Restitution(e))
    np.testing.assert_allclose(found.velocity, velocity, rtol=0, atol=1e-12)
    if e == 1.0:
        assert found.velocity @ found.velocity == pytest.approx(1.0, abs=1e-12)
    if (n, e) == (5, 1.0):
        np.testing.assert_allclose(found.impulse, [1.6, 1.2, 0.8, 0.4], rtol=0, atol=1e-12)


@all_solvers
def test_two_balls_hit_three(solver):
    """P32: -e U + (1 + e) 2/5 with e = 1."""
    found = strike([1.0, 1.0, 0.0, 0.0, 0.0], row(5), [-0.2, -0.2, 0.8, 0.8, 0.8], solver=solver, e=1.0, tol=1e-12)
    impulses(found, [1.2, 2.4, 1.6, 0.8], solver=solver, tol=1e-12)


@all_solvers
def test_an_inelastic_impact_on_a_line_is_isotonic_regression(solver):
    """P33: eight balls of different masses, against the printed numbers and pool-adjacent-violators."""
    m, U = np.array([1, 1, 2, 1, 3, 1, 1, 2.0]), np.array([1, 3, 2, 0.5, 4, -1, 2, 2.5])
    u, p = pooled(U, m)
    np.testing.assert_allclose(u, [1.0, 1.875, 1.875, 1.875] + [2.57142857143] * 4, rtol=0, atol=1e-11)
    np.testing.assert_allclose(p, [0, 1.125, 1.375, 0, 4.28571428571, 0.714285714286, 0.142857142857], atol=1e-11)
    found = strike(U, row(8), u, solver=solver, mass=m, tol=1e-11)
    impulses(found, p, solver=solver, tol=1e-11)
    assert not found.approaching
    assert found.admissible


@all_solvers
@pytest.mark.parametrize("seed", few(range(6)))
def test_isotonic_regression_of_random_velocities(seed, solver):
    """P33: up to 40 balls, masses over two decades."""
    random = np.random.default_rng(seed)
    n = int(random.integers(2, 41))
    m, U = 10.0 ** random.uniform(-1, 1, n), random.normal(size=n)
    u, p = pooled(U, m)
    found = strike(U, row(n), u, solver=solver, mass=m, tol=1e-11)
    impulses(found, p, solver=solver, tol=1e-11)


@all_solvers
def test_a_chain_on_a_wall_bounces_as_one(solver):
    """P34: P_C U = 0, so u = -e U, and each contact stops all that is above it."""
    chain = jo.models.chain(4, e=0.5)
    cone = chain.within.linearise(0.0, chain.q0).cone()
    found = strike([-1.0] * 4, cone, [0.5] * 4, solver=solver, e=0.5, tol=1e-12)
    impulses(found, [6.0, 4.5, 3.0, 1.5], solver=solver, tol=1e-12)


def event_driven(column, t_end, gravity):
    """Fly freely from one floor impact to the next, and apply the law to the closed contacts at each."""
    radius, t = column.within.radii[0], 0.0
    y, v = column.q0.copy(), column.v0.copy()
    bounces = 0
    while True:
        flight = (v[0] + np.sqrt(v[0] ** 2 + 2.0 * gravity * (y[0] - radius))) / gravity
        step = min(flight, t_end - t)
        y, v = y + step * v - 0.5 * gravity * step**2, v - gravity * step
        if flight >= t_end - t:
            return y, v, bounces
        t += step
        y -= y[0] - radius
        cone = column.within.linearise(t, y).cone()
        assert cone.G.shape[0] == len(y)
        found = jo.impact(v, cone, law=column.law, solver=jo.ActiveSet())
        assert found.approaching
        assert found.admissible
        v = found.velocity
        bounces += 1


def test_a_column_of_beads_bounces_as_in_siconos():
    """P35: Siconos, BeadColumnED_NewtonLaw.ref: ten beads dropped from 0.05, e = 1, their state at t = 0.493."""
    R, H, g, t = 0.005, 0.05, 9.81, 0.493
    column = jo.models.chain(10, radius=R, height=H, gravity=g, e=1.0)
    y, v, bounces = event_driven(column, t, g)
    assert bounces == 2
    assert y[0] == pytest.approx(0.016020812954, abs=1e-11)
    np.testing.assert_allclose(v, -0.874512235387, rtol=0, atol=1e-11)
    np.testing.assert_allclose(np.diff(y), 2.0 * R, rtol=0, atol=1e-12)
    speed = np.sqrt(2.0 * g * H)
    since = (t - np.sqrt(2.0 * H / g)) % (2.0 * speed / g)
    assert y[0] == pytest.approx(R + speed * since - 0.5 * g * since**2, abs=1e-11)
    np.testing.assert_allclose(v, speed - g * since, rtol=0, atol=1e-11)


# Discs in the plane

THREE = np.array([[0.0, 0.0], [np.sqrt(0.75), 0.5], [np.sqrt(0.75), -0.5]])


@all_solvers
@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
def test_a_cue_ball_parts_two_touching_balls(solver, e):
    """P37: u_0 = (1 + e) / (1 + 2 c^2) - e with c^2 = 3/4; the contact between the two opens."""
    cue = (1.0 + e) / 2.5 - e
    along, across = (1.0 - cue) / 2.0, (1.0 - cue) / 2.0 / np.sqrt(3.0)
    U = [[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
    exact = [[cue, 0.0], [along, across], [along, -across]]
    found = strike(U, discs(THREE), exact, solver=solver, e=e, tol=1e-11)
    p = along / np.sqrt(0.75)
    impulses(found, [p, p, 0.0], solver=solver, tol=1e-11)
    assert found.approaching
    assert found.admissible


@pytest.mark.parametrize(
    ("U", "e", "velocity"),
    [
        ((1.0, 0.0), 0.0, [[0.4, 0.0], [0.3, 0.173205080757], [0.3, -0.173205080757]]),
        ((1.0, 0.0), 1.0, [[-0.2, 0.0], [0.6, 0.346410161514], [0.6, -0.346410161514]]),
        ((1.0, 0.3), 0.0, [[0.4, 0.2], [0.386602540378, 0.223205080757], [0.213397459622, -0.123205080757]]),
    ],
    ids=["e = 0", "e = 1", "oblique"],
)
def test_a_cue_ball_on_two_balls_gives_the_numbers_of_the_case(U, e, velocity):
    """P37: printed velocities, also for an oblique shot."""
    found = jo.impact([U, (0.0, 0.0), (0.0, 0.0)], discs(THREE), law=jo.Restitution(e))
    np.testing.assert_allclose(found.velocity, velocity, rtol=0, atol=1e-11)
    if U == (1.0, 0.0) and e == 0.0:
        np.testing.assert_allclose(found.impulse, [0.346410161514, 0.346410161514, 0.0], rtol=0, atol=1e-11)


@all_solvers
def test_an_oblique_cue_ball_shares_its_momentum_unevenly(solver):
    """P37: U = (1, 0.3), e = 0: both contacts close, two equations for p."""
    n = THREE[1:]
    U = np.array([[1.0, 0.3], [0.0, 0.0], [0.0, 0.0]])
    p = np.linalg.solve(n @ n.T + np.eye(2), n @ U[0])
    assert (p > 0.0).all()
    exact = np.array([U[0] - p @ n, p[0] * n[0], p[1] * n[1]])
    found = strike(U, discs(THREE), exact, solver=solver, tol=1e-11)
    impulses(found, [*p, 0.0], solver=solver, tol=1e-11)


@pytest.mark.each_value
@all_solvers
@pytest.mark.parametrize(("rows", "cue"), [(2, 2 / 7), (3, 6 / 31), (4, 14 / 97), (5, 4 / 35)])
def test_a_rack_is_broken(solver, rows, cue):
    """P38: the exact rationals of the cue ball, and the whole field against non-negative least squares.

    With five rows the contacts are so hyperstatic that an interior point at tol 1e-10 has u to 1e-6 only: eta says so.
    """
    rack = jo.models.rack(rows)
    cone = rack.within.linearise(0.0, rack.q0).cone()
    exact = closest(rack.v0, cone)
    np.testing.assert_allclose(exact[0], [cue, 0.0], rtol=0, atol=1e-12)
    strike(rack.v0, cone, exact, solver=solver, tol=1e-10)


@pytest.mark.parametrize(("rows", "cue"), [(2, 0.285714285714), (3, 0.193548387097), (4, 0.144329896907)])
def test_a_rack_gives_the_numbers_of_the_case(rows, cue):
    """P38: printed velocities of the cue ball, the corners and the middle of the last row."""
    rack = jo.models.rack(rows)
    u = jo.impact(rack.v0, rack.within.linearise(0.0, rack.q0).cone()).velocity
    np.testing.assert_allclose(u[0], [cue, 0.0], rtol=0, atol=1e-10)
    np.testing.assert_allclose(u.sum(axis=0), [1.0, 0.0], rtol=0, atol=1e-10)
    if rows == 3:
        corner, middle = [0.145161290323, 0.083808910044], [0.0645161290323, 0.0]
        np.testing.assert_allclose(u[[6, 4, 5]], [corner, [corner[0], -corner[1]], middle], rtol=0, atol=1e-10)


def test_four_rows_have_one_contact_more_than_the_multipliers_can_tell():
    """P38: m = 19 contacts, rank 18: u is unique, p is not."""
    rack = jo.models.rack(4)
    G = rack.within.linearise(0.0, rack.q0).cone().G.toarray()
    assert G.shape == (19, 22)
    assert np.linalg.matrix_rank(G) == 18
    fewer = jo.models.rack(3)
    G = fewer.within.linearise(0.0, fewer.q0).cone().G.toarray()
    assert np.linalg.matrix_rank(G) == len(G) == 10


SIX = np.pi / 3.0 * np.arange(6)
FLOWER = np.concatenate([[[0.0, 0.0]], np.stack([np.cos(SIX), np.sin(SIX)], axis=1)])
SPOKES, RIM = slice(0, 6), slice(6, 12)


@all_solvers
def test_a_flower_closes_and_stops_although_its_multipliers_are_not_unique(solver):
    """P39: u = 0; every p >= 0 with G^T p = -U has equal spokes, equal rim, and their sum is 1."""
    cone = discs(FLOWER)
    found = strike(-FLOWER, cone, np.zeros((7, 2)), solver=solver, tol=1e-10)
    p = found.impulse
    if isinstance(solver, jo.ActiveSet):
        np.testing.assert_allclose(cone.G.adjoint(p), FLOWER.ravel(), rtol=0, atol=1e-10)
        assert np.ptp(p[SPOKES]) <= 1e-10
        np.testing.assert_allclose(p[SPOKES][:, None] + p[RIM], 1.0, rtol=0, atol=1e-10)


def test_seven_discs_are_enough_for_dependent_contacts():
    """P39: m = 12, rank 11; the kernel of G^T is +1 on the spokes and -1 on the rim, and has no positive vector."""
    cone = discs(FLOWER)
    G = cone.G.toarray()
    assert G.shape == (12, 14)
    kernel = null_space(G.T, rcond=1e-10)
    assert kernel.shape == (12, 1)
    np.testing.assert_allclose(kernel[:, 0] / kernel[0, 0], [1.0] * 6 + [-1.0] * 6, rtol=0, atol=1e-10)


@pytest.mark.parametrize("centres", [FLOWER, THREE, jo.models.rack(4).q0], ids=["flower", "three", "rack"])
def test_free_clusters_carry_no_stress_of_their_own(centres):
    """Lemma 1: ker G^T and R_+^m meet in 0 only, so that the set of multipliers is bounded (Prop. 2)."""
    G = discs(centres).G.toarray()
    largest = linprog(-np.ones(len(G)), A_eq=G.T, b_eq=np.zeros(G.shape[1]), bounds=(0.0, 1.0))
    assert largest.status == 0
    assert -largest.fun <= 1e-9


A, B = 3.0, 1.0
RHOMBUS = np.array([[-np.sqrt(0.75), 0.0], [np.sqrt(0.75), 0.0], [0.0, 0.5], [0.0, -0.5]])
SQUEEZE = np.array([[A, 0.0], [-A, 0.0], [0.0, -B], [0.0, B]])


@all_solvers
def test_a_squeezed_rhombus_opens_in_the_middle(solver):
    """P40: p = 0 between top and bottom, although they approach: there is no maximum principle (Fig. 4)."""
    left, top, p = (A - np.sqrt(3) * B) / 4, (np.sqrt(3) * A - 3 * B) / 4, (B + np.sqrt(3) * A) / 4
    np.testing.assert_allclose([p, left, top], [1.54903810568, 0.316987298108, 0.549038105677], rtol=0, atol=1e-11)
    exact = [[left, 0.0], [-left, 0.0], [0.0, top], [0.0, -top]]
    found = strike(SQUEEZE, discs(RHOMBUS), exact, solver=solver, tol=1e-11)
    impulses(found, [p, p, p, p, 0.0], solver=solver, tol=1e-11)
    assert found.approaching
    assert found.admissible


@all_solvers
def test_glued_contacts_of_the_rhombus_would_pull(solver):
    """P40: projected on G u = 0 instead, top and bottom have p = b - a / sqrt(3) < 0."""
    G = discs(RHOMBUS).G.toarray()
    found = jo.project(SQUEEZE, jo.convex.Cone(np.concatenate([G, -G])), solver=solver)
    p = found.multipliers[:5] - found.multipliers[5:]
    tol = max(1e-11, 10 * found.residual.eta)
    assert p[4] == pytest.approx(B - A / np.sqrt(3.0), abs=tol)
    assert p[4] == pytest.approx(-0.732050807569, abs=max(tol, 1e-11))
    np.testing.assert_allclose(p, np.linalg.lstsq(G.T, -SQUEEZE.ravel(), rcond=None)[0], rtol=0, atol=tol)


@all_solvers
@pytest.mark.parametrize("e", [0.0, 0.7])
def test_two_discs_of_different_mass_collide_obliquely(solver, e):
    """P41: impulse (1 + e) m1 m2 / (m1 + m2) times the closing speed, along the normal; the rest is kept."""
    m, v = np.array([1.0, 2.0]), np.array([[1.0, 0.0], [-0.5, 0.0]])
    q, w = np.array([3.0, 0.4]), np.array([-1.5, 0.0])
    t = -(q @ w + np.sqrt((q @ w) ** 2 - w @ w * (q @ q - 1.0))) / (w @ w)
    assert t == pytest.approx(1.38898990734, abs=1e-11)
    centres = np.array([[0.0, 0.0], q]) + t * v
    normal = centres[1] - centres[0]
    np.testing.assert_allclose(normal, [0.916515138991, 0.4], rtol=0, atol=1e-11)
    p = -(1.0 + e) * m.prod() / m.sum() * (w @ normal)
    exact = v + p * np.array([-normal, normal]) / m[:, None]
    found = strike(v, discs(centres), exact, solver=solver, e=e, mass=m, tol=1e-11)
    impulses(found, [p], solver=solver, tol=1e-11)


def test_two_discs_of_different_mass_give_the_numbers_of_the_case():
    """P41: printed velocities and impulse, e = 0 and e = 0.7."""
    cone, m, v = discs([[0.0, 0.0], [0.916515138991170, 0.4]]), [1.0, 2.0], [[1.0, 0.0], [-0.5, 0.0]]
    found = jo.impact(v, cone, mass=m)
    np.testing.assert_allclose(found.velocity, [[0.16, -0.366606055596], [-0.08, 0.183303027798]], rtol=0, atol=1e-11)
    np.testing.assert_allclose(found.impulse, [0.916515138991], rtol=0, atol=1e-11)
    found = jo.impact(v, cone, mass=m, law=jo.Restitution(0.7))
    np.testing.assert_allclose(found.velocity[0], [-0.428, -0.623230294514], rtol=0, atol=1e-11)


@all_solvers
def test_three_balls_meet_five(solver):
    """P42 (i): pooled mean 1/16, e = 0.5."""
    U, e = np.array([1.0] * 3 + [-0.5] * 5), 0.5
    exact = (1.0 + e) / 16.0 - e * U
    np.testing.assert_allclose(exact, [-0.40625] * 3 + [0.34375] * 5, rtol=0, atol=1e-15)
    found = strike(U, row(8), exact, solver=solver, e=e, tol=1e-10)
    impulses(found, (1.0 + e) * np.cumsum(U - 1.0 / 16.0)[:-1], solver=solver, tol=1e-10)


@all_solvers
def test_two_racks_meet_tip_to_tip(solver):
    """P42 (ii): +-1, e = 0: tips stop, the rows behind open like a fan."""
    rows = [[k * np.sqrt(0.75), i - k / 2.0] for k in range(3) for i in range(k + 1)]
    right = np.array(rows) + np.array([0.5, 0.0])
    fan = np.array(
        [[0, 0], [-1 / 3, -1 / np.sqrt(3)], [-1 / 3, 1 / np.sqrt(3)],
         [-1 / 4, -np.sqrt(3) / 4], [-2 / 3, 0], [-1 / 4, np.sqrt(3) / 4]]
    )  # fmt: skip
    np.testing.assert_allclose(fan[[2, 5]], [[-0.333333333333, 0.57735026919], [-0.25, 0.433012701892]], atol=1e-11)
    mirror = np.array([-1.0, 1.0])
    U = np.concatenate([np.tile([1.0, 0.0], (6, 1)), np.tile([-1.0, 0.0], (6, 1))])
    cone = discs(np.concatenate([right * mirror, right]))
    assert cone.G.shape[0] == 19
    strike(U, cone, np.concatenate([fan * mirror, fan]), solver=solver, tol=1e-10)


# The law itself


@all_solvers
@pytest.mark.parametrize("seed", range(3))
def test_the_two_projections_decompose_every_velocity(solver, seed):
    """Below (3): I = P_C + P_N with polar cones; P_C U is admissible, P_N U pushes, and they are orthogonal."""
    random = np.random.default_rng(seed)
    rack = jo.models.rack(3)
    cone = rack.within.linearise(0.0, rack.q0).cone()
    m, U = random.uniform(0.5, 2.0, 7), random.normal(size=(7, 2))
    along = jo.project(U, cone, mass=m, solver=solver)
    against = jo.project(U, cone.polar, mass=m, solver=solver)
    np.testing.assert_allclose(along.point + against.point, U, rtol=0, atol=1e-14)
    moved, residual = norm(m, U - along.point), along.residual
    assert moved > 0.1
    product = np.sum(along.point * weigh(m, against.point))
    assert abs(product) <= residual.complementarity * moved**2 + 10 * ROUND_OFF
    longest_row = 2.0  # sqrt(1 / m_i + 1 / m_j) with masses of 1/2 at least
    assert cone.slack(along.point).min() >= -longest_row * residual.primal * moved - 10 * ROUND_OFF
    unbalanced = weigh(m, against.point).ravel() + cone.G.adjoint(against.multipliers)
    assert np.abs(unbalanced).max() <= residual.dual * moved + 10 * ROUND_OFF


@pytest.mark.parametrize("e", [0.0, 0.3, 1.0])
def test_an_impact_costs_the_energy_of_the_normal_part(e):
    """(3): |u|^2 = |P_C U|^2 + e^2 |P_N U|^2, so that (1 - e^2) |P_N U|^2 / 2 is lost."""
    rack = jo.models.rack(4)
    cone = rack.within.linearise(0.0, rack.q0).cone()
    against = rack.v0 - closest(rack.v0, cone)
    after = jo.impact(rack.v0, cone, law=jo.Restitution(e)).velocity
    lost = 0.5 * np.sum(rack.v0**2) - 0.5 * np.sum(after**2)
    assert lost == pytest.approx(0.5 * (1.0 - e**2) * np.sum(against**2), abs=1e-12)
    assert np.sum(against**2) > 0.5


OPENING, MASSES = np.array([-1.0, 0.5, -2.0, -1.0]), np.array([1.0, 2.0, 0.5, 1.0])


@all_solvers
def test_the_law_warns_when_contacts_that_separate_make_it_inadmissible(solver):
    """Wall and four balls, two contacts opening, e = 0.4: u = (.4, -.2, .8, .4) runs into itself; both flags say so."""
    cone, exact = row(4, wall=True), np.array([0.4, -0.2, 0.8, 0.4])
    with pytest.warns(jo.errors.NotApproaching, match=r"e = 0\.4 .*gap rate -0\.6 "):
        found = strike(OPENING, cone, exact, solver=solver, e=0.4, mass=MASSES, tol=1e-12)
    assert not found.approaching
    assert not found.admissible
    if isinstance(solver, jo.ActiveSet):
        np.testing.assert_allclose(cone.slack(found.velocity), [0.4, -0.6, 1.0, -0.4], rtol=0, atol=1e-12)


@all_solvers
def test_the_same_velocity_is_harmless_without_restitution(solver):
    """e = 0: the law is the projection on C, admissible whatever comes, and nothing is said."""
    found = strike(OPENING, row(4, wall=True), np.zeros(4), solver=solver, mass=MASSES, tol=1e-12)
    assert not found.approaching
    assert found.admissible
