"""Plans as files, for tests of what reads them: DXF drawings, pictures, well-known text."""

import numpy as np

MARGIN = 2
"""Number of pixels around the plan in a picture."""
WHITE, BLACK, RED = (255, 255, 255), (0, 0, 0), (255, 0, 0)


def inner_walls(plan):
    """(k, 2, 2) walls that are not on the outline of the area."""
    import shapely

    far = shapely.distance(plan.area.boundary, shapely.points(plan.walls.mean(axis=1)))
    return plan.walls[far > 1e-9 * np.ptp(np.array(plan.area.bounds).reshape(2, 2), axis=0).max()]


def write_dxf(plan, path):
    """Write a plan as a CAD drawing in metres."""
    import ezdxf

    drawing = ezdxf.new(units=6)
    space = drawing.modelspace()
    for a, b in plan.walls:
        space.add_line(tuple(a), tuple(b), dxfattribs={"layer": "WALLS"})
    for x, y, radius in plan.columns:
        space.add_circle((x, y), radius, dxfattribs={"layer": "WALLS"})
    for name, (a, b) in plan.exits.items():
        space.add_line(tuple(a), tuple(b), dxfattribs={"layer": f"EXITS-{name}"})
    for name, (x, y) in plan.labels.items():
        space.add_text(name, height=0.3, dxfattribs={"layer": "ROOMS", "insert": (x, y)})
    drawing.saveas(path)


def write_png(plan, path, *, scale):
    """Write a picture of a plan: white floor, red pixels behind exits, and black elsewhere."""
    import shapely
    from PIL import Image

    low, high = np.array(plan.area.bounds).reshape(2, 2)
    columns, rows = (np.ceil(np.round((high - low) / scale, 6)).astype(int) + 2 * MARGIN).tolist()
    x = low[0] + scale * (np.arange(columns) - MARGIN + 0.5)
    y = low[1] + scale * (np.arange(rows) - MARGIN + 0.5)
    inside = shapely.contains_xy(plan.area, *np.meshgrid(x, y))
    image = np.where(inside[..., None], WHITE, BLACK).astype(np.uint8)
    for wall in inner_walls(plan):
        image[_pixels(wall, np.zeros(2), low, scale)] = BLACK
    for name, ends in plan.exits.items():
        behind = _pixels(ends, 0.5 * scale * plan.outward[name], low, scale)
        image[behind] = np.where(inside[behind][:, None], image[behind], RED)
    Image.fromarray(image[::-1]).save(path)


def _pixels(ends, aside, low, scale):
    """Rows and columns of the pixels along a segment, or beside it, without pixels that it only touches at its ends."""
    length = float(np.linalg.norm(ends[1] - ends[0]))
    number = max(int(np.ceil(4.0 * length / scale)), 1)
    part = (np.arange(number) + 0.5) / number
    points = ends[0] + part[:, None] * (ends[1] - ends[0]) + aside
    index = np.floor((points - low) / scale).astype(int) + MARGIN
    return index[:, 1], index[:, 0]


def as_wkt(plan):
    """A plan as well-known text, without the names of exits, with 17 digits."""
    import shapely

    inner = inner_walls(plan)
    thin = [shapely.multilinestrings(shapely.linestrings(inner))] if len(inner) else []
    exits = [shapely.linestrings(ends) for ends in plan.exits.values()]
    everything = shapely.geometrycollections([*shapely.get_parts(plan.area), *thin, *exits])
    return shapely.to_wkt(everything, rounding_precision=-1)
