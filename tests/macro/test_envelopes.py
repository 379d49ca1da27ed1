"""Lower envelopes of parabolas along rows: the compiled kernel is its definition, and both are known c-transforms."""

import numpy as np
import pytest

from kernel_sets import cpu, reference


@pytest.mark.parametrize("n", [1, 2, 3, 4, 17, 60])
@pytest.mark.parametrize("size", [0.1, 1.0, 30.0])
def test_the_kernel_is_its_definition(n, size):
    random = np.random.default_rng(n)
    for rows in (size * random.normal(size=(9, n)), size * random.normal(size=(9, n)).cumsum(axis=1)):
        np.testing.assert_allclose(cpu.envelopes(rows), reference.envelopes(rows), rtol=1e-12, atol=1e-12 * size)


@pytest.mark.parametrize("kernels", [cpu, reference])
def test_parabolas_are_transformed_exactly(kernels):
    """The transform of a y^2 / 2 is a / (1 + a) x^2 / 2."""
    y = np.arange(-30.0, 31.0)
    for a in (-0.4, 0.3, 2.0):
        found = kernels.envelopes((0.5 * a * (y + 0.3) ** 2)[None])[0]
        away = np.abs(y) < 14  # where the minimum lies between the ends
        np.testing.assert_allclose(found[away], (0.5 * a / (1 + a) * (y + 0.3) ** 2)[away], atol=1e-10)


@pytest.mark.parametrize("kernels", [cpu, reference])
def test_a_kink_stays_where_it_is(kernels):
    """p = s |y|, pointing down: all x with |x| <= s go to y = 0."""
    y = np.arange(-20.0, 21.0)
    found = kernels.envelopes((5.0 * np.abs(y))[None])[0]
    near = np.abs(y) <= 5
    np.testing.assert_allclose(found[near], 0.5 * y[near] ** 2, atol=1e-12)
    np.testing.assert_allclose(found[~near], 5.0 * np.abs(y[~near]) - 12.5, atol=1e-12)


def test_nothing_moves_where_p_is_constant():
    assert (cpu.envelopes(np.full((3, 8), 2.5)) == 2.5).all()
