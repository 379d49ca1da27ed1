"""The viewer in notebooks: the same page, as an anywidget.

All frames are sent when the widget is created, so that it plays while the kernel is busy, and in a saved notebook.
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
    """Show the viewer in a notebook; use it as the last line of a cell.

    A run that does not fit into `most_bytes` is rounded and thinned out as in `page`; use `serve` or ``jostle view``
    for runs of any size.

    Parameters
    ----------
    sol : Solution, Evolution, Images, str or path
        A solution, the run of a density, or the name of a file.
    title : str, default ""
        Title of the viewer.
    quantities : mapping of str to array_like or callable, optional
        Further numbers by which bodies are coloured, as in `page`. None: no further numbers.
    height : int, default 560
        Height of the viewer, in pixels.
    most_bytes : int, default 40_000_000
        Largest size of the frames, in bytes.

    Returns
    -------
    anywidget.AnyWidget
        The widget.

    Raises
    ------
    MissingPackage
        If anywidget is not installed.

    Examples
    --------
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
    """The script of the widget, which contains everything that `render` needs.

    >>> "export default { render }" in module()
    True
    """
    constants = f"const MARKUP = {json.dumps(markup())}, STYLE = {json.dumps(style())};\n"
    return constants + script(NOTEBOOK)


@cache
def _kind() -> Any:
    """The class, created on first use, because anywidget takes long to import and may not be installed."""
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
