"""Draw the two floors of `building.toml` as DXF files, in metres: python drawings.py.

Any drawing program will do instead: closed outlines, lines and circles on the layer WALLS are walls and columns, lines
on a layer EXITS-name are openings with that name.
"""

from pathlib import Path

import ezdxf

HERE = Path(__file__).parent
WIDTH, DEPTH = 40.0, 25.0
CORRIDOR = 11.0, 14.0
"""The corridor of the upper floor, between these two heights on the drawing."""


def drawing(name: str, walls: list, columns: list, exits: dict) -> None:
    """Save one floor: an outline, walls inside, round columns, and openings by name."""
    document = ezdxf.new(units=ezdxf.units.M)
    space = document.modelspace()
    for layer in ("WALLS", *(f"EXITS-{exit_}" for exit_ in exits)):
        document.layers.add(layer)
    outline = [(0, 0), (WIDTH, 0), (WIDTH, DEPTH), (0, DEPTH)]
    space.add_lwpolyline(outline, close=True, dxfattribs={"layer": "WALLS"})
    for start, end in walls:
        space.add_line(start, end, dxfattribs={"layer": "WALLS"})
    for centre in columns:
        space.add_circle(centre, 0.3, dxfattribs={"layer": "WALLS"})
    for exit_, (start, end) in exits.items():
        space.add_line(start, end, dxfattribs={"layer": f"EXITS-{exit_}"})
    document.saveas(HERE / name)


def upper() -> None:
    """Ten offices along a corridor, stairs at both of its ends."""
    walls = []
    for k in range(5):
        left, right = 8.0 * k, 8.0 * (k + 1)
        for height, far in ((CORRIDOR[0], 0.0), (CORRIDOR[1], DEPTH)):
            walls += [((left, height), (left + 3.2, height)), ((left + 4.8, height), (right, height))]
            if k < 4:
                walls.append(((right, height), (right, far)))
    ends = {"top west": ((0.0, 11.2), (0.0, 13.8)), "top east": ((WIDTH, 11.2), (WIDTH, 13.8))}
    drawing("upper.dxf", walls, [], ends)


def ground() -> None:
    """A hall with columns, a main door, a garden door, and the feet of the stairs."""
    walls = [((12.0, 17.0), (18.0, 17.0)), ((22.0, 17.0), (28.0, 17.0))]
    columns = [(x, y) for x in (10.0, 20.0, 30.0) for y in (6.0, 12.5)]
    ends = {
        "main": ((17.0, 0.0), (23.0, 0.0)),
        "garden": ((18.5, DEPTH), (21.5, DEPTH)),
        "foot west": ((0.0, 11.2), (0.0, 13.8)),
        "foot east": ((WIDTH, 11.2), (WIDTH, 13.8)),
    }
    drawing("ground.dxf", walls, columns, ends)


if __name__ == "__main__":
    upper()
    ground()
