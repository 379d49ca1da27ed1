"""The viewer as a server on this machine, for one run, for everyone who knows the address.

It listens on 127.0.0.1, at a free port, and answers three addresses below a random word:

    /SECRET/         the page
    /SECRET/header   the data that all frames share, and the number of frames
    /SECRET/frame/K  the bytes of frame K

and nothing else: no part of an address is used as a path in the file system. The header Host must be the address of the
server, so that a foreign page whose name was made to point to this machine gets no answer (DNS rebinding).
"""

from __future__ import annotations

import json
import re
import secrets
import socket
import sys
import threading
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from jostle._tools.arguments import Natural, check_arguments
from jostle.errors import InvalidValue, JostleError
from jostle.viz.encoding import Given
from jostle.viz.sources import Shown, ShownDensity
from jostle.viz.streaming import Stream, stream_of
from jostle.viz.viewer import SERVED, document, policy

# The HTTP side of the server of the viewer: which requests are answered, and with which headers.


CONNECTION_TIMEOUT = 60.0
"""Time after which a silent connection is closed, in seconds."""
MAX_WAITING = 128
"""Largest number of connections that wait to be accepted; a browser opens many at once."""
MAX_CONNECTIONS = 64
"""Largest number of connections, each of which has a thread; a browser has at most six to one server."""
CLOSING_TIME = 1.0
"""Longest wait until a connection that gives way to a new one is closed, in seconds."""
HTML, JSON, BYTES, PLAIN = "text/html; charset=utf-8", "application/json", "application/octet-stream", "text/plain"
"""Content types of the answers."""
HEADERS = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
"""Headers of every answer, which keep other pages from reading it."""


class Listener(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = MAX_WAITING
    stream: Stream
    word: str
    hosts: set[str]

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        self._open: dict[Any, None] = {}
        """The connections; the one that has been silent for longest comes first."""
        self._changing, self._free = threading.Lock(), threading.BoundedSemaphore(MAX_CONNECTIONS)
        super().__init__(address, handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer a new connection in a thread; if there are too many, the one that is silent for longest gives way."""
        if not self._free.acquire(blocking=False):
            with self._changing:
                for silent in [*self._open][:1]:
                    self._end(silent)
            if not self._free.acquire(timeout=CLOSING_TIME):
                super().shutdown_request(request)
                return
        self.used(request)
        try:
            super().process_request(request, client_address)
        except BaseException:  # no more threads can be started
            self._free.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def used(self, connection: Any) -> None:
        """Note that a connection is not silent."""
        with self._changing:
            self._open.pop(connection, None)
            self._open[connection] = None

    def shutdown_request(self, request: Any) -> None:
        with self._changing:
            self._open.pop(request, None)
        super().shutdown_request(request)

    def server_close(self) -> None:
        """Close the connections that browsers keep open, too."""
        super().server_close()
        with self._changing:
            for connection in self._open:
                self._end(connection)

    def _end(self, connection: Any) -> None:
        """End a connection, whose thread then closes it."""
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore browsers that disconnect during an answer."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    server: Listener
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "jostle", ""
    timeout = CONNECTION_TIMEOUT

    def do_GET(self) -> None:
        self.server.used(self.connection)
        if self.headers.get_all("Host") not in [[host] for host in self.server.hosts]:
            self._refuse(HTTPStatus.FORBIDDEN)
            return
        found = re.fullmatch(r"/([\w-]+)/(|header|frame/([0-9]{1,9}))", self.path, re.ASCII)
        if found is None or not secrets.compare_digest(found[1], self.server.word):
            self._refuse(HTTPStatus.NOT_FOUND)
            return
        try:
            self._answer(found[2], found[3])
        except JostleError as error:  # the file was removed, or is damaged
            self._send(HTTPStatus.SERVICE_UNAVAILABLE, PLAIN, str(error).encode())

    do_HEAD = do_GET

    def _answer(self, what: str, number: str | None) -> None:
        stream = self.server.stream
        if what == "":
            self._send(HTTPStatus.OK, HTML, document(stream.title, source=SERVED).encode())
        elif what == "header":
            tag, about = stream.header()
            etag = f'"{tag}"'
            if self.headers.get("If-None-Match") == etag:
                self._send(HTTPStatus.NOT_MODIFIED, "", b"", etag)
            else:
                self._send(HTTPStatus.OK, JSON, json.dumps(about, allow_nan=False).encode(), etag)
        else:
            frame = stream.frame(int(number or 0))
            if frame is None:
                self._refuse(HTTPStatus.NOT_FOUND)
            else:
                self._send(HTTPStatus.OK, BYTES, frame)

    def _send(self, status: HTTPStatus, kind: str, body: bytes, etag: str = "") -> None:
        if self.request_version == "HTTP/0.9":  # which would be answered without a status
            self.request_version = self.protocol_version
        self.send_response(status)
        self.send_header("Content-Security-Policy", f"{policy(SERVED)}; frame-ancestors 'none'")
        for name, value in HEADERS.items():
            self.send_header(name, value)
        if etag:
            self.send_header("ETag", etag)
        if kind:
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _refuse(self, status: HTTPStatus) -> None:
        self.close_connection = True
        self._send(status, PLAIN, status.phrase.encode())

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse invalid requests and methods other than GET and HEAD, without repeating them in the answer."""
        status = HTTPStatus.METHOD_NOT_ALLOWED if code == HTTPStatus.NOT_IMPLEMENTED else HTTPStatus(code)
        self._refuse(status)

    def log_message(self, format: str, *args: Any) -> None:
        """Write nothing to the terminal."""


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
    stream : Stream
        The frames to send.
    port : int, default 0
        Port of the server; 0: a free port.

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

    def __init__(self, stream: Stream, port: int = 0) -> None:
        word = secrets.token_urlsafe(SECRET_BYTES)
        try:
            self._http = Listener((LOOPBACK, port), Handler)
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise InvalidValue(
                f"port {port} cannot be used: {reason}; choose another one, or 0 for a free port"
            ) from None
        self._http.stream, self._http.word = stream, word
        self.port = int(self._http.server_address[1])
        self.address = f"http://{LOOPBACK}:{self.port}/{word}/"
        """Address to open in a browser."""
        self._http.hosts = {f"{LOOPBACK}:{self.port}", f"localhost:{self.port}"}
        self._thread = threading.Thread(target=self._http.serve_forever, args=(POLL_INTERVAL,), daemon=True)
        self._thread.start()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *raised: object) -> None:
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
def serve(sol: Shown | ShownDensity, *, title: str = "", quantities: Given | None = None, port: Natural = 0) -> Server:
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
    port : int, default 0
        Port of the server, at most 65535; 0: a free port.

    Returns
    -------
    Server
        The running server.

    Examples
    --------
    >>> import jostle as jo
    >>> server = serve(jo.solve(jo.models.rack(), jo.Maury(), t=2.0, h=0.1), title="The break")
    >>> server.address.startswith("http://127.0.0.1:")
    True
    >>> server.close()
    """
    return Server(stream_of(sol, title, quantities), port)
