"""The frames that a page plays, of bodies or of a density."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from jostle.arrays import Array
from jostle.errors import InvalidValue
from jostle.viz.encoding import Encoder
from jostle.viz.field_encoding import Fields
from jostle.viz.field_values import ShownDensity, density_in
from jostle.viz.fitting import Reel
from jostle.viz.frames import Frame
from jostle.viz.given import Given, checked
from jostle.viz.scales import Scales
from jostle.viz.scene import Scene
from jostle.viz.sources import Shown, file_of, solution


@dataclass(frozen=True, eq=False)
class Bodies:
    """The frames of a solution, as a page plays them.

    >>> import jostle as jo
    >>> Bodies(Scene(jo.solve(jo.models.rack(2), jo.Maury(), t=0.2, h=0.1)), None).t.tolist()
    [0.0, 0.1, 0.2]
    """

    scene: Scene
    quantities: Given | None

    @property
    def t(self) -> Array:
        return self.scene.sol.t

    def frames(self, numbers: Sequence[int]) -> Iterator[Frame]:
        return self.scene.frames(numbers)

    def encoder(self, small: bool) -> Encoder:
        return Encoder.of(self.scene, small, self.quantities)

    def scales(self) -> Scales:
        return Scales()


def reel_of(sol: Shown | ShownDensity, quantities: Given | None) -> tuple[Reel, Path | None]:
    """The frames of a solution or of a moving density, and the file from which they are read.

    >>> reel_of(7, None)  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    jostle.errors.InvalidValue: sol must be a Solution or the name of a trajectory file, not 7
    """
    images = density_in(sol)
    if images is None:
        shown = solution(cast("Shown", sol))
        return Bodies(Scene(shown), quantities), file_of(shown)
    refuse_quantities(quantities)
    return Fields(images), images.path


def refuse_quantities(quantities: Given | None) -> None:
    """Raise `InvalidValue` if quantities of bodies are given for a density."""
    if checked(quantities):
        raise InvalidValue("quantities are numbers of bodies, which a density does not have: remove quantities=")
