"""Projections on friction cones: answers known in closed form, other solvers, and the laws themselves."""

import numpy as np
import pytest
from scipy.sparse import csc_matrix, csr_array, eye_array

import jostle as jo
from jostle.convex.linear_map import BallBlocks, Sparse
from jostle.convex.metric import metric
from jostle.convex.residuals import residual
from jostle.errors import EmptySet, InvalidValue, NotFinite
from jostle.kernels.reference.cones import lengths, parts
from jostle.solvers import gauss_seidel

W8 = np.array([[15.0, -1.0, -2.0], [-1.0, 14.0, 1.0], [-2.0, 1.0, 16.0]])
ONE_CONTACT = [
    (np.eye(3), [-1.0, 1.0, 3.0], True, [1.0, -0.0316227766, -0.0948683298]),
    (np.eye(3), [-1.0, 1.0, 3.0], False, [1.3031958, -0.0412107, -0.1236320]),
    (W8, [-1.0, 2.0, 3.0], True, [0.06569568, -0.00367861, -0.00544307]),
    (W8, [-1.0, 2.0, 3.0], False, [0.08717928, -0.00489745, -0.00721230]),
]


@pytest.mark.parametrize(("W", "b", "coulomb", "expected"), ONE_CONTACT)
def test_one_contact_whose_multipliers_are_known(W, b, coulomb, expected):
    cones = jo.convex.Cones([[1.0, 0.0, 0.0]], [0.1], coulomb)
    P = jo.project(np.zeros(3), jo.convex.Polyhedron(np.linalg.cholesky(W), b, cones=cones))
    assert P.multipliers == pytest.approx(expected, abs=1e-8 if W[0, 0] > 1 else 1e-7)
    assert P.residual.natural < 1e-12


def random_problem(seed, blocks=6, d=3, coulomb=True, mu=0.4, rolling=None, n=15):
    """Blocks that do not depend on each other, with random axes, offsets and friction coefficients."""
    random = np.random.default_rng(seed)
    height = d if rolling is None else d + (1 if d == 2 else 3)
    axis = random.normal(size=(blocks, d))
    axis /= np.linalg.norm(axis, axis=1, keepdims=True)
    G = random.normal(size=(blocks * height, max(n, blocks * height)))
    c = random.normal(size=len(G))
    mus, rolls = random.uniform(0.5 * mu, mu, blocks), None if rolling is None else np.full(blocks, rolling)
    return jo.convex.Polyhedron(G, c, cones=jo.convex.Cones(axis, mus, coulomb, rolls)), random


def laws_hold(K, P, w, mass, tol):
    """Coulomb's law or the convex one, the equation of motion and the cones, written out block by block."""
    cones, u, p = K.cones, P.point.ravel(), P.multipliers
    np.testing.assert_allclose(mass * (u - np.ravel(w)), K.G.adjoint(p), atol=tol)
    s, q = cones.blocks_of(K.slack(u)), cones.blocks_of(p)
    (s_n, s_T, s_R), (p_n, p_T, p_R) = parts(s, cones.axis), parts(q, cones.axis)
    rolling = cones.resistance
    shift = cones.mu * lengths(s_T) + rolling * lengths(s_R)
    assert (lengths(p_T) <= cones.mu * p_n + tol).all()
    assert (lengths(p_R) <= rolling * p_n + tol).all()
    margin = s_n if cones.coulomb else s_n - shift
    assert (margin >= -tol).all()
    assert (np.abs(p_n * margin) <= tol).all()
    for moved, push, most in ((s_T, p_T, cones.mu * p_n), (s_R, p_R, rolling * p_n)):
        sliding = (lengths(moved) > 1e-3) & (most > 1e-3)
        wanted = -most[:, None] * moved / np.maximum(lengths(moved), 1e-300)[:, None]
        np.testing.assert_allclose(push[sliding], wanted[sliding], atol=1e3 * tol)


