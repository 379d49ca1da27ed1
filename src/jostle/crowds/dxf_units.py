"""Checks of DXF drawings: their unit, their extent, and the number of entities after blocks are expanded."""

from __future__ import annotations

from typing import Any

from jostle.crowds.limits import LARGEST_BUILDING, MAX_ENTITIES, MAX_NESTING, SMALLEST_BUILDING, check
from jostle.errors import InvalidValue

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
