"""Plans as CAD drawings (DXF): walls on one layer, exits on another."""

from __future__ import annotations

from os import PathLike, fspath
from typing import Any

import numpy as np

from jostle.arrays import Array
from jostle.crowds.dxf_units import check_entities, check_extent, size_of_unit
from jostle.crowds.geometry import Geometry
from jostle.crowds.limits import MAX_CORNERS, MAX_CURVE, check, regular_file
from jostle.crowds.outlines import package
from jostle.errors import InvalidValue

ROUND = 0.01
"""Largest distance between an arc and the polyline that replaces it: a centimetre, after scaling to metres. (ezdxf
turns arcs within polylines into Bezier curves first, which adds 0.03 % of their radius.)"""
JOINED = 1e-4
"""Largest gap between lines that is closed: a tenth of a millimetre."""
CROWDED = 100
"""Largest mean number of corners within the distance JOINED of a corner."""
BROKEN = (OSError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError, RuntimeError)
"""Errors that ezdxf and shapely raise for invalid drawings."""
ROOMS = "ROOMS"
"""Layer of texts that are names of rooms."""
STRAIGHT = {"LINE", "LWPOLYLINE", "POLYLINE", "ARC", "CIRCLE", "ELLIPSE", "SPLINE"}
"""Types of entities that are read."""


def read_dxf(
    path: str | PathLike[str], *, walls: str = "WALLS", exits: str = "EXITS", scale: float | None = None
) -> dict[str, Any]:
    """The arguments of `Plan`, from the lines, polylines, arcs, circles and splines of two layers, blocks included.

    Lines and exits together must enclose the area from which the exits lead out. Lines that end inside it are thin
    walls. An exit is one straight line on the layer `exits`, or on a layer `exits`-name, which gives it a name.
    Lengths are converted to metres by the unit in the header ($INSUNITS). A drawing without a unit, or one that would
    be smaller than a metre or larger than two kilometres, needs `scale`, the size of a unit in metres: 0.001 for
    millimetres. Circles inside the area become exact columns; other curves become polylines within the distance ROUND,
    and gaps up to JOINED are closed. Texts on the layer ROOMS are names of rooms. `limits` has the largest sizes of
    drawings.
    """
    name, ezdxf = regular_file(path, "a DXF drawing"), package("ezdxf")
    if scale is not None and not 0.0 < scale < np.inf:
        raise InvalidValue(f"scale must be positive and finite, not {scale}")
    try:
        drawing = ezdxf.readfile(name)
        check_entities(drawing, name)
        unit = size_of_unit(drawing, name) if scale is None else float(scale)
        found = _plan(drawing, name, walls, exits, unit)
    except InvalidValue:
        raise
    except (ezdxf.DXFError, *BROKEN) as error:
        raise InvalidValue(f"{name} cannot be read as a DXF drawing: {error}") from None
    if scale is None:
        corners = package("shapely").get_coordinates(found["area"])
        check_extent(float(np.ptp(corners, axis=0).max()), unit, name)
    return found


def _plan(drawing: Any, path: str, walls: str, exits: str, scale: float) -> dict[str, Any]:
    """The arguments of `Plan`, from the entities of a drawing."""
    shapely = package("shapely")
    lines: list[Array] = []
    circles: list[tuple[Array, Array]] = []
    named: dict[str, Array] = {}
    labels: dict[str, Array] = {}
    layers, corners = set(), 0
    for entity in package("ezdxf.disassemble").recursive_decompose(drawing.modelspace()):
        layer = str(entity.dxf.layer)
        layers.add(layer)
        if layer.upper() == ROOMS and entity.dxftype() in ("TEXT", "MTEXT"):
            words = entity.plain_text() if entity.dxftype() == "MTEXT" else entity.dxf.text
            labels[" ".join(str(words).split())] = scale * np.array([entity.dxf.insert.x, entity.dxf.insert.y])
        if entity.dxftype() not in STRAIGHT:
            continue
        if layer.upper() == walls.upper() and entity.dxftype() == "CIRCLE":
            centre = entity.ocs().to_wcs(entity.dxf.center)
            circle = scale * np.array([centre.x, centre.y, entity.dxf.radius])
            circles.append((circle, _points(entity, scale, path)))
            corners += len(circles[-1][1])
        elif layer.upper() == walls.upper():
            lines.append(_points(entity, scale, path))
            corners += len(lines[-1])
        elif layer.upper() == exits.upper() or layer.upper().startswith(exits.upper() + "-"):
            name = layer[len(exits) + 1 :] or f"exit {len(named)}"
            ends = _points(entity, scale, path)
            if len(ends) != 2 or name in named:
                raise InvalidValue(
                    f"exit {name!r} on layer {layer!r} must be one straight line, not {len(ends)} points"
                )
            named[name] = ends
        check(corners, MAX_CORNERS, path, "corners", "MAX_CORNERS")
    for kind, some in ((walls, [*lines, *circles]), (exits, named)):
        if not some:
            raise InvalidValue(f"layer {kind!r} of {path} has no lines; its layers are {sorted(layers)}")
    columns = np.zeros(len(circles), dtype=bool)
    try:
        found = _enclosed(named, lines)
        area = shapely.union_all(found["area"])
        columns = np.array([area.contains_properly(shapely.Polygon(line)) for _, line in circles], dtype=bool)
    except InvalidValue:
        if not circles:
            raise
    if not columns.all():  # some are part of the outline
        found = _enclosed(named, lines + [circles[k][1] for k in np.flatnonzero(~columns)])
    return found | {"columns": [circles[k][0] for k in np.flatnonzero(columns)], "labels": labels}


