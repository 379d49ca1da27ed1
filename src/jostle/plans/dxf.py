"""Plans as CAD drawings (DXF): walls on one layer, exits on another."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any

import numpy as np

from jostle._tools.arguments import Positive
from jostle._tools.arrays import Array
from jostle.errors import InvalidValue, JostleWarning, warn
from jostle.plans.formats import Outline, PlanFormat
from jostle.plans.limits import (
    LARGEST_BUILDING,
    MAX_CORNERS,
    MAX_CURVE,
    MAX_ENTITIES,
    MAX_NESTING,
    SMALLEST_BUILDING,
    check,
    check_crossings,
    regular_file,
)
from jostle.plans.outlines import package, segments_of
from jostle.plans.plan import Plan

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
CURVES = {"LINE", "LWPOLYLINE", "POLYLINE", "ARC", "CIRCLE", "ELLIPSE", "SPLINE"}
"""Types of entities that are read as lines."""
FILLED = {"SOLID", "TRACE", "3DFACE", "HATCH", "MPOLYGON"}
"""Types of entities whose outlines are read."""
TEXTS = {"TEXT", "MTEXT", "ATTRIB", "ATTDEF", "POINT"}
"""Types of entities that are no walls, although they may be on the layer of the walls."""
NOTES = ("DIMENSION", "LEADER")
"""Parts of the names of types that explain a drawing: dimensions and leaders, which are left out."""
FORBIDDEN, CODED = re.compile(r'[<>/\\":;?*|=`,%]'), re.compile(r"%([0-9A-F]{2})")
"""Characters that names of layers cannot have, and how they are written in the name of an exit: % and two digits."""
BY_BLOCK = "0"
"""Layer of entities in a block that have the layer on which the block is inserted."""


@dataclass(frozen=True, kw_only=True)
class DXF(PlanFormat):
    """CAD drawings (DXF): walls on one layer or several, exits on another.

    Lines, polylines, arcs, circles and splines are read, blocks included. Lines and exits together must enclose the
    area from which the exits lead out. Lines that end inside it are thin walls. Filled areas and hatches are walls
    with the same outline; other entities on the layer `walls`, and polylines with a width, are refused, because
    walls would be missing. An exit is one straight line. Entities of the layer 0 in a block are on the layer of the
    block. Circles inside the area become exact columns; other curves become polylines within a centimetre, and
    gaps up to a tenth of a millimetre are closed. Texts on the layer ROOMS are names of rooms.

    A warning names all other layers on which something is drawn, because a column there would be missing, and
    blocks in other drawings (external references), which are not read. Layers that are off or frozen are read like
    others, and the paper space is not read.

    A drawing is written in metres: walls and columns on the layer WALLS, exits on layers EXITS-name, and names of rooms
    on ROOMS, whatever the options. Characters that names of layers cannot have become % and two hexadecimal digits.

    Parameters
    ----------
    walls : str or sequence of str, default "WALLS"
        Layer of the walls and columns, or several layers, such as ``["WALLS", "A-COLS"]``.
    exits : str, default "EXITS"
        Layer of the exits; a layer EXITS-name gives its exit a name.
    scale : float, optional
        Size of a unit of the drawing (m), such as 0.001 for millimetres. None means the unit in its header
        ($INSUNITS); a drawing without a unit, or one that would be smaller than 1 m or larger than 2 km, needs it.

    Examples
    --------
    >>> import jostle as jo, tempfile
    >>> room = jo.crowds.Room([(0, 0), (4, 0), (4, 3), (0, 3)], doors=[((4, 1), (4, 2))])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     jo.crowds.write_plan(room, f"{folder}/room.dxf")
    ...     jo.crowds.read_plan(f"{folder}/room.dxf", jo.crowds.DXF(scale=0.5))
    Plan(3 m², exits 'door 0', 5 walls)
    """

    suffixes = (".dxf",)
    walls: str | Sequence[str] = "WALLS"
    exits: str = "EXITS"
    scale: Positive | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.walls:
            raise InvalidValue("walls must name at least one layer, such as 'WALLS'")

    def read(self, path: str | PathLike[str]) -> Outline:
        name, ezdxf = regular_file(path, "a DXF drawing"), package("ezdxf")
        layers, scale = [self.walls] if isinstance(self.walls, str) else list(self.walls), self.scale
        try:
            drawing = ezdxf.readfile(name)
            check_entities(drawing, name)
            unit = size_of_unit(drawing, name) if scale is None else float(scale)
            found = _outline(drawing, name, layers, self.exits, unit)
        except InvalidValue:
            raise
        except (ezdxf.DXFError, *BROKEN) as error:
            raise InvalidValue(f"{name} cannot be read as a DXF drawing: {error}") from None
        if scale is None:
            corners = package("shapely").get_coordinates(found.area)
            check_extent(float(np.ptp(corners, axis=0).max()), unit, name)
        return found

    def write(self, plan: Plan, path: str | PathLike[str]) -> None:
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
            layer = "EXITS-" + FORBIDDEN.sub(lambda found: f"%{ord(found[0]):02X}", name)
            drawing.layers.add(layer, color=1)
            space.add_line(tuple(a), tuple(b), dxfattribs={"layer": layer})
        for name, (x, y) in plan.labels.items():
            space.add_text(name, height=0.3, dxfattribs={"layer": ROOMS, "insert": (x, y)})
        drawing.saveas(fspath(path))


def _outline(drawing: Any, path: str, walls: Sequence[str], exits: str, scale: float) -> Outline:
    """The outline of a plan, from the entities of a drawing."""
    shapely = package("shapely")
    lines: list[Array] = []
    circles: list[tuple[Array, Array]] = []
    named: dict[str, Array] = {}
    labels: dict[str, Array] = {}
    layers, unread, outside, corners = set[str](), set[str](), set[str](), 0
    of_walls = {name.upper() for name in walls}
    for layer, entity in _entities(drawing.modelspace()):
        kind = entity.dxftype()
        of_exits = layer.upper() == exits.upper() or layer.upper().startswith(exits.upper() + "-")
        if kind == "INSERT":
            outside.add(str(entity.block().block.dxf.xref_path))
            continue
        layers.add(layer)
        if layer.upper() == ROOMS and kind in ("TEXT", "MTEXT"):
            words = entity.plain_text() if kind == "MTEXT" else entity.dxf.text
            labels[" ".join(str(words).split())] = scale * np.array([entity.dxf.insert.x, entity.dxf.insert.y])
        if layer.upper() in of_walls:
            _check_wall(entity, layer, path)
            found = _lines(entity, scale, path)
            corners += sum(map(len, found))
            if kind == "CIRCLE":
                centre = entity.ocs().to_wcs(entity.dxf.center)
                circles.append((scale * np.array([centre.x, centre.y, entity.dxf.radius]), found[0]))
            else:
                lines += found
        elif of_exits and kind in CURVES:
            name = CODED.sub(lambda found: chr(int(found[1], 16)), layer[len(exits) + 1 :]) or f"exit {len(named)}"
            if name in named:
                raise InvalidValue(f"layer {layer!r} has two lines: give each exit a layer of its own, {exits}-name")
            (ends,) = _lines(entity, scale, path)
            if len(ends) != 2:
                raise InvalidValue(
                    f"exit {name!r} on layer {layer!r} must be one straight line, not {len(ends)} points"
                )
            named[name] = ends
        elif kind not in TEXTS:
            unread.add(f"{layer!r} ({kind})" if of_exits else repr(layer))
        check(corners, MAX_CORNERS, path, "corners", "MAX_CORNERS")
    if outside:
        warn(
            f"{path} refers to other drawings, which are not read: {', '.join(sorted(outside))}; if they have walls or "
            f"exits, bind them into the drawing (external references, XREF)",
            JostleWarning,
        )
    for layer, some in ((" or ".join(walls), [*lines, *circles]), (exits, named)):
        if not some:
            raise InvalidValue(f"layer {layer!r} of {path} has no lines; its layers are {sorted(layers)}")
    _warn_of_unread(unread, walls, exits, path)
    everything = [*lines, *(line for _, line in circles), *named.values()]
    check_crossings(np.concatenate([segments_of(line) for line in everything]), path)
    columns = np.zeros(len(circles), dtype=bool)
    try:
        plan = _enclosed(named, lines)
        area = shapely.union_all(plan.area)
        columns = np.array([area.contains_properly(shapely.Polygon(line)) for _, line in circles], dtype=bool)
    except InvalidValue:
        if not circles:
            raise
    if not columns.all():  # some are part of the outline
        plan = _enclosed(named, lines + [circles[k][1] for k in np.flatnonzero(~columns)])
    return plan._replace(columns=[circles[k][0] for k in np.flatnonzero(columns)], labels=labels)


def _enclosed(named: dict[str, Array], lines: list[Array]) -> Outline:
    """The rooms that lines and exits enclose, and the lines inside them."""
    shapely = package("shapely")
    joined = _joined([*named.values(), *lines])
    named = {name: np.array(line.coords)[[0, -1]] for name, line in zip(named, joined, strict=False)}
    noded = shapely.union_all(joined)
    faces = list(shapely.get_parts(shapely.polygonize([noded])))
    size = float(np.ptp(shapely.get_coordinates(noded), axis=0).max())
    rooms: dict[int, Any] = {}
    for name, ends in named.items():
        middle = shapely.Point(ends.mean(axis=0))
        beside = [k for k, face in enumerate(faces) if shapely.distance(face.boundary, middle) <= 1e-9 * size]
        if not beside:
            raise InvalidValue(f"exit {name!r} at {ends.tolist()} borders no closed area: {_gap(noded)}")
        if len(beside) > 1:
            raise InvalidValue(
                f"exit {name!r} at {ends.tolist()} leads from one closed area into another; remove the area outside"
            )
        rooms[beside[0]] = faces[beside[0]]
    area = shapely.union_all(list(rooms.values()))
    pieces = [np.array(line.coords) for line in shapely.get_parts(noded)]
    single = np.concatenate([segments_of(line) for line in pieces])
    middles = shapely.points(single.mean(axis=1))
    outlines = shapely.union_all([room.boundary for room in rooms.values()])  # those between two rooms included
    thin = single[shapely.contains(area, middles) & (shapely.distance(outlines, middles) > 1e-9 * size)]
    return Outline(list(rooms.values()), named, thin)


def _entities(some: Any, inserted: str = BY_BLOCK) -> Iterator[tuple[str, Any]]:
    """The entities of a drawing or a block, and the layer of each; `inserted` is the layer of the block."""
    # A block in another drawing, which is not read, is an entity of the type INSERT.
    for entity in some:
        layer = str(entity.dxf.layer)
        layer = inserted if layer == BY_BLOCK else layer
        if any(note in entity.dxftype() for note in NOTES):
            continue
        if entity.dxftype() == "INSERT" and (block := entity.block()) is not None and block.block.is_xref:
            yield layer, entity
        elif entity.dxftype() == "INSERT":
            for one in entity.multi_insert() if entity.mcount > 1 else [entity]:
                yield from _entities(one.virtual_entities(), layer)
        else:
            for part in package("ezdxf.disassemble").recursive_decompose([entity]):
                yield layer, part


def _warn_of_unread(unread: set[str], walls: Sequence[str], exits: str, path: str) -> None:
    """Warn of all layers with lines, filled areas or other things that are not read: some may be columns or walls."""
    if unread:
        known = ", ".join(map(repr, walls))
        warn(
            f"layers {', '.join(sorted(unread))} of {path} are not read: walls and columns are read from {known}, "
            f"and exits from {exits!r} and {exits + '-name'!r}. Name all layers with obstacles, as in "
            f"walls=[{known}, 'columns']",
            JostleWarning,
        )


def _check_wall(entity: Any, layer: str, path: str) -> None:
    """Raise if an entity on the layer of the walls is a wall that is not read as it is drawn."""
    kind = entity.dxftype()
    if kind not in CURVES | FILLED | TEXTS:
        raise InvalidValue(
            f"layer {layer!r} of {path} has an entity of the type {kind}, which is not read: draw it with lines, or "
            f"move it to another layer"
        )
    if kind in ("LWPOLYLINE", "POLYLINE") and entity.has_width:
        raise InvalidValue(
            f"layer {layer!r} of {path} has a polyline with a width: draw both sides of the wall, or set the width to 0"
        )


def _lines(entity: Any, scale: float, path: str) -> list[Array]:
    """(k, 2) corners of each line of an entity, or of the polyline that replaces it, in metres; none of a text."""
    if entity.dxftype() in TEXTS:
        return []
    if entity.dxftype() in ("HATCH", "MPOLYGON"):
        return [_points(entity, curve, scale, path) for curve in package("ezdxf.path").from_hatch(entity)]
    return [_points(entity, None, scale, path)]


def _points(entity: Any, curve: Any, scale: float, path: str) -> Array:
    """(k, 2) corners of an entity, or of one of its curves, in metres."""
    kind, tolerance = entity.dxftype(), ROUND / scale
    if kind in ("ARC", "CIRCLE"):
        curve, extent = entity, scale * float(entity.dxf.radius)
    else:
        curve = package("ezdxf.path").make_path(entity) if curve is None else curve
        around = np.array([(point.x, point.y) for point in curve.control_vertices()]).reshape(-1, 2)
        extent = scale * float(np.ptp(around, axis=0).max()) if curve.has_curves else 0.0
    check(extent, MAX_CURVE, f"a curve ({kind}) of {path}, in the unit of the drawing,", "m of extent", "MAX_CURVE")
    corners = scale * np.array([(point.x, point.y) for point in curve.flattening(tolerance)])
    different = np.ones(len(corners), dtype=bool)
    different[1:] = (corners[1:] != corners[:-1]).any(axis=1)
    return corners[different]


def _joined(lines: list[Array]) -> list[Any]:
    """The lines, after corners within the distance JOINED of each other or of a line have been merged."""
    from scipy.spatial import KDTree

    shapely, corners = package("shapely"), np.unique(np.concatenate(lines), axis=0)
    tree = KDTree(corners)
    check(tree.count_neighbors(tree, JOINED), CROWDED * len(corners), "the drawing", "pairs of corners nearer than "
          f"{JOINED:g} m, most of which are one corner: is scale= right? It", "CROWDED")  # fmt: skip
    close = tree.query_pairs(JOINED, output_type="ndarray")
    first = np.arange(len(corners))
    np.minimum.at(first, close[:, 1], close[:, 0])
    kept = shapely.multipoints(corners[np.unique(first)])
    return [shapely.remove_repeated_points(shapely.snap(shapely.LineString(line), kept, JOINED)) for line in lines]


def _gap(noded: Any) -> str:
    """A message about the gap in the drawing: the two loose ends that are nearest to each other."""
    from scipy.spatial import KDTree

    lines = package("shapely").get_parts(noded)
    ends = np.array([point for line in lines for point in np.array(line.coords)[[0, -1]]])
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


METRES = {
    1: 0.0254, 2: 0.3048, 3: 1609.344, 4: 1e-3, 5: 1e-2, 6: 1.0, 7: 1e3, 8: 2.54e-8, 9: 2.54e-5, 10: 0.9144, 11: 1e-10,
    12: 1e-9, 13: 1e-6, 14: 0.1, 15: 10.0, 16: 100.0, 17: 1e9, 18: 149_597_870_700.0, 19: 9.4607304725808e15,
    20: 3.0856775814913673e16, 21: 1200 / 3937, 22: 100 / 3937, 23: 3600 / 3937, 24: 6_336_000 / 3937,
}  # fmt: skip
"""Size in metres of the units of `$INSUNITS`: inch, foot, mile, millimetre, centimetre, metre, kilometre,
microinch, mil, yard, ångström, nanometre, micron, decimetre, decametre, hectometre, gigametre, astronomical unit,
light year, parsec, and the US survey foot, inch, yard and mile."""


def size_of_unit(drawing: Any, name: str) -> float:
    """The size in metres of the unit in the header of a drawing."""
    code = drawing.header.get("$INSUNITS", 0)
    if code not in METRES:
        raise InvalidValue(
            f"{name} has no unit in its header ($INSUNITS = {code!r}): give scale=, the size of a unit in metres, such "
            f"as 0.001 for millimetres"
        )
    return METRES[code]


def check_extent(extent: float, scale: float, name: str) -> None:
    """Refuse a building that has an implausible size in the unit of its header."""
    if not SMALLEST_BUILDING <= extent <= LARGEST_BUILDING:
        raise InvalidValue(
            f"{name} would measure {extent:.3g} m, because its header says that a unit is {scale:g} m ($INSUNITS): if "
            f"that is wrong, give scale=, the size of a unit in metres; if it is right, give scale={scale:g}"
        )


def check_entities(drawing: Any, name: str) -> None:
    """Refuse a drawing whose blocks expand to too many entities, are nested too deeply, or contain themselves."""
    known: dict[str, tuple[int, int]] = {}

    def expanded(entities: Any, above: tuple[str, ...]) -> tuple[int, int]:
        """The number of entities, and the depth of nested blocks."""
        total = deepest = 0
        for entity in entities:
            total += 1
            block, times = _block(entity)
            if block not in drawing.blocks:
                continue
            if block in above:
                raise InvalidValue(f"block {block!r} of {name} contains itself")
            check(len(above) + 1, MAX_NESTING, name, "blocks inside each other", "MAX_NESTING")
            if block not in known:
                known[block] = expanded(drawing.blocks[block], (*above, block))
            count, depth = known[block]
            check(len(above) + 1 + depth, MAX_NESTING, name, "blocks inside each other", "MAX_NESTING")
            total, deepest = total + times * count, max(deepest, 1 + depth)
        return total, deepest

    check(expanded(drawing.modelspace(), ())[0], MAX_ENTITIES, name, "entities, blocks expanded", "MAX_ENTITIES")


def _block(entity: Any) -> tuple[str, int]:
    """The block that an entity inserts, "" if there is none, and the number of times."""
    if entity.dxftype() == "INSERT":
        return str(entity.dxf.get("name", "")), max(int(entity.mcount), 1)
    return (str(entity.dxf.get("geometry", "")) if entity.dxftype() == "DIMENSION" else ""), 1
