"""Shapes of bodies: cores, rounding, mass properties, outlines; and what is refused."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.spatial import ConvexHull

import jostle as jo
from jostle._tools.rotations import matrices
from jostle.shapes.shape import face_normals

S = jo.shapes
TURN = np.array([0.8, 0.2, -0.4, 0.4])
TURN /= np.linalg.norm(TURN)
R = matrices(TURN[None])[0]
CUBOID = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-1.0, 1.0) for z in (-1.5, 1.5)])
ROUGH = np.random.default_rng(5).normal(size=(12, 3))
ROUGH *= np.array([1, 2, 3]) / np.linalg.norm(ROUGH, axis=1, keepdims=True)
IN_PLANE = [
    S.Ball(0.7).of_dimension(2),
    S.Capsule(2.0, 0.3).of_dimension(2),
    S.Polygon([(0, 0), (4, 0), (3, 2), (1, 3)]),
    S.Box([2.0, 1.0], rounding=0.2),
    S.Ellipsoid([2.0, 1.0]),
    S.Superellipsoid([1.0, 2.0], 5.0),
    S.Superellipsoid([1.0, 2.0], 1.3),
    S.Compound([(S.Box([3.0, 1.0]), [0, 0], 0.3), (S.Ellipsoid([1.0, 0.5]), [1, 2], 1.0)]),
]
IN_SPACE = [
    S.Ball(0.7).of_dimension(3),
    S.Capsule(2.0, 0.3).of_dimension(3),
    S.Box([2.0, 1.0, 3.0]),
    S.Hull(CUBOID @ R.T + 1.0, rounding=0.05),
    S.Hull(ROUGH, rounding=0.01),
    S.Ellipsoid([2.0, 1.0, 0.5]),
    S.Superellipsoid([1.0, 2.0, 1.5], 4.0),
    S.Compound([(S.Ellipsoid([2.0, 1.0, 0.5]), [0, 0, 0], TURN), (S.Capsule(1.0, 0.2), [1, 1, 0], 2 * TURN)]),
]


def tensor(shape):
    E = matrices(shape.axes[None])[0]
    return E @ np.diag(shape.inertia) @ E.T


def random_polygon(seed, n):
    angle = np.sort(np.random.default_rng(seed).uniform(0, 2 * np.pi, n))
    return np.stack([3 * np.cos(angle) + 5, np.sin(angle) - 2], axis=1)


@pytest.mark.parametrize("d", [2, 3])
def test_the_mass_of_a_capsule_is_the_integral_over_its_sections(d):
    length, r = 1.7, 0.4
    shape = S.Capsule(length, r).of_dimension(d)

    def integral(f):
        pieces = (0, length / 2, length / 2 + r)
        return 2 * sum(quad(f, *ends, epsabs=1e-13)[0] for ends in pairwise(pieces))

    def radius(x):
        return np.sqrt(max(r**2 - max(abs(x) - length / 2, 0.0) ** 2, 0.0))

    area = {2: lambda x: 2 * radius(x), 3: lambda x: np.pi * radius(x) ** 2}[d]
    measure = integral(area)
    along = integral(lambda x: x * x * area(x)) / measure
    across = integral(lambda x: area(x) * radius(x) ** 2 / (d + 1)) / measure
    assert_allclose(shape.measure, measure, rtol=1e-9)
    assert_allclose(shape.inertia, [along + across] if d == 2 else [2 * across, along + across, along + across])


@pytest.mark.parametrize("exponent", [1.4, 2.0, 6.0])
def test_the_mass_of_a_superellipsoid_is_the_integral_over_its_sections(exponent):
    flat, solid = S.Superellipsoid([2.0, 3.0], exponent), S.Superellipsoid([2.0, 3.0, 0.5], exponent)

    def integral(power, k):
        return quad(lambda z: z**power * (1 - z**exponent) ** (k / exponent), 0, 1, epsabs=1e-12)[0]

    whole, second = integral(0, 1), integral(2, 1)
    assert_allclose(flat.measure, 4 * 2 * 3 * whole, rtol=1e-8)
    assert_allclose(flat.inertia, (4 + 9) * second / whole, rtol=1e-8)
    of_sections, second = integral(0, 2), integral(2, 2)
    assert_allclose(solid.measure, flat.measure * 2 * 0.5 * of_sections, rtol=1e-8)
    assert_allclose(solid.inertia, np.array([9.25, 4.25, 13]) * second / of_sections, rtol=1e-8)


def test_a_polygon_has_the_mass_of_its_triangles():
    corners = random_polygon(1, 9)
    whole = S.Polygon(corners[::-1])
    fans = [S.Polygon(corners[[0, k, k + 1]]) for k in range(1, 8)]
    joined = S.Compound([(fan, fan.centre, 0.0) for fan in fans])
    for name in ("measure", "centre", "inertia"):
        assert_allclose(getattr(whole, name), getattr(joined, name), rtol=1e-12)
    hull = ConvexHull(corners)
    assert_allclose(whole.measure, hull.volume)


def test_a_hull_has_the_mass_of_its_pieces_in_any_position():
    """A cuboid as a hull, turned and moved; and a hull cut by a plane into two."""
    box, hull = S.Box([1.0, 2.0, 3.0]), S.Hull(CUBOID @ R.T + [7, 0, -3])
    assert_allclose(hull.measure, 6.0)
    assert_allclose(hull.centre, [7, 0, -3], atol=1e-12)
    assert_allclose(tensor(hull), R @ np.diag(box.inertia) @ R.T, atol=1e-12)
    assert_allclose(np.sort(hull.inertia), np.sort(box.inertia))
    points = np.random.default_rng(2).normal(size=(9, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = S.Hull(points)
        edges = [(p, q) for p in points for q in points if p[0] < 0 < q[0]]
        cut = np.array([p + (q - p) * p[0] / (p[0] - q[0]) for p, q in edges])
        halves = [S.Hull(np.concatenate([points[points[:, 0] * s > 0], cut])) for s in (-1, 1)]
    joined = S.Compound([(half, half.centre, [1, 0, 0, 0]) for half in halves])
    assert_allclose(joined.measure, whole.measure)
    assert_allclose(joined.centre, whole.centre, atol=1e-12)
    assert_allclose(tensor(joined), tensor(whole), atol=1e-12)


@pytest.mark.parametrize("d", [2, 3])
def test_a_cross_of_two_boxes_lies_about_its_centre_of_mass(d):
    bar = S.Box([3.0, 1.0, 1.0][:d])
    turned, zero = (np.pi / 2, 0.0) if d == 2 else ([1, 0, 0, 1], [1, 0, 0, 0])
    at = np.array([4.0, 1.0, 0.0][:d])
    cross = S.Compound([(bar, at, zero), (bar, at, turned)])
    assert_allclose(cross.centre, at)
    assert_allclose(cross.cores[1].vertices.max(axis=0), [0.499, 1.499, 0.499][:d])
    assert_allclose(cross.inertia[-1], bar.inertia[-1])


@pytest.mark.parametrize("shape", IN_PLANE + IN_SPACE, ids=repr)
def test_outlines_are_convex_and_hold_the_core_with_its_rounding(shape):
    """The farthest point in any direction: that of the core, and the radius."""
    d = shape.dimension
    n = np.random.default_rng(0).normal(size=(200, d))
    n /= np.linalg.norm(n, axis=1, keepdims=True)
    if d == 2:
        curves = shape.outline()
        assert len(curves) == len(shape.cores)
        found = np.max([(n @ curve.T).max(axis=1) for curve in curves], axis=0)
        for curve in curves:
            along = np.roll(curve, -1, axis=0) - curve
            after = np.roll(along, -1, axis=0)
            assert (along[:, 0] * after[:, 1] - along[:, 1] * after[:, 0] > -1e-12).all()
    else:
        points, triangles = shape.mesh()
        found = (n @ points.T).max(axis=1)
        a, b, c = np.moveaxis(points[triangles], 1, 0)
        volume = np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6
        assert_allclose(volume, shape.measure, rtol=0.06)
        assert len(points) - len(triangles) / 2 == 2 * len(shape.cores)
    exact = np.max([np.einsum("ij,ij->i", n, core.support(n)) + core.radius for core in shape.cores], axis=0)
    assert (found <= exact + 1e-12).all()
    assert_allclose(found, exact, atol=0.01 * shape.size * d)
    for core in shape.cores:
        centre, radius = core.ball()
        assert (np.einsum("ij,ij->i", n, core.support(n) - centre) + core.radius <= radius + 1e-12).all()


@pytest.mark.parametrize("rounding", [None, 0.02, 0.3])
@pytest.mark.parametrize("seed", range(4))
def test_rounding_lies_inside_and_faces_stay_where_they_were(seed, rounding):
    corners = random_polygon(seed, 12)
    points = np.random.default_rng(seed).normal(size=(4 + 3 * seed, 3)) * 3
    hull = ConvexHull(points)
    for shape, given, planes in (
        (S.Polygon(corners, rounding), corners, ConvexHull(corners).equations),
        (S.Hull(points[hull.vertices], rounding), points, hull.equations),
    ):
        (core,) = shape.cores
        wanted = -planes[:, -1] - planes[:, :-1] @ shape.centre
        reach = (core.vertices @ planes[:, :-1].T).max(axis=0) + core.radius
        assert (reach <= wanted + 1e-8).all()
        kept = np.abs(reach - wanted) < 1e-8
        assert kept.sum() >= len(given[0]) + 1
        normals = face_normals(core)
        assert_allclose(np.sort(np.abs(normals @ planes[kept, :-1].T - 1).min(axis=1)), 0.0, atol=1e-9)
        if rounding is None:
            assert kept.sum() >= 0.8 * len(kept)
            assert_allclose(core.radius, 1e-3 * shape.size)


def test_faces_of_hulls_are_counter_clockwise_and_closed():
    prism = [(np.cos(a), np.sin(a), z) for a in np.arange(24) * np.pi / 12 for z in (-1.0, 1.0)]
    for shape, faces in ((S.Hull(prism), 26), (S.Box([1.0, 2.0, 3.0]), 6), (S.Hull(CUBOID @ R.T), 6)):
        (core,) = shape.cores
        assert len(core.faces) == faces
        assert len(core.vertices) - len(core.edges) + faces == 2
        for face, n in zip(core.faces, face_normals(core), strict=True):
            assert n @ core.vertices[face].mean(axis=0) > 0
            assert_allclose(core.vertices[face] @ n, core.vertices[face[0]] @ n)
        directed = [tuple(edge) for face in core.faces for edge in np.stack([face, np.roll(face, -1)], axis=1)]
        assert len(directed) == len(set(directed)) == 2 * len(core.edges)


def test_corners_that_change_nothing_are_left_out():
    square = [(0, 0), (1, 0), (1, 0), (2, 0), (2, 1), (2, 2), (0, 2), (0, 1), (0, 0)]
    (core,) = S.Polygon(square).cores
    assert_allclose(core.vertices, S.Box([2.0, 2.0]).cores[0].vertices[[2, 3, 0, 1]], atol=1e-12)
    with pytest.warns(jo.errors.Implausible, match=r"1 of 10 points lie inside .* index 3: .* Compound") as said:
        S.Hull(np.concatenate([CUBOID[:3], np.zeros((1, 3)), CUBOID[3:], [[0.5, 0.3, 0.1]]]))
    assert len(said) == 1


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: S.Ball(0.0), "radius must be a positive number, not 0"),
        (lambda: S.Ball(np.nan), "radius must be a positive number"),
        (lambda: S.Capsule(0.0, 1.0), "length must be a positive number"),
        (lambda: S.Capsule(1.0, -1.0), "radius must be a positive number"),
        (lambda: S.Ball(1.0).measure, r"Ball\(1\) may be in the plane or in space: write .of_dimension\(2\)"),
        (lambda: S.Ball(1.0).of_dimension(4), "dimension must be 2 or 3, not 4"),
        (lambda: S.Box([1.0, 1.0]).of_dimension(3), r"Box\(\[1.0, 1.0\]\) is in the plane, and a shape in space is"),
        (lambda: S.Box([1.0]), r"sides has shape \(1,\): give 2 numbers in the plane or 3 in space"),
        (lambda: S.Box([1.0, 0.0]), "sides is 0 at index 1; it must be positive"),
        (lambda: S.Box([1.0, 1.0], rounding=0.5), "rounding is 0.5; .* less than 0.5, the radius of the largest ball"),
        (lambda: S.Box([1.0, 1.0], rounding=0.0), "rounding is 0; it must be positive"),
        (lambda: S.Box([1.0, 1.0], rounding=np.nan), "rounding is nan; it must be positive"),
        (lambda: S.Box([1.0, np.nan]), "sides is nan at index"),
        (lambda: S.Ellipsoid([1.0, -2.0]), "semi_axes is -2 at index 1"),
        (lambda: S.Ellipsoid([1.0, 1e-7]), "too sharp: its smallest radius of curvature is 1e-14"),
        (lambda: S.Superellipsoid([1.0, 1.0], 1.0), "exponent is 1; it must be larger than 1"),
        (lambda: S.Superellipsoid([1.0, 1.0], np.inf), "exponent is inf; it must be larger than 1 and finite"),
        (lambda: S.Polygon([(0, 0), (1, 0)]), r"vertices has shape \(2, 2\): give 3 or more points"),
        (lambda: S.Polygon(CUBOID), r"vertices has shape \(8, 3\): .* Hull takes points in space"),
        (lambda: S.Polygon([(0, 0), (1, 1), (2, 2), (3, 3)]), "vertices lie on one line"),
        (lambda: S.Polygon([(0, 0)] * 5), "vertices lie on one line"),
        (lambda: S.Polygon([(0, 0), (2, 0), (2, 2), (1, 0.5)]), "turn inward, so .* Compound"),
        (lambda: S.Polygon([(0, 0), (2, 2), (2, 0), (0, 2)]), "cross each other, so .* Compound"),
        (lambda: S.Polygon([(np.sin(a), np.cos(a)) for a in 0.8 * np.pi * np.arange(5)]), "cross each other"),
        (lambda: S.Polygon([(0, 0), (1, 0), (0, np.inf)]), "vertices is inf at index"),
        (lambda: S.Polygon([(0, 0), (1, 0), (0, 1)], rounding=0.3), "rounding is 0.3; .* less than 0.292893"),
        (lambda: S.Hull(CUBOID * [1, 1, 0]), "8 points lie in one plane, so that their hull has no volume"),
        (lambda: S.Hull(CUBOID * [1, 1, 1e-12]), "lie in one plane"),
        (lambda: S.Hull(CUBOID[:3]), r"points has shape \(3, 3\): give 4 or more"),
        (lambda: S.Hull(random_polygon(0, 5)), "Polygon takes points in the plane"),
        (lambda: S.Hull([(0, 0, 0)] * 5), "lie in one plane"),
        (lambda: S.Hull(CUBOID, rounding=0.6), "rounding is 0.6; .* less than 0.5"),
        (lambda: S.Compound([]), "parts has no shape"),
        (lambda: S.Compound([S.Ball(1.0)]), r"part 0 must be \(shape, centre, orientation\), not Ball\(1\)"),
        (lambda: S.Compound([(1.0, [0, 0], 0.0)]), "part 0 must begin with a shape"),
        (lambda: S.Compound([(S.Ball(1.0), [0], 0.0)]), r"the centre of part 0 has shape \(1,\)"),
        (lambda: S.Compound([(S.Ball(1.0), [0, 0], TURN)]), "the orientation of part 0 must be an angle"),
        (lambda: S.Compound([(S.Ball(1.0), [0, 0, 0], [0] * 4)]), "of part 0 must be a quaternion"),
        (lambda: S.Compound([(S.Box([1, 1]), [0, 0, 0], TURN)]), "is in the plane, and a shape in space is needed"),
        (
            lambda: S.Compound([(S.Ball(1), [0, 0, 0], TURN), (S.Ball(1), [0, 0], 0.0)]),
            "in the plane and some in space",
        ),
        (lambda: S.Box([1.0, 1.0]).mesh(), "is in the plane: use outline"),
        (lambda: S.Box([1.0, 1.0, 1.0]).outline(), "is in space: use mesh"),
    ],
)
def test_what_is_wrong_with_a_shape_is_said(make, words):
    with pytest.raises((jo.InvalidValue, jo.errors.NotFinite), match=words):
        make()
