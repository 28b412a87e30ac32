from __future__ import annotations

import json
import random
import re
import time
import urllib.parse
from collections.abc import Callable, Mapping
from datetime import datetime
from enum import Enum
from typing import Any, Final, TypeVar

from ._errors import StorefrontError, refused, unexpected, without_answer
from ._json import moment
from ._transport import Transport, TransportError
from ._version import __version__

# How long an attempt may take, so that a connection that died silently leaves time for the next. All in seconds.
_ATTEMPT_TIMEOUT = 30.0
# The first pause before a retry that waits for no Retry-After; it doubles up to the last.
_FIRST_DELAY = 0.25
_MAX_DELAY = 8.0
# The service's limits count by the minute, so a person should decide about any longer wait.
_MAX_RETRY_AFTER = 60

T = TypeVar("T")


class Omitted(Enum):
    """An argument of a change that is left out: its field stays as it is, whereas None clears one that can be null."""

    FIELD = 0


OMITTED: Final = Omitted.FIELD


class Connection:
    """Sends the requests of one client, and sends them again."""

    def __init__(
        self,
        base_url: str,
        api_key: str,
        max_retries: int,
        timeout: float,
        allow_http: bool,
        transport: Transport,
        user_agent: str,
    ) -> None:
        self._base_url = _address(base_url, allow_http)
        _check_key(api_key)
        if max_retries < 0:
            raise ValueError("max_retries must be 0 or more")
        if not timeout > 0:
            raise ValueError("timeout must be more than 0 seconds")
        if re.search(r"[\x00-\x1f\x7f]", user_agent):
            raise ValueError("user_agent must be one line of text")
        self._user_agent = f"{user_agent} storefront-python/{__version__}".lstrip()
        self._max_retries = max_retries
        self._timeout = timeout
        self._transport = transport
        self._api_key: Callable[[], str] = lambda: api_key  # as a text, it would be in dumps of the client

    def call(
        self,
        *,
        operation: str,
        method: str,
        path: str,
        query: Mapping[str, Any],
        body: Mapping[str, Any] | None,
        repeatable: bool,
        read: Callable[[dict[str, Any]], T],
    ) -> T:
        """Calls an operation, with retries. All attempts share one deadline."""
        asked = urllib.parse.urlencode({k: str(v) for k, v in drafted(query).items()}, quote_via=urllib.parse.quote)
        url = self._base_url + path + (f"?{asked}" if asked else "")
        text = None if body is None else json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
        deadline = time.monotonic() + self._timeout
        retries = 0
        while True:
            timeout = max(0.001, min(_ATTEMPT_TIMEOUT, deadline - time.monotonic()))
            try:
                return self._attempt(operation, method, url, text, timeout, read)
            except StorefrontError as failed:
                again = failed.status == 429 or repeatable and failed.may_pass()
                # Even if the service asks for an immediate retry, the growing pauses apply.
                pause = failed.retry_after or _delay(retries)
                late = pause > _MAX_RETRY_AFTER or time.monotonic() + pause >= deadline
                if not again or late or retries >= self._max_retries:
                    raise
            time.sleep(pause)
            retries += 1

    def _attempt(
        self, operation: str, method: str, url: str, body: bytes | None, timeout: float, read: Callable[[dict[str, Any]], T]
    ) -> T:
        """Sends a request once."""
        headers = {
            "Accept": "application/json",
            "Authorization": f"Bearer {self._api_key()}",
            "User-Agent": self._user_agent,
        }
        if body is not None:
            headers["Content-Type"] = "application/json"
        try:
            response = self._transport(method, url, headers, body, timeout)
        except TransportError as failed:
            raise without_answer(operation, failed) from failed
        if not 200 <= response.status < 300:
            raise refused(operation, response)
        try:
            answer = json.loads(response.body)
            if not isinstance(answer, dict):
                raise ValueError("it is no JSON object")
            return read(answer)
        except ValueError as failed:
            raise unexpected(operation, response, failed) from failed


def _delay(retries: int) -> float:
    """The pause after so many retries: half of it is random, so that clients that failed together do not retry together."""
    full: float = min(_FIRST_DELAY * 2**retries, _MAX_DELAY)
    return full / 2 * (1 + random.random())


def segment(id: str) -> str:
    """An id as one segment of a path."""
    if id in ("", ".", ".."):
        raise ValueError('the id must not be empty, "." or ".."')
    return urllib.parse.quote(id, safe="")


def changed(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a change that are given."""
    return {name: _written(value) for name, value in fields.items() if value is not OMITTED}


def drafted(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a draft or a query that are given: None is the same as leaving one out."""
    return {name: _written(value) for name, value in fields.items() if value is not None}


def _written(value: Any) -> Any:
    return moment(value) if isinstance(value, datetime) else value


def _address(base_url: str, allow_http: bool) -> str:
    """The base URL in the form that paths are appended to. The errors contain nothing of it: it may hold a password."""
    try:
        parts = urllib.parse.urlsplit(base_url)
        host = parts.hostname or ""
        bad = re.search(r"[\x00-\x20\x7f]", base_url) is not None
        _ = parts.port
    except ValueError:
        parts, host, bad = urllib.parse.urlsplit(""), "", True
    if bad or host == "" or parts.scheme not in ("http", "https"):
        raise ValueError("base_url must start with https:// and a host, such as https://api.example.com")
    if parts.username is not None or parts.password is not None:
        raise ValueError("base_url must hold no user name or password; the API key is given beside it")
    if "?" in base_url or "#" in base_url:
        raise ValueError("base_url must end before ? and #")
    if parts.path.rstrip("/").endswith("/v1"):
        raise ValueError("base_url must be the address of the service without /v1")
    here = host in ("localhost", "::1") or re.fullmatch(r"127\.\d+\.\d+\.\d+", host) is not None
    if parts.scheme == "http" and not allow_http and not here:
        raise ValueError(
            "base_url must be https, or the key crosses the network readable; where that network is private, set allow_http"
        )
    return base_url.rstrip("/")


def _check_key(api_key: str) -> None:
    """Refuses a text that cannot be a key, so that a wrong setting fails at the start instead of with a later 401."""
    if api_key == "":
        raise ValueError("api_key is empty; set it to a key of the store's dashboard, under Settings, Developer, API keys")
    if not api_key.startswith("svc_live_"):
        raise ValueError("api_key does not start with svc_live_")
    if re.fullmatch(r"[!-~]+", api_key) is None:
        raise ValueError("api_key holds white space or a character that no key has, such as the end of a line")
