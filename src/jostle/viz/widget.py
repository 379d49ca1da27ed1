"""The viewer in notebooks: the same page, by anywidget.

All frames are handed over when the widget is made, so that it plays while the kernel is busy, and in a saved notebook.
"""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

from jostle.arguments import Count, check_arguments
from jostle.errors import MissingPackage
from jostle.viz.document import NOTEBOOK, markup, script, style
from jostle.viz.field_values import ShownDensity
from jostle.viz.given import Given
from jostle.viz.sources import Shown
from jostle.viz.viewer import Packed, reel_of

if TYPE_CHECKING:
    from anywidget import AnyWidget


@check_arguments
def widget(
    sol: Shown | ShownDensity,
    *,
    title: str = "",
    quantities: Given | None = None,
    height: Count = 560,
    most_bytes: int = 40_000_000,
) -> AnyWidget:
    """The viewer in a notebook, for a solution, the run of a density, or the file of one: the last line of a cell.

    What does not fit into `most_bytes` is rounded and left out as in `page`; runs of any size are for `serve` and
    ``jostle view``. `height` is in pixels.

    >>> import jostle as jo
    >>> shown = widget(jo.solve(jo.models.rack(), jo.Maury(), t=2.0, h=0.1), title="The break")
    >>> shown.about["title"], len(shown.about["times"]), len(shown.frames), shown.height
    ('The break', 21, 5436, 560)
    """
    packed = Packed.of(reel_of(sol, quantities)[0], most_bytes)
    lengths = [len(frame) for frame in packed.frames]
    about = packed.about | {"title": title, "lengths": lengths}
    shown: AnyWidget = _kind()(about=about, frames=b"".join(packed.frames), height=height)
    return shown


def module() -> str:
    """The script of the widget: what `render` needs is inside.

    >>> "export default { render }" in module()
    True
    """
    constants = f"const MARKUP = {json.dumps(markup())}, STYLE = {json.dumps(style())};\n"
    return constants + script(NOTEBOOK)


@cache
def _kind() -> Any:
    """The class, made when it is first used: anywidget takes long to import, and may not be there."""
    try:
        import anywidget
        import traitlets
    except ModuleNotFoundError:
        raise MissingPackage("the viewer in notebooks needs anywidget: pip install 'jostle[notebook]'") from None

    class Viewer(anywidget.AnyWidget):
        _esm = module()
        about = traitlets.Dict().tag(sync=True)
        frames = traitlets.Bytes().tag(sync=True)
        height = traitlets.Int().tag(sync=True)

    return Viewer
