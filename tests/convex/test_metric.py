"""The kinetic metric <u, v>_M: every way to give a mass, the algebra, and what is refused."""

import numpy as np
import pytest

from jostle.convex.metric import Metric, metric
from jostle.errors import InvalidValue, JostleError, NotFinite

SHAPE = (3, 2)
PER_BODY = np.array([1.0, 2.0, 5.0])
PER_COORDINATE = np.array([[1.0, 2.0], [3.0, 4.0], [0.5, 6.0]])


def full_matrix():
    root = np.random.default_rng(2).normal(size=(6, 6))
    return root @ root.T + 0.3 * np.eye(6)


MASSES = {
    "number": (2.5, 2.5 * np.eye(6)),
    "per body": (PER_BODY, np.diag(np.repeat(PER_BODY, 2))),
    "per coordinate": (PER_COORDINATE, np.diag(PER_COORDINATE.ravel())),
    "matrix": (full_matrix(), full_matrix()),
}
every_mass = pytest.mark.parametrize(("mass", "M"), MASSES.values(), ids=MASSES)


def two_vectors():
    random = np.random.default_rng(7)
    return random.normal(size=6), random.normal(size=6)


@every_mass
def test_a_mass_is_its_matrix(mass, M):
    u, v = two_vectors()
    found = metric(mass, SHAPE)
    np.testing.assert_allclose(found.times(v), M @ v, rtol=1e-13)
    np.testing.assert_allclose(found.solve(v), np.linalg.solve(M, v), rtol=1e-11)
    assert found.inner(u, v) == pytest.approx(u @ M @ v, rel=1e-12)
    assert found.inner(u, v) == pytest.approx(found.inner(v, u), rel=1e-12)
    assert found.norm(v) == pytest.approx(np.sqrt(v @ M @ v), rel=1e-13)
    assert found.norm(np.zeros(6)) == 0.0


@every_mass
def test_whitened_coordinates_are_euclidean(mass, M):
    """v = unwhiten(x) has |v|_M = |x|, and rows v = whiten(rows) x."""
    x, _ = two_vectors()
    rows = np.random.default_rng(1).normal(size=(4, 6))
    found = metric(mass, SHAPE)
    v = found.unwhiten(x)
    assert np.sqrt(v @ M @ v) == pytest.approx(np.linalg.norm(x), rel=1e-12)
    np.testing.assert_allclose(found.whiten(rows) @ x, rows @ v, rtol=1e-11)
    np.testing.assert_allclose(found.whiten(rows) @ found.whiten(rows).T, rows @ np.linalg.solve(M, rows.T), rtol=1e-9)


def test_only_a_matrix_is_not_diagonal():
    assert [metric(mass, SHAPE).diagonal for mass, _ in MASSES.values()] == [True, True, True, False]
    np.testing.assert_allclose(metric(PER_BODY, SHAPE).inverse_diagonal, 1.0 / np.repeat(PER_BODY, 2), rtol=1e-15)


def test_a_metric_is_given_back_as_it_is():
    M = metric(3.0, SHAPE)
    assert metric(M, SHAPE) is M
    assert isinstance(M, Metric)


def test_the_euclidean_metric_is_mass_one():
    u, v = two_vectors()
    assert metric(1.0, SHAPE).inner(u, v) == pytest.approx(u @ v, rel=1e-14)


def test_shapes_of_one_body_and_of_numbers():
    assert metric([2.0, 3.0], (2,)).mass.tolist() == [2.0, 3.0]
    assert metric([[2.0, 1.0], [1.0, 3.0]], (2,)).mass.tolist() == [[2.0, 1.0], [1.0, 3.0]]
    assert metric(4.0, ()).mass.tolist() == [4.0]
    assert metric(1.0, (0, 2)).mass.shape == (0,)


def test_a_mass_is_not_changed_from_outside():
    mass = np.array([1.0, 2.0, 5.0])
    M = metric(mass, SHAPE)
    mass[:] = -1.0
    assert M.norm(np.ones(6)) == pytest.approx(4.0, rel=1e-15)


@pytest.mark.parametrize(
    ("mass", "what"),
    [
        (0.0, "positive"),
        (-1.0, "positive"),
        ([1.0, 2.0, -3.0], "entry 4 is -3"),
        (np.ones(4), r"shape \(4,\)"),
        (np.ones((2, 3)), r"shape \(2, 3\)"),
        (np.eye(6) + np.eye(6, k=1), "not symmetric"),
        (np.diag([1.0, 1.0, 1.0, 1.0, 1.0, -2.0]), "smallest eigenvalue is -2"),
        (np.zeros((6, 6)), "not positive definite"),
        ("heavy", "must be numbers"),
    ],
)
def test_what_is_no_mass_is_refused(mass, what):
    with pytest.raises(InvalidValue, match=what) as caught:
        metric(mass, SHAPE)
    assert isinstance(caught.value, JostleError)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_mass_that_is_not_finite_is_refused_by_its_place(value):
    with pytest.raises(NotFinite, match=r"mass is (nan|inf) at index \(1,\)"):
        metric([1.0, value, 1.0], SHAPE)


def test_one_inverse_mass_a_body_where_its_coordinates_have_the_same():
    M = metric([2.0, 4.0], (2, 3))
    assert M.of_bodies(2).tolist() == pytest.approx([0.5, 0.25])
    assert M.of_bodies(3) is None  # three bodies of two coordinates each: the second has both masses
    assert M.of_bodies(2) is M.of_bodies(2)
    assert metric(np.diag([1.0, 2.0]), (2,)).of_bodies(2) is None
    assert M.inverse_diagonal.tolist() == pytest.approx([0.5] * 3 + [0.25] * 3)
