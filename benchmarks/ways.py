"""Shortest ways to the exits of a plan: errors, time and memory: ``python benchmarks/ways.py [--quick]``.

First the fast marching kernel: its errors against exact distances on finer and finer grids, its asymmetry, and its time
per node beside SciPy's Euclidean distance transform, which knows no obstacles. Then the ways on the plan of a hall with
columns: processor time and peak memory per value (a node of the grid for one exit), and the time in which ten thousand
people find their directions. With ``--stadium``, instead: a hall of 224 m with ten exits, where 100 000 people stand at
two a square metre.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from collections.abc import Callable

import numpy as np
from scipy.ndimage import distance_transform_edt

import jostle as jo
from jostle.plans.kernels import marched

NEAR = 0.1
"""Nodes up to this distance from the source start with exact values."""
CORNER, SOURCE = np.array([0.5, 0.5]), np.array([0.2, 0.15])
"""A thin wall goes from (0.5, 0) to the corner, and hides the nodes behind it from the source."""
RADIUS, PEOPLE = 0.2, 10_000

Field = Callable[[np.ndarray], np.ndarray]


def to_point(x: np.ndarray) -> np.ndarray:
    return np.asarray(np.linalg.norm(x - CORNER, axis=-1))


def to_segment(x: np.ndarray) -> np.ndarray:
    start, along = np.array([0.3, 0.4]), np.array([0.3, 0.15])
    part = np.clip((x - start) @ along / (along @ along), 0.0, 1.0)
    return np.asarray(np.linalg.norm(x - start - part[..., None] * along, axis=-1))


def around_the_corner(x: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        crossing = SOURCE[1] + (x[..., 1] - SOURCE[1]) * (CORNER[0] - SOURCE[0]) / (x[..., 0] - SOURCE[0])
    hidden = (x[..., 0] > CORNER[0]) & (crossing < CORNER[1])
    straight = np.linalg.norm(x - SOURCE, axis=-1)
    return np.where(hidden, np.linalg.norm(SOURCE - CORNER) + np.linalg.norm(x - CORNER, axis=-1), straight)


def error(exact: Field, wall: bool, n: int) -> tuple[float, float]:
    """The largest and the mean error on n x n nodes."""
    axis = np.arange(n) / (n - 1)
    x = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1)
    free = ~(wall & (np.abs(x[..., 0] - CORNER[0]) < 1e-9) & (x[..., 1] < CORNER[1] - 1e-9))
    d = exact(x)
    off = np.abs(marched(free, np.where((d <= NEAR) & free, d, np.inf), 1.0 / (n - 1)) - d)[free]
    return float(off.max()), float(off.mean())


def fastest(call: Callable[[], object], times: int = 3) -> float:
    """The processor time of the fastest of several calls."""
    found = []
    for _ in range(times):
        begin = time.process_time()
        call()
        found.append(time.process_time() - begin)
    return min(found)


def hall(side: int) -> jo.crowds.Plan:
    """A square hall with a column every ten metres and two exits."""
    import shapely

    corners = np.array([(0, 0), (1, 0), (1, 1), (0, 1)])
    columns = [corners + (x, y) for x in range(5, side - 2, 10) for y in range(5, side - 2, 10)]  # noqa: RUF005
    exits = {"south": ((side, 5), (side, 7)), "north": ((side, side - 7), (side, side - 5))}
    return jo.crowds.Plan(shapely.Polygon(side * corners, columns), exits=exits)


def stadium(side: float, exits_a_side: int = 5) -> jo.crowds.Plan:
    """A square hall around a square block, with some exits of 4 m in each of two opposite sides."""
    import shapely

    middles = side * (np.arange(exits_a_side) + 0.5) / exits_a_side
    exits = {f"south {k}": ((x - 2, 0), (x + 2, 0)) for k, x in enumerate(middles)}
    exits |= {f"north {k}": ((x - 2, side), (x + 2, side)) for k, x in enumerate(middles)}
    corners = np.array([(0, 0), (1, 0), (1, 1), (0, 1)])
    return jo.crowds.Plan(shapely.Polygon(side * corners, [side * (0.4 + 0.2 * corners)]), exits=exits)


def peak() -> float:
    """The peak memory of this process in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1.0 if sys.platform == "darwin" else 1024.0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller grids and a smaller hall")
    parser.add_argument("--stadium", action="store_true", help="the ways of a hall of 224 m alone")
    quick, large = parser.parse_args().quick, parser.parse_args().stadium
    found: dict[str, float] = {}
    if large:
        plan, before, begin, wall = stadium(60 if quick else 224), peak(), time.process_time(), time.perf_counter()
        ways = jo.crowds.shortest_paths(plan, RADIUS)
        found |= {"nodes": ways.distance.shape[1], "spacing": ways.grid.step, "cpu_s": time.process_time() - begin}
        found |= {"wall_s": time.perf_counter() - wall, "peak_MB": (peak() - before) / 2**20}
        print(json.dumps(found))
        sys.exit()

    print("errors               nodes        largest      order   mean         order")
    cases = {"point": (to_point, False), "segment": (to_segment, False), "corner": (around_the_corner, True)}
    for name, (exact, wall) in cases.items():
        last = (np.nan, np.nan)
        for n in (81, 161, 321) if quick else (81, 161, 321, 641, 1281):
            off = error(exact, wall, n)
            order = np.log2(np.array(last) / off)
            print(f"{name:16} {n:5} x {n:<5}   {off[0]:.3e}    {order[0]:5.2f}   {off[1]:.3e}    {order[1]:5.2f}")
            last = off
        found |= {f"{name}_error": off[0], f"{name}_order_of_the_mean": round(float(order[1]), 2)}

    n = 501 if quick else 2001
    start = np.full((n, n), np.inf)
    start[n // 2, n // 2] = 0.0
    free = np.ones((n, n), dtype=bool)
    d = marched(free, start, 1.0)
    found["asymmetry"] = float(max(np.abs(d - image).max() for image in (d[::-1], d.T, np.rot90(d))))
    marching = fastest(lambda: marched(free, start, 1.0))
    transform = fastest(lambda: distance_transform_edt(np.isinf(start)))
    found |= {"marching_ns_a_node": 1e9 * marching / n**2, "distance_transform_ns_a_node": 1e9 * transform / n**2}
    found["ratio"] = marching / transform
    print(f"asymmetry {found['asymmetry']:.1e}")
    print(f"marching {1e9 * marching / n**2:.0f} ns a node, {found['ratio']:.1f} times SciPy's distance transform")

    plan, before, begin = hall(40 if quick else 100), peak(), time.process_time()
    ways = jo.crowds.shortest_paths(plan, RADIUS)
    size = ways.distance.size
    found |= {
        "ways_ns_a_value": 1e9 * (time.process_time() - begin) / size,
        "ways_bytes_a_value": (peak() - before) / size,
    }
    wish = jo.crowds.walk(plan, radius=RADIUS, speed=1.34)
    q = np.random.default_rng(0).uniform(1.0, 39.0, (PEOPLE, 2))
    found["wishes_us_a_person"] = 1e6 * fastest(lambda: wish(0.0, q), 20) / PEOPLE
    print(f"ways {found['ways_ns_a_value']:.0f} ns and {found['ways_bytes_a_value']:.0f} bytes a node and exit")
    print(f"wishes of {PEOPLE} people {found['wishes_us_a_person']:.3f} us a person")
    print(json.dumps(found))