@pytest.mark.each_value
@pytest.mark.parametrize("rolling", [None, 0.2])
@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("coulomb", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_the_law_holds_in_each_block(seed, coulomb, d, rolling):
    K, random = random_problem(seed, blocks=4, d=d, coulomb=coulomb, rolling=rolling, n=30)
    mass = random.uniform(0.5, 2.0, K.G.shape[1])
    w = random.normal(size=K.G.shape[1])
    P = jo.project(w, K, mass=mass, solver=jo.GaussSeidel(tol=1e-10))
    laws_hold(K, P, w, mass, 1e-7)
    assert P.residual.natural < 1e-6


def by_clarabel(w, K):
    """The projection by the convex law, by a solver of second-order cones."""
    import clarabel

    cones, n = K.cones, len(w)
    d = cones.axis.shape[1]
    rows, offsets, kinds = [], [], []
    G = K.G.toarray()
    for k in range(len(cones.mu)):
        block, c, axis = G[k * d : (k + 1) * d], K.c[k * d : (k + 1) * d], cones.axis[k]
        turn = np.vstack([axis, cones.mu[k] * (np.eye(d) - np.outer(axis, axis))])  # s_n >= |mu s_T|
        rows.append(-turn @ block)
        offsets.append(turn @ c)
        kinds.append(clarabel.SecondOrderConeT(d + 1))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    solver = clarabel.DefaultSolver(
        csc_matrix(eye_array(n)), -w, csc_matrix(np.vstack(rows)), np.concatenate(offsets), kinds, settings
    )
    return np.array(solver.solve().x)


def test_the_margin_of_a_block_is_what_its_law_demands():
    law = {"axis": np.array([[0.0, 1.0]]), "mu": np.array([0.5]), "rolling": np.array([0.25])}
    slack = np.array([3.0, 4.0, -2.0])  # it slides at 3, opens at 4 and rolls at 2
    assert jo.convex.Cones(**law, coulomb=True).margin(slack).tolist() == [4.0]
    assert jo.convex.Cones(**law, coulomb=False).margin(slack).tolist() == [4.0 - 0.5 * 3.0 - 0.25 * 2.0]


@pytest.mark.parametrize("seed", range(4))
def test_the_convex_law_is_the_projection_that_clarabel_finds(seed):
    K, random = random_problem(seed, blocks=5, d=3 if seed % 2 else 2, coulomb=False, n=16)
    w = random.normal(size=K.G.shape[1])
    P = jo.project(w, K, solver=jo.GaussSeidel(tol=1e-11))
    np.testing.assert_allclose(P.point, by_clarabel(w, K), atol=2e-6)


def test_moreau_decomposes_by_the_convex_law():
    K, random = random_problem(3, coulomb=False)
    cone = jo.convex.Polyhedron(K.G, np.zeros(len(K.c)), cones=K.cones)
    w = random.normal(size=K.G.shape[1])
    P = jo.project(w, cone, solver=jo.GaussSeidel(tol=1e-11))
    assert abs(P.point @ (w - P.point)) <= 1e-8 * (w @ w)


@pytest.mark.parametrize("coulomb", [True, False])
def test_turned_axes_turn_the_multipliers(coulomb):
    K, random = random_problem(5, coulomb=coulomb)
    turn = np.linalg.qr(random.normal(size=(3, 3)))[0]
    blocks = len(K.cones.mu)
    every = np.kron(np.eye(blocks), turn)
    turned = jo.convex.Polyhedron(
        every @ K.G.toarray(), every @ K.c, cones=K.cones._replace(axis=K.cones.axis @ turn.T)
    )
    w = random.normal(size=K.G.shape[1])
    one, other = (jo.project(w, each, solver=jo.GaussSeidel(tol=1e-11)) for each in (K, turned))
    np.testing.assert_allclose(other.point, one.point, atol=1e-6)
    np.testing.assert_allclose(other.multipliers, every @ one.multipliers, atol=1e-6)


def test_the_convex_law_opens_a_sliding_contact_and_coulombs_law_does_not():
    # a point that starts to slide with v0 = 1 at mu = 0.5: thrown up with mu v0 / (1 + mu^2), by the convex law alone
    floor = jo.convex.Cones([[0.0, 1.0]], [0.5])
    for coulomb, up in ((True, 0.0), (False, 0.5 / 1.25)):
        K = jo.convex.Polyhedron(np.eye(2), np.zeros(2), cones=floor._replace(coulomb=coulomb))
        u = jo.project([1.0, -1e-12], K).point
        assert u[1] == pytest.approx(up, abs=1e-9)
        assert u[1] == pytest.approx(0.0 if coulomb else 0.5 * u[0], abs=1e-9)


@pytest.mark.parametrize(("mu", "factor"), [(0.4999, 0.0), (0.5001, 1.0)])
def test_a_point_on_a_slope_stays_iff_mu_is_large_enough(mu, factor):
    slope = np.arctan(0.5)
    K = jo.convex.Polyhedron(np.eye(2), np.zeros(2), cones=jo.convex.Cones([[0.0, 1.0]], [mu]))
    u = jo.project([np.sin(slope), -np.cos(slope)], K).point
    expected = 0.0 if factor else np.sin(slope) - mu * np.cos(slope)
    assert u == pytest.approx([expected, 0.0], abs=1e-12)


def heap(n=40, d=2, seed=0, mu=0.5, coulomb=True):
    """A step of discs or spheres that lie on each other, pressed down: `BallBlocks`, point, masses."""
    random = np.random.default_rng(seed)
    side = round(n ** (1 / d))
    lattice = np.stack(np.meshgrid(*[np.arange(side)] * d, indexing="ij"), axis=-1).reshape(-1, d).astype(float)
    q = lattice + random.uniform(-0.02, 0.02, lattice.shape)
    n = len(q)
    here = (jo.Balls(np.full(n, 0.5)) & jo.HalfSpace([0.0] * (d - 1) + [1.0], offset=-0.5, radii=0.5)).linearise(
        0.0, q, 0.2
    )
    pairs = here.G.contacts
    arms = np.stack([np.full(len(pairs.i), 0.5), np.where(pairs.j >= 0, 0.5, 0.0)], axis=1)
    G = BallBlocks(pairs.i, pairs.j, pairs.normal, n, q, arms=arms)
    cones = jo.convex.Cones(pairs.normal, np.full(len(pairs.i), mu), coulomb)
    c = (np.maximum(here.gap, 0.0)[:, None] * 10.0 * pairs.normal).ravel()
    K = jo.convex.Polyhedron(G, c, length=5.0, cones=cones)
    spins = 1 if d == 2 else 3
    w = np.zeros((n, d + spins))
    w[:, d - 1] = -1.0
    w[:, :d] += 0.3 * random.normal(size=(n, d))
    mass = np.ones((n, d + spins))
    mass[:, d:] = 0.5 * 0.25 if d == 2 else 0.4 * 0.25
    return w, K, mass


@pytest.mark.parametrize("rolling", [False, True])
@pytest.mark.parametrize("d", [2, 3])
def test_products_of_blocks_are_those_of_their_matrix(d, rolling):
    _, K, mass = heap(30, d)
    G = K.G
    G = BallBlocks(G.i, G.j, G.normal, G.bodies, G.positions, arms=G.arms, rolling=rolling)
    A, random = G.tocsr(), np.random.default_rng(1)
    u, p = random.normal(size=A.shape[1]), random.normal(size=A.shape[0])
    np.testing.assert_allclose(G @ u, A @ u, atol=1e-12)
    np.testing.assert_allclose(G.adjoint(p), A.T @ p, atol=1e-12)
    np.testing.assert_allclose(G.magnitude(u), abs(A) @ np.abs(u), atol=1e-12)
    M = jo.convex.metric.metric(mass.ravel(), u.shape)
    np.testing.assert_allclose(G.norms(M), Sparse(A).norms(M), atol=1e-12)
    general = Sparse(A).majorants(K.cones.axis, G.height, M)
    np.testing.assert_allclose(G.majorants(K.cones.axis, G.height, M), general, atol=1e-9)
    i, j = int(G.i[3]), int(G.j[3])
    n, by_body = G.normal[3], u.reshape(G.bodies, -1)
    v, w = by_body[:, :d], by_body[:, d:]

    def at_contact(body, arm):
        turned = w[body] * np.array([-n[1], n[0]]) if d == 2 else np.cross(w[body], n)
        return v[body] + arm * turned

    slip = (at_contact(j, -0.5) if j >= 0 else 0.0) - at_contact(i, 0.5)
    np.testing.assert_allclose((G @ u).reshape(len(G.i), -1)[3, :d], slip, atol=1e-12)
    some = np.arange(A.shape[0]) < 4 * G.height
    assert isinstance(G.rows(some), BallBlocks)
    np.testing.assert_allclose(G.rows(some) @ u, (A @ u)[some], atol=1e-12)
    np.testing.assert_allclose(G.rows(np.array([1])) @ u, (A @ u)[[1]], atol=1e-12)


@pytest.mark.each_value
@pytest.mark.parametrize("coulomb", [True, False])
@pytest.mark.parametrize("d", [2, 3])
def test_the_fused_loop_and_sparse_rows_find_the_same_motion(d, coulomb):
    w, K, mass = heap(27, d, coulomb=coulomb)
    general = jo.convex.Polyhedron(Sparse(csr_array(K.G.tocsr())), K.c, length=5.0, cones=K.cones)
    solver = jo.GaussSeidel(tol=1e-9, max_iterations=100_000)
    one, other = (jo.project(w, each, mass=mass, solver=solver) for each in (K, general))
    np.testing.assert_allclose(one.point, other.point, atol=1e-4)
    laws_hold(K, one, w, mass.ravel(), 1e-5)


@pytest.mark.parametrize("d", [2, 3])
def test_a_sliding_ball_rolls_afterwards(d):
    # a floor below a ball that slides fast and is pressed on it: the friction has its full size, against the slip
    n = np.eye(d)[-1:] * -1.0
    G = BallBlocks(np.array([0]), np.array([-7]), n, 1, arms=np.array([[0.5, 0.0]]))
    K = jo.convex.Polyhedron(G, np.zeros(d), cones=jo.convex.Cones(n, [0.1]))
    w = np.zeros(3 if d == 2 else 6)
    w[0], w[d - 1] = 5.0, -1.0
    mass = np.ones(len(w))
    mass[d:] = 0.1
    P = jo.project(w, K, mass=mass)
    assert P.point[0] == pytest.approx(4.9, abs=1e-12)
    assert P.point[d - 1] == pytest.approx(0.0, abs=1e-12)
    spin = P.point[-1] if d == 2 else P.point[4]
    assert spin == pytest.approx(-0.1 * 0.5 / 0.1 if d == 2 else 0.1 * 0.5 / 0.1, abs=1e-12)


def test_threads_find_the_same_bits(monkeypatch):
    w, K, mass = heap(20_000, 3, mu=0.4)
    solver = jo.GaussSeidel(tol=1e-2, max_iterations=30)
    found = []
    for number in (1, 2, 3):
        monkeypatch.setattr(gauss_seidel, "threads", lambda number=number: number)
        found.append(solver.project(w, K, mass).multipliers)
    assert (found[0] == found[1]).all()
    assert (found[0] == found[2]).all()


def test_a_warm_start_at_the_answer_ends_at_once():
    w, K, mass = heap(30, 2)
    solver = jo.GaussSeidel(tol=1e-6)
    P = solver.project(w, K, mass)
    assert P.iterations > 0
    assert solver.project(w, K, mass, P.multipliers).iterations == 0


def test_slips_up_to_a_part_of_the_length_count_as_sticking():
    K = jo.convex.Polyhedron(np.eye(2), [0.0, 0.0], length=2.0, cones=jo.convex.Cones([[0.0, 1.0]], [0.5]))
    w, u, p = np.array([3e-4, -1.0]), np.array([3e-4, 0.0]), np.array([0.0, 1.0])
    for part, lack in ((1e-4, 1.5e-4), (2e-4, 0.0)):  # mu p_n |s_T|, over |u - w|^2 = 1
        assert residual(w, K.with_noise(part), metric(1.0, (2,)), u, p).complementarity == pytest.approx(lack)


@pytest.mark.parametrize("coulomb", [True, False])
def test_a_pile_with_more_contacts_than_it_needs_comes_to_rest_at_once(coulomb):
    # gaps that differ by less than the tolerance do not keep impulses moving from contact to contact
    w, K, mass = heap(64, 3, coulomb=coulomb)
    random = np.random.default_rng(2)
    w[:] = 0.0
    w[:, 2] = -0.1
    c = (random.uniform(-1e-5, 1e-5, len(K.c) // 3)[:, None] * K.cones.axis).ravel()
    pile = jo.convex.Polyhedron(K.G, c, length=5.0, cones=K.cones)
    P = jo.project(w, pile, mass=mass, solver=jo.GaussSeidel(tol=1e-4, max_iterations=1000))
    assert P.converged


def test_blocks_beside_equalities_and_half_spaces():
    # a point on a floor with friction that a rod holds at x = 1 and a wall at y >= 0.5
    G = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    cones = jo.convex.Cones([[0.0, 0.0, 1.0]], [0.5])
    K = jo.convex.Polyhedron(G, [0.0, 0.0, 0.0, -1.0, -0.5], equal=[False] * 3 + [True, False], cones=cones)
    P = jo.project([0.0, 0.0, -1.0], K)
    assert P.point == pytest.approx([1.0, 0.5, 0.0], abs=1e-8)
    assert np.hypot(*P.multipliers[:2]) == pytest.approx(0.5, abs=1e-8)


def test_a_set_whose_normal_rows_contradict_each_other_is_empty():
    cones = jo.convex.Cones([[1.0, 0.0], [1.0, 0.0]], [0.3, 0.3])
    G = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, 1.0]])
    K = jo.convex.Polyhedron(G, [-1.0, 0.0, 0.0, 0.0], cones=cones, describe="wall {}".format)
    with pytest.raises(EmptySet, match="wall 0; wall 2"):
        jo.GaussSeidel(max_iterations=500).project([0.0, 0.0], K)


