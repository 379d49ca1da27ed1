"""The forms of G (dense, sparse, pairs, stacked) are the same linear map."""

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array

import jostle as jo
from jostle.convex.linear_map import Dense, LinearMap, Mixed, NormalRows, Sparse, as_map, stacked
from jostle.convex.metric import metric
from jostle.convex.residuals import residual
from jostle.errors import InvalidValue

BODIES, ROWS = 6, 15


def contact_rows(d):
    """Random pairs, some of them walls, and the same rows written out by a plain loop."""
    random = np.random.default_rng(d)
    i = random.integers(0, BODIES, ROWS)
    j = (i + random.integers(1, BODIES, ROWS)) % BODIES
    j[::4] = -1 - random.integers(0, 3, len(j[::4]))
    normal = random.normal(size=(ROWS, d))
    rows = np.zeros((ROWS, BODIES, d))
    for c in range(ROWS):
        rows[c, i[c]] -= normal[c]
        if j[c] >= 0:
            rows[c, j[c]] += normal[c]
    return NormalRows(i, j, normal, BODIES), rows.reshape(ROWS, BODIES * d)


class Foreign(LinearMap):
    """A map of somebody else: what must be defined, and nothing more."""

    shape = None

    def __init__(self, array):
        self.array, self.shape = array, array.shape

    def __matmul__(self, u):
        return self.array @ u

    def adjoint(self, p):
        return self.array.T @ p

    def tocsr(self):
        return csr_array(self.array)

    def rows(self, selection):
        return Foreign(self.array[selection])


def form(kind, d):
    """(G in that form, the same as an array)."""
    pairs, array = contact_rows(d)
    made = {
        "dense": lambda: Dense(array),
        "sparse": lambda: Sparse(csr_array(array)),
        "pairs": lambda: pairs,
        "mixed": lambda: stacked(pairs.rows(np.arange(6)), Dense(array[6:7]), Sparse(csr_array(array[7:]))),
        "interleaved": lambda: stacked(
            Dense(array[:2]), pairs.rows(np.arange(2, 5)), Foreign(array[5:6]), pairs.rows(np.arange(6, ROWS))
        ),
        "foreign": lambda: Foreign(array),
    }
    return made[kind](), array


every_form = pytest.mark.parametrize("kind", ["dense", "sparse", "pairs", "mixed", "interleaved", "foreign"])
every_dimension = pytest.mark.parametrize("d", [1, 2, 3])


