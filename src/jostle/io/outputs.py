"""A trajectory file that a run writes, with options."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from numpy.typing import ArrayLike, DTypeLike

from jostle._tools.arguments import check_arguments
from jostle.result.facts import Units


@check_arguments
@dataclass(frozen=True)
class Output:
    """A trajectory file that a run writes, with options.

    Parameters
    ----------
    path : str or path
        Name of the file, .vtkhdf.
    contacts : bool, default False
        Whether contacts with their impulses and normals are stored.
    dtype : float32 or float64, optional
        Precision of positions and velocities. None: float32, or float64 if bodies are so far from the origin, as in map
        coordinates, that float32 would move them by more than a thousandth of the smallest radius.
    about : mapping of str to str, optional
        Notes to store in the file, such as the name of a scenario.
    overwrite : bool, default False
        Whether an existing trajectory is replaced, when the first frame is written; other files are never replaced.
    units : Units, optional
        Names of the units, such as `jostle.io.SI`; people on a floor plan need metres and seconds. None: unknown.
    groups : mapping of str to array_like of int, optional
        Numbers of the bodies of each group, by name. None: the groups of the problem, if it has any.

    Examples
    --------
    >>> import jostle as jo, numpy as np, tempfile
    >>> ball = jo.Motion(q0=[1.0], force=[-10.0], within=jo.HalfSpace([1.0]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     output = jo.io.Output(f"{folder}/ball.vtkhdf", dtype="float64")
    ...     sol = jo.solve(ball, jo.Maury(), t=1.0, h=0.01, every=0.5, output=output)
    ...     sol.t.tolist(), sol.q[-1].round(9).tolist(), len(sol.stats)
    ([0.0, 0.5, 1.0], [0.0], 100)
    """

    path: str | os.PathLike[str]
    contacts: bool = False
    dtype: DTypeLike | None = None
    about: Mapping[str, str] = field(default_factory=dict)
    overwrite: bool = False
    units: Units | None = None
    groups: Mapping[str, ArrayLike] | None = None
