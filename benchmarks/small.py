"""Speed of small problems: ``python benchmarks/small.py [--quick]``.

Microseconds and Python frames of a step of small runs, beside the same scheme written by hand for one ball (the bound
of what Python can do), and beside pymunk, whose steps are compiled and let bodies overlap; and the cost of one exact
projection beside clarabel and osqp, set-up included, in the same run. Frames are the calls of Python
functions and compiled kernels; unlike times, they do not depend on the machine.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import jostle as jo
from jostle.convex.metric import metric


def best_of(call: Callable[[], object], seconds: float) -> float:
    """The shortest CPU time of a call, in seconds, over as many calls as fit into the given time."""
    call()
    best, end = np.inf, time.perf_counter() + seconds
    while time.perf_counter() < end:
        begin = time.process_time()
        call()
        best = min(best, time.process_time() - begin)
    return best


def by_hand(steps: int, h: float, e: float) -> np.ndarray:
    """Paoli's scheme for one ball above the floor y >= 0, in NumPy, with nothing around it."""
    before, f = np.array([0.0, 1.0]), np.array([0.0, -9.81])
    q = before + h * np.array([1.0, 0.0]) + h * h / 2.0 * f
    path = [before, q]
    for _ in range(steps - 1):
        z = (2.0 * q - (1.0 - e) * before + h * h * f) / (1.0 + e)
        z[1] = max(z[1], 0.0)
        before, q = q, (1.0 + e) * z - e * before
        path.append(q)
    return np.array(path)


def frames(run: Callable[[int], object]) -> float:
    """Number of Python functions that each step of a run calls; run(steps) makes `steps` steps."""

    def count(steps: int) -> int:
        called = 0

        def note(frame: Any, event: str, argument: Any) -> None:
            nonlocal called
            called += event == "call"

        sys.setprofile(note)
        try:
            run(steps)
        finally:
            sys.setprofile(None)
        return called

    few, many = 50, 150
    run(many)  # kernels are compiled, and what a set keeps is there
    return (count(many) - count(few)) / (many - few)


def clumps(n: int) -> tuple[np.ndarray, jo.Clumps]:
    """The centres of mass of n clumps side by side above the floor z = 0, and their set."""
    corners = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.6, 0.0], [0.2, 0.3, 0.8]])
    return np.array([[2.0 * k, 0.0, 0.9] for k in range(n)]), jo.Clumps([(corners - corners.mean(axis=0), 0.4)] * n)


def scenes() -> dict[str, tuple[jo.Motion, jo.Scheme, float]]:
    """The problem, the scheme and the time step of each run."""
    ball = jo.Motion(
        q0=[0.0, 1.0], v0=[1.0, 0.0], force=[0.0, -9.81], within=jo.HalfSpace([0, 1]), law=jo.Restitution(0.8)
    )
    resting = jo.Motion(q0=[0.0, 0.0], v0=[1.0, 0.0], force=[0.0, -9.81], within=jo.HalfSpace([0, 1]))
    discs = jo.models.spheres(np.full(20, 0.5), box=([0, 0], [6, np.inf]))
    thrown = np.random.default_rng(0).normal(size=discs.q0.shape)
    bouncing = jo.Motion(q0=discs.q0, v0=thrown, force=[0.0, -9.81], within=discs.within, law=jo.Restitution(0.5))
    box = jo.models.spheres(np.full(5, 0.5), box=([0, 0], [6, np.inf]))
    floor, gravity, coulomb = jo.HalfSpace([0.0, 0.0, 1.0]), [0.0, 0.0, -9.81], jo.Coulomb(0.3)
    areas = np.full(5, np.pi / 4.0)
    rubbing = jo.Motion(q0=box.q0, force=[0.0, -9.81], mass=areas, within=box.within, law=coulomb)
    apart, two = clumps(2)
    free = jo.Motion(q0=apart, v0=[1.0, 0.0, 0.0], spin0=[[1.0, 2.0, 3.0], [3.0, 1.0, -2.0]], within=two)
    triangle = np.array([[-0.4, -0.2], [0.6, -0.2], [-0.2, 0.4]]), 0.4
    flat = jo.Motion(q0=apart[:, [0, 2]], v0=[1.0, 0.0], spin0=[1.0, -2.0], within=jo.Clumps([triangle] * 2))
    apart, four = clumps(4)
    smooth = jo.Motion(q0=apart, force=gravity, within=four & floor)
    rough = jo.Motion(q0=apart, force=gravity, within=four & floor, law=coulomb)
    disc = {"q0": [[0.0, 1.0]], "v0": [3.0, 0.0], "force": [0.0, -9.81]}
    ground = jo.Balls([1.0]) & jo.HalfSpace([0.0, 1.0])
    lift = jo.HalfSpace([0.0, 1.0], offset=lambda t: 0.1 * np.sin(t))
    lifted = jo.Motion(q0=[0.0, 0.0], v0=[1.0, 0.0], force=[0.0, -9.81], within=lift)
    held = jo.Motion(q0=[0.0, 0.0], v0=[1.0, 0.0], force=[0.0, -9.81], within=jo.HalfSpace([0.0, 1.0]))
    return {
        "ball, Paoli e = 0.8": (ball, jo.Paoli(), 1e-3),
        "ball at rest, Maury": (resting, jo.Maury(), 1e-3),
        "cradle of ten, apart, Paoli": (jo.models.cradle(10, gap=0.1), jo.Paoli(), 1e-3),
        "cradle of ten, touching, Paoli": (jo.models.cradle(10), jo.Paoli(), 1e-3),
        "column of ten at rest, Maury": (jo.models.chain(10), jo.Maury(), 1e-3),
        "five balls in a box, Maury": (box, jo.Maury(), 1e-2),
        "five balls with friction, Maury": (rubbing, jo.Maury(), 1e-2),
        "disc on a floor, Maury": (jo.Motion(**disc, within=ground), jo.Maury(), 1e-2),
        "disc with friction, Maury": (jo.Motion(**disc, within=ground, law=coulomb), jo.Maury(), 1e-2),
        "floor moved by a function, Maury": (lifted, jo.Maury(), 1e-3),
        "floor at rest, Maury": (held, jo.Maury(), 1e-3),
        "two free clumps in the plane, Maury": (flat, jo.Maury(), 1e-2),
        "two free clumps in space, Maury": (free, jo.Maury(), 1e-2),
        "four clumps, Maury": (smooth, jo.Maury(), 1e-2),
        "four clumps with friction, Maury": (rough, jo.Maury(), 1e-2),
        "twenty discs, MoreauJean e = 0.5": (bouncing, jo.MoreauJean(), 1e-2),
    }


