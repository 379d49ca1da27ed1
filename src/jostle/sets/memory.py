"""The difference steps that sets remember, as arrays: a checkpoint keeps them, so that a resumed run has the same bits.

Gradients by differences depend on the step that an earlier search found (`sets.differences`). It belongs to the run and
not to the set: the time loop puts it back before each step, since other calls may have used the set in between. Each
thread has its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jostle.arrays import Array, Integers
from jostle.sets.differences import Differences, Steps

FORGOTTEN = -1
"""The count of differences that have not searched for a step yet."""
ROWS = 5
"""Numbers that `Steps` has for each constraint."""


class Searched(NamedTuple):
    """What the differences of a set remember, one after the other."""

    counts: Integers
    """(k,) how many constraints each of the k differences has, or `FORGOTTEN`."""
    steps: Array
    """(5, m) the fields of `Steps` but the place, of all constraints."""
    places: Array
    """(k, N) where the searches were."""

    def fits(self, size: int) -> bool:
        """Whether these can be differences of a set in this many coordinates; a file may hold anything."""
        counts, steps, places = map(np.asarray, self)
        if counts.ndim != 1 or counts.dtype.kind != "i" or counts.min(initial=0) < FORGOTTEN:
            return False
        shapes = steps.shape == (ROWS, int(counts[counts > 0].sum())) and places.shape == (len(counts), size)
        return bool(shapes and steps.min(initial=0.0) >= 0.0 and steps[0].min(initial=1.0) > 0.0)


def searched(differences: Sequence[Differences]) -> Searched | None:
    """What they remember; None if none of them has searched for a step yet."""
    known = [one.steps for one in differences]
    found = [steps for steps in known if steps is not None]
    if not found:
        return None
    nowhere = np.zeros_like(found[0].place)
    rows = [np.stack([one.step, one.noise, one.bend, one.least, one.radius]) for one in found]
    return Searched(
        np.array([FORGOTTEN if steps is None else len(steps.step) for steps in known], dtype=np.int64),
        np.nan_to_num(np.concatenate(rows, axis=1)),  # an infinite bound becomes the largest number: files hold no inf
        np.stack([nowhere if steps is None else steps.place for steps in known]),
    )


def put_back(differences: Sequence[Differences], memory: Searched | None) -> None:
    """Let the differences continue from what they remembered; None: search again."""
    if memory is None:
        for one in differences:
            one.steps = None
        return
    ends = np.cumsum(np.maximum(memory.counts, 0))
    for one, count, end, place in zip(differences, memory.counts, ends, memory.places, strict=True):
        step, noise, bend, least, radius = memory.steps[:, end - max(count, 0) : end]
        one.steps = None if count == FORGOTTEN else Steps(step, noise, bend, least, radius, place)
