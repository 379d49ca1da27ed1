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
def test_speeds_and_their_sums_have_the_same_bits_in_any_number_of_chunks(field, chunks):
    found, one = cpu.speeds(*field, chunks), cpu.speeds(*field, 1)
    assert found[0].tobytes() == one[0].tobytes()
    assert found[1:] == one[1:]
    defined = reference.speeds(*field, 1)
    np.testing.assert_allclose(found[0], defined[0], rtol=1e-15)
    assert found[1:] == pytest.approx(defined[1:], rel=1e-12)
    assert 0 < found[1] < N


def test_a_speed_is_nan_if_one_of_the_two_velocities_is():
    u, v = np.ones((3, 2)), np.ones((3, 2))
    u[0, 1], v[1, 0] = np.nan, np.nan
    assert np.isnan(cpu.speeds(u, v, 1)[0]).tolist() == np.isnan(reference.speeds(u, v, 1)[0]).tolist()
    assert np.isnan(cpu.speeds(u, v, 1)[0]).tolist() == [True, True, False]


@pytest.mark.parametrize("chunks", [1, 3])
def test_one_body_that_goes_too_far_is_seen_wherever_it_is(chunks):
    u = np.full((N, 2), 0.5)
    reach = np.full(N, np.sqrt(0.5) * 0.1 * (1.0 + 1e-12))
    assert not cpu.outran(u, 0.1, reach, chunks)
    for body in (0, BLOCK, N - 1):
        for value in (0.6, np.nan, np.inf):
            faster = u.copy()
            faster[body, 1] = value
            assert cpu.outran(faster, 0.1, reach, chunks) == reference.outran(faster, 0.1, reach, chunks) is True


@pytest.mark.parametrize("chunks", [1, 3])
def test_bodies_stay_if_all_move_alike_and_not_if_one_goes_alone(chunks):
    random = np.random.default_rng(1)
    q, radii, reach = random.uniform(size=(N, 3)), random.uniform(0.1, 0.2, N), random.uniform(0.0, 0.1, N)
    room = radii + reach + 1e-3
    together = q + np.array([5.0, -3.0, 1.0])
    assert cpu.stayed(together, q, radii, reach, room, chunks) is True
    for body in (0, N - 1):
        alone = together.copy()
        alone[body, 2] += 2e-3
        assert cpu.stayed(alone, q, radii, reach, room, chunks) is False
        assert reference.stayed(alone, q, radii, reach, room, chunks) is False


@pytest.mark.parametrize("chunks", [1, 2, 5])
def test_the_sides_that_are_near_are_those_of_the_definition(chunks):
    random = np.random.default_rng(2)
    x, reach = random.uniform(size=(500, 3)), random.uniform(0.0, 0.05, 500)
    x[7, 1], reach[9] = np.nan, np.inf
    sides = np.array([0, 1, 2, 0, 1]), np.array([1.0, 1.0, 1.0, -1.0, -1.0]), np.array([0.0, 0.0, 0.0, 1.0, 1.0])
    for sizes in ((np.zeros(1), reach), (reach, np.full(1, 0.02)), (reach, reach), (np.full(1, -2.0), np.ones(1))):
        rows, distances = cpu.near_sides(x, *sizes, *sides, chunks)
        defined = reference.near_sides(x, *sizes, *sides, 1)
        assert rows.tolist() == defined[0].tolist()
        np.testing.assert_array_equal(distances, defined[1])
        assert 7 * 5 + 1 in rows
        assert 0 < len(rows) < 500
