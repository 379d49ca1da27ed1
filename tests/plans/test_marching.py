"""Distances on a grid: fast marching against its definition, exact distances, orders and symmetry."""

from itertools import pairwise

import numpy as np
import pytest

from kernel_sets import cpu, reference

NEAR = 0.1
"""Nodes up to this distance from the source start with exact values."""
SYMMETRIES = {
    "mirrored in x": lambda field: field[::-1],
    "mirrored in y": lambda field: field[:, ::-1],
    "transposed": np.transpose,
    "turned by 90 degrees": np.rot90,
    "turned by 180 degrees": lambda field: np.rot90(field, 2),
    "turned by 270 degrees": lambda field: np.rot90(field, 3),
}
CORNER, BEHIND = np.array([0.5, 0.5]), np.array([0.2, 0.15])
"""The end of a wall from (0.5, 0), and a source from which it hides what lies behind."""


def nodes(n):
    x = np.arange(n) / (n - 1)
    return np.stack(np.meshgrid(x, x, indexing="ij"), axis=-1)


def to_point(x):
    return np.linalg.norm(x - [0.5, 0.5], axis=-1)


def to_segment(x):
    start, along = np.array([0.3, 0.4]), np.array([0.3, 0.15])
    part = np.clip((x - start) @ along / (along @ along), 0.0, 1.0)
    return np.linalg.norm(x - start - part[..., None] * along, axis=-1)


