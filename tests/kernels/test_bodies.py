"""Loops over many bodies: their answers in both directions, and the same bits for every number of threads."""

import numpy as np
import pytest

from jostle.kernels.cpu.bodies import BLOCK
from kernel_sets import cpu, reference

N = 2 * BLOCK + 17


@pytest.fixture(scope="module")
def field():
    random = np.random.default_rng(0)
    u = random.normal(size=(N, 3))
    u[::5] = 0.0
    return u, np.where(random.uniform(size=(N, 1)) < 0.5, 0.0, random.normal(size=(N, 3)))


@pytest.mark.parametrize("chunks", [1, 2, 3, 7])
def test_expected_ways_have_the_same_bits_in_any_number_of_chunks(field, chunks):
    factors = 0.1, 0.5, 1.0
    found = cpu.expected_ways(*field, *factors, chunks)
    assert found.tobytes() == cpu.expected_ways(*field, *factors, 1).tobytes()
    np.testing.assert_allclose(found, reference.expected_ways(*field, *factors, 1), rtol=1e-12)


@pytest.mark.parametrize("kernels", [cpu, reference], ids=["cpu", "reference"])
def test_an_expected_way_is_that_of_the_larger_speed_and_some_of_those_of_all_that_move(kernels):
    u, v = np.array([[3.0, 4.0], [0.0, 0.0], [1.0, 0.0]]), np.array([[0.0, 1.0], [0.0, 0.0], [0.0, 3.0]])
    alone = kernels.expected_ways(u, v, 0.1, 0.0, 0.0, 1)
    np.testing.assert_allclose(alone, [0.5, 0.0, 0.3], rtol=1e-15)  # speeds 5, 0 and 3: mean 4, deviation 1
    np.testing.assert_allclose(kernels.expected_ways(u, v, 0.1, 0.5, 0.0, 1) - alone, 0.2, rtol=1e-12)
    np.testing.assert_allclose(kernels.expected_ways(u, v, 0.1, 0.0, 2.0, 1) - alone, 0.2, rtol=1e-12)


@pytest.mark.parametrize("kernels", [cpu, reference], ids=["cpu", "reference"])
def test_an_expected_way_is_nan_if_a_velocity_is(kernels):
    for bad in (0, 1):
        fields = np.ones((2, 3, 2))
        fields[bad, 1, 0] = np.nan
        assert np.isnan(kernels.expected_ways(*fields, 0.1, 0.5, 1.0, 1)[1])


@pytest.mark.parametrize("kernels", [cpu, reference], ids=["cpu", "reference"])
def test_no_body_that_moves_leaves_no_way(kernels):
    assert kernels.expected_ways(np.zeros((3, 2)), np.zeros((3, 2)), 0.1, 0.5, 1.0, 1).tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("chunks", [1, 3])
def test_one_body_that_goes_too_far_is_seen_wherever_it_is(chunks):
    u = np.full((N, 2), 0.5)
    cutoff = np.full(N, np.sqrt(0.5) * 0.1 * (1.0 + 1e-12))
    assert not cpu.outran(u, 0.1, cutoff, chunks)
    for body in (0, BLOCK, N - 1):
        for value in (0.6, np.nan, np.inf):
            faster = u.copy()
            faster[body, 1] = value
            assert cpu.outran(faster, 0.1, cutoff, chunks) == reference.outran(faster, 0.1, cutoff, chunks) is True


@pytest.mark.parametrize("chunks", [1, 3])
def test_bodies_stay_if_all_move_alike_and_not_if_one_goes_alone(chunks):
    random = np.random.default_rng(1)
    q, radii, cutoff = random.uniform(size=(N, 3)), random.uniform(0.1, 0.2, N), random.uniform(0.0, 0.1, N)
    room = radii + cutoff + 1e-3
    together = q + np.array([5.0, -3.0, 1.0])
    assert cpu.stayed(together, q, radii, cutoff, room, chunks) is True
    for body in (0, N - 1):
        alone = together.copy()
        alone[body, 2] += 2e-3
        assert cpu.stayed(alone, q, radii, cutoff, room, chunks) is False
        assert reference.stayed(alone, q, radii, cutoff, room, chunks) is False


@pytest.mark.parametrize("uncounted", [0, 10_000])
@pytest.mark.parametrize("chunks", [1, 2, 5])
def test_the_planes_that_are_near_are_those_of_the_definition(chunks, uncounted, monkeypatch):
    monkeypatch.setattr("jostle.kernels.cpu.bodies.MOST_UNCOUNTED", uncounted)
    random = np.random.default_rng(2)
    x, cutoff = random.uniform(size=(500, 3)), random.uniform(0.0, 0.05, 500)
    x[7, 1], cutoff[9] = np.nan, np.inf
    unit = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.6, 0.0, 0.8], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])
    planes = unit, np.array([0.0, 0.0, 0.0, -1.0, -1.0])
    for sizes in ((np.zeros(1), cutoff), (cutoff, np.full(1, 0.02)), (cutoff, cutoff), (np.full(1, -2.0), np.ones(1))):
        pairs, normal, gap = cpu.near_planes(x, *sizes, *planes, chunks)
        defined = reference.near_planes(x, *sizes, *planes, 1)
        assert pairs.tolist() == defined[0].tolist()
        np.testing.assert_array_equal(normal, defined[1])
        np.testing.assert_allclose(gap, defined[2], rtol=0.0, atol=1e-15)
        assert [7, -2] in pairs.T.tolist()
        assert 0 < len(gap) < 700
