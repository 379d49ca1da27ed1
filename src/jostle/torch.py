"""Runs as functions of PyTorch: `run` returns tensors that know their gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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
    """Run a problem and return its final positions and velocities as tensors, through which PyTorch differentiates.

    Parameters
    ----------
    problem : callable
        Makes the `Motion` or `Sweeping` of the arrays that are given below, which it takes by name.
    scheme : Scheme, optional
        A scheme of `jo.sensitivity`, with h. None: `jo.sensitivity_by_events`.
    t : float or pair of float
        End time, or start and end time.
    h : float or array_like, optional
        Time step of the scheme.
    q0 : tensor
        Positions at the start.
    v0, mass, radii, e, theta : tensor, optional
        Other data. Those that are given are arguments of `problem`, as arrays of NumPy.

    Returns
    -------
    q, u : tensor
        Final positions and velocities, in double precision.

    Examples
    --------
    >>> import torch, jostle.torch                                                              # doctest: +SKIP
    >>> def drop(q0, e):
    ...     return jo.Motion(q0=q0, force=[-9.81], within=jo.HalfSpace([1.0]), law=jo.Restitution(float(e)))
    >>> e = torch.tensor(0.8, requires_grad=True)                                               # doctest: +SKIP
    >>> q, u = jostle.torch.run(drop, t=0.7, q0=torch.tensor([1.0]), e=e)                       # doctest: +SKIP
    >>> q.sum().backward()                                                                      # doctest: +SKIP
    >>> round(e.grad.item(), 5)                                                                 # doctest: +SKIP
    1.10061
    """
    try:
        import torch
    except ImportError as error:
        raise missing(f"jostle.torch needs PyTorch ({error})", "torch") from None
    given = {"q0": q0, "v0": v0, "mass": mass, "radii": radii, "e": e, "theta": theta}
    given = {name: torch.as_tensor(value) for name, value in given.items() if value is not None}

    class Run(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, *tensors: Any) -> Any:
            arrays = (tensor.detach().cpu().double().numpy() for tensor in tensors)
            ctx.data = dict(zip(given, arrays, strict=True))
            ctx.like, ctx.run = tensors, differentiated(problem, scheme, t, h, ctx.data)
            return tuple(torch.as_tensor(array.copy()) for array in (ctx.run.q, ctx.run.u))

        @staticmethod
        def backward(ctx: Any, q: Any, u: Any) -> Any:
            found = gradients(ctx.run, ctx.data, q.cpu().numpy(), u.cpu().numpy())
            return tuple(torch.as_tensor(each).to(like) for each, like in zip(found, ctx.like, strict=True))

    q, u = Run.apply(*given.values())
    return q, u
