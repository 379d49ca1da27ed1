"""Plans as CAD drawings (DXF): walls on one layer, exits on another."""

from __future__ import annotations

from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

import numpy as np

from jostle.arrays import Array
from jostle.errors import InvalidValue
from jostle.models.outlines import package

if TYPE_CHECKING:
    from jostle.models.plans import Plan

ROUND = 0.01
"""Arcs become polylines that are nowhere further than this from them: a centimetre, after scaling to metres. (Those
within polylines are Bezier curves for ezdxf first: 0.03 % of their radius more.)"""
JOINED = 1e-4
"""Ends of lines that are nearer than this to a corner or a line are on it: a tenth of a millimetre."""
STRAIGHT = {"LINE", "LWPOLYLINE", "POLYLINE", "ARC", "CIRCLE", "ELLIPSE", "SPLINE"}


def read_dxf(
    path: str | PathLike[str], *, walls: str = "WALLS", exits: str = "EXITS", scale: float = 1.0
) -> dict[str, Any]:
    """What `Plan` takes, from the lines, polylines, arcs, circles and splines of two layers, also those in blocks.

    Lines and exits together must close the area: it is what an exit leads out of. Lines that end inside it are thin
    walls. An exit is one straight line on the layer `exits`, or on a layer `exits`-name, which then gives its name.
    `scale` is the size of a unit of the drawing: 0.001 for millimetres. Circles inside the area are columns, and exact;
    other curves are cut into pieces within ROUND, and gaps up to JOINED are closed.
    """
    ezdxf, shapely = package("ezdxf"), package("shapely")
    try:
        drawing = ezdxf.readfile(fspath(path))
    except (OSError, ezdxf.DXFError) as error:
        raise InvalidValue(f"{fspath(path)} cannot be read as a DXF drawing: {error}") from None
    lines: list[Array] = []
    circles: list[tuple[Array, Array]] = []
    named: dict[str, Array] = {}
    layers = set()
    for entity in package("ezdxf.disassemble").recursive_decompose(drawing.modelspace()):
        layer = str(entity.dxf.layer)
        layers.add(layer)
        if entity.dxftype() not in STRAIGHT:
            continue
        if layer.upper() == walls.upper() and entity.dxftype() == "CIRCLE":
            centre = entity.ocs().to_wcs(entity.dxf.center)
            circle = scale * np.array([centre.x, centre.y, entity.dxf.radius])
            circles.append((circle, scale * _points(entity, ROUND / scale)))
        elif layer.upper() == walls.upper():
            lines.append(scale * _points(entity, ROUND / scale))
        elif layer.upper() == exits.upper() or layer.upper().startswith(exits.upper() + "-"):
            name = layer[len(exits) + 1 :] or f"exit {len(named)}"
            ends = scale * _points(entity, ROUND / scale)
            if len(ends) != 2 or name in named:
                raise InvalidValue(
                    f"exit {name!r} on layer {layer!r} must be one straight line, not {len(ends)} points"
                )
            named[name] = ends
    for kind, some in ((walls, [*lines, *circles]), (exits, named)):
        if not some:
            raise InvalidValue(f"layer {kind!r} of {fspath(path)} has no lines; its layers are {sorted(layers)}")
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
    return found | {"columns": [circles[k][0] for k in np.flatnonzero(columns)]}


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
                f"exit {name!r} at {ends.tolist()} leads from one closed area into another; leave out what is outside"
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


def _points(entity: Any, tolerance: float) -> Array:
    """(k, 2) the corners of an entity, or of the polyline that replaces it."""
    circular = entity.dxftype() in ("ARC", "CIRCLE")
    curve = entity if circular else package("ezdxf.path").make_path(entity)
    corners = np.array([(point.x, point.y) for point in curve.flattening(tolerance)])
    different = np.ones(len(corners), dtype=bool)
    different[1:] = (corners[1:] != corners[:-1]).any(axis=1)
    return corners[different]


def _joined(shapely: Any, lines: list[Array]) -> list[Any]:
    """The lines, with corners that are nearer than JOINED to each other, or to a line, made one."""
    from scipy.spatial import KDTree

    corners = np.unique(np.concatenate(lines), axis=0)
    close = KDTree(corners).query_pairs(JOINED, output_type="ndarray")
    first = np.arange(len(corners))
    np.minimum.at(first, close[:, 1], close[:, 0])
    kept = shapely.multipoints(corners[np.unique(first)])
    return [shapely.remove_repeated_points(shapely.snap(shapely.LineString(line), kept, JOINED)) for line in lines]


def _outlines(shapely: Any, rooms: dict[int, Any]) -> Any:
    """The lines around all rooms, also those between two of them."""
    return shapely.union_all([room.boundary for room in rooms.values()])


def _gap(shapely: Any, noded: Any) -> str:
    """Where the drawing is open: the two loose ends that are nearest to each other."""
    ends = np.array([point for line in shapely.get_parts(noded) for point in np.array(line.coords)[[0, -1]]])
    different, count = np.unique(ends, axis=0, return_counts=True)
    loose = different[count == 1]
    if len(loose) < 2:
        return "it must be part of the outline"
    apart = np.linalg.norm(loose[:, None] - loose, axis=2) + np.diag(np.full(len(loose), np.inf))
    i, j = np.unravel_index(int(np.argmin(apart)), apart.shape)
    return f"the walls end loose at {loose[i].tolist()} and {loose[j].tolist()}, {apart[i, j]:.3g} apart; join them"


def write_dxf(plan: Plan, path: str | PathLike[str]) -> None:
    """Walls and columns as lines and circles on the layer WALLS, exits as lines on layers EXITS-name, in metres."""
    ezdxf = package("ezdxf")
    if plan.links:
        raise InvalidValue(f"a drawing has no stairs; write the floors of this plan without {list(plan.links)}")
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
    drawing.saveas(fspath(path))
