"""Friction on a settled pile: ``python benchmarks/friction.py [--quick]``.

The box of spheres of `spheres.py` falls without friction until it is nearly settled. Then the same next steps are made
without friction, with the convex law and with Coulomb's law (mu = 0.3), at residual 1e-4 and with warm starts:
iterations and milliseconds of a projection, and the residuals of the last one. `natural` is the residual of the natural
map, |p - P_K(p - rho (s + mu |s_T| n))| over |u - w|.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import numpy as np
from scenes import box_of_spheres

import jostle as jo
from jostle.convex import Cones, Grips, Polyhedron

MU, TOL, GRAVITY = 0.3, 1e-4, 1.0
"""Friction coefficient, tolerance of the projections, and the acceleration of the scene."""


def settled(side: int, t: float) -> tuple[Any, float, Any]:
    """The problem, its step, and the state at time t without friction."""
    problem, h, _ = box_of_spheres(side)
    scheme = jo.Maury(solver=jo.Automatic(tol=TOL))
    state = scheme.start(problem, 0.0)
    while state.t < t:
        state = scheme.advance(problem, state, h)
    return problem, h, state


def steps(problem: Any, h: float, state: Any, law: str, number: int) -> dict[str, Any]:
    """Some steps by one law: how many iterations and milliseconds a projection takes."""
    radii = next(part.radii for part in problem.within.sets if isinstance(part, jo.Balls))
    n, mass = len(state.q), 1.0 / problem.mass.of_bodies(len(state.q))
    q, u, known = state.q.copy(), np.concatenate([state.u, np.zeros((n, 3))], axis=1), {}
    inertia = np.concatenate(
        [mass[:, None].repeat(3, axis=1), (0.4 * mass * radii**2)[:, None].repeat(3, axis=1)], axis=1
    )
    solver, iterations, milliseconds, P = jo.GaussSeidel(tol=TOL, max_iterations=5000), [], [], None
    for _ in range(number):
        w = u.copy()
        w[:, 2] -= h * GRAVITY
        contacts = problem.within.near(0.0, q, 2.0 * h * float(np.sqrt((w[:, :3] ** 2).sum(axis=1)).max()))
        pairs, gap, length = contacts.G.contacts, contacts.gap, float(radii.min()) / h
        keys = list(zip(pairs.i.tolist(), pairs.j.tolist(), strict=True))
        d = 1 if law == "none" else 3
        guess = np.array([known.get(key, np.zeros(d)) for key in keys]).ravel()
        if law == "none":
            K, w, M = Polyhedron(pairs, gap / h, length=length), w[:, :3], mass
        else:
            i, j, normal = pairs.i, pairs.j, pairs.normal
            G = Grips(i, j, normal, np.stack([radii[i], np.where(j >= 0, radii[j], 0.0)], axis=1), n, q)
            cones = Cones(normal, np.full(len(i), MU), law == "coulomb")
            K, M = Polyhedron(G, ((gap / h)[:, None] * normal).ravel(), length=length, cones=cones), inertia
        begin = time.perf_counter()
        P = solver.project(w, K, M, guess)
        milliseconds.append(1e3 * (time.perf_counter() - begin))
        iterations.append(P.iterations)
        known = dict(zip(keys, P.multipliers.reshape(-1, d), strict=True))
        u[:, : P.point.shape[1]] = P.point
        q = q + h * u[:, :3]
    assert P is not None
    residual = {"worst": P.residual.worst, "natural": P.residual.natural, "converged": P.converged}
    return {
        "law": law, "N": n, "contacts": len(P.multipliers) // d, "iterations": float(np.mean(iterations)),
        "ms": float(np.mean(milliseconds)), "median_ms": float(np.median(milliseconds)), **residual,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="1000 spheres instead of 10 648, under a minute")
    arguments = parser.parse_args()
    problem, h, state = settled(10 if arguments.quick else 22, 4.0)
    for law in ("none", "convex", "coulomb"):
        steps(problem, h, state, law, 1)  # compiles
    rows = [steps(problem, h, state, law, 20 if arguments.quick else 10) for law in ("none", "convex", "coulomb")]
    for row in rows:
        print(
            "  ".join(
                f"{key} {value:.3g}" if isinstance(value, float) else f"{key} {value}" for key, value in row.items()
            )
        )
    ratio = rows[2]["ms"] / rows[0]["ms"]
    print(json.dumps({"friction": rows, "coulomb_over_none": ratio}))


if __name__ == "__main__":
    main()
