"""Runs inside PyTorch and JAX have the gradients of `sensitivity` and `sensitivity_by_events`."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import jostle as jo
from jostle.gradients.wrapping import differentiated

BY_Y0, BY_V0, BY_E = 0.19055156, -0.11274255, 1.10061


def drop(q0, v0, e):
    return jo.Motion(q0=q0, v0=v0, force=[-9.81], within=jo.HalfSpace([1.0]), law=jo.Restitution(float(e)))


def pushed(q0, radii, theta):
    within = jo.Balls(radii) & jo.HalfSpace([-1.0], -theta[0])
    return jo.Sweeping(q0=q0, velocity=[1.0], within=within)


def exact_pushed():
    """The gradient of the sum of the positions of two balls in a row that rest at a wall at x = theta."""
    return [0.0, 0.0], [-1.0, -3.0], [2.0]


def test_pytorch_differentiates_through_impacts():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    import jostle.torch

    given = [torch.tensor(value, dtype=torch.float64, requires_grad=True) for value in ([1.0], [0.0], 0.8)]
    q, _ = jostle.torch.run(drop, t=0.7, q0=given[0], v0=given[1], e=given[2])
    (2.0 * q.sum()).backward()
    np.testing.assert_allclose([each.grad.item() for each in given], np.multiply(2.0, [BY_Y0, BY_V0, BY_E]), atol=1e-5)


def test_pytorch_differentiates_through_time_steps():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    import jostle.torch

    values = {"q0": [[0.0], [1.0]], "radii": [0.2, 0.3], "theta": [2.02]}
    given = {name: torch.tensor(value, dtype=torch.float64, requires_grad=True) for name, value in values.items()}
    q, _ = jostle.torch.run(pushed, jo.Venel(), t=3.0, h=0.05, **given)
    q.sum().backward()
    for each, exact in zip(given.values(), exact_pushed(), strict=True):
        np.testing.assert_allclose(each.grad.numpy().ravel(), exact, atol=1e-9)


def test_jax_differentiates_in_a_process_of_its_own():
    """The threads of JAX would stay in this process, where other tests fork."""
    if find_spec("jax") is None:
        pytest.skip("JAX is not installed")
    command = sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"
    ended = subprocess.run([*command, str(Path(__file__).with_name("with_jax.py"))], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout
    assert "3 passed" in ended.stdout


def test_what_does_not_fit_is_refused():
    with pytest.raises(jo.InvalidValue, match="belong together"):
        differentiated(drop, jo.Maury(), 1.0, None, {"q0": np.ones(1)})
    with pytest.raises(jo.InvalidValue, match="must be a function of q0"):
        differentiated(None, None, 1.0, None, {"q0": np.ones(1)})
