"""`near_polygons` beside its definition, and both beside distances and depths that are found in another way."""

import numpy as np
import pytest
import shapely
from scipy.spatial import ConvexHull

from kernel_sets import cpu, reference

PAIRS = 1000


def core(random):
    """A point, a segment or a convex polygon, counter-clockwise."""
    k = int(random.choice([1, 2, 3, 4, 8]))
    points = random.normal(size=(k if k < 3 else 3 * k, 2)) + 2.0 * random.normal(size=2)
    return points if k < 3 else points[ConvexHull(points).vertices]


def cores(random, count):
    made = [core(random) for _ in range(count)]
    start = np.append(0, np.cumsum([len(one) for one in made]))
    return np.concatenate(made), start, random.uniform(0.0, 0.2, count)


def both(x, start, rounding, cutoff, i, j, chunks=1):
    given = x, start, rounding, cutoff, i, j
    return cpu.near_polygons(*given, chunks), reference.near_polygons(*given, 1)


def test_rows_are_those_of_the_definition_for_each_number_of_threads():
    random = np.random.default_rng(1)
    x, start, rounding = cores(random, 40)
    i, j = np.triu_indices(40, 1)
    for cutoff in (np.inf, 0.4):
        each = np.full(len(x), cutoff)
        found, defined = both(x, start, rounding, each, i, j)
        for one, other in zip(found, defined, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-12)
        for one, other in zip(found, cpu.near_polygons(x, start, rounding, each, i, j, 3), strict=True):
            np.testing.assert_array_equal(one, other)
        assert len({*map(tuple, found.pairs.tolist())}) == len(found.pairs)


def test_distances_depths_and_feet_are_those_of_shapely():
    random = np.random.default_rng(2)
    directions = 2.0 * np.pi * np.arange(360) / 360.0
    directions = np.stack([np.cos(directions), np.sin(directions)])
    for _ in range(PAIRS):
        A, B = core(random), core(random)
        x, start = np.concatenate([A, B]), np.array([0, len(A), len(A) + len(B)])
        rows = cpu.near_polygons(x, start, np.zeros(2), np.full(len(x), np.inf), np.array([0]), np.array([1]), 1)
        least = int(rows.gap.argmin())
        one, other = (shapely.MultiPoint(points).convex_hull for points in (A, B))
        normal = rows.normal[least] * (1.0 if rows.pairs[least, 0] < len(A) else -1.0)
        if rows.gap[least] > 0.0:
            np.testing.assert_allclose(rows.gap[least], one.distance(other), atol=1e-12)
        else:  # the normal is the shortest way out
            assert one.intersects(other)
            apart = shapely.MultiPoint(B + (1e-12 - rows.gap[least]) * normal).convex_hull
            assert one.intersection(apart).area < 1e-9
            assert ((B @ directions).min(axis=0) - (A @ directions).max(axis=0)).max() <= rows.gap[least] + 1e-9
        foot = x[rows.feet[:, 0]] + rows.weight[:, None] * (x[rows.feet[:, 1]] - x[rows.feet[:, 0]])
        np.testing.assert_allclose(((foot - x[rows.pairs[:, 0]]) * rows.normal).sum(axis=1), rows.gap, atol=1e-9)


BOX = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])


@pytest.mark.parametrize(("shift", "corners"), [(0.0, [0, 1]), (1e-6, [0, 1]), (0.5, [0, 6]), (-0.5, [1, 7])])
def test_two_faces_touch_at_the_ends_of_their_common_part(shift, corners):
    x, start = np.concatenate([BOX, BOX + np.array([shift, 2.1])]), np.array([0, 4, 8])
    found, defined = both(x, start, np.full(2, 0.01), np.full(8, 0.1), np.array([0]), np.array([1]))
    for rows in (found, defined):
        assert sorted(rows.pairs[:, 0].tolist()) == corners
        np.testing.assert_allclose(rows.gap, 0.08, atol=1e-12)


def test_rows_follow_a_rotation_by_the_points_held_on_their_bodies():
    """The envelope theorem: central differences of the smallest gap."""
    random = np.random.default_rng(3)
    compared = 0
    while compared < 200:
        A, B = core(random), core(random)
        x, start = np.concatenate([A, B]), np.array([0, len(A), len(A) + len(B)])
        rows = cpu.near_polygons(x, start, np.zeros(2), np.full(len(x), np.inf), np.array([0]), np.array([1]), 1)
        gap = np.sort(rows.gap)
        if len(gap) > 1 and gap[1] - gap[0] < 1e-2:
            continue
        compared += 1
        least = int(rows.gap.argmin())
        spin, v = random.normal(), random.normal(size=2)
        velocity = np.zeros_like(x)
        velocity[: len(A)] = v + spin * np.stack([-A[:, 1], A[:, 0]], axis=1)
        v, (one, two), s = rows.pairs[least, 0], rows.feet[least], rows.weight[least]
        rate = ((1.0 - s) * velocity[one] + s * velocity[two] - velocity[v]) @ rows.normal[least]
        gaps = []
        for h in (1e-6, -1e-6):
            c, t = np.cos(spin * h), np.sin(spin * h)
            moved = x.copy()
            moved[: len(A)] = A @ np.array([[c, t], [-t, c]]) + h * (
                velocity[:1] - spin * np.array([-A[0, 1], A[0, 0]])
            )
            all_rows = cpu.near_polygons(
                moved, start, np.zeros(2), np.full(len(x), np.inf), np.array([0]), np.array([1]), 1
            )
            gaps.append(all_rows.gap.min())
        np.testing.assert_allclose((gaps[0] - gaps[1]) / 2e-6, rate, atol=1e-4)
