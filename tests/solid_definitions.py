"""The kernel of cores in space in plain NumPy: every direction in which two cores may be farthest apart is tried."""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy.optimize import minimize

from jostle._tools.arrays import Array, Integers
from jostle.kernels.reference.polyhedra import EDGE, MOST_POINTS, SAME, TOUCHING, SolidRows, Solids
from jostle.shapes import Core
from jostle.shapes.shape import polygon_normal

ALIGNED = 0.99


def near_solids(
    x: Array,
    start: Integers,
    rounding: Array,
    cutoff: Array,
    kind: Integers,
    solids: Solids,
    i: Integers,
    j: Integers,
    chunks: int,
) -> SolidRows:
    # See jostle.kernels.reference.polyhedra.
    cores = [_core(x, start, rounding, kind, solids, k) for k in range(len(rounding))]
    pairs, parts, weights, normals, gaps = [], [], [], [], []
    for a, b in zip(i, j, strict=True):
        both, limit = rounding[a] + rounding[b], cutoff[a] + cutoff[b]
        n = farthest_apart(cores[a], cores[b])
        for gap, sign, pair, feet, m in _rows(cores[a], cores[b], start[a], start[b], n, both, limit):
            pairs.append(pair)
            parts.append([v for v, _ in feet] + [0] * (8 - len(feet)))
            weights.append([w for _, w in feet] + [0.0] * (8 - len(feet)))
            normals.append(sign * m)
            gaps.append(gap)
    width = 8 if solids.exponent.any() else 4
    numbers, parts = np.array(pairs, np.int64).reshape(-1, 2), np.array(parts, np.int64).reshape(-1, 8)
    weights, normals = np.array(weights).reshape(-1, 8), np.array(normals).reshape(-1, 3)
    return SolidRows(numbers, normals, np.array(gaps), parts[:, :width], weights[:, :width])


def _core(x: Array, start: Integers, rounding: Array, kind: Integers, solids: Solids, k: int) -> Core:
    s = kind[k]
    vertices = x[start[k] : start[k + 1]]
    faces = tuple(
        solids.corners[solids.corner_start[f] : solids.corner_start[f + 1]]
        for f in range(solids.face_start[s], solids.face_start[s + 1])
    )
    edges = solids.edges[solids.edge_start[s] : solids.edge_start[s + 1]]
    if solids.exponent[s] == 0.0:
        return Core(vertices, rounding[k], edges, faces)
    semi_axes = np.linalg.norm(vertices[1:] - vertices[0], axis=1)
    return Core(vertices, rounding[k], semi_axes=semi_axes, exponent=solids.exponent[s])


def apart(A: Core, B: Core, n: Array) -> Array:
    """How far B is from A along unit vectors n (m, 3)."""
    return np.einsum("md,md->m", n, B.support(-n) - A.support(n))


def farthest_apart(A: Core, B: Core) -> Array:
    """The unit vector from A to B along which they are farthest apart.

    Of polyhedra it is the normal of a face, perpendicular to two edges, from a corner to an edge or between corners.
    """
    found = [polygon_normal(core.vertices[face]) for core in (A, B) for face in core.faces]
    along = [core.vertices[core.edges[:, 1]] - core.vertices[core.edges[:, 0]] for core in (A, B)]
    found += [np.cross(u, v) for u, v in product(*along)]
    found += [q - p for p, q in product(A.vertices, B.vertices)]
    for one, other, ways in ((A, B, along[1]), (B, A, along[0])):
        for (e, _), u in zip(other.edges, ways, strict=True):
            away = other.vertices[e] - one.vertices
            found += list(away - np.outer(away @ u / (u @ u), u))
    n = np.array(found)
    size = np.linalg.norm(n, axis=1, keepdims=True)
    n = (n / np.where(size > 1e-9 * size.max(), size, np.nan))[(size > 1e-9 * size.max()).ravel()]
    n = np.concatenate([n, -n])
    best = n[np.argmax(apart(A, B, n))]
    if A.semi_axes is None and B.semi_axes is None:
        return best
    for tolerance in (1e-4, 1e-8, 1e-14):  # Nelder and Mead (1965), since corners make kinks
        across = np.linalg.svd(best[None])[2][1:]

        def turned(s, n=best, across=across):
            return (n + s @ across) / np.linalg.norm(n + s @ across)

        options = {"xatol": tolerance, "fatol": tolerance**2, "maxiter": 2000}
        found = minimize(lambda s: -apart(A, B, turned(s)[None])[0], np.zeros(2), method="Nelder-Mead", options=options)
        best = turned(found.x)
    return best