def _enclosed(named: dict[str, Array], lines: list[Array]) -> dict[str, Any]:
    """The rooms that lines and exits enclose, and the lines inside them."""
    shapely = package("shapely")
    joined = _joined(shapely, [*named.values(), *lines])
    named = {name: np.array(line.coords)[[0, -1]] for name, line in zip(named, joined, strict=False)}
    noded = shapely.union_all(joined)
    faces = list(shapely.get_parts(shapely.polygonize([noded])))
    size = float(np.ptp(shapely.get_coordinates(noded), axis=0).max())
    rooms: dict[int, Any] = {}
    for name, ends in named.items():
        middle = shapely.Point(ends.mean(axis=0))
        beside = [k for k, face in enumerate(faces) if shapely.distance(face.boundary, middle) <= 1e-9 * size]
        if not beside:
            raise InvalidValue(f"exit {name!r} at {ends.tolist()} borders no closed area: {_gap(shapely, noded)}")
        if len(beside) > 1:
            raise InvalidValue(
                f"exit {name!r} at {ends.tolist()} leads from one closed area into another; remove the area outside"
            )
        rooms[beside[0]] = faces[beside[0]]
    area = shapely.union_all(list(rooms.values()))
    pieces = [np.array(line.coords) for line in shapely.get_parts(noded)]
    single = np.concatenate([np.stack([line[:-1], line[1:]], axis=1) for line in pieces])
    middles = shapely.points(single.mean(axis=1))
    thin = single[
        shapely.contains(area, middles) & (shapely.distance(_outlines(shapely, rooms), middles) > 1e-9 * size)
    ]
    return {"area": list(rooms.values()), "exits": named, "walls": thin}


def _points(entity: Any, scale: float, path: str) -> Array:
    """(k, 2) corners of an entity, or of the polyline that replaces it, in metres."""
    kind, tolerance = entity.dxftype(), ROUND / scale
    if kind in ("ARC", "CIRCLE"):
        curve, extent = entity, scale * float(entity.dxf.radius)
    else:
        curve = package("ezdxf.path").make_path(entity)
        around = np.array([(point.x, point.y) for point in curve.control_vertices()]).reshape(-1, 2)
        extent = scale * float(np.ptp(around, axis=0).max()) if curve.has_curves else 0.0
    check(extent, MAX_CURVE, f"a curve ({kind}) of {path}, in the unit of the drawing,", "m of extent", "MAX_CURVE")
    corners = scale * np.array([(point.x, point.y) for point in curve.flattening(tolerance)])
    different = np.ones(len(corners), dtype=bool)
    different[1:] = (corners[1:] != corners[:-1]).any(axis=1)
    return corners[different]


def _joined(shapely: Any, lines: list[Array]) -> list[Any]:
    """The lines, after corners within the distance JOINED of each other or of a line have been merged."""
    from scipy.spatial import KDTree

    corners = np.unique(np.concatenate(lines), axis=0)
    tree = KDTree(corners)
    check(tree.count_neighbors(tree, JOINED), CROWDED * len(corners), "the drawing", "pairs of corners nearer than "
          f"{JOINED:g} m, most of which are one corner: is scale= right? It", "CROWDED")  # fmt: skip
    close = tree.query_pairs(JOINED, output_type="ndarray")
    first = np.arange(len(corners))
    np.minimum.at(first, close[:, 1], close[:, 0])
    kept = shapely.multipoints(corners[np.unique(first)])
    return [shapely.remove_repeated_points(shapely.snap(shapely.LineString(line), kept, JOINED)) for line in lines]


def _outlines(shapely: Any, rooms: dict[int, Any]) -> Any:
    """The outlines of all rooms, those between two rooms included."""
    return shapely.union_all([room.boundary for room in rooms.values()])


def _gap(shapely: Any, noded: Any) -> str:
    """A message about the gap in the drawing: the two loose ends that are nearest to each other."""
    from scipy.spatial import KDTree

    ends = np.array([point for line in shapely.get_parts(noded) for point in np.array(line.coords)[[0, -1]]])
    different, count = np.unique(ends, axis=0, return_counts=True)
    loose = different[count == 1]
    if len(loose) < 2:
        return "it must be part of the outline"
    apart, nearest = KDTree(loose).query(loose, k=2)
    i = int(np.argmin(apart[:, 1]))
    j = int(nearest[i, 1])
    return (
        f"the walls have loose ends at {loose[i].tolist()} and {loose[j].tolist()}, {apart[i, 1]:.3g} apart; join them"
    )


def write_dxf(plan: Geometry, path: str | PathLike[str]) -> None:
    """Write a plan as a CAD drawing (DXF) in metres.

    Walls and columns are on the layer WALLS, exits on layers EXITS-name, and names of rooms on ROOMS.

    Parameters
    ----------
    plan : Plan
        The floor plan.
    path : str or path
        The file, which is overwritten.

    Raises
    ------
    InvalidValue
        If the plan has stairs.
    """
    ezdxf = package("ezdxf")
    if plan.links:
        raise InvalidValue(f"DXF drawings cannot contain stairs; write each floor without {list(plan.links)}")
    drawing = ezdxf.new(units=6)
    space = drawing.modelspace()
    drawing.layers.add("WALLS", color=7)
    for a, b in plan.walls:
        space.add_line(tuple(a), tuple(b), dxfattribs={"layer": "WALLS"})
    for x, y, radius in plan.columns:
        space.add_circle((x, y), radius, dxfattribs={"layer": "WALLS"})
    for name, (a, b) in plan.exits.items():
        layer = f"EXITS-{name}"
        drawing.layers.add(layer, color=1)
        space.add_line(tuple(a), tuple(b), dxfattribs={"layer": layer})
    for name, (x, y) in plan.labels.items():
        space.add_text(name, height=0.3, dxfattribs={"layer": ROOMS, "insert": (x, y)})
    drawing.saveas(fspath(path))