def running(seconds: float) -> tuple[dict[str, float], dict[str, float]]:
    """Microseconds a step of whole runs, and their Python frames a step."""
    steps, h = 2000, 1e-3
    times, calls = {"ball by hand": best_of(lambda: by_hand(steps, h, 0.8), seconds) / steps * 1e6}, {}
    for name, (problem, scheme, step) in scenes().items():

        def run(steps: int, p: jo.Motion = problem, s: jo.Scheme = scheme, h: float = step) -> jo.Solution:
            return jo.solve(p, s, t=steps * h, h=h)

        calls[name] = frames(run)
        steps = 2000 if step < 1e-2 else 300
        times[name] = best_of(lambda run=run, steps=steps: run(steps), seconds) / steps * 1e6  # type: ignore[misc]
    return times, calls


def in_pymunk() -> dict[str, Callable[[int], None]]:
    """The runs with discs in pymunk, by their names in `scenes`: functions of a number of steps, from the start."""
    try:
        import pymunk
    except ImportError:
        return {}

    def scene(q0: Any, radius: float, width: float, mu: float, e: float, v0: Any, lift: bool = False) -> Any:
        space = pymunk.Space()
        space.gravity = 0.0, -9.81
        floor = pymunk.Body(body_type=pymunk.Body.KINEMATIC) if lift else space.static_body
        walls = [((-1e3, 0.0), (1e3, 0.0), floor), ((0.0, 0.0), (0.0, 1e3), space.static_body)]
        walls.append(((width, 0.0), (width, 1e3), space.static_body))
        if lift:
            space.add(floor)
        for a, b, body in walls if width else walls[:1]:
            wall = pymunk.Segment(body, a, b, 0.0)
            wall.friction, wall.elasticity = 1.0, 1.0  # pymunk multiplies the values of both shapes
            space.add(wall)
        for centre, velocity in zip(q0, v0, strict=True):
            mass = np.pi * radius**2
            turns = mass * radius**2 / 2.0 if mu else float("inf")
            body = pymunk.Body(mass, turns)
            body.position, body.velocity = tuple(centre), tuple(velocity)
            disc = pymunk.Circle(body, radius)
            disc.friction, disc.elasticity = mu, e
            space.add(body, disc)
        return space, floor

    def running(h: float, **given: Any) -> Callable[[int], None]:
        def run(steps: int) -> None:
            space, floor = scene(**given)
            for k in range(steps):
                if given.get("lift"):
                    floor.velocity = 0.0, 0.1 * np.cos(k * h)
                space.step(h)

        return run

    discs = jo.models.spheres(np.full(20, 0.5), box=([0, 0], [6, np.inf])).q0
    five = jo.models.spheres(np.full(5, 0.5), box=([0, 0], [6, np.inf])).q0
    thrown = np.random.default_rng(0).normal(size=discs.shape)
    box = {"q0": five, "radius": 0.5, "width": 6.0, "e": 0.0, "v0": np.zeros_like(five)}
    disc = {"q0": [[0.0, 1.0]], "radius": 1.0, "width": 0.0, "e": 0.0, "v0": [[3.0, 0.0]]}
    point = {"q0": [[0.0, 0.01]], "radius": 0.01, "width": 0.0, "e": 0.0, "v0": [[1.0, 0.0]]}
    return {
        "five balls in a box, Maury": running(1e-2, **box, mu=0.0),
        "five balls with friction, Maury": running(1e-2, **box, mu=0.3),
        "disc on a floor, Maury": running(1e-2, **disc, mu=0.0),
        "disc with friction, Maury": running(1e-2, **disc, mu=0.3),
        "floor moved by a function, Maury": running(1e-3, **point, mu=0.0, lift=True),
        "twenty discs, MoreauJean e = 0.5": running(1e-2, q0=discs, radius=0.5, width=6.0, mu=0.0, e=0.5, v0=thrown),
    }


