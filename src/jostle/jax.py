"""Runs as functions of JAX: `run` can be differentiated by ``jax.grad``, also inside ``jax.jit``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jostle._tools.installing import missing
from jostle.gradients.wrapping import differentiated, gradients
from jostle.schemes.base import Scheme

__all__ = ["run"]


def run(
    problem: Callable[..., Any],
    scheme: Scheme | None = None,
    *,
    t: Any,
    h: Any = None,
    q0: Any,
    v0: Any = None,
    mass: Any = None,
    radii: Any = None,
    e: Any = None,
    theta: Any = None,
) -> tuple[Any, Any]:
    """Run a problem and return its final positions and velocities, through which JAX differentiates in reverse mode.

    ``jax.grad``, ``vjp`` and ``jacrev`` work, also inside ``jit``, and ``vmap`` makes one run after the other. There is
    no forward mode (``jvp``, ``jacfwd``) and there are no second derivatives (``hessian``): JAX raises an error. JAX
    computes in single precision unless ``jax.config.update("jax_enable_x64", True)`` is called first.

    Parameters
    ----------
    problem, scheme, t, h, q0, v0, mass, radii, e, theta : callable, Scheme, float, float, array ...
        The same as for `jostle.torch.run`, with arrays of JAX.

    Returns
    -------
    q, u : array
        Final positions and velocities.

    Examples
    --------
    >>> import jax, jostle.jax                                                                  # doctest: +SKIP
    >>> def drop(q0, e):
    ...     return jo.Motion(q0=q0, force=[-9.81], within=jo.HalfSpace([1.0]), law=jo.Restitution(float(e)))
    >>> def height(e):
    ...     return jostle.jax.run(drop, t=0.7, q0=jax.numpy.ones(1), e=e)[0].sum()
    >>> round(float(jax.grad(height)(0.8)), 4)                                                  # doctest: +SKIP
    1.1006
    """
    try:
        import jax
    except ImportError as error:
        raise missing(f"jostle.jax needs JAX ({error})", "jax") from None
    given = {"q0": q0, "v0": v0, "mass": mass, "radii": radii, "e": e, "theta": theta}
    given = {name: jax.numpy.asarray(value, dtype=float) for name, value in given.items() if value is not None}
    end = (jax.ShapeDtypeStruct(given["q0"].shape, given["q0"].dtype),) * 2
    last: dict[bytes, Any] = {}  # the run of the forward pass, for the backward pass

    def host(data: Any) -> tuple[Any, dict[str, Any]]:
        arrays = {name: np.array(value, dtype=float) for name, value in data.items()}
        key = b"".join(array.tobytes() for array in arrays.values())
        if key not in last:
            last.clear()
            last[key] = differentiated(problem, scheme, t, h, arrays)
        return last[key], arrays

    def forward(data: Any) -> Any:
        found = host(data)[0]
        return tuple(np.asarray(v, dtype=like.dtype) for v, like in zip((found.q, found.u), end, strict=True))

    def reverse(data: Any, weights: Any) -> Any:
        found, arrays = host(data)
        each = gradients(found, arrays, *(np.asarray(weight, dtype=float) for weight in weights))
        return {name: np.asarray(v, dtype=data[name].dtype) for name, v in zip(arrays, each, strict=True)}

    solved = jax.custom_vjp(lambda data: jax.pure_callback(forward, end, data, vmap_method="sequential"))

    def backward(data: Any, weights: Any) -> Any:
        like = {name: jax.ShapeDtypeStruct(value.shape, value.dtype) for name, value in data.items()}
        return (jax.pure_callback(reverse, like, data, weights, vmap_method="sequential"),)

    solved.defvjp(lambda data: (solved(data), data), backward)
    q, u = solved(given)
    return q, u