def test_without_friction_the_answer_is_that_of_the_normal_rows():
    w, K, mass = heap(30, 2, mu=0.0)
    P = jo.project(w, K, mass=mass, solver=jo.GaussSeidel(tol=1e-9))
    normals = K.normals()
    Q = jo.project(w, normals, mass=mass)
    np.testing.assert_allclose(P.point, Q.point, atol=1e-6)


def test_the_noise_of_a_normal_row_adds_up_whatever_the_signs_of_its_axis():
    cones = jo.convex.Cones([[-0.6, 0.8]], [0.3])
    K = jo.convex.Polyhedron(np.eye(3), np.zeros(3), noise=[0.5, 0.25, 0.125], cones=cones)
    assert K.normals().noise == pytest.approx([0.3 + 0.2, 0.125])


@pytest.mark.parametrize("solver", [jo.ActiveSet(), jo.InteriorPoint()])
def test_solvers_without_cones_say_which_ones_have_them(solver):
    K, _ = random_problem(0)
    with pytest.raises(InvalidValue, match="jo.GaussSeidel or jo.Automatic".replace(".", "[.]")):
        solver.project(np.zeros(K.G.shape[1]), K)


@pytest.mark.parametrize(
    ("cones", "message"),
    [
        (jo.convex.Cones([[1.0, 0.0]], [-0.1]), "mu must not be negative"),
        (jo.convex.Cones([[1.0, 0.0]], [np.inf]), "mu is inf"),
        (jo.convex.Cones([[1.0, 1.0]], [0.1]), "length one"),
        (jo.convex.Cones([[1.0, 0.0]], [0.1, 0.2]), "one mu for each block"),
        (jo.convex.Cones([[1.0, 0.0]], [0.1], True, [-1.0]), "rolling must not be negative"),
        (jo.convex.Cones([[1.0, 0.0]], [0.1], True, [1.0]), "need 3 rows"),
        (jo.convex.Cones(np.eye(2), [0.1, 0.2]), "need 4 rows"),
        ("cone", "must be a jo.convex.Cones"),
    ],
)
def test_cones_that_do_not_fit_are_refused(cones, message):
    with pytest.raises((InvalidValue, NotFinite), match=message):
        jo.convex.Polyhedron(np.eye(2), np.zeros(2), cones=cones)


def test_a_row_of_a_cone_is_no_equality():
    with pytest.raises(InvalidValue, match="cannot be an equality"):
        jo.convex.Polyhedron(np.eye(2), [0.0, 0.0], equal=[True, False], cones=jo.convex.Cones([[1.0, 0.0]], [0.1]))
