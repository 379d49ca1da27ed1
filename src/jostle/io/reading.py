"""Reading of trajectory files as a `Solution` whose arrays stay in the file until they are needed.

The file is opened for each access and not kept open: a run may continue to write it, another process may resume it,
and it may be removed. `read` sees the frames that were acknowledged when it was called.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from jostle._tools.arguments import check_arguments
from jostle.errors import BrokenFile, InvalidValue
from jostle.io import changes, headers, layout
from jostle.io.container import reading
from jostle.io.frames_in_file import Source
from jostle.io.lazy_arrays import Ragged, States
from jostle.io.locks import being_written
from jostle.io.reading_images import holds_images, notes
from jostle.io.trust import inside
from jostle.problems import Motion, Sweeping
from jostle.result.facts import masses_of
from jostle.result.solution import Solution
from jostle.result.status import RUNNING
from jostle.schemes.base import Scheme

SINGLE_PRECISION = 1e-6
"""Relative difference of radii and masses that rounding to a file in single precision may cause."""


@check_arguments
def read(
    path: str | os.PathLike[str], problem: Motion | Sweeping | None = None, scheme: Scheme | None = None
) -> Solution:
    """Read a trajectory file of a run that has ended, is running or was killed.

    `q` and `u` are read when they are indexed (`sol.q[-1]`, `sol.q[10:20]`, `np.asarray(sol.q)`). The file also
    contains the facts needed to draw and measure the run, ``sol.facts`` and ``sol.shapes(k)``. Impacts are not stored.

    Parameters
    ----------
    path : str or path
        Name of the file.
    problem : Motion or Sweeping, optional
        The problem that was solved; it allows `sol.gaps()`, up to the precision of the file. None: unknown.
    scheme : Scheme, optional
        The scheme that solved it. None: unknown.

    Returns
    -------
    Solution
        The frames that were written when `read` was called.

    Raises
    ------
    NoSuchFile
        If there is no such file.
    BrokenFile
        If the file is damaged, has no frame, or is not a trajectory of bodies.
    InvalidValue
        If the problem does not fit the file.

    Examples
    --------
    >>> import jostle as jo, tempfile
    >>> from jostle.io.exports import write
    >>> ball = jo.Motion(q0=[[0.0, 1.0]], force=[[0.0, -10.0]], within=jo.HalfSpace([0.0, 1.0]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write(jo.solve(ball, jo.Maury(), t=1.0, h=0.01), Path(folder) / "ball.vtkhdf")
    ...     sol = read(path, ball)
    ...     sol.status, sol.q.shape, sol.q[10].round(3).tolist(), bool(sol.gaps().min() > -1e-6)
    ('finished', (101, 1, 2), [[0.0, 0.945]], True)
    """
    source = Source(Path(path))
    if len(source.index.t) == 0:
        if being_written(source.path):
            raise BrokenFile(f"{path} contains no frame yet: its run is in progress")
        if source.header.status == RUNNING:
            raise BrokenFile(f"{path} contains no frame: its run was killed before it saved one; start it again")
        raise BrokenFile(f"{path} contains no frame (its status is {source.header.status!r})")
    if not isinstance(problem, Motion | Sweeping | None):
        raise InvalidValue(f"problem must be a jo.Motion or a jo.Sweeping, not {problem!r}")
    if problem is not None and problem.q0.shape != source.shape:
        raise InvalidValue(f"q in {path} has shape {source.shape}, but the problem has q0 of shape {problem.q0.shape}")
    said = source.header
    if said.order and problem is not None and said.order != (2 if isinstance(problem, Motion) else 1):
        kinds = {1: "first-order (Sweeping)", 2: "second-order (Motion)"}
        raise InvalidValue(
            f"{path} is the run of a {kinds[said.order]} problem, but problem is a {type(problem).__name__}"
        )
    if problem is not None:
        _check_bodies(problem, source)
    lazy = (States(source, layout.POINTS, np.nan), States(source, layout.VELOCITY, 0.0))
    contacts = (Ragged(source, source.impulses), Ragged(source, source.pairs), Ragged(source, source.normals))
    of_file: tuple[Any, ...] = (source.index.t, *lazy, *contacts, source.stats, said.status)
    return replace(
        Solution(problem, scheme, *of_file), radii=Ragged(source, source.radii), durations=source.index.duration,
        order=said.order, walls=None if said.walls < 0 else said.walls, contacts_saved=said.contacts,
        stored_facts=source.facts, stored_shapes=Ragged(source, source.shapes),
    )  # fmt: skip


def _check_bodies(problem: Motion | Sweeping, source: Source) -> None:
    """Refuse a problem whose radii or masses are not those of the file."""
    t = float(source.index.t[0])
    with reading(source.path) as file:
        in_file = {"radius": source.radii(file, 0)}
    of_problem: dict[str, Any] = {"radius": problem.within.radii_at(t).ravel()}
    if source.facts.masses is not None:
        in_file["mass"] = source.facts.masses
        of_problem["mass"] = masses_of(problem)
    for name, stored in in_file.items():
        given = of_problem[name]
        if given is None or given.size not in (1, len(stored)):
            continue
        wrong = ~np.isclose(given, stored, rtol=SINGLE_PRECISION, atol=0.0) & (stored > 0.0)  # 0: not there, or a point
        if wrong.any():
            body = int(np.argmax(wrong))
            raise InvalidValue(
                f"the {name} of body {body} is {stored[body]:g} in {source.path.name} and "
                f"{np.broadcast_to(given, stored.shape)[body]:g} in the problem: give the problem that was solved"
            )


@check_arguments
def about(path: str | os.PathLike[str]) -> dict[str, str]:
    """Read the notes in a trajectory or an image file: versions, machine, scheme, and other stored data.

    The entry "changes" lists what was changed each time the run was resumed.

    Parameters
    ----------
    path : str or path
        Name of the file.

    Returns
    -------
    dict of str to str
        The notes, as last changed.

    Raises
    ------
    NoSuchFile
        If there is no such file.
    BrokenFile
        If the file is damaged.

    Examples
    --------
    >>> import tempfile
    >>> from jostle.io.trajectory import Writer
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Writer(Path(folder) / "run.vtkhdf", shape=(3,), about={"seed": "7"}).close()
    ...     about(Path(folder) / "run.vtkhdf")
    {'seed': '7'}
    """
    with reading(Path(path)) as file:
        if holds_images(file):
            return notes(file)
        headers.header(file)
        noted, lines = (
            {str(name): str(text) for name, text in inside(file, "jostle").attrs.items()},
            changes.notes(file),
        )
    for change in lines:
        noted |= {str(name): str(text) for name, text in change.get("about", {}).items()}
    return noted | ({"changes": "\n".join(map(_in_words, lines))} if lines else {})


def _in_words(change: Mapping[str, Any]) -> str:
    """A change as one line: when, at which step, and old and new values."""
    changed = change.get("changed", {})
    words = [f"{name} was {old}, now {new}" for name, (old, new) in changed.items()]
    words += [f"{name} changed" for name in change.get("about", {}) if name not in changed]
    where = f"resumed after step {change.get('step')}, t = {float(change.get('t', 0.0)):.6g}"
    return f"{change.get('when')}: {where}: {'; '.join(words)}"