def contacts(rows: int, seed: int = 0) -> tuple[np.ndarray, jo.convex.Polyhedron, np.ndarray]:
    """Velocities, K_h and masses of a random cluster of discs with a number of contacts, two to a disc."""
    random = np.random.default_rng(seed)
    n = max(rows // 2, 2) + 1
    i = random.integers(0, n, rows)
    j = (i + random.integers(1, n, rows)) % n
    angle = random.uniform(0.0, 2.0 * np.pi, rows)
    G = jo.convex.NormalRows(i, j, np.stack([np.cos(angle), np.sin(angle)], axis=1), n)
    K = jo.convex.Polyhedron(G.toarray(), random.uniform(0.0, 0.1, rows), length=1.0)
    return random.normal(size=(n, 2)), K, random.uniform(1.0, 2.0, n)


def clarabel_solver(w: np.ndarray, K: jo.convex.Polyhedron, mass: np.ndarray) -> Callable[[], np.ndarray]:
    import clarabel
    from scipy.sparse import csc_matrix, diags

    m = np.repeat(mass, 2)
    settings = clarabel.DefaultSettings()
    settings.verbose = False

    P, A = csc_matrix(diags(m)), csc_matrix(-K.G.toarray())
    cones = [clarabel.NonnegativeConeT(len(K.c))]

    def call() -> np.ndarray:
        return np.array(clarabel.DefaultSolver(P, -m * w.ravel(), A, K.c, cones, settings).solve().x)

    return call


def osqp_solver(w: np.ndarray, K: jo.convex.Polyhedron, mass: np.ndarray) -> Callable[[], np.ndarray]:
    import osqp
    from scipy.sparse import csc_matrix, diags

    m = np.repeat(mass, 2)
    P, A = csc_matrix(diags(m)), csc_matrix(K.G.toarray())

    def call() -> np.ndarray:
        solver = osqp.OSQP()
        solver.setup(
            P, -m * w.ravel(), A, -K.c, np.full(len(K.c), np.inf),
            eps_abs=1e-8, eps_rel=0.0, max_iter=100_000, verbose=False,
        )  # fmt: skip
        return np.array(solver.solve(raise_error=False).x)

    return call


def projecting(seconds: float) -> list[dict[str, float]]:
    """Microseconds of one projection, and the error of the peers' u against ours."""
    result = []
    for rows in (3, 10, 30, 100):
        w, K, mass = contacts(rows)
        solver, M = jo.ActiveSet(), metric(mass, w.shape)
        exact = solver.project(w, K, M)
        row: dict[str, float] = {"rows": rows, "active": int((exact.multipliers > 0).sum())}
        row["active set"] = best_of(lambda s=solver, w=w, K=K, M=M: s.project(w, K, M), seconds) * 1e6  # type: ignore[misc]
        row["residual"] = max(exact.residual.primal, exact.residual.dual, exact.residual.complementarity)
        for name, make in (("clarabel", clarabel_solver), ("osqp", osqp_solver)):
            call = make(w, K, mass)
            row[name] = best_of(call, seconds) * 1e6
            row[f"{name} error"] = float(np.abs(call() - exact.point.ravel()).max())
        result.append(row)
    return result


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="shorter measurements")
    quick = parser.parse_args().quick
    runs, calls = running(0.5 if quick else 3.0)
    hand = runs["ball by hand"]
    peer = {
        name: best_of(lambda run=run: run(300), 0.5 if quick else 3.0) / 300 * 1e6 for name, run in in_pymunk().items()
    }
    print(f"load {os.getloadavg()[0]:.1f}")
    print(f"{'run':36s}{'us a step':>10s}{'frames':>8s}{'steps/s':>10s}{'/ by hand':>11s}{'pymunk us':>11s}")
    for name, us in runs.items():
        beside = f"{peer[name]:11.1f}" if name in peer else ""
        print(f"{name:36s}{us:10.1f}{calls.get(name, 0.0):8.1f}{1e6 / us:10.0f}{us / hand:11.1f}{beside}")
    print()
    print(" rows active   ours us  clarabel us   osqp us   clarabel/ours   osqp/ours  residual  clarabel, osqp errors")
    projections = projecting(0.3 if quick else 2.0)
    for p in projections:
        print(
            f"{p['rows']:5d}{p['active']:7d}{p['active set']:10.1f}{p['clarabel']:13.1f}{p['osqp']:10.1f}"
            f"{p['clarabel'] / p['active set']:16.1f}{p['osqp'] / p['active set']:12.1f}{p['residual']:10.0e}"
            f"{p['clarabel error']:16.0e}{p['osqp error']:8.0e}"
        )
    print(json.dumps({"microseconds_a_step": runs, "frames_a_step": calls, "projection_microseconds": projections}))
