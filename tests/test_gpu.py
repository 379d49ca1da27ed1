"""Runs on a GPU, where there is one with CuPy: within what the residuals imply, those of the CPU."""

import numpy as np
import pytest

import jostle as jo
from device_scenes import SCENES, scheme_of
from jostle.run.devices import array_module

TOLERANCE = 1e-9
"""Of the residuals: positions of the two runs then agree to about its root."""


@pytest.fixture(autouse=True)
def gpu():
    try:
        array_module("cuda")
    except jo.errors.DeviceUnavailable as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("scene", SCENES.values(), ids=list(SCENES))
def test_a_run_on_a_gpu_is_the_run_on_the_cpu(scene):
    problem = scene()
    scheme = scheme_of(problem, jo.GaussSeidel(tol=TOLERANCE))
    cpu, gpu = (jo.solve(problem, scheme, t=0.2, h=0.02, device=device) for device in ("cpu", "cuda"))
    assert type(gpu.q) is np.ndarray
    assert gpu.status == cpu.status
    np.testing.assert_allclose(gpu.q, cpu.q, rtol=0.0, atol=1e-3)


def test_a_run_on_a_gpu_has_the_same_bits_again():
    problem = SCENES["a heap"]()
    first, again = (jo.solve(problem, scheme_of(problem), t=0.4, h=0.02, device="cuda") for _ in range(2))
    np.testing.assert_array_equal(first.q, again.q)
