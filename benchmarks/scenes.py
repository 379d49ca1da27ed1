"""The scenes of the benchmarks: boxes of spheres, piles of discs, and one projection cut out of a run."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import jostle as jo
from jostle.schemes.state import State


def box_of_spheres(side: int, seed: int = 0, mu: float = 0.0) -> tuple[jo.Motion, float, float]:
    """SCoPI's box: side^3 spheres on a loose lattice above five planes; the problem, its step and r0.

    With friction, mu > 0, the spheres also spin.
    """
    random, r0, n = np.random.default_rng(seed), 5.0 / side, side**3
    radii, mass = random.uniform(0.8, 0.9, n) * r0, random.uniform(1.0, 2.0, n)
    k = np.arange(side)
    lattice = np.stack(np.meshgrid(k, k, k, indexing="ij"), axis=-1).reshape(-1, 3)[:, ::-1]
    q0 = (2.0 * lattice + 2.0) * r0 + random.uniform(-0.1, 0.1, (n, 3)) * r0
    width = 10.0 + 2.0 * r0
    weight = np.stack([np.zeros(n), np.zeros(n), -mass], axis=1)
    within = jo.Balls(radii) & jo.Box([0, 0, 0], [width, width, np.inf], radii=radii)
    law = jo.Coulomb(mu) if mu > 0.0 else jo.Restitution(0.0)
    return jo.Motion(q0=q0, force=weight, mass=mass, within=within, law=law), 0.09 * r0, r0


def pile_of_discs(columns: int, rows: int, seed: int = 0) -> tuple[jo.Motion, float, float]:
    """Discs on a square lattice in a box, g = 10; the problem, pymunk's own time step for the scene, and r0."""
    random, r0, n = np.random.default_rng(seed), 0.5, columns * rows
    radii, mass = random.uniform(0.8, 0.9, n) * r0, random.uniform(1.0, 2.0, n)
    x, y = np.meshgrid(np.arange(columns) + 0.5, np.arange(rows) + 0.5)
    q0 = np.stack([x.ravel(), y.ravel()], axis=1) + random.uniform(-0.05, 0.05, (n, 2))
    weight = np.stack([np.zeros(n), -10.0 * mass], axis=1)
    within = jo.Balls(radii) & jo.Box([0, 0], [columns, np.inf], radii=radii)
    return jo.Motion(q0=q0, force=weight, mass=mass, within=within), 0.4 * r0 / np.sqrt(20.0 * rows), r0


@dataclass
class Stopwatch:
    """Steps a problem by hand and adds up what each part took, in seconds."""

    problem: jo.Motion
    scheme: Any
    h: float
    state: State = field(init=False)
    neighbours: float = 0.0
    projection: float = 0.0
    total: float = 0.0
    steps: int = 0
    iterations: int = 0
    primal: float = 0.0
    residual: float = 0.0

    def __post_init__(self) -> None:
        self.state = self.scheme.start(self.problem, 0.0)
        within, solver = self.problem.within, self.scheme.solver
        within.contacts = self._timed("neighbours", type(within).contacts.__get__(within))  # type: ignore[method-assign]
        object.__setattr__(solver, "project", self._timed("projection", type(solver).project.__get__(solver)))

    def _timed(self, part: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any) -> Any:
            begin = time.perf_counter()
            result = call(*args)
            setattr(self, part, getattr(self, part) + time.perf_counter() - begin)
            return result

        return timed

    def reset(self) -> None:
        self.neighbours = self.projection = self.total = self.primal = self.residual = 0.0
        self.steps = self.iterations = 0

    def step(self, times: int = 1) -> None:
        for _ in range(times):
            begin = time.perf_counter()
            self.state = self.scheme.advance(self.problem, self.state, self.h)
            self.total += time.perf_counter() - begin
            P = self.state.projection
            assert P is not None
            self.steps += 1
            self.iterations += P.iterations
            self.primal, self.residual = max(self.primal, P.residual.primal), max(self.residual, P.residual.worst)

    def row(self, name: str, tol: float) -> dict[str, Any]:
        """A row of the table: means over the steps since the last reset, the worst of residual and overlap."""
        p, n = self.state.multipliers, max(self.steps, 1)
        return {
            "run": name, "N": len(self.state.q), "rows": len(p), "active": int((p > 0).sum()), "tol": tol,
            "residual": self.residual, "iterations": self.iterations / n, "neighbour_ms": 1e3 * self.neighbours / n,
            "projection_ms": 1e3 * self.projection / n, "step_ms": 1e3 * self.total / n, "overlap": self.primal,
        }  # fmt: skip


HEADER = (
    f"{'run':36s}{'N':>8s}{'rows':>9s}{'active':>9s}{'tol':>8s}{'residual':>9s}{'its':>8s}{'neigh ms':>10s}"
    f"{'proj ms':>10s}{'step ms':>10s}{'overlap/r':>10s}"
)


def line(row: dict[str, Any]) -> str:
    """A row of the table, as text."""
    return (
        f"{row['run']:36s}{row['N']:8d}{row['rows']:9d}{row['active']:9d}{row['tol']:8.0e}{row['residual']:9.0e}"
        f"{row['iterations']:8.0f}{row['neighbour_ms']:10.2f}{row['projection_ms']:10.2f}{row['step_ms']:10.2f}"
        f"{row['overlap']:10.0e}"
    )
