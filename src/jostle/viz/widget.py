"""The viewer in notebooks: the same page, by anywidget.

All frames are handed over when the widget is made, so that it plays while the kernel is busy, and in a saved notebook.
Of a file that is still being written, a thread sends each new frame; it needs no answer of the page, so the widget also
follows a run that keeps the kernel busy.
"""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from jostle.arguments import Count, check_arguments
from jostle.errors import MissingPackage
from jostle.statuses import RUNNING
from jostle.viz.document import NOTEBOOK, markup, script, style
from jostle.viz.field_values import ShownDensity, density_in
from jostle.viz.following import Follower, News, follow, stream_of
from jostle.viz.given import Given
from jostle.viz.sources import Shown, solution
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
    ``jostle view``. `height` is in pixels. The widget of a file that is still being written shows new frames as they
    are saved.

    >>> import jostle as jo
    >>> shown = widget(jo.solve(jo.models.rack(), jo.Maury(), t=2.0, h=0.1), title="The break")
    >>> shown.about["title"], len(shown.about["times"]), len(shown.frames), shown.height
    ('The break', 21, 5436, 560)
    """
    images = density_in(sol)
    run = images if images is not None else solution(cast("Shown", sol))
    if run.status == RUNNING:
        stream = stream_of(run, title, quantities)
        stream.title = title
        if stream.header()[1]["live"]:
            return _following(Follower(stream, most_bytes), height)
    packed = Packed.of(reel_of(run, quantities)[0], most_bytes)
    lengths = [len(frame) for frame in packed.frames]
    about = packed.about | {"title": title, "lengths": lengths}
    shown: AnyWidget = _kind()(about=about, frames=b"".join(packed.frames), height=height)
    return shown


def _following(follower: Follower, height: int) -> AnyWidget:
    """The widget of a run that goes on."""
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
        frames = traitlets.Bytes().tag(sync=True, to_json=lambda sent, widget: sent + b"".join(widget.later))
        height = traitlets.Int().tag(sync=True)

        def __init__(self, **state: Any) -> None:
            self.later: list[bytes] = []
            """Frames that were sent one by one; a page that is opened later gets them with the others."""
            super().__init__(**state)

    return Viewer
