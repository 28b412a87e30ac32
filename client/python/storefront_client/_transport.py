"""One request over HTTP, by the standard library."""

from __future__ import annotations

import gzip
import http.client
import time
import urllib.error
import urllib.request
import zlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, cast


@dataclass(frozen=True, slots=True)
class Response:
    """An answer, as a Transport returns it; headers by their names in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class TransportError(Exception):
    """Why no whole answer came. A call raises StorefrontError with it as the cause."""

    def __init__(self, message: str, timed_out: bool = False) -> None:
        super().__init__(message)
        self.timed_out = timed_out


Request: TypeAlias = "tuple[str, str, Mapping[str, str], bytes | None, float]"

Transport: TypeAlias = Callable[[str, str, Mapping[str, str], "bytes | None", float], Response]
"""Sends a request: method, URL, headers, body, and how many seconds it may take. It follows no redirect, does not try
again, and raises TransportError if no whole answer came."""

AsyncTransport: TypeAlias = Callable[[str, str, Mapping[str, str], "bytes | None", float], Awaitable[Response]]
"""The same, for the client of asyncio."""


class _AnyStatus(urllib.request.HTTPErrorProcessor):
    """Returns every answer as it is: no redirect is followed, and no status is an error."""

    def http_response(self, request: urllib.request.Request, response: http.client.HTTPResponse) -> http.client.HTTPResponse:
        return response

    https_response = http_response


class _Connection(http.client.HTTPConnection):
    """Reads the answer of a server that refuses a body before all of it is sent, such as 413."""

    def send(self, data: Any) -> None:
        if self.sock is None:
            self.connect()
        try:
            super().send(data)
        except (BrokenPipeError, ConnectionResetError):
            pass  # without an answer, reading it fails


class _SecureConnection(_Connection, http.client.HTTPSConnection):
    pass


class _HTTP(urllib.request.HTTPHandler):
    def http_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_Connection, request)


class _HTTPS(urllib.request.HTTPSHandler):
    def https_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(cast(Any, _SecureConnection), request)


def send(method: str, url: str, headers: Mapping[str, str], body: bytes | None, timeout: float) -> Response:
    """The Transport of the standard library: a connection for each request, so that threads and forks share nothing."""
    deadline = time.monotonic() + timeout
    request = urllib.request.Request(url, data=body, headers={**headers, "Accept-Encoding": "gzip"}, method=method)
    opener = urllib.request.build_opener(_AnyStatus, _HTTP, _HTTPS)
    try:
        with opener.open(request, timeout=timeout) as response:
            received = {name.lower(): value for name, value in response.headers.items()}
            chunks = []
            while chunk := response.read1(65536):
                chunks.append(chunk)
                if time.monotonic() > deadline:
                    raise TimeoutError("the answer does not end")
            text = b"".join(chunks)
            if received.get("content-length", "").isdecimal() and len(text) < int(received["content-length"]):
                raise TransportError(f"the answer broke off after {len(text)} bytes")
            if received.get("content-encoding") == "gzip":
                text = gzip.decompress(text)
            return Response(response.status, received, text)
    except urllib.error.URLError as error:
        raise TransportError(str(error.reason), isinstance(error.reason, TimeoutError)) from error
    except TimeoutError as error:
        raise TransportError(str(error), timed_out=True) from error
    except (OSError, http.client.HTTPException, EOFError, zlib.error) as error:
        raise TransportError(str(error) or type(error).__name__) from error
