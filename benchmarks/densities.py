"""Voronoi densities of `jo.analysis` beside PedPy: ``python benchmarks/densities.py [--quick]``.

People who walk at random in a room and in a U of three corridors: the cells, densities and speeds of all frames, and
the Voronoi density of a measurement area; and the mean map of densities and speeds on a grid. Both call
`shapely.voronoi_polygons`. The trajectory is given to each in its own format, and the conversion is not counted.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pedpy

import jostle as jo
from jostle.crowds.measure.crowding import densities, density_map
from jostle.crowds.measure.crowding import voronoi as density
from jostle.crowds.measure.pedestrians import to_pedpy

ROOM = [(0.0, 0.0), (20.0, 0.0), (20.0, 15.0), (0.0, 15.0)]
CORRIDORS = [(0.0, 0.0), (20.0, 0.0), (20.0, 15.0), (15.0, 15.0), (15.0, 5.0), (5.0, 5.0), (5.0, 15.0), (0.0, 15.0)]
SIZE = 0.5
"""Size of the squares of maps, in metres."""
MEASURE = [(2.0, 1.0), (12.0, 1.0), (12.0, 4.5), (2.0, 4.5)]


def walking(corners: list[tuple[float, float]], n: int, frames: int) -> jo.Solution:
    """People of radius 0.2 who start at random places and walk in random directions."""
    room = jo.crowds.Room(corners, doors=[((0.0, 0.5), (0.0, 1.5))])
    people = jo.crowds.crowd(n, room=room, speed=1.0, seed=1, behaviour=jo.crowds.Plain())
    way = np.random.default_rng(1).normal(size=(n, 2))
    around = jo.Sweeping(q0=people.q0, velocity=way, within=people.within)
    return jo.solve(around, jo.Venel(solver=jo.Automatic(tol=1e-4)), t=0.02 * (frames - 1), h=0.02)


def by_pedpy(trajectory: Any, area: Any, measure: Any) -> tuple[Any, Any]:
    cells = pedpy.compute_individual_voronoi_polygons(traj_data=trajectory, walkable_area=area)
    return cells, pedpy.compute_voronoi_density(individual_voronoi_data=cells, measurement_area=measure)[0]


def map_by_pedpy(cells: Any, area: Any) -> Any:
    return pedpy.compute_density_profile(
        data=cells, walkable_area=area, grid_size=SIZE, density_method=pedpy.DensityMethod.VORONOI
    )


def timed(call: Callable[[], Any], repeat: int) -> tuple[float, Any]:
    best = np.inf
    for _ in range(repeat):
        begin = time.perf_counter()
        answer = call()
        best = min(best, time.perf_counter() - begin)
    return best, answer


def compared(name: str, corners: list[tuple[float, float]], n: int, frames: int, repeat: int) -> dict[str, Any]:
    sol = walking(corners, n, frames)
    area, measure = pedpy.WalkableArea(corners), pedpy.MeasurementArea(MEASURE)
    trajectory = to_pedpy(sol)
    ours, found = timed(lambda: densities(sol, corners, MEASURE).voronoi, repeat)
    theirs, (cells, table) = timed(lambda: by_pedpy(trajectory, area, measure), repeat)
    our_map, drawn = timed(lambda: density_map(sol, None, corners, size=SIZE).voronoi, repeat)
    their_map, profiles = timed(lambda: map_by_pedpy(cells, area), repeat)
    inside = density_map(sol, 0, corners, size=SIZE).area > SIZE**2 * (1.0 - 1e-9)
    first = density(sol, 0, corners)
    individual = cells[cells.frame == 0].sort_values("id").density.to_numpy()
    return {
        "case": name, "people": n, "frames": len(sol.t), "jostle ms": 1e3 * ours / frames,
        "pedpy ms": 1e3 * theirs / frames, "pedpy / jostle": theirs / ours,
        "difference": float(np.abs(found - table.density.to_numpy()).max() / found.max()),
        "difference of persons": float(np.abs(first.density / individual - 1.0).max()),
        "map, jostle ms": 1e3 * our_map / frames, "map, pedpy ms": 1e3 * their_map / frames,
        "map, pedpy / jostle": their_map / our_map,
        "difference of maps": float(np.abs(drawn - np.mean(profiles, axis=0)[::-1])[inside].max() / np.nanmax(drawn)),
    }  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer frames")
    quick = parser.parse_args().quick
    frames, repeat, crowds = (5, 1, (50, 200)) if quick else (50, 3, (50, 200, 500))
    rows = [
        compared(name, corners, n, frames, repeat)
        for name, corners in (("room", ROOM), ("corridors", CORRIDORS))
        for n in crowds
    ]
    print("times in ms a frame                 cells and densities                          maps")
    print(f"{'area':10s}{'people':>7s}{'frames':>7s}{'jostle':>8s}{'pedpy':>8s}{'ratio':>7s}{'difference':>11s}"
          f"{'of persons':>11s}{'jostle':>8s}{'pedpy':>8s}{'ratio':>7s}{'difference':>11s}")  # fmt: skip
    for row in rows:
        print(f"{row['case']:10s}{row['people']:7d}{row['frames']:7d}{row['jostle ms']:8.1f}{row['pedpy ms']:8.1f}"
              f"{row['pedpy / jostle']:7.2f}{row['difference']:11.0e}{row['difference of persons']:11.0e}"
              f"{row['map, jostle ms']:8.1f}{row['map, pedpy ms']:8.1f}{row['map, pedpy / jostle']:7.2f}"
              f"{row['difference of maps']:11.0e}")  # fmt: skip
    print(json.dumps({"milliseconds_a_frame": rows}))
