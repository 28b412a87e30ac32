"""A receiver of webhooks, for tests of code that causes events.

    with testing.Receiver(secret) as receiver:
        ...  # register receiver.url, or storefront listen --forward-to, and make something happen
        event = receiver.next()

It listens on a free port of 127.0.0.1, and verifies each delivery as webhook.read does.
"""

from __future__ import annotations

import queue
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType

from . import webhook
from .events import Event

_MAX_BODY_BYTES = 4 << 20


class Receiver:
    """A running receiver. Threads may share it.

    url: the address to which deliveries are posted
    secret: the webhook's secret. You can set it after the start, because a webhook gets it when you register the url.
    """

    def __init__(self, secret: str = "") -> None:
        self.secret = secret
        self._arrived: queue.Queue[Event | webhook.WebhookError] = queue.Queue(maxsize=1000)
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            timeout = 10

            def do_POST(self) -> None:
                size = int(self.headers.get("Content-Length", 0))
                body = self.rfile.read(size) if size <= _MAX_BODY_BYTES else b""
                self.send_response(receiver._take(body, self.headers.get(webhook.SIGNATURE_HEADER)))
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def _take(self, body: bytes, header: str | None) -> int:
        arrived: Event | webhook.WebhookError
        try:
            arrived, status = webhook.read(body, header, self.secret), 204
        except webhook.WebhookError as refused:
            arrived, status = refused, 400
        try:
            self._arrived.put_nowait(arrived)
        except queue.Full:
            return 503  # so that the sender retries
        return status

    def next(self, timeout: float = 10) -> Event:
        """Returns the next event, in the order of arrival, and waits for it up to timeout seconds.

        Raises TimeoutError if no event arrives. If the next delivery was refused, raises its WebhookError.
        """
        try:
            arrived = self._arrived.get(timeout=timeout)
        except queue.Empty:
            raise TimeoutError(f"no delivery arrived in {timeout} seconds") from None
        if isinstance(arrived, webhook.WebhookError):
            raise arrived
        return arrived

    def close(self) -> None:
        """Ends the receiver."""
        self._server.shutdown()
        self._server.server_close()

    def __enter__(self) -> Receiver:
        return self

    def __exit__(self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
