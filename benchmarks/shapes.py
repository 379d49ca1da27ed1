"""Nearest points of convex shapes in space: ``python benchmarks/shapes.py [--quick]``.

Random pairs of equal shapes, a fiftieth of their size apart, on one thread: thousand pairs a second of CPU time. For
each pair, jostle computes the normal and all rows of the contact; coal, if it is installed (``pip install coal``), the
distance, called pair by pair from Python. `differ` is the largest difference of the two distances over the size: the
cubes and hulls of coal have sharp corners, those of jostle are rounded by a thousandth.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import numpy as np

import jostle as jo
from jostle import kernels
from jostle._tools.rotations import matrices
from jostle.sets.cores import solids_of


def shapes() -> dict[str, jo.shapes.Shape]:
    points = np.random.default_rng(1).normal(size=(30, 3))
    return {
        "capsule": jo.shapes.Capsule(2.0, 0.3).of_dimension(3),
        "cube": jo.shapes.Box([1.0, 1.0, 1.0]),
        "hull of 30 points": jo.shapes.Hull(points / np.linalg.norm(points, axis=1, keepdims=True)),
        "ellipsoid": jo.shapes.Ellipsoid([1.0, 2.0, 0.5]),
        "superellipsoid": jo.shapes.Superellipsoid([1.0, 1.2, 0.8], 4.0),
    }


class Pairs:
    """Pairs of equal cores (0, 1), (2, 3), ... that are a given distance apart."""

    def __init__(self, shape: jo.shapes.Shape, count: int):
        random = np.random.default_rng(0)
        (self.core,) = shape.cores
        smooth = {"exponent": np.array([self.core.exponent or 0.0, 0.0]), "inset": np.array([self.core.inset, 0.0])}
        self.size, self.solids = 2.0 * self.core.ball()[1], solids_of([self.core])._replace(**smooth)
        self.count = count
        q = random.normal(size=(2 * count, 4))
        self.R = matrices(q / np.linalg.norm(q, axis=1, keepdims=True))
        self.at = np.zeros((2 * count, 3))
        away = random.normal(size=(count, 3))
        self.at[1::2] = 1.5 * self.size * away / np.linalg.norm(away, axis=1, keepdims=True)
        rows = self.near(np.inf)
        gap, normal = self.least(rows)
        self.at[1::2] -= (gap - 0.02 * self.size)[:, None] * normal

    def near(self, cutoff: float) -> kernels.SolidRows:
        m, k = 2 * self.count, len(self.core.vertices)
        x = (np.einsum("nij,kj->nki", self.R, self.core.vertices) + self.at[:, None]).reshape(-1, 3)
        one, kind, first = np.ones(m), np.zeros(m, np.int64), 2 * np.arange(self.count)
        start, limit = k * np.arange(m + 1), cutoff / 2.0 * one
        begin = time.process_time()
        rows = kernels.near_solids(x, start, self.core.radius * one, limit, kind, self.solids, first, first + 1, 1)
        self.seconds = time.process_time() - begin
        return rows

    def least(self, rows: kernels.SolidRows) -> tuple[np.ndarray, np.ndarray]:
        """The smallest gap of each pair, and its normal from the first core to the second."""
        core = rows.pairs[:, 0] // len(self.core.vertices)
        order = np.lexsort((rows.gap, core // 2))
        rows_of = order[np.unique(core[order] // 2, return_index=True)[1]]
        sign = np.where(core[rows_of] % 2 == 0, 1.0, -1.0)
        return rows.gap[rows_of], sign[:, None] * rows.normal[rows_of]

    def by_coal(self, name: str, shape: Any) -> tuple[float, np.ndarray] | None:
        """The CPU time of coal and its distances; None if it is not installed or has no such shape."""
        try:
            import coal
        except ImportError:
            return None
        if name == "capsule":  # along its third axis
            made, turn = coal.Capsule(shape.radius, shape.length), np.array([[0.0, 0, 1], [0, 1, 0], [-1, 0, 0]])
        elif name == "cube":
            made, turn = coal.Box(*shape.sides), np.eye(3)
        elif name == "ellipsoid":
            made, turn = coal.Ellipsoid(*shape.semi_axes), np.eye(3)
        elif name.startswith("hull"):
            points = coal.StdVec_Vec3s()
            for v in shape.mesh()[0]:
                points.append(v)
            made, turn = coal.Convex.convexHull(points, False, ""), np.eye(3)
        else:
            return None
        places = [coal.Transform3s(R @ turn, at) for R, at in zip(self.R, self.at, strict=True)]
        request, result, found = coal.DistanceRequest(), coal.DistanceResult(), np.empty(self.count)
        begin = time.process_time()
        for k in range(self.count):
            result.clear()
            found[k] = coal.distance(made, places[2 * k], made, places[2 * k + 1], request, result)
        return time.process_time() - begin, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--quick", action="store_true", help="fewer pairs")
    count = 4_000 if parser.parse_args().quick else 40_000
    rows = []
    print(
        f"{'shape':<18} {'jostle':>8} {'rows/pair':>10} {'coal':>8} {'differ':>9}   thousand pairs a second of CPU time"
    )
    for name, shape in shapes().items():
        pairs = Pairs(shape, count)
        found = pairs.near(0.05 * pairs.size)
        row: dict[str, Any] = {"shape": name, "jostle": count / pairs.seconds / 1e3, "rows": len(found.gap) / count}
        other = pairs.by_coal(name, shape)
        if other is not None:
            row |= {"coal": count / other[0] / 1e3, "differ": abs(other[1] - pairs.least(found)[0]).max() / pairs.size}
        rows.append(row)
        words = f"{row.get('coal', np.nan):8.1f} {row.get('differ', np.nan):9.1e}"
        print(f"{name:<18} {row['jostle']:8.1f} {row['rows']:10.2f} {words}")
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
