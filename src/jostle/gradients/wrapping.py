"""What `jostle.torch` and `jostle.jax` share: one run of named arrays, and its product J^T v."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jostle._tools.arrays import Array
from jostle.errors import InvalidValue
from jostle.gradients.events import EventSensitivity, sensitivity_by_events
from jostle.gradients.runs import Sensitivity, sensitivity


def differentiated(
    problem: Callable[..., Any], scheme: Any, t: Any, h: Any, data: dict[str, Array]
) -> Sensitivity | EventSensitivity:
    """The run of ``problem(**data)``: in time steps with a scheme, otherwise from impact to impact."""
    if not callable(problem):
        raise InvalidValue(f"problem must be a function of {', '.join(data)} that returns a problem, not {problem!r}")
    if (scheme is None) != (h is None):
        raise InvalidValue("scheme= and h= belong together: give both, or none to run from impact to impact")
    fixed, theta = {name: value for name, value in data.items() if name != "theta"}, data.get("theta")
    made: Any = problem(**fixed) if theta is None else lambda theta: problem(**fixed, theta=theta)
    if scheme is None:
        return sensitivity_by_events(made, t=t, theta=theta)
    return sensitivity(made, scheme, t=t, h=h, theta=theta)


def gradients(run: Sensitivity | EventSensitivity, data: dict[str, Array], q: Array, u: Array) -> list[Array]:
    """The gradients of <q, q(end)> + <u, u(end)> with respect to the arrays, in their shapes."""
    found, each = run.reverse(q=q, u=u), []
    for name, value in data.items():
        gradient = getattr(found, name)
        if gradient is None:
            raise InvalidValue(f"the run has no derivative with respect to {name}: leave it out, or make it a theta")
        gradient = np.asarray(gradient).sum() if np.ndim(value) == 0 else np.asarray(gradient)
        if gradient.shape != np.shape(value):
            raise InvalidValue(f"{name} has shape {np.shape(value)}; give it the shape {gradient.shape}")
        each.append(gradient)
    return each
