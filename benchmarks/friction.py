"""Friction on a settled pile: ``python benchmarks/friction.py [--quick | --sides 10 16 22]``.

The box of spheres of `spheres.py` falls with Coulomb's law (mu = 0.3) at a tolerance of 1e-4 until it is settled. Then
the same next steps are made without friction, with the convex law and with Coulomb's law, at 1e-4 and at 1e-6: sweeps
and milliseconds of a step, how many steps missed the tolerance, and the residuals of the last one. `natural` is the
residual of the natural map, |p - P_K(p - rho (s + mu |s_T| n))| over |u - w|. The last line of a pile starts from its
positions and velocities alone, without the impulses of the step before.

Last, what a contact costs in a sweep, in nanoseconds of CPU time: between balls, and between clumps of two balls.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from typing import Any

import numpy as np
from scenes import box_of_spheres

import jostle as jo
from jostle.schemes.state import State

MU, SETTLING = 0.3, 1e-4
"""Friction coefficient, and the tolerance at which the pile settles."""
MOST_SWEEPS = 20_000
"""Largest number of sweeps of a step; steps that need more are counted as missed."""


def settled(side: int, t: float) -> tuple[Any, float, Any]:
    """The problem with Coulomb's law, its step, and the state at time t."""
    problem, h, _ = box_of_spheres(side, mu=MU)
    scheme = jo.Maury(solver=jo.GaussSeidel(tol=SETTLING))
    state = scheme.start(problem, 0.0)
    while state.t < t:
        state = scheme.advance(problem, state, h)
    return problem, h, state


def steps(problem: Any, h: float, state: Any, law: str, tol: float, number: int, cold: bool = False) -> dict[str, Any]:
    """Some steps by one law: how many sweeps and milliseconds each takes, and how many missed.

    A cold start has the positions and velocities of the state, and not its impulses.
    """
    laws = {"none": jo.Restitution(0.0), "convex": jo.laws.ConvexFriction(MU), "coulomb": problem.law}
    mass = 1.0 / problem.mass.of_bodies(len(state.q))
    spin = {} if law == "none" else {"spin0": state.spin}
    pile = jo.Motion(
        q0=state.q, v0=state.u, force=problem.constant_force, mass=mass, within=problem.within, law=laws[law], **spin
    )
    scheme = jo.Maury(solver=jo.GaussSeidel(tol=tol, max_iterations=MOST_SWEEPS))
    now = State(0.0, pile.pose0, pile.w0) if cold or law != "coulomb" else state
    sweeps, milliseconds, missed = [], [], 0
    for _ in range(number):
        begin = time.perf_counter()
        now = scheme.advance(pile, now, h)
        milliseconds.append(1e3 * (time.perf_counter() - begin))
        sweeps.append(now.projection.iterations)
        missed += not now.projection.converged
    P = now.projection
    return {
        "law": law, "cold": cold, "tol": tol, "N": len(state.q), "contacts": len(now.multipliers),
        "sweeps": float(np.mean(sweeps)), "most": max(sweeps), "missed": missed, "ms": float(np.mean(milliseconds)),
        "median_ms": float(np.median(milliseconds)), "worst": P.residual.worst, "natural": P.residual.natural,
    }  # fmt: skip


def of_a_contact(two: bool, few: int = 20, many: int = 140) -> dict[str, Any]:
    """Nanoseconds of a contact in a sweep, for balls or for clumps of `two` balls in a lattice on a floor."""
    lattice = np.stack(np.meshgrid(*[np.arange(6.0)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    places = lattice + np.array([0.0, 0.0, 0.5])
    bodies: Any = jo.Balls(np.full(len(places), 0.5))
    if two:
        places = places.reshape(6, 6, 3, 2, 3).mean(axis=3).reshape(-1, 3)
        bodies = jo.Clumps([([[0.0, 0.0, -0.5], [0.0, 0.0, 0.5]], 0.5)] * len(places))
    thrown = np.random.default_rng(0).normal(size=places.shape)
    problem = jo.Motion(
        q0=places, v0=thrown, force=[0.0, 0.0, -9.81], within=bodies & jo.HalfSpace([0.0, 0.0, 1.0]), law=jo.Coulomb(MU)
    )

    def timed(most: int) -> tuple[float, State]:
        scheme = jo.Maury(solver=jo.GaussSeidel(tol=1e-15, max_iterations=most))
        state, begin = scheme.start(problem, 0.0), time.process_time()
        after = scheme.advance(problem, state, 1e-2)
        return time.process_time() - begin, after

    timed(few)
    runs = [(timed(few), timed(many)) for _ in range(9)]
    done = runs[0][1][1].projection.iterations - runs[0][0][1].projection.iterations
    contacts = len(runs[0][0][1].multipliers)
    seconds = min(longer[0] for _, longer in runs) - min(shorter[0] for shorter, _ in runs)
    return {"bodies": "clumps" if two else "balls", "contacts": contacts, "sweeps": done,
            "ns": 1e9 * seconds / done / contacts}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="1000 spheres instead of 10 648, under a minute")
    parser.add_argument("--sides", nargs="*", type=int, help="piles of these numbers of spheres, cubed")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", jo.errors.ThrownUp)  # the convex law throws bodies up
    cases = [("none", 1e-4), ("convex", 1e-4), ("coulomb", 1e-4), ("coulomb", 1e-6), ("coulomb", 1e-6, True)]
    found = []
    for side in arguments.sides or [10 if arguments.quick else 22]:
        problem, h, state = settled(side, 16.0)
        rows = [steps(problem, h, state, law, tol, 25, *cold) for law, tol, *cold in cases]
        for row in rows:
            words = (
                f"{key} {value:.3g}" if isinstance(value, float) else f"{key} {value}" for key, value in row.items()
            )
            print("  ".join(words), flush=True)
        found.append({"friction": rows, "coulomb_over_none": rows[2]["ms"] / rows[0]["ms"]})
    prices = [of_a_contact(two) for two in (False, True)]
    for price in prices:
        print(f"{price['bodies']}: {price['ns']:.1f} ns a contact and sweep, {price['contacts']} contacts")
    ratio = prices[1]["ns"] / prices[0]["ns"]
    print(f"clumps / balls {ratio:.1f}")
    print(json.dumps({"piles": found, "prices": prices, "clumps_over_balls": ratio}))


if __name__ == "__main__":
    main()
