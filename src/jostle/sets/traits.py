"""What an admissible set says about itself: which kind it is, how large its bodies are, and what it remembers."""

from __future__ import annotations

from typing import Any

import numpy as np

from jostle.arrays import Array, InTime, at
from jostle.sets.crossings import Crossing, Step
from jostle.sets.differences import Differences
from jostle.sets.memory import Searched, put_back, searched


class SetTraits:
    """The properties of a set, which `ConstraintSet` documents; a new set overrides those that differ."""

    convex_gaps: bool | None = None
    moving: bool | None = None
    equalities: bool = False
    curved: bool = False
    flat: bool = False
    radii_of_bodies: InTime | None = None
    takes_radii: bool = False
    remembers: type[Any] | None = Searched
    by_body: bool = False
    on_devices: bool = False

    def widest(self) -> float:
        """The largest radius of a body at time 0.

        Returns
        -------
        float
            The radius; 0 if the bodies are points.
        """
        return float(self.radii_at(0.0).max(initial=0.0))

    def radii_at(self, t: float) -> Array:
        """The radii of the bodies at one time.

        Parameters
        ----------
        t : float
            Time.

        Returns
        -------
        array, shape (n,) or ()
            One for each body, or one for all; 0 if they are points.
        """
        return at(getattr(self, "radii", 0.0), t)

    def excluding(self, t: float, n: int) -> Array | None:
        """The radii of bodies of which no two may overlap.

        Parameters
        ----------
        t : float
            Time.
        n : int
            Number of bodies.

        Returns
        -------
        array, shape (n,), or None
            The radii; None if the set lets bodies overlap.
        """
        return None

    def widths(self, t: float, radii: Array, d: int) -> Array:
        """The sides of a box that holds balls of given radii.

        Parameters
        ----------
        t : float
            Time.
        radii : array, shape (n,)
            Radii of the balls.
        d : int
            Dimension of space.

        Returns
        -------
        array, shape (d,)
            The sides; infinite where nothing confines the balls.
        """
        return np.full(d, np.inf)

    def crossing(self, step: Step) -> Crossing | None:
        """A wall that the centre of a body went through in a step.

        Parameters
        ----------
        step : Step
            Times and positions before and after the step.

        Returns
        -------
        Crossing or None
            The body and the wall; None if there is none.
        """
        return None

    def differenced(self) -> tuple[Differences, ...]:
        """The differences that gradients of the set are computed by, which remember their steps.

        Returns
        -------
        tuple of Differences
            One for each function that is differenced.
        """
        return ()

    @property
    def memory(self) -> Any:
        """What earlier configurations have shown and later gradients depend on; a tuple of `remembers`, or None."""
        return searched(self.differenced())

    @memory.setter
    def memory(self, memory: Any) -> None:
        put_back(self.differenced(), memory)