def _facing(core: Core, n: Array, extent: float) -> tuple[list[int], float]:
    """The corners of the face across n, counter-clockwise seen against n, and the cosine of its angle."""
    x = core.vertices
    if core.semi_axes is not None or len(x) == 1:
        return [0], 1.0
    if len(x) == 2:
        along = (x[1] - x[0]) / np.linalg.norm(x[1] - x[0])
        return [0, 1], float(np.linalg.norm(along - along @ n * n))
    top = x @ n >= (x @ n).max() - EDGE * extent
    normals = [polygon_normal(x[face]) for face in core.faces]
    cosines = [m @ n / np.linalg.norm(m) for m in normals]
    face = max(range(len(normals)), key=lambda f: (top[core.faces[f]].sum(), cosines[f]))
    return core.faces[face].tolist(), cosines[face]


def _rows(A: Core, B: Core, start_a: int, start_b: int, n: Array, both: float, limit: float):
    """(gap, sign, pair, [(corner, weight), ...], normal) of each row."""
    extent = max(float(np.abs(core.vertices - core.vertices[0]).max()) for core in (A, B)) + both
    across = np.linalg.svd(n[None])[2][1:]
    if np.linalg.det(np.concatenate([across, n[None]])) < 0.0:
        across = across[::-1]
    if not apart(A, B, n[None])[0] - both <= limit:
        return []
    (facing_a, cosine_a), (facing_b, cosine_b) = _facing(A, n, extent), _facing(B, -n, extent)
    facing_b = facing_b[::-1] if len(facing_b) > 2 else facing_b
    ends = len(facing_a) == len(facing_b) == 2 and apart(A, B, n[None])[0] > TOUCHING * extent
    near = (SAME if ends or min(cosine_a, cosine_b) > ALIGNED else EDGE) * extent
    rows = []

    def known(place, gap):
        return any(np.abs(p - place).max() <= SAME * extent and g <= gap + EDGE * extent for p, g, *_ in rows)

    def points(core, facing, sign):
        return core.support(sign * n[None]) if core.semi_axes is not None else core.vertices[facing]

    polygons = points(A, facing_a, 1.0), points(B, facing_b, -1.0)
    sides = (A, B, facing_b, polygons[1], start_a, start_b, 1.0), (B, A, facing_a, polygons[0], start_b, start_a, -1.0)
    for own, other, facing, polygon, first, second, sign in sides:
        corners = own.vertices if own.semi_axes is None else own.support(sign * n[None])
        for v, corner in enumerate(corners):
            far, w = _above(polygon @ across.T, polygon @ n, across @ corner, sign)
            gap = sign * (w @ polygon - corner) @ n - both
            m = n
            if ends:
                along = other.vertices[1] - other.vertices[0]
                s = (corner - other.vertices[0]) @ along / (along @ along)
                w = np.array([1 - np.clip(s, 0, 1), np.clip(s, 0, 1)])
                away = w @ other.vertices - corner
                gap, m = np.linalg.norm(away) - both, sign * away / np.linalg.norm(away)
                far = 0.0 if 0.0 <= s <= 1.0 else far
            if (far > near and own.semi_axes is None) or gap > limit:
                continue
            if sign < 0.0 and known(across @ corner, gap):
                continue
            feet = _feet(own, first, n * sign, [v], np.ones(1), -1.0) + _feet(other, second, -n * sign, facing, w, 1.0)
            rows.append((across @ corner, gap, sign, (first + v, second), feet, m))
    edges = [
        [(k, (k + 1) % len(facing)) for k in range(len(facing) if len(facing) > 2 else len(facing) - 1)]
        for facing in (facing_a, facing_b)
    ]
    for (k, m), (p, q) in product(*edges):
        one, two = polygons[0][[k, m]], polygons[1][[p, q]]
        matrix = np.stack([across @ (one[1] - one[0]), across @ (two[0] - two[1])], axis=1)
        if abs(np.linalg.det(matrix)) <= near / extent * np.prod(np.linalg.norm(matrix, axis=0)):
            continue
        s, t = np.linalg.solve(matrix, across @ (two[0] - one[0]))
        gap = (two[0] + t * (two[1] - two[0]) - one[0] - s * (one[1] - one[0])) @ n - both
        place = across @ (one[0] + s * (one[1] - one[0]))
        if min(s, t, 1 - s, 1 - t) < -EDGE or gap > limit or known(place, gap):
            continue
        a, b, c, d = facing_a[k], facing_a[m], facing_b[p], facing_b[q]
        feet = [(start_a + a, s - 1), (start_a + b, -s), (start_b + c, 1 - t), (start_b + d, t)]
        sign, pair = (1.0, (start_a + a, start_b + c)) if c else (1.0, (start_a + b, start_b + d))
        if a and not c:
            sign, pair = -1.0, (start_b + c, start_a + a)
        rows.append((place, gap, sign, pair, [(v, sign * w) for v, w in feet], n))
    return [row[1:] for row in _chosen(rows, extent)]


