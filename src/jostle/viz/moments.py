"""The times of the pictures of a film, and frames between two saved times."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from jostle.arrays import Array
from jostle.errors import InvalidValue
from jostle.viz.films import FPS
from jostle.viz.frames import Frame
from jostle.viz.scene import Scene

TIME_TOLERANCE = 1e-9
"""The end of a run gets a picture if it is missed by less than this fraction of the time between two pictures."""
MAX_PICTURES = 1_000_000
"""Largest number of pictures of a film, which lasts eleven hours."""
JUMP_FACTOR = 10.0
"""A body has jumped if it went this many times further between two saved times than its velocities allow."""


def moments(saved: Array, speed: float) -> Array:
    """Evenly spaced times of the pictures of a film, for a run with these saved times.

    >>> moments(np.array([0.0, 0.05, 0.1]), 1.0).round(3).tolist()
    [0.0, 0.04, 0.08]
    """
    if not 0.0 < speed < np.inf:
        raise InvalidValue(f"speed must be positive and finite (time of the run per second of the film), not {speed}")
    duration = float(saved[-1] - saved[0])
    pictures = FPS * (duration / float(speed))
    if pictures > MAX_PICTURES:
        raise InvalidValue(
            f"at speed {speed:g} a film of this run would have {pictures:.3g} pictures, at most "
            f"{MAX_PICTURES} are drawn: a speed of {duration / 60.0:.3g} gives a film of one minute"
        )
    count = int(np.floor(pictures + TIME_TOLERANCE)) + 1
    return np.asarray(saved[0] + speed / FPS * np.arange(count))


def between(scene: Scene, t: float) -> Frame:
    """The frame at a time between two saved times.

    >>> import jostle as jo
    >>> ball = jo.Motion(q0=[[0.0, 0.0]], v0=[[1.0, 0.0]], within=jo.Balls([0.1]))
    >>> scene = Scene(jo.solve(ball, jo.Maury(), t=1.0, h=0.1, every=0.5))
    >>> between(scene, 0.2).x.round(9).tolist()
    [[0.2, 0.0]]
    """
    saved = np.asarray(scene.sol.t)
    k = int(np.clip(np.searchsorted(saved, t, side="right") - 1, 0, max(len(saved) - 2, 0)))
    after = min(k + 1, len(saved) - 1)
    part = float(np.clip((t - saved[k]) / (saved[after] - saved[k]), 0.0, 1.0)) if after > k else 0.0
    frame = scene.frame(k if part < 0.5 else after)
    start, end = (scene.places(each)[frame.number] for each in (k, after))
    way, wraps = end - start, np.flatnonzero(np.isfinite(scene.period))
    L = scene.period[wraps]
    way[:, wraps] -= L * np.round(way[:, wraps] / L)
    x = start + part * way
    x[:, wraps] = (x[:, wraps] - scene.cell_start[wraps]) % L + scene.cell_start[wraps]
    fastest = np.maximum(*(scene.speeds(each)[frame.number] for each in (k, after)))
    jumped = np.linalg.norm(way, axis=1) > JUMP_FACTOR * fastest * (saved[after] - saved[k])
    x = np.where(np.isfinite(x) & ~jumped[:, None], x, frame.x)  # also for bodies that came or left in between
    i, j = frame.bars.rows.T
    shift = x - frame.x
    bars = replace(frame.bars, start=frame.bars.start + shift[i], end=frame.bars.end + shift[np.where(j >= 0, j, i)])
    return replace(frame, t=float(t), x=x, bars=bars)
