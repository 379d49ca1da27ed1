"""`near_solids`: each pair proves its own distance, and rows are those of the definition."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import jostle as jo
from jostle._tools.rotations import matrices
from jostle.kernels import Solids
from kernel_sets import cpu, reference
from solid_definitions import apart, farthest_apart

S = jo.shapes
POINTS = np.random.default_rng(3).normal(size=(20, 3))
POINTS /= np.linalg.norm(POINTS, axis=1, keepdims=True)
FLAT = [
    S.Ball(0.5).of_dimension(3),
    S.Capsule(2.0, 0.3).of_dimension(3),
    S.Box([1.0, 1.0, 1.0]),
    S.Box([1.0, 2.0, 3.0], rounding=0.1),
    S.Hull(POINTS),
    S.Hull(POINTS[:4] * [1.0, 1.0, 0.1]),
]
SMOOTH = [S.Ellipsoid([1.0, 2.0, 0.5]), S.Superellipsoid([1.0, 1.2, 0.7], 4.0), S.Superellipsoid([1.0, 0.7, 1.0], 1.5)]


def solids_of(cores):
    """The topology of cores."""
    faces = [face for core in cores for face in core.faces]

    def starts(parts):
        return np.append(0, np.cumsum([len(part) for part in parts], dtype=np.int64))

    return Solids(
        starts([core.edges for core in cores]),
        np.concatenate([core.edges for core in cores]),
        starts([core.faces for core in cores]),
        starts(faces),
        np.concatenate([*faces, np.zeros(0, np.int64)]),
        np.array([core.exponent or 0.0 for core in cores]),
        np.array([core.inset for core in cores]),
    )


class Scene:
    """Pairs of cores (0, 1), (2, 3), ... at random places and orientations."""

    def __init__(self, shapes, count, far, seed=0):
        random = np.random.default_rng(seed)
        kinds = [shape.cores[0] for shape in shapes]
        self.solids, self.kind = solids_of(kinds), random.integers(0, len(kinds), 2 * count)
        q = random.normal(size=(2 * count, 4))
        R = matrices(q / np.linalg.norm(q, axis=1, keepdims=True))
        at = random.normal(size=(2 * count, 3)) * far
        self.cores = [kinds[k].moved(*pose) for k, *pose in zip(self.kind, R, at, strict=True)]
        self.settle()

    def settle(self):
        self.x = np.concatenate([core.vertices for core in self.cores])
        self.start = np.append(0, np.cumsum([len(core.vertices) for core in self.cores]))
        self.rounding = np.array([core.radius for core in self.cores])
        self.i = 2 * np.arange(len(self.cores) // 2)

    def near(self, cutoff=np.inf, chunks=1, kernels=cpu):
        each = np.full(len(self.cores), cutoff / 2)
        given = self.x, self.start, self.rounding, each, self.kind, self.solids, self.i, self.i + 1, chunks
        return kernels.near_solids(*given)

    def of_pairs(self, rows):
        """For each pair its rows: (gaps, normals from the first core to the second, the two points of each row)."""
        owner = np.searchsorted(self.start, rows.pairs[:, 0], side="right") - 1
        sign = np.where(owner % 2 == 0, 1.0, -1.0)
        one, two = (
            np.einsum("mk,mkd->md", np.where(rows.weights * s > 0, s * rows.weights, 0.0), self.x[rows.parts])
            for s in (-1, 1)
        )
        one, two = np.where(sign[:, None] > 0, one, two), np.where(sign[:, None] > 0, two, one)
        for pair in range(len(self.i)):
            mine = owner // 2 == pair
            yield rows.gap[mine], sign[mine, None] * rows.normal[mine], one[mine], two[mine]


@pytest.mark.parametrize("far", [0.3, 1.2])
def test_each_pair_of_polyhedra_proves_its_distance(far):
    """A normal bounds the distance from below, and two points of the cores bound it from above: both are the same.

    Where cores overlap, the normal is the best of all directions that there are.
    """
    scene = Scene(FLAT, 400, far)
    rows = scene.near()
    assert (np.isfinite(rows.gap)).all()
    assert_allclose(rows.weights.sum(axis=1), 0.0, atol=1e-15)
    overlaps = 0
    for k, (gap, n, one, two) in enumerate(scene.of_pairs(rows)):
        A, B = scene.cores[2 * k], scene.cores[2 * k + 1]
        assert len(gap) >= 1
        assert (n == n[0]).all() or len(A.vertices) == len(B.vertices) == 2
        both = A.radius + B.radius
        bound = apart(A, B, n[[gap.argmin()]])[0]
        assert_allclose(gap.min() + both, bound, atol=1e-11)
        assert_allclose(np.einsum("md,md->m", two - one, n) - both, gap, atol=1e-11)
        if bound > 0.0:
            best = gap.argmin()
            assert_allclose(np.linalg.norm(two[best] - one[best]), bound, atol=1e-7)
        else:
            overlaps += 1
            if overlaps <= 20:
                assert_allclose(bound, apart(A, B, farthest_apart(A, B)[None])[0], atol=1e-9)
    assert overlaps > 10


def test_smooth_cores_are_as_far_apart_as_any_direction_says():
    scene = Scene(FLAT[:4] + SMOOTH, 60, 1.6, seed=5)
    for k, (gap, n, _, _) in enumerate(scene.of_pairs(scene.near())):
        A, B = scene.cores[2 * k], scene.cores[2 * k + 1]
        bound = apart(A, B, n[:1])[0]
        if bound > 0.0:
            assert_allclose(bound, apart(A, B, farthest_apart(A, B)[None])[0], atol=1e-9)
            assert_allclose(gap.min() + A.radius + B.radius, bound, atol=1e-6)


def test_rows_are_those_of_the_definition_for_each_number_of_threads():
    scene = Scene(FLAT[:4], 40, 1.2, seed=2)
    for cutoff in (np.inf, 0.5):
        rows = scene.near(cutoff)
        defined = scene.near(cutoff, kernels=reference)
        assert_array_equal(rows.pairs, defined.pairs)
        for one, other in zip(rows[1:3], defined[1:3], strict=True):
            assert_allclose(one, other, atol=1e-9)
        feet, others = (np.einsum("mk,mkd->md", each.weights, scene.x[each.parts]) for each in (rows, defined))
        assert_allclose(feet, others, atol=1e-6)
        for one, other in zip(rows, scene.near(cutoff, chunks=3), strict=True):
            assert_array_equal(one, other)


def placed(*cores):
    """Cores (shape, centre, quaternion), pair by pair."""
    scene = Scene([shape for shape, *_ in cores], len(cores) // 2, 0.0)
    scene.kind = np.arange(len(cores))
    turns = matrices(np.array([turn for *_, turn in cores], dtype=float))
    scene.cores = [shape.cores[0].moved(R, np.array(at)) for (shape, at, _), R in zip(cores, turns, strict=True)]
    scene.settle()
    return scene


UP, LYING = [1.0, 0.0, 0.0, 0.0], [np.cos(np.pi / 8), 0.0, 0.0, np.sin(np.pi / 8)]
CUBE, ROD = S.Box([1.0, 1.0, 1.0]), S.Capsule(1.0, 0.25).of_dimension(3)
PENCIL = S.Hull([(x, np.cos(a) / 2, np.sin(a) / 2) for a in 2 * np.pi * (np.arange(24) + 0.5) / 24 for x in (-1, 1)])


@pytest.mark.parametrize(
    ("one", "other", "gap", "expected"),
    [
        # faces that coincide, overlap in part, are turned by 45 degrees (an octagon), or touch along an edge
        ((CUBE, [0, 0, 0], UP), (CUBE, [0, 0, 1.01], UP), 0.01, [(0.5, 0.5), (0.5, -0.5), (-0.5, 0.5), (-0.5, -0.5)]),
        ((CUBE, [0, 0, 0], UP), (CUBE, [0.3, 0.2, 1.0], UP), 0.0, [(0.5, 0.5), (0.5, -0.3), (-0.2, 0.5), (-0.2, -0.3)]),
        (
            (CUBE, [0, 0, 0], UP),
            (CUBE, [0, 0, 1.01], LYING),
            0.01,
            [(s * a, t * b) for s in (1, -1) for t in (1, -1) for a, b in ((0.5, 0.2071), (0.2071, 0.5))],
        ),
        ((CUBE, [0, 0, 0], UP), (CUBE, [0.997, 0, 1.0], UP), 0.0, None),
        # deep overlap, along the shortest way out
        (
            (CUBE, [0, 0, 0], UP),
            (CUBE, [0.1, 0.2, 0.7], UP),
            -0.3,
            [(0.5, 0.5), (0.5, -0.3), (-0.4, 0.5), (-0.4, -0.3)],
        ),
        # rods: parallel, crossing, end to end; on a face; upright on a face
        ((ROD, [0, 0, 0], UP), (ROD, [0.4, 0, 0.52], UP), 0.02, [(0.5, 0.0), (-0.1, 0.0)]),
        ((ROD, [0, 0, 0], UP), (ROD, [0, 0, 0.52], LYING), 0.02, [(0.0, 0.0)]),
        ((CUBE, [0, 0, 0], UP), (ROD, [0.3, 0, 0.76], UP), 0.01, [(0.499, 0.0), (-0.2, 0.0)]),
        ((CUBE, [0, 0, 0], UP), (ROD, [0.3, 0, 1.26], [1 / 2**0.5, 0.0, 1 / 2**0.5, 0.0]), 0.01, [(0.3, 0.0)]),
        # a pencil of 24 sides that lies on a box
        ((S.Box([4.0, 4.0, 1.0]), [0, 0, 0], UP), (PENCIL, [0, 0, 1.0], UP), None, 4),
    ],
)
def test_the_rows_of_faces_edges_and_corners(one, other, gap, expected):
    scene = placed(one, other)
    rows = scene.near(0.1)
    ((gaps, n, _, two),) = scene.of_pairs(rows)
    assert_allclose(n, np.tile([0.0, 0.0, 1.0], (len(n), 1)), atol=1e-9)
    assert len({*map(tuple, rows.pairs.tolist())}) == len(rows.pairs)
    if gap is None:
        gap = gaps[0]
        near = np.abs(gaps - gaps.min()) < 1e-9
        assert near.sum() == expected
        return
    assert_allclose(gaps, gap, atol=1e-9)
    if expected is None:
        return
    assert len(two) == len(expected)
    apart = np.linalg.norm(two[:, None, :2] - np.array(expected), axis=2)
    assert (apart.min(axis=0) < 3e-3).all()


def test_keys_stay_when_faces_that_coincide_move_a_little():
    keys = set()
    for k in range(20):
        by = 1e-7 * np.random.default_rng(k).normal(size=(2, 4))
        turn = np.array(UP) + by[0]
        scene = placed((CUBE, [0, 0, 0], UP), (CUBE, [*by[1, :2], 1.0 + by[1, 2]], turn / np.linalg.norm(turn)))
        keys.add(tuple(sorted(map(tuple, scene.near(0.1).pairs.tolist()))))
    assert len(keys) == 1


def test_points_at_the_same_place_have_no_direction_and_segments_on_one_line_any_across_it():
    ball = S.Ball(0.5).of_dimension(3)
    rows = placed((ball, [1, 2, 3], UP), (ball, [1, 2, 3], UP)).near()
    assert np.isnan(rows.normal).all()
    rows = placed((ROD, [0, 0, 0], UP), (ROD, [0.5, 0, 0], UP)).near()
    assert_allclose(rows.gap, -0.5)
    assert_allclose(rows.normal[:, 0], 0.0, atol=1e-12)
