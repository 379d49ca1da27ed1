"""The result of `macro.solve`: the density in time, with velocities, pressures and statistics of the steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jostle._tools.arrays import Array
from jostle._tools.displays import html
from jostle.io.images import Images
from jostle.macro.motion.domain import Domain, Faces
from jostle.macro.motion.problems import Crowd, Flow, State
from jostle.macro.motion.scheme import Scheme
from jostle.result.status import MESSAGES

STATISTICS = np.dtype(
    [
        ("t", float),
        ("h", float),
        ("substeps", np.int64),
        ("iterations", np.int64),
        ("excess", float),
        ("mass", float),
        ("gone", float),
        ("energy", float),
    ]
)
"""One record per step: time at its end, length, number of parts and of solver iterations, excess of the density over
one, mass inside, mass gone, kinetic energy."""


@dataclass(frozen=True, eq=False, repr=False)
class Evolution:
    """A density in time, returned by `jostle.macro.solve`. The first index of every array is the frame.

    The fields of a run with `output` stay in its file until they are indexed: ``sol.density[-1]`` reads one frame, and
    ``np.asarray(sol.density)`` all of them.

    Attributes
    ----------
    problem : Crowd or Flow
        The problem that was solved.
    scheme : Scheme
        The scheme that solved it.
    status : str
        How the run ended: "finished", "stopped", "interrupted" or "failed".
    t : array, shape (frames,)
        Times of the frames.
    density : array, shape (frames, nx, ny)
        Density in the cells, between 0 and 1.
    velocity : tuple of array
        Velocities on the faces across x, (frames, nx + 1, ny), and across y, (frames, nx, ny + 1).
    pressure : array, shape (frames, nx, ny)
        Mean pressure since the previous frame; zero in the first frame.
    gone : array, shape (frames,)
        Mass that has left.
    stats : structured array, shape (steps,)
        One record per step: time `t` at its end, length `h`, number of `substeps` and of solver `iterations`, `excess`
        of the density over one, `mass` inside, mass `gone`, and kinetic `energy`.
    file : jostle.io.Images or None
        The contents of the file of a run with `output`; None if the fields are in memory.

    Examples
    --------
    >>> import jostle as jo
    >>> grid = jo.macro.Grid([0, 0], [2, 1], h=1 / 8)
    >>> block = grid.block([0.25, 0.25], [0.75, 0.75])
    >>> sol = jo.macro.solve(jo.macro.Flow(grid=grid, density=block, velocity=grid.velocity(1.0, 0)),
    ...                      jo.macro.Splitting(), t=0.5, h=0.05, every=5)
    >>> sol.t.tolist(), sol.mass.round(12).tolist()
    ([0.0, 0.25, 0.5], [0.25, 0.25, 0.25])
    """

    problem: Crowd | Flow
    scheme: Scheme
    status: str
    t: Array
    density: Array
    velocity: Faces
    pressure: Array
    gone: Array
    stats: NDArray[Any]
    file: Images | None = field(default=None, repr=False)

    @property
    def domain(self) -> Domain:
        """The cells and faces in which the density may move."""
        return self.problem.domain

    @property
    def cells(self) -> Array:
        """(frames, nx, ny, 2): the velocity in the cells, the mean of their faces."""
        if self.file is not None:
            return np.asarray(self.file.fields["velocity"])
        return np.stack([cell_velocities(velocity) for velocity in zip(*self.velocity, strict=True)])

    @cached_property
    def mass(self) -> Array:
        """(frames,): mass inside the domain."""
        if self.file is not None:
            return self.file.totals["mass"]
        return np.array([density.sum() * self.problem.grid.h**2 for density in self.density])

    @cached_property
    def momentum(self) -> Array:
        """(frames, 2): total momentum."""
        return np.array([momentum(self.domain, self.state(k)) for k in range(len(self.t))])

    @cached_property
    def energy(self) -> Array:
        """(frames,): kinetic energy."""
        if self.file is not None:
            return self.file.totals["energy"]
        return np.array([energy(self.domain, self.state(k)) for k in range(len(self.t))])

    def state(self, frame: int) -> State:
        """Return the state of a frame, from which another run can start.

        Parameters
        ----------
        frame : int
            Number of the frame; negative numbers count from the end.

        Returns
        -------
        State
            The state.
        """
        x, y = self.velocity
        here = self.density[frame], (x[frame], y[frame]), self.pressure[frame], float(self.gone[frame])
        return State(float(self.t[frame]), *here)

    def images(self) -> Images:
        """Collect what a file of this run contains: density, velocity and pressure in the cells, and facts.

        Returns
        -------
        jostle.io.Images
            The fields and the facts.
        """
        if self.file is not None:
            return self.file
        facts = facts_of(self.problem, self.scheme, {})
        return facts(
            t=self.t, fields={"density": self.density, "velocity": self.cells, "pressure": self.pressure},
            totals={"mass": self.mass, "gone": self.gone, "energy": self.energy},
            steps=self.stats, status=self.status, faces=self.velocity,
        )  # fmt: skip

    def __repr__(self) -> str:
        grid, cut = self.problem.grid, self.stats["substeps"]
        lines = [
            f"{type(self.scheme).__name__} of a {type(self.problem).__name__} on {grid.shape[0]} x {grid.shape[1]} "
            f"cells: {self.status}, {MESSAGES[self.status]}",
            f"t = {self.t[0]:g} to {self.t[-1]:g}, {len(self.stats)} steps, {len(self.t)} frames; "
            f"mass {self.mass[-1]:.6g} of {self.mass[0]:.6g}, {self.gone[-1]:.6g} gone",
        ]
        if len(cut) and cut.max() > 1:
            most, number = int(cut.max()), int((cut > 1).sum())
            lines.append(f"{number} steps were cut into at most {most} parts, so that at most half a cell leaves")
        return "\n".join(lines)

    _repr_html_ = html


def facts_of(problem: Crowd | Flow, scheme: Scheme, about: Mapping[str, str]) -> Callable[..., Images]:
    """Make `Images` of a run, with its grid, walls, exits and notes."""
    grid, domain = problem.grid, problem.domain
    known = {"problem": type(problem).__name__, "scheme": repr(scheme), **about}
    return partial(
        Images, lower=grid.lower, h=grid.h, closed=grid.closed, walls=domain.walls, exits=domain.exits, about=known
    )


def cell_velocities(velocity: Faces) -> Array:
    """(nx, ny, 2): the velocity in the cells, the mean of their faces."""
    x, y = velocity
    return np.stack([0.5 * (x[1:] + x[:-1]), 0.5 * (y[:, 1:] + y[:, :-1])], axis=-1)


def momentum(domain: Domain, state: State) -> Array:
    """(2,): the total momentum of all faces."""
    masses = domain.means(state.density)
    return np.array([(mass * u).sum() for mass, u in zip(masses, state.velocity, strict=True)]) * domain.grid.h**2


def energy(domain: Domain, state: State) -> float:
    """Kinetic energy of all faces, each with half the mass of the two cells beside it."""
    masses = domain.means(state.density)
    twice = sum(float((mass * u * u).sum()) for mass, u in zip(masses, state.velocity, strict=True))
    return 0.5 * twice * domain.grid.h**2
