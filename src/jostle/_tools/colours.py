"""The palette: every colour of plots, films, the viewer, reports and the documentation.

The colours of curves are those of Okabe and Ito, which are colour-blind safe. `LIGHT` and `DARK` are the two themes of
pages. `LIGHT.bodies` and `LIGHT.cells` are the colour maps of bodies and of fields, from zero to the largest value.

>>> GROUPS[0] == BLUE, LIGHT.back, LIGHT.variables()[:16]
(True, '#ffffff', '--back: #ffffff;')
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK = PALETTE = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000",
)  # fmt: skip
"""Colours of curves, in the order in which they are taken."""
YELLOW = "#f0e442"
"""Yellow of Okabe and Ito; it is too light for a curve on white."""
GROUPS = (BLUE, YELLOW, GREEN, PURPLE, SKY, BLACK, ORANGE, "#1a1af2", "#7a0040", "#1a1a80")
"""Colours of ten groups, which differ from those of forces and of jams, for the colour-blind as well."""
PUSH, PULL = VERMILION, "#7b3294"
"""Colours of contact forces that push and that pull."""
PALE_BLUE, PALE_ORANGE = "#c9ddee", "#f6d5bf"
"""Fill colours of bodies and of areas in diagrams."""
NEUTRAL = "#bbbbbb"
"""Colour of what belongs to no category."""
UNKNOWN = "#d9d4c7"
"""Colour of a body whose value is not known."""
GOOD, OPEN, BAD = "#00795a", "#7d6608", "#b3261e"
"""Colours of the verdicts holds, cannot be checked, and fails."""
SERVICE_LEVELS = ("#2c7bb6", "#7fbfdc", "#c6e5a5", "#ffe08a", "#f7945d", "#c51b1b")
"""Colours of the levels of service A to F."""
FONTS = 'system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif'
"""Font families of pages, the first that is installed."""


@dataclass(frozen=True)
class Theme:
    """The colours of a page."""

    back: str
    """Background."""
    panel: str
    """Background of boxes that lie over a picture, partly transparent."""
    soft: str
    """Background of code and of the margins of a report."""
    text: str
    faint: str
    """Text of less importance."""
    line: str
    """Borders."""
    accent: str
    """Links, buttons and the focus."""
    good: str
    bad: str
    good_back: str
    """Background of good news."""
    bad_back: str
    """Background of bad news."""
    wall: str
    solid: str
    """Cells of a wall."""
    glass: str
    """Vessels and other curved walls in space."""
    exit: str
    mark: str
    """What is picked."""
    weak: str
    """Bars of weak contact forces."""
    push: str
    """Bars of strong contact forces."""
    pull: str
    """Bars of contact forces that pull."""
    bodies: tuple[str, ...]
    """Colour map of bodies: zero is visible on the background."""
    cells: tuple[str, ...]
    """Colour map of fields: zero is nearly the background."""
    groups: tuple[str, ...]

    def variables(self) -> str:
        """The colours as CSS variables, without the colour maps."""
        names = {name.replace("_", "-"): value for name, value in asdict(self).items() if isinstance(value, str)}
        return " ".join(f"--{name}: {value};" for name, value in names.items())


LIGHT = Theme(
    back="#ffffff", panel="#ffffffe0", soft="#f4f6f8", text="#1b2028", faint="#5b6573", line="#c4ccd8", accent=BLUE,
    good=GOOD, bad=BAD, good_back="#eef8f4", bad_back="#fdeeed",
    wall="#20242c", solid="#8b8f96", glass="#5f86a8", exit="#2fae87",
    mark="#c2189b", weak="#ea8a3c", push=PUSH, pull=PULL,
    bodies=("#d3e0ee", "#b0cde6", "#84b6db", "#4a95c9", "#1c65a8", "#0b3a75", "#061b45"),
    cells=("#f3f6fa", "#c9ddee", "#8fbfdf", "#4a95c9", "#1c65a8", "#0b3a75", "#061b45"),
    groups=GROUPS,
)  # fmt: skip
DARK = Theme(
    back="#12151c", panel="#1b202ae0", soft="#1b202a", text="#e6eaf1", faint="#9aa5b5", line="#39424f", accent=SKY,
    good="#3cc79f", bad="#ff8a80", good_back="#12302a", bad_back="#3a1d1d",
    wall="#c9d1de", solid="#7d838d", glass="#8fb4d6", exit="#1f9e78",
    mark="#ff6ad5", weak="#d97a22", push="#ff9a2e", pull="#c79bff",
    bodies=("#5b73a6", "#4784bd", "#3ba0c8", "#4cbfbf", "#8fd8a6", "#d9eb9a", "#fdf6b4"),
    cells=("#1a2130", "#1d3a63", "#225d9c", "#3a8ace", "#74b5ea", "#b3d8f7", "#eaf5ff"),
    groups=("#3d9fe0", YELLOW, "#2fd3a4", "#e39ac6", "#b3d9ff", "#ffffff", "#59401a", "#1a1af2", "#734c73", "#1a1a80"),
)  # fmt: skip
