"""The contacts of the saved times of a solution: how long their impulses acted, and all of them as a table."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from jostle.errors import InvalidValue
from jostle.recorded_impacts import pair_name


def duration_of(sol: Any, k: int) -> float:
    """`Solution.duration` of a saved time."""
    if not sol.contacts_saved:
        raise InvalidValue(
            "this run contains no contacts, so no forces: save them with output=jo.io.Output(path, contacts=True)"
        )
    if sol.order == 1 or not np.any(sol.multipliers[k]):
        return 1.0
    if sol.durations is None or not np.isfinite(sol.durations[k]):
        raise InvalidValue(
            f"the time over which the impulses of t = {sol.t[k]:g} acted is not known, so neither are forces: write it "
            f"into the file with jo.io.Writer.frame(duration=...)"
        )
    return float(sol.durations[k])


def impulse_table(sol: Any) -> dict[str, NDArray[Any]]:
    """`Solution.impulses`."""
    active = [np.flatnonzero(p) for p in sol.multipliers]
    counts = [len(rows) for rows in active]
    durations = [sol.duration(k) for k in range(len(sol.t))]
    pairs = np.concatenate([pairs[rows] for pairs, rows in zip(sol.pairs, active, strict=True)]).reshape(-1, 2)
    impulse = np.concatenate([np.asarray(p)[rows] for p, rows in zip(sol.multipliers, active, strict=True)])
    return {
        "t": np.repeat(sol.t, counts),
        "pair": np.array([pair_name(i, j) for i, j in pairs.tolist()], dtype=str),
        "first": pairs[:, 0],
        "second": pairs[:, 1],
        "impulse": impulse,
        "force": impulse / np.repeat(durations, counts),
    }
