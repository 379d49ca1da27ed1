"""The tests of `jostle.jax`, which `test_wrappers.py` runs in a process of their own."""

import jax
import numpy as np
import pytest
from test_wrappers import BY_E, BY_V0, BY_Y0, drop, exact_pushed, pushed

import jostle as jo
import jostle.jax

jax.config.update("jax_enable_x64", True)


@pytest.mark.parametrize("compiled", [False, True])
def test_jax_differentiates_through_impacts(compiled):
    def height(q0, v0, e):
        return 2.0 * jostle.jax.run(drop, t=0.7, q0=q0, v0=v0, e=e)[0].sum()

    gradient = jax.grad(height, argnums=(0, 1, 2))
    found = (jax.jit(gradient) if compiled else gradient)(jax.numpy.ones(1), jax.numpy.zeros(1), 0.8)
    np.testing.assert_allclose([np.sum(each) for each in found], np.multiply(2.0, [BY_Y0, BY_V0, BY_E]), atol=1e-5)
    coefficients = jax.numpy.array([0.5, 0.8])
    each = jax.vmap(lambda e: gradient(jax.numpy.ones(1), jax.numpy.zeros(1), e)[2])(coefficients)
    np.testing.assert_allclose(each[1], found[2], rtol=1e-12)
    jacobian = jax.jacrev(lambda q0: jostle.jax.run(drop, t=0.7, q0=q0, v0=np.zeros(1), e=0.8)[0])(jax.numpy.ones(1))
    np.testing.assert_allclose(jacobian, [[BY_Y0]], atol=1e-8)


def test_jax_differentiates_through_time_steps():
    def total(data):
        return jostle.jax.run(pushed, jo.Venel(), t=3.0, h=0.05, **data)[0].sum()

    values = {"q0": [[0.0], [1.0]], "radii": [0.2, 0.3], "theta": [2.02]}
    found = jax.grad(total)({name: jax.numpy.array(value) for name, value in values.items()})
    for name, exact in zip(values, exact_pushed(), strict=True):
        np.testing.assert_allclose(np.ravel(found[name]), exact, atol=1e-9)
