"""What is recorded about each step of a run."""

from __future__ import annotations

import numpy as np

from jostle.solvers.base import MAX_NAME_LENGTH

STATISTICS = np.dtype(
    [
        ("t", float),
        ("h", float),
        ("rows", np.int64),
        ("active", np.int64),
        ("iterations", np.int64),
        ("primal", float),
        ("dual", float),
        ("complementarity", float),
        ("overshoot", float),
        ("converged", bool),
        ("solver", f"U{MAX_NAME_LENGTH}"),
        ("dissipated", float),
        ("wall_work", float),
    ]
)
"""One record per step: the time it led to, its length, the rows and active rows of its projection, iterations, the
three dimensionless residuals of the projection, the deepest overlap that `primal` does not bound, whether it converged,
which solver did it, and of a `Motion` the energy that its contacts dissipated and the work of moving walls and radii.

`primal` is the worst violation of the constraints that were projected on, over the smallest radius. With `Maury` and
`Venel` it bounds every overlap of convex gaps; with `CatchingUp`, and `Paoli` with e = 0, it is the worst overlap.
`overshoot`, over the same length, is the true overlap of the positions reached where `primal` does not give it: behind
curved walls, and everywhere with `MoreauJean`, and with `Paoli` if e > 0. ``sol.overlap`` is the larger of both. Where
the set has no radius, `overshoot` is the depth itself."""
