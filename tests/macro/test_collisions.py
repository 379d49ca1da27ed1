"""Blocks on a line, impact by impact: the compiled kernel against its definition."""

import numpy as np
import pytest

from jostle.macro.compiled import BUFFERED
from kernel_sets import cpu, reference

WALLS = ((-np.inf, np.inf), (-1.0, np.inf), (-np.inf, 6.0), (-1.0, 6.0))


def compared(y, v, a, mass, walls, e, until, most=2000):
    arguments = y, v, a, mass, np.array(walls, dtype=float), e, until, 10.0, most
    defined, found = reference.collisions(*arguments), cpu.collisions(*arguments)
    for one, other in zip(defined, found, strict=True):
        np.testing.assert_allclose(other, one, atol=1e-10, rtol=1e-9)
    return found


@pytest.mark.each_value
@pytest.mark.parametrize("e", [0.0, 0.05, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("walls", WALLS)
def test_impacts_are_their_definition(e, walls):
    mergers = 0
    for seed in range(9):
        random = np.random.default_rng(seed)
        n = int(random.integers(1, 9))
        a = (np.zeros(n), random.normal(size=n), np.full(n, -1.0))[seed % 3]
        y, v, mass = np.sort(random.uniform(0, 5, n)), random.normal(size=n), random.uniform(0.5, 2.0, n)
        *_, merged, _ = compared(y, v, a, mass, walls, e, 10.0)
        mergers += len(merged)
    assert mergers > 0 or e > 0.5


@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
def test_impacts_of_contacts_that_are_closed_at_the_start_are_their_definition(e):
    for seed in range(20):
        random = np.random.default_rng(seed)
        y = np.cumsum(random.integers(0, 2, 7)).astype(float)
        v, a = random.integers(-2, 3, (2, 7)).astype(float)
        compared(y, v, a * (seed % 2), np.ones(7), (-1.0, np.inf), e, 1.0, most=60)


def test_there_are_at_most_so_many_impacts_as_asked_for():
    times, clusters, parabolas, _, _, impacts = compared(
        np.array([0.5]), np.ones(1), np.zeros(1), np.ones(1), (0.0, 1.0), 1.0, np.inf, most=7
    )
    assert impacts == len(clusters) == 7
    assert times == pytest.approx([6.5, 7.5])
    assert parabolas[:, 0] == pytest.approx(0.5 + np.arange(7))


def test_parabolas_are_kept_when_the_buffer_is_full():
    most = 5 * BUFFERED
    _, clusters, parabolas, _, _, impacts = cpu.collisions(
        np.array([0.5]), np.ones(1), np.zeros(1), np.ones(1), np.array([0.0, 1.0]), 1.0, np.inf, 1.0, most
    )
    assert impacts == len(clusters) == most
    assert parabolas[:, 0] == pytest.approx(0.5 + np.arange(most))
    assert parabolas[:, 1] == pytest.approx(np.arange(1, most + 1) % 2)
