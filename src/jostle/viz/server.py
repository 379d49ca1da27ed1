"""The viewer as a server on this machine, for one run, for everyone who knows the address.

It listens on 127.0.0.1, at a free port, and answers three addresses below a random word:

    /SECRET/         the page
    /SECRET/header   the data that all frames share, and the number of frames
    /SECRET/frame/K  the bytes of frame K

and nothing else: no part of an address is used as a path in the file system. The header Host must be the address of the
server, so that a foreign page whose name was made to point to this machine gets no answer (DNS rebinding).
"""

from __future__ import annotations

import secrets
import threading
from types import TracebackType

from jostle.arguments import check_arguments
from jostle.viz.field_streaming import FieldStream
from jostle.viz.field_values import ShownDensity
from jostle.viz.following import stream_of
from jostle.viz.given import Given
from jostle.viz.listening import Handler, Listener
from jostle.viz.sources import Shown
from jostle.viz.streaming import Stream

LOOPBACK = "127.0.0.1"
"""Address that only this machine can reach."""
SECRET_BYTES = 24
"""Number of random bytes in the address of a page."""
POLL_INTERVAL = 0.05
"""Time until the server notices that it is told to stop, in seconds."""


class Server:
    """A running server of the viewer, made by `serve`; use it with `with`, or call `close`.

    Parameters
    ----------
    stream : Stream or FieldStream
        The frames to send.

    Attributes
    ----------
    address : str
        Address to open in a browser of this machine.
    port : int
        Port of the server.

    Examples
    --------
    >>> import json, jostle as jo
    >>> from urllib.request import urlopen
    >>> with serve(jo.solve(jo.models.rack(), jo.Maury(), t=2.0, h=0.1)) as server:
    ...     len(json.load(urlopen(server.address + "header"))["times"])
    21
    """

    def __init__(self, stream: Stream | FieldStream) -> None:
        word = secrets.token_urlsafe(SECRET_BYTES)
        self._http = Listener((LOOPBACK, 0), Handler)
        self._http.stream, self._http.word = stream, word
        self.port = int(self._http.server_address[1])
        self.address = f"http://{LOOPBACK}:{self.port}/{word}/"
        """Address to open in a browser."""
        self._http.hosts = {f"{LOOPBACK}:{self.port}", f"localhost:{self.port}"}
        self._thread = threading.Thread(target=self._http.serve_forever, args=(POLL_INTERVAL,), daemon=True)
        self._thread.start()

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def wait(self) -> None:
        """Wait until the server is closed, or until Ctrl-C."""
        while self._thread.is_alive():
            self._thread.join(0.5)

    def close(self) -> None:
        """Stop the server."""
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


@check_arguments
def serve(sol: Shown | ShownDensity, *, title: str = "", quantities: Given | None = None) -> Server:
    """Show a run in browsers of this machine, at `server.address`, until `server.close()`.

    Frames are sent when they are viewed, so runs may be larger than memory. For a file that is being written, the page
    shows new frames, also after a killed run is resumed.

    Parameters
    ----------
    sol : Solution, EventSolution, Evolution, Images, str or path
        A solution, the run of a density, or the name of a file.
    title : str, default ""
        Title of the page.
    quantities : mapping of str to array_like or callable, optional
        Further numbers by which bodies are coloured, as in `page`. None: no further numbers.

    Returns
    -------
    Server
        The running server.

    Raises
    ------
    InvalidValue
        If a quantity does not fit the bodies.

    Examples
    --------
    >>> import jostle as jo
    >>> server = serve(jo.solve(jo.models.rack(), jo.Maury(), t=2.0, h=0.1), title="The break")
    >>> server.address.startswith("http://127.0.0.1:")
    True
    >>> server.close()
    """
    return Server(stream_of(sol, title, quantities))
