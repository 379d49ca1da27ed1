"""The contacts of the saved times of a solution: how long their impulses acted, and all of them as a table."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from jostle.errors import InvalidValue
from jostle.recorded_impacts import pair_name
from jostle.schemes.paoli import Paoli


def duration_of(sol: Any, k: int) -> float:
    """`Solution.duration` of a saved time."""
    if not sol.contacts_saved:
        raise InvalidValue(
            "this run contains no contacts, so no forces: save them with output=jo.io.Output(path, contacts=True)"
        )
    if sol.order == 1 or not np.any(sol.multipliers[k]):
        return 1.0
    if sol.durations is not None and np.isfinite(sol.durations[k]):
        return float(sol.durations[k])
    if sol.order == 0 or sol.scheme is None:
        raise InvalidValue(
            "this file does not contain the duration of its impulses, so forces are not known: it has the "
            "older format 1. Give the problem and the scheme of the run: jo.io.read(path, problem, scheme)"
        )
    step = np.flatnonzero(sol.stats["t"] == sol.t[k])
    if len(step) == 0:
        raise InvalidValue(f"the length of the step that led to t = {sol.t[k]:g} is not known, so neither are forces")
    h = sol.stats["h"]
    if not isinstance(sol.scheme, Paoli):
        return float(h[step[0]])
    # Paoli's velocities belong to the middles of the steps, the first of them to the start: (4)-(5), z = 1/2.
    return float(h[step[0]] + (h[step[0] - 1] if step[0] else 0.0)) / 2.0


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
