"""The viewer in notebooks: the same page, as an anywidget.

All frames are sent when the widget is created, so that it plays while the kernel is busy, and in a notebook that is
saved with the state of its widgets. If the file is still being written, a thread sends each new frame. It needs no
answer from the page, so the widget also follows a run that keeps the kernel busy.
"""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from jostle._tools.arguments import Count, check_arguments
from jostle._tools.installing import missing
from jostle.result.status import RUNNING
from jostle.viz.encoding import Given, Packed, encoder_of
from jostle.viz.sources import Shown, ShownDensity, run_of
from jostle.viz.streaming import Follower, News, follow, stream_of
from jostle.viz.viewer import NOTEBOOK, markup, script, style

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
    for runs of any size. The widget of a file that is being written shows new frames as they are saved. JupyterLab
    keeps the widget in the saved notebook if "Settings > Save Widget State Automatically" is on.

    Parameters
    ----------
    sol : Solution, EventSolution, Evolution, Images, str or path
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

    Examples
    --------
    >>> import jostle as jo
    >>> shown = widget(jo.solve(jo.models.rack(), jo.Maury(), t=2.0, h=0.1), title="The break")
    >>> shown.about["title"], len(shown.about["times"]), len(shown.frames), shown.height
    ('The break', 21, 5436, 560)
    """
    run = run_of(sol)
    if run.status == RUNNING:
        stream = stream_of(run, title, quantities)
        stream.title = title
        if stream.header()[1]["live"]:
            return _following(Follower(stream, most_bytes), height)
    packed = Packed.of(encoder_of(run, quantities), most_bytes)
    lengths = [len(frame) for frame in packed.frames]
    about = packed.about | {"title": title, "lengths": lengths}
    shown: AnyWidget = _kind()(about=about, frames=b"".join(packed.frames), height=height)
    return shown


def _following(follower: Follower, height: int) -> AnyWidget:
    """The widget of a run in progress."""
    start = follower.news()
    assert start is not None, "the first call tells everything"
    shown: Any = _kind()(about=start.about, frames=b"".join(start.frames), height=height)

    def send(first: int, frames: list[bytes]) -> None:
        shown.send({"first": first, "lengths": [len(frame) for frame in frames]}, [b"".join(frames)])

    def tell(news: News) -> None:
        if news.first == 0:  # these frames replace all others
            with shown.hold_sync():
                shown.later, shown.frames, shown.about = [], b"".join(news.frames), news.about
            return
        shown.later += news.frames
        send(news.first, news.frames)
        shown.about = news.about

    def answer(_: object, asked: dict[str, int], buffers: object) -> None:
        """A page that was opened later has missed some frames."""
        first = asked["missing"]
        send(first, follower.frames[first:])

    shown.on_msg(answer)
    follow(follower, tell, lambda: shown.comm is not None)
    return cast("AnyWidget", shown)


def module() -> str:
    """The script of the widget, which contains everything that `render` needs."""
    constants = f"const MARKUP = {json.dumps(markup())}, STYLE = {json.dumps(style())};\n"
    return constants + script(NOTEBOOK)


@cache
def _kind() -> Any:
    """The class, created on first use, because anywidget takes long to import and may not be installed."""
    try:
        import anywidget
        import traitlets
    except ModuleNotFoundError:
        raise missing("the viewer in notebooks needs anywidget", "notebook") from None

    class Viewer(anywidget.AnyWidget):
        _esm = module()
        about = traitlets.Dict().tag(sync=True)
        frames = traitlets.Bytes().tag(sync=True, to_json=lambda sent, widget: sent + b"".join(widget.later))
        height = traitlets.Int().tag(sync=True)

        def __init__(self, **state: Any) -> None:
            self.later: list[bytes] = []
            """Frames that were sent one by one; a page that is opened later gets them with the others."""
            super().__init__(**state)

    return Viewer
