"""Projections cut out of real runs: settled piles of discs and spheres, a crowd at a door. Made once, kept on disk.

``instance("pile 2-D", 10_000)`` runs jostle itself until the pile has settled, and takes the projection of the next
step: (w, K, mass). Wider piles have the same depth as the one of 10 000: depth is what makes them hard.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import jostle as jo

KEPT = Path(__file__).parent / "_instances"
COUNTS: dict[tuple[str, int], tuple[int, ...]] = {
    ("pile 2-D", 1000): (32, 32),
    ("pile 2-D", 10_000): (100, 100),
    ("pile 2-D", 100_000): (1000, 100),
    ("pile 3-D", 1000): (10, 10, 10),
    ("pile 3-D", 10_000): (22, 22, 21),
    ("pile 3-D", 100_000): (69, 69, 21),
    ("crowd", 1000): (32, 32),
    ("crowd", 10_000): (100, 100),
}
BUDGET = jo.GaussSeidel(max_iterations=80, budget=True)


def instance(kind: str, n: int) -> tuple[np.ndarray, jo.convex.Polyhedron, np.ndarray]:
    """(w, K_h, masses) of one step."""
    KEPT.mkdir(exist_ok=True)
    path = KEPT / f"{kind.replace(' ', '_')}_{n}.npz"
    if not path.exists():
        made = crowd(COUNTS[kind, n]) if kind == "crowd" else pile(COUNTS[kind, n])
        np.savez(path, **made)
    kept = np.load(path)
    places = kept["places"]
    G = jo.convex.NormalRows(kept["i"], kept["j"], kept["normal"], len(places), places)
    return kept["w"], jo.convex.Polyhedron(G, kept["c"], length=kept["length"], noise=kept["noise"]), kept["mass"]


def pile(counts: tuple[int, ...]) -> dict[str, Any]:
    """Balls of radii U(0.35, 0.65), mass r^d, g = 1, dropped from a lattice and followed until they hardly move."""
    random, d, n = np.random.default_rng(0), len(counts), int(np.prod(counts))
    radii = random.uniform(0.35, 0.65, n)
    lattice = np.stack(np.unravel_index(np.arange(n), counts[::-1]), axis=1)[:, ::-1]
    q0 = 1.32 * (lattice + 0.5) + random.uniform(-0.01, 0.01, (n, d))
    mass = radii**d
    weight = np.zeros((n, d))
    weight[:, -1] = -mass
    upper = [*(1.32 * count for count in counts[:-1]), np.inf]
    within = jo.Balls(radii) & jo.Box(np.zeros(d), upper, radii=radii)
    heap = jo.Motion(q0=q0, force=weight, mass=mass, within=within)
    scheme, h = jo.Maury(solver=BUDGET), 0.1
    state = scheme.start(heap, 0.0)
    end = 3.0 * np.sqrt(2.0 * 0.4 * 1.32 * counts[-1])
    while state.t < end:
        state = scheme.advance(heap, state, h)
    w = state.u + h * weight / mass[:, None]
    return _cut(within, state.t + h, state.q, h, w, mass)


def crowd(counts: tuple[int, ...]) -> dict[str, Any]:
    """People on a lattice who walk to a door three diameters wide, after they have met there for a while."""
    random, n = np.random.default_rng(0), int(np.prod(counts))
    radii = random.uniform(0.4, 0.6, n)
    lattice = np.stack(np.unravel_index(np.arange(n), counts), axis=1)
    q0 = 1.22 * lattice + [1.0, 1.0] + random.uniform(-0.005, 0.005, (n, 2))
    width, height = 1.22 * counts[0] + 2.0, 1.22 * counts[1] + 2.0
    low, high = height / 2.0 - 1.5, height / 2.0 + 1.5
    walls = [[[0, 0], [0, low]], [[0, high], [0, height]], [[0, 0], [width, 0]], [[0, height], [width, height]]]
    within = jo.Balls(radii) & jo.Segments(walls, radii=radii)
    door = np.array([-1.0, height / 2.0])

    def wish(t: float, q: np.ndarray) -> np.ndarray:
        way = door - q
        return way / np.linalg.norm(way, axis=1, keepdims=True)

    people = jo.Sweeping(q0=q0, velocity=wish, within=within)
    scheme, h = jo.Venel(solver=BUDGET), 0.1
    state = scheme.start(people, 0.0)
    for _ in range(int(2.0 * counts[0])):
        state = scheme.advance(people, state, h)
    return _cut(within, state.t + h, state.q, h, wish(0.0, state.q), np.ones(n))


def _cut(within: Any, t: float, q: np.ndarray, h: float, w: np.ndarray, mass: np.ndarray) -> dict[str, Any]:
    """The arrays of K_h(t, q), gaps that the budget left negative set to zero."""
    contacts = within.linearise(t, q, 0.3)
    K = jo.convex.Polyhedron(contacts.G, np.maximum(contacts.gap, 0.0) / h, length=contacts.length / h)
    G = K.G
    return {
        "i": G.i, "j": G.j, "normal": G.normal, "places": q, "c": K.c, "w": w, "mass": mass,
        "length": K.length, "noise": contacts.noise / h,
    }  # fmt: skip
