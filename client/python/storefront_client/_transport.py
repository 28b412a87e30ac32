"""Sends one HTTP request, with the standard library."""

from __future__ import annotations

import http.client
import io
import ipaddress
import time
import urllib.error
import urllib.parse
import urllib.request
import zlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

# The largest answer that is read, in bytes. A page of a hundred products with the longest descriptions has 20 MB.
MAX_ANSWER = 32 << 20


@dataclass(frozen=True, slots=True)
class Response:
    """An HTTP answer, as a Transport returns it. The names of the headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class TransportError(Exception):
    """Raised by a Transport when no complete answer came. The call then raises StorefrontError, with this as its cause."""

    def __init__(self, message: str, timed_out: bool = False) -> None:
        super().__init__(message)
        self.timed_out = timed_out


Request: TypeAlias = "tuple[str, str, Mapping[str, str], bytes | None, float]"

Transport: TypeAlias = Callable[[str, str, Mapping[str, str], "bytes | None", float], Response]
"""A function that sends one request. Its arguments are the method, the URL, the headers, the body and a timeout in seconds. It
must not follow redirects or retry, and must raise TransportError if no complete answer comes."""

AsyncTransport: TypeAlias = Callable[[str, str, Mapping[str, str], "bytes | None", float], Awaitable[Response]]
"""A Transport for the client of asyncio: the function is awaited."""


class _AnyStatus(urllib.request.HTTPErrorProcessor):
    """Makes urllib return every answer: it follows no redirect and raises no error for a status."""

    def http_response(self, request: urllib.request.Request, response: http.client.HTTPResponse) -> http.client.HTTPResponse:
        return response

    https_response = http_response


class _Answer(http.client.HTTPResponse):
    """Reads a whole answer within the socket's timeout. By itself that bounds each read, and a server may send byte by byte."""

    def __init__(self, sock: Any, *args: Any, **more: Any) -> None:
        super().__init__(sock, *args, **more)
        end = time.monotonic() + sock.gettimeout()
        raw: Any = self.fp.detach()
        read = raw.readinto

        def readinto(buffer: Any) -> Any:
            sock.settimeout(max(0.001, end - time.monotonic()))
            return read(buffer)

        raw.readinto = readinto
        self.fp = io.BufferedReader(raw)


class _Connection(http.client.HTTPConnection):
    """Reads the answer even if the server closes the connection before it has read the whole request, for example after a 413."""

    response_class = _Answer

    def send(self, data: Any) -> None:
        if self.sock is None:
            self.connect()
        try:
            super().send(data)
        except (BrokenPipeError, ConnectionResetError):
            pass  # if the server has not answered either, reading the answer fails


class _SecureConnection(_Connection, http.client.HTTPSConnection):
    pass


class _HTTP(urllib.request.HTTPHandler):
    def http_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_Connection, request)


class _HTTPS(urllib.request.HTTPSHandler):
    def https_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(cast(Any, _SecureConnection), request)


def is_loopback(host: str) -> bool:
    """Reports whether a URL's host is this machine: localhost, 127.0.0.0/8 or ::1, also in an IPv4-mapped IPv6 address."""
    if host.lower() == "localhost":
        return True
    try:
        ip = ipaddress.ip_address(host)
    except ValueError:
        return False
    return (getattr(ip, "ipv4_mapped", None) or ip).is_loopback


def send(method: str, url: str, headers: Mapping[str, str], body: bytes | None, timeout: float) -> Response:
    """The Transport of the standard library. It opens a connection for each request, so threads and forks share none."""
    deadline = time.monotonic() + timeout
    request = urllib.request.Request(url, data=body, headers={**headers, "Accept-Encoding": "gzip"}, method=method)
    handlers: list[Any] = [_AnyStatus, _HTTP, _HTTPS]
    if is_loopback(urllib.parse.urlsplit(url).hostname or ""):
        handlers.append(urllib.request.ProxyHandler({}))  # the proxy of http_proxy would read the key
    opener = urllib.request.build_opener(*handlers)
    try:
        with opener.open(request, timeout=timeout) as response:
            received = {name.lower(): value for name, value in response.headers.items()}
            text = bytearray()
            while len(text) <= MAX_ANSWER and (chunk := response.read1(65536)):
                text += chunk
                if time.monotonic() > deadline:
                    raise TimeoutError("the answer does not end")
            length = received.get("content-length", "")
            whole = not length.isdecimal() or len(text) >= min(int(length), MAX_ANSWER)
            if received.get("content-encoding", "").lower() == "gzip" and text:
                unzip = zlib.decompressobj(wbits=31)
                text = bytearray(unzip.decompress(text, MAX_ANSWER + 1))
                whole = whole and (unzip.eof or len(text) > MAX_ANSWER)
            if not whole:
                raise TransportError(f"the answer broke off after {len(text)} bytes")
            return Response(response.status, received, bytes(text))
    except urllib.error.URLError as error:
        raise TransportError(str(error.reason), isinstance(error.reason, TimeoutError)) from error
    except TimeoutError as error:
        raise TransportError(str(error), timed_out=True) from error
    except (OSError, http.client.HTTPException, zlib.error, UnicodeError) as error:
        raise TransportError(str(error) or type(error).__name__) from error
