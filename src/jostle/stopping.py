"""Conditions that end a run before its time t, for ``solve(..., until=...)``; crowds have one of their own."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np

from jostle._tools.arguments import Finite, NotNegative, Positive, check_arguments
from jostle.errors import EmptySet, InvalidValue
from jostle.schemes.state import State

__all__ = ["AtRest", "Below", "Empty", "Jammed", "Never"]


@dataclass(frozen=True)
class Never:
    """The run goes on to its time t, also if the problem has an ending of its own.

    Examples
    --------
    >>> import jostle as jo
    >>> room = jo.crowds.Room([(0, 0), (5, 0), (5, 4), (0, 4)], doors=[((5, 1.2), (5, 2.8))])
    >>> people = jo.crowds.crowd(1, radius=0.25, room=room, q0=[[4.0, 2.0]], speed=1.4)
    >>> [float(jo.solve(people, jo.Venel(), t=5.0, h=0.05, until=until).t[-1]) < 5.0 for until in (None, Never())]
    [True, False]
    """

    def __call__(self, state: State) -> bool:
        return False


@dataclass(frozen=True)
class Empty:
    """Nothing is left: no body is present, and none waits to enter.

    Examples
    --------
    >>> import jostle as jo
    >>> ball = jo.Sweeping(q0=[[0.0, 0.0]], velocity=[1.0, 0.0], within=jo.Balls([0.1]))
    >>> leaving = jo.Outlet(lambda q: q[:, 0] > 1.0)
    >>> float(jo.solve(ball, jo.Venel(), t=5.0, h=0.25, until=Empty(), changes=leaving).t[-1])
    1.25
    """

    def __call__(self, state: State) -> bool:
        presence = state.presence
        return presence is not None and not presence.here.any() and not len(presence.waiting)

    def done(self, state: State) -> float:
        """The share of bodies that have left.

        Parameters
        ----------
        state : State
            The state after a step.

        Returns
        -------
        float
            Between 0 and 1; 0 if all are always present.
        """
        presence = state.presence
        return 0.0 if presence is None else 1.0 - (presence.here.sum() + len(presence.waiting)) / len(presence.here)


@check_arguments
@dataclass(frozen=True)
class Below:
    """A share of the bodies is below a height, or has left.

    Parameters
    ----------
    height : float
        Height (m) below which bodies are counted, along the last axis.
    share : float, default 1.0
        Fraction of all bodies that must be below the height, above 0 and at most 1.

    Examples
    --------
    >>> import jostle as jo
    >>> ball = jo.Motion(q0=[[0.0, 1.0]], force=[0.0, -9.81], within=jo.Balls([0.1]))
    >>> float(jo.solve(ball, jo.Maury(), t=5.0, h=0.25, until=Below(0.0)).t[-1])
    0.5
    """

    height: Finite
    _: KW_ONLY
    share: Positive = 1.0

    def __post_init__(self) -> None:
        if not self.share <= 1.0:
            raise InvalidValue(f"share must be at most 1, not {self.share}")

    def __call__(self, state: State) -> bool:
        return bool(self._below(state) >= self.share)

    def done(self, state: State) -> float:
        """The share of the bodies below the height that are there already.

        Parameters
        ----------
        state : State
            The state after a step.

        Returns
        -------
        float
            Between 0 and 1.
        """
        return min(self._below(state) / self.share, 1.0)

    def _below(self, state: State) -> float:
        """The share of all bodies that are below the height, or have left."""
        below = state.q[:, -1] < self.height
        if state.presence is not None:
            gone = ~state.presence.here
            gone[state.presence.waiting] = False
            below = gone | (below & state.presence.here)
        return float(below.mean())


@check_arguments
@dataclass(frozen=True)
class AtRest:
    """Nothing moves faster than a speed, and nothing waits to enter.

    Parameters
    ----------
    speed : float
        Largest speed (m/s) of a body at rest.
    after : float, default 0.0
        Earliest end (s): bodies at rest at t = 0 may be about to fall.

    Examples
    --------
    >>> import jostle as jo
    >>> ball = jo.Motion(q0=[[0.0, 1.0]], force=[0.0, -9.81], within=jo.HalfSpace([0.0, 1.0]))
    >>> float(jo.solve(ball, jo.Maury(), t=5.0, h=0.25, until=AtRest(0.01, after=0.1)).t[-1])
    0.75
    """

    speed: Positive
    _: KW_ONLY
    after: NotNegative = 0.0

    def __call__(self, state: State) -> bool:
        if state.presence is not None and len(state.presence.waiting):
            return False
        fastest = float(np.atleast_1d(np.linalg.norm(state.u, axis=-1)).max())
        return state.t >= self.after and fastest <= self.speed


@dataclass(frozen=True)
class Jammed:
    """Swelling bodies have no room for another step: no velocities are admissible.

    Examples
    --------
    >>> import jostle as jo
    >>> discs = jo.Balls(lambda t: np.array([1.0, 1.0]) + t) & jo.Box([0.0], [6.0])
    >>> swelling = jo.Motion(q0=[[1.0], [5.0]], within=discs)
    >>> sol = jo.solve(swelling, jo.Maury(), t=1.0, h=0.1, until=Jammed())
    >>> sol.status, sol.t[-1].round(9).item()
    ('stopped', 0.5)
    """

    @property
    def ended_by(self) -> type[Exception]:
        """The error of a step that ends the run."""
        return EmptySet

    def __call__(self, state: State) -> bool:
        return False