@every_form
@every_dimension
def test_every_form_is_the_same_matrix(kind, d):
    G, array = form(kind, d)
    random = np.random.default_rng(9)
    u, p = random.normal(size=array.shape[1]), random.normal(size=array.shape[0])
    assert G.shape == array.shape
    np.testing.assert_allclose(G @ u, array @ u, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(G.adjoint(p), array.T @ p, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(G.magnitude(u), np.abs(array) @ np.abs(u), rtol=1e-13)
    np.testing.assert_array_equal(G.toarray(), array)
    np.testing.assert_array_equal(G.tocsr().toarray(), array)
    assert G.tocsr().format == "csr"


@every_form
@every_dimension
def test_the_adjoint_is_the_adjoint(kind, d):
    """<G u, p> = <u, G^T p>."""
    G, array = form(kind, d)
    random = np.random.default_rng(4)
    for _ in range(5):
        u, p = random.normal(size=array.shape[1]), random.normal(size=array.shape[0])
        size = np.abs(array).sum() * np.abs(u).max() * np.abs(p).max()
        assert abs((G @ u) @ p - u @ G.adjoint(p)) <= 1e-14 * size


@pytest.mark.each_value
@every_form
@every_dimension
@pytest.mark.parametrize("mass", ["number", "per body", "per coordinate", "matrix"])
def test_norms_are_dual_to_the_metric(kind, d, mass):
    """|G_i| = sqrt(G_i M^-1 G_i^T)."""
    G, array = form(kind, d)
    n = array.shape[1]
    random = np.random.default_rng(5)
    values = {
        "number": 3.0,
        "per body": random.uniform(0.1, 10.0, BODIES),
        "per coordinate": random.uniform(0.1, 10.0, (BODIES, d)),
        "matrix": np.cov(random.normal(size=(n, 4 * n))) + 0.1 * np.eye(n),
    }
    M = metric(values[mass], (BODIES, d))
    matrix = np.array([M.times(column) for column in np.eye(n)])
    expected = np.sqrt(np.einsum("ij,jk,ik->i", array, np.linalg.inv(matrix), array))
    np.testing.assert_allclose(G.norms(M), expected, rtol=1e-11)


SELECTIONS = {
    "integers": np.array([1, 5, 6, 9, 14]),
    "out of order": np.array([14, 2, 9, 6, 0]),
    "booleans": np.arange(ROWS) % 3 == 0,
    "one": np.array([6]),
    "none": np.zeros(0, dtype=np.int64),
    "no booleans": np.zeros(ROWS, dtype=bool),
}


@every_form
@pytest.mark.parametrize("selection", SELECTIONS.values(), ids=SELECTIONS)
def test_rows_are_the_rows_asked_for_in_the_order_asked_for(kind, selection):
    G, array = form(kind, 2)
    u = np.random.default_rng(3).normal(size=array.shape[1])
    chosen = G.rows(selection)
    assert chosen.shape == array[selection].shape
    np.testing.assert_array_equal(chosen.toarray(), array[selection])
    np.testing.assert_allclose(chosen @ u, array[selection] @ u, rtol=1e-12, atol=1e-14)


def test_a_wall_does_not_move():
    """(G u)_c = normal . (u_j - u_i), and u_j = 0 for every j < 0."""
    G = NormalRows(np.array([0, 1]), np.array([-1, -7]), np.array([[0.0, -1.0], [1.0, 0.0]]), bodies=2)
    assert (G @ np.array([3.0, -2.0, 5.0, 4.0])).tolist() == [-2.0, -5.0]


def test_pairs_stacked_on_pairs_stay_pairs():
    pairs, array = contact_rows(2)
    both = stacked(pairs, pairs.rows(np.array([3, 1])))
    assert isinstance(both, NormalRows)
    np.testing.assert_array_equal(both.toarray(), np.vstack([array, array[[3, 1]]]))


def test_dense_stacked_on_dense_stays_dense():
    both = stacked(Dense(np.eye(2)), Dense(np.array([[3.0, 4.0]])))
    assert isinstance(both, Dense)
    assert both.toarray().tolist() == [[1.0, 0.0], [0.0, 1.0], [3.0, 4.0]]


def test_mixed_forms_are_stacked_in_order_and_one_alone_is_left_alone():
    pairs, array = contact_rows(2)
    mixed = stacked(Dense(array[:2]), pairs)
    assert isinstance(mixed, Mixed)
    assert mixed.others.tolist() == [0, 1]
    np.testing.assert_array_equal(mixed.contacts.normal, pairs.normal)
    np.testing.assert_array_equal(mixed.toarray(), np.vstack([array[:2], array]))
    assert stacked(pairs) is pairs
    assert stacked(Dense(array[:0]), pairs) is pairs


@every_form
@every_dimension
def test_the_opposite_and_the_contacts_of_every_form(kind, d):
    G, array = form(kind, d)
    np.testing.assert_array_equal(G.opposite().toarray(), -array)
    rows = np.setdiff1d(np.arange(len(array)), G.others)
    contacts = G.contacts
    assert (contacts is None) == (len(rows) == 0)
    if contacts is not None:
        again = NormalRows(contacts.i, contacts.j, contacts.normal, contacts.bodies)
        np.testing.assert_array_equal(again.toarray(), array[rows])


@every_form
def test_residuals_do_not_depend_on_the_form(kind):
    G, array = form(kind, 2)
    random = np.random.default_rng(4)
    w, c, p = random.normal(size=array.shape[1]), random.normal(size=len(array)), random.exponential(size=len(array))
    length = np.where(np.arange(len(array)) % 3 == 0, 0.0, random.uniform(0.1, 2.0, len(array)))
    found, expected = (
        residual(w, jo.convex.Polyhedron(H, c, length=length), metric(2.0, w.shape), w + H.adjoint(p) / 2.0 + 0.1, p)
        for H in (G, Foreign(array))
    )
    assert expected.primal > 0.0
    for name in ("primal", "dual", "complementarity"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=1e-12)


def test_a_map_that_does_not_inherit_is_not_turned_into_a_matrix_in_silence():
    class Almost:
        shape = (1, 2)

        def adjoint(self, p):
            return np.zeros(2)

        def tocsr(self):
            return csr_array(np.eye(2)[:1])

    with pytest.raises(jo.InvalidValue, match=r"Almost looks like a linear map: let it inherit"):
        jo.convex.Cone(Almost())


@pytest.mark.parametrize("given", [[[1.0, 2.0], [0.0, 3.0]], np.array([[1, 2], [0, 3]])], ids=["lists", "integers"])
def test_what_looks_like_an_array_becomes_dense(given):
    G = as_map(given)
    assert isinstance(G, Dense)
    assert G.toarray().tolist() == [[1.0, 2.0], [0.0, 3.0]]


def test_sparse_matrices_and_maps_are_taken_as_they_are():
    G = as_map(coo_array(np.array([[1.0, 0.0], [0.0, 3.0]])))
    assert isinstance(G, Sparse)
    assert G.tocsr().format == "csr"
    pairs, _ = contact_rows(2)
    assert as_map(pairs) is pairs


def test_the_rows_are_a_copy_of_what_was_given():
    given = np.eye(2)
    G = as_map(given)
    given[:] = 7.0
    assert G.toarray().tolist() == [[1.0, 0.0], [0.0, 1.0]]


@pytest.mark.parametrize("given", [[1.0, 2.0], [[[1.0]]], [[1.0, np.nan]]], ids=["vector", "cube", "nan"])
def test_what_is_no_matrix_is_refused(given):
    with pytest.raises(InvalidValue, match="G "):
        as_map(given)


def test_a_map_without_rows_or_bodies_is_still_a_map():
    nobody = np.zeros(0, dtype=np.int64)
    for bodies in (3, 0):
        G = NormalRows(nobody, nobody, np.zeros((0, 2)), bodies=bodies)
        assert G.shape == (0, 2 * bodies)
        assert (G @ np.zeros(2 * bodies)).shape == (0,)
        assert G.magnitude(np.zeros(2 * bodies)).shape == (0,)
        assert G.adjoint(np.zeros(0)).tolist() == [0.0] * (2 * bodies)
        assert G.norms(metric(1.0, (bodies, 2))).shape == (0,)
        assert G.toarray().shape == G.tocsr().shape == (0, 2 * bodies)


@pytest.mark.parametrize(("i", "j"), [(-1, 0), (2, 0), (0, 2)])
def test_pairs_of_bodies_that_do_not_exist_are_refused(i, j):
    with pytest.raises(InvalidValue, match="names a body that is not one of 0 to 1"):
        NormalRows(np.array([i]), np.array([j]), np.array([[1.0, 0.0]]), bodies=2)


def test_some_rows_of_a_polyhedron_keep_their_names():
    K = jo.convex.Polyhedron(np.eye(3), np.zeros(3), describe="wall {}".format)
    some = K.only(np.array([2, 0]))
    assert [some.describe(row) for row in (0, 1)] == ["wall 2", "wall 0"]


def test_rows_of_contacts_in_friction_cones_have_the_residuals_of_their_dense_form():
    """Two rows of one body against a wall, which are a block: it slides by 1 and overlaps by 0.5."""
    pairs = NormalRows(np.array([0, 0]), np.array([-1, -1]), -np.eye(2), bodies=1)
    cones = jo.convex.Cones(axis=np.array([[0.0, 1.0]]), mu=np.array([0.5]))
    w, M = np.array([1.0, -0.5]), metric(1.0, (2,))
    for u, p in ((w, np.zeros(2)), (np.array([0.75, 0.0]), np.array([-0.25, 0.5]))):
        found = [
            residual(w, jo.convex.Polyhedron(G, np.zeros(2), length=1.0, cones=cones), M, u, p)
            for G in (pairs, Dense(pairs.toarray()))
        ]
        assert found[0] == found[1]
        assert (found[0].primal > 0.4) == (u is w)