def _chosen(rows, extent):
    """At most MOST_POINTS rows: the nearest one, then those that are farthest from the others."""
    if len(rows) <= MOST_POINTS:
        return rows
    places, gap, left = np.array([row[0] for row in rows]), np.array([row[1] for row in rows]), list(range(len(rows)))
    spread, chosen = np.full(len(rows), 2.0 * extent), []
    while len(chosen) < MOST_POINTS:
        best = None
        for k in left:
            score = min(spread[k], 2.0 * extent) - 2.0 * (gap[k] - gap.min())
            if best is None or score > best[0] + EDGE * extent:
                best = score, k
        chosen.append(best[1])
        left.remove(best[1])
        spread = np.minimum(spread, np.linalg.norm(places - places[best[1]], axis=1))
    return [rows[k] for k in chosen]


def _above(polygon: Array, heights: Array, place: Array, sign: float) -> tuple[float, Array]:
    """How far a place is outside of a polygon, and the weights of its corners there."""
    if len(polygon) == 1:
        return float(np.linalg.norm(place - polygon[0])), np.ones(1)
    if len(polygon) == 2:
        along = polygon[1] - polygon[0]
        length = float(np.linalg.norm(along))
        if length <= EDGE * abs(heights[1] - heights[0]):
            w = np.array([1.0, 0.0] if sign * (heights[1] - heights[0]) >= 0.0 else [0.0, 1.0])
            return float(np.linalg.norm(place - w @ polygon)), w
        s = (place - polygon[0]) @ along / length
        off = abs(np.linalg.det([along, place - polygon[0]])) / length
        w = min(max(s / length, 0.0), 1.0)
        return max(off, -s, s - length), np.array([1 - w, w])
    after = np.roll(polygon, -1, axis=0) - polygon
    outward = np.stack([after[:, 1], -after[:, 0]], axis=1) / np.linalg.norm(after, axis=1)[:, None]
    far = float(np.einsum("kd,kd->k", outward, place - polygon).max())
    fans = []
    for k in range(1, len(polygon) - 1):
        one, two = np.linalg.solve(
            np.stack([polygon[k] - polygon[0], polygon[k + 1] - polygon[0]], 1), place - polygon[0]
        )
        w = np.zeros(len(polygon))
        w[[0, k, k + 1]] = 1 - one - two, one, two
        fans.append((min(one, two, 1 - one - two), k, w))
    w = np.maximum(max(fans, key=lambda fan: fan[0])[2], 0.0)
    return far, w / w.sum()


def _feet(core: Core, first: int, n: Array, corners: list[int], weights: Array, total: float):
    """The corners and weights of a point of a core, not moved by the inset of smooth cores."""
    if core.semi_axes is None:
        return [(first + v, total * w) for v, w in zip(corners, weights, strict=True) if w != 0.0]
    arms = core.vertices[1:] - core.vertices[0]
    c = np.linalg.solve(arms.T, core.support(n[None])[0] + core.inset * n - core.vertices[0])
    return [(first + k, total * w) for k, w in enumerate([1 - c.sum(), *c])]