def around_the_corner(x):
    straight = np.linalg.norm(x - BEHIND, axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        crossing = BEHIND[1] + (x[..., 1] - BEHIND[1]) * (CORNER[0] - BEHIND[0]) / (x[..., 0] - BEHIND[0])
    hidden = (x[..., 0] > CORNER[0]) & (crossing < CORNER[1])
    return np.where(hidden, np.linalg.norm(BEHIND - CORNER) + np.linalg.norm(x - CORNER, axis=-1), straight)


def anywhere(x):
    return np.ones(x.shape[:2], dtype=bool)


def beside_the_wall(x):
    return ~((np.abs(x[..., 0] - CORNER[0]) < 1e-9) & (x[..., 1] < CORNER[1] - 1e-9))


def error(exact, free, n):
    """The largest and the mean error on n x n nodes."""
    x = nodes(n)
    d, there = exact(x), free(x)
    found = cpu.marched(there, np.where((d <= NEAR) & there, d, np.inf), 1.0 / (n - 1))
    off = np.abs(found - d)[there]
    return np.array([off.max(), off.mean()])


def random_case(seed):
    """A grid with obstacles and several sources of different values, many of them equal."""
    random = np.random.default_rng(seed)
    shape = tuple(random.integers(1, 14, 2))
    free = random.random(shape) < 0.75
    start = np.where(random.random(shape) < 0.08, random.choice([0.0, 0.0, 0.3, 1.0], shape), np.inf)
    return free, start


@pytest.mark.parametrize("seed", range(20))
def test_marching_is_its_definition(seed):
    free, start = random_case(seed)
    np.testing.assert_allclose(cpu.marched(free, start, 0.7), reference.marched(free, start, 0.7), rtol=1e-13)


@pytest.mark.parametrize("seed", range(20))
def test_a_march_that_ends_at_the_wanted_nodes_is_its_definition_and_part_of_the_whole(seed):
    free, start = random_case(seed)
    random = np.random.default_rng(seed + 100)
    cost, wanted = 1.0 + random.random(free.shape), random.random(free.shape) < 0.05
    case = free, start, 0.7, cost, wanted, random.choice([0.0, 0.5])
    found, whole = cpu.marched(*case), cpu.marched(*case[:4])
    np.testing.assert_allclose(found, reference.marched(*case), rtol=1e-13)
    known = np.isfinite(found)
    assert (found[known] == whole[known]).all()
    assert (known | ~np.isfinite(whole))[wanted].all()


@pytest.mark.parametrize("kernels", [cpu, reference], ids=["cpu", "reference"])
def test_nodes_as_far_as_the_last_wanted_one_are_reached(kernels):
    free, start, wanted = np.ones((1, 5), dtype=bool), np.full((1, 5), np.inf), np.zeros((1, 5), dtype=bool)
    start[0, 2], wanted[0, 1] = 0.0, True
    assert kernels.marched(free, start, 1.0, None, wanted).tolist() == [[np.inf, 1.0, 0.0, 1.0, np.inf]]


@pytest.mark.parametrize("seed", range(20))
def test_descent_is_its_definition(seed):
    random = np.random.default_rng(seed)
    shape = tuple(random.integers(1, 12, 2))
    d = random.choice([0.0, 0.5, 1.0, 2.0], shape) + random.choice([0.0, 0.1], shape) * random.random(shape)
    d[random.random(shape) < 0.3] = np.inf
    np.testing.assert_allclose(cpu.descent(d, 0.7), reference.descent(d, 0.7), atol=1e-14)


@pytest.mark.parametrize(
    ("exact", "free", "order"),
    [
        (to_point, anywhere, (1.9, 1.9)),
        (to_segment, anywhere, (1.2, 1.9)),
        (around_the_corner, beside_the_wall, (0.9, 0.9)),
    ],
)
def test_errors_fall_with_the_order_of_the_scheme(exact, free, order):
    """Two where the distance is smooth; one behind a corner, where ways fan out from a point."""
    errors = [error(exact, free, n) for n in (81, 161, 321)]
    assert errors[0][0] < 0.015
    for coarse, fine in pairwise(errors):
        assert (np.log2(coarse / fine) > order).all()


def test_around_a_point_distances_are_twenty_times_nearer_than_in_first_order():
    """On 81 x 81 nodes a scheme of first order is off by 0.0155."""
    assert error(to_point, anywhere, 81)[0] < 0.0155 / 20.0
    assert error(to_point, anywhere, 321)[0] < 5e-5


@pytest.mark.parametrize("name", SYMMETRIES)
@pytest.mark.parametrize("n", [40, 41])
def test_distances_are_as_symmetric_as_the_sources(n, name):
    """A source on a node, and one in the middle of a cell, where values tie everywhere."""
    d = np.linalg.norm(nodes(n) - 0.5, axis=-1)
    found = cpu.marched(np.ones((n, n), dtype=bool), np.where(d < 1.0 / n, d, np.inf), 1.0 / (n - 1))
    np.testing.assert_allclose(SYMMETRIES[name](found), found, atol=1e-14)


@pytest.mark.parametrize("seed", range(10))
def test_an_image_of_the_grid_has_the_image_of_the_distances(seed):
    """Whichever of two equal values is accepted first: images visit the nodes in other orders."""
    free, start = random_case(seed)
    found = cpu.marched(free, start, 0.7)
    for image in SYMMETRIES.values():
        other = cpu.marched(np.ascontiguousarray(image(free)), np.ascontiguousarray(image(start)), 0.7)
        np.testing.assert_allclose(other, image(found), rtol=1e-13)


def test_marching_goes_around_obstacles_and_not_through_them():
    free = np.ones((5, 5), dtype=bool)
    free[2, :4] = False
    start = np.full((5, 5), np.inf)
    start[0, 0] = 0.0
    found = cpu.marched(free, start, 1.0)
    assert np.isinf(found[2, :4]).all()
    assert found[4, 0] > np.hypot(2, 4) + np.hypot(2, 4) - 1e-9
    free[2] = False
    assert np.isinf(cpu.marched(free, start, 1.0)[3:]).all()
    assert np.isinf(cpu.marched(free, np.full((5, 5), np.inf), 1.0)).all()


def test_the_same_grid_gives_the_same_bits():
    free, start = random_case(3)
    assert cpu.marched(free, start, 0.7).tobytes() == cpu.marched(free, start, 0.7).tobytes()
