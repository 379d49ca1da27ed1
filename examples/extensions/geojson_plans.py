"""Floor plans from GeoJSON, the format of maps: polygons are rooms, lines exits or walls.

    jo.crowds.read_plan("floor.geojson")

A line is an exit if its property "exit" names it; other lines are thin walls.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import shapely

from jostle.crowds import PLAN_FORMATS, Outline, PlanFormat


@dataclass(frozen=True, kw_only=True)
class GeoJSON(PlanFormat):
    """GeoJSON, whose coordinates are lengths; `scale` is the size of their unit (m)."""

    suffixes = (".geojson",)
    scale: float = 1.0

    def read(self, path):
        rooms, exits, walls = [], {}, []
        for feature in json.loads(Path(path).read_text())["features"]:
            given = shapely.geometry.shape(feature["geometry"])
            shape = shapely.transform(given, lambda x: self.scale * x)
            if shape.geom_type == "Polygon":
                rooms.append(shape)
            elif "exit" in feature["properties"]:
                exits[feature["properties"]["exit"]] = shape
            else:
                corners = np.array(shape.coords)
                walls += list(np.stack([corners[:-1], corners[1:]], axis=1))
        return Outline(rooms, exits, walls)


PLAN_FORMATS.register("geojson", GeoJSON)
