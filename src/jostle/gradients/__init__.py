"""Derivatives of projections and of runs: products J v and J^T v, and where only one-sided derivatives exist."""

from jostle.gradients.events import EventSensitivity
from jostle.gradients.functions import with_vjp
from jostle.gradients.projection import ProjectionDerivative, ProjectionGradient, of_projection
from jostle.gradients.rounded import RoundedEvent
from jostle.gradients.runs import Gradient, Sensitivity, WeakStep

__all__ = [
    "EventSensitivity",
    "Gradient",
    "ProjectionDerivative",
    "ProjectionGradient",
    "RoundedEvent",
    "Sensitivity",
    "WeakStep",
    "of_projection",
    "with_vjp",
]
