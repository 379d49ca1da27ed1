"""The HTTP side of the server of the viewer: which requests are answered, and with which headers."""

from __future__ import annotations

import json
import re
import secrets
import socket
import sys
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from jostle.errors import JostleError
from jostle.viz.document import SERVED, document, policy
from jostle.viz.field_streaming import FieldStream
from jostle.viz.streaming import Stream

CONNECTION_TIMEOUT = 60.0
"""Time after which a silent connection is closed, in seconds."""
MAX_WAITING = 128
"""Largest number of connections that wait to be accepted; a browser opens many at once."""
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
    stream: Stream | FieldStream
    word: str
    hosts: set[str]

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        self._open: set[Any] = set()
        super().__init__(address, handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def server_close(self) -> None:
        """Close the connections that browsers keep open, too."""
        super().server_close()
        for connection in list(self._open):
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
