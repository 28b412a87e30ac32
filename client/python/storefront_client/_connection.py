from __future__ import annotations

import asyncio
import json
import random
import re
import time
import urllib.parse
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any, Final, Generic, TypeVar, cast

from ._errors import StorefrontError, refused, unexpected, without_answer
from ._json import moment
from ._response import with_response
from ._transport import MAX_ANSWER, AsyncTransport, Request, Response, Transport, TransportError, is_loopback
from ._version import __version__

# How long one attempt may take, in seconds; shorter than a call, so that after a dead connection there is time for a retry.
_ATTEMPT_TIMEOUT = 30.0
# The pause in seconds before the first retry without a Retry-After. It doubles with each retry, up to _MAX_DELAY.
_FIRST_DELAY = 0.25
_MAX_DELAY = 8.0
# The longest Retry-After, in seconds, after which a request is retried. The service's rate limits never ask for more.
_MAX_RETRY_AFTER = 60

T = TypeVar("T")


class Omitted(Enum):
    """The default of an update's arguments: the field stays as it is. None instead clears a field that can be null."""

    FIELD = 0


OMITTED: Final = Omitted.FIELD


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One call of an operation."""

    operation: str
    method: str
    path: str
    query: Mapping[str, Any]
    body: Mapping[str, Any] | None
    repeatable: bool
    read: Callable[[dict[str, Any]], T]


@dataclass(frozen=True, slots=True)
class Settings:
    """The checked arguments of a client, without its transport."""

    base_url: str
    api_key: Callable[[], str]  # a function, so that a dump of the client does not show the key
    max_retries: int
    timeout: float
    user_agent: str

    @classmethod
    def checked(
        cls, base_url: str, api_key: str, max_retries: int, timeout: float, allow_http: bool, user_agent: str
    ) -> Settings:
        address = _address(base_url, allow_http)
        _check_key(api_key)
        if max_retries < 0:
            raise ValueError("max_retries must be 0 or more")
        if not timeout > 0:
            raise ValueError("timeout must be more than 0 seconds")
        if re.search(r"[^ -~]", user_agent):
            raise ValueError("user_agent must be one line of ASCII text")
        agent = f"{user_agent} storefront-python/{__version__}".lstrip()
        return cls(address, lambda: api_key, max_retries, timeout, agent)

    def steps(self, call: Call[T]) -> Generator[Request | float, Response, T]:
        """Does the steps of a call with its retries, for blocking clients and asyncio alike: it yields each request that the
        caller must send, and each pause in seconds that the caller must wait. The caller sends back the response, or throws the
        TransportError. All attempts share one deadline."""
        asked = urllib.parse.urlencode({k: str(v) for k, v in drafted(call.query).items()}, quote_via=urllib.parse.quote)
        url = self.base_url + call.path + (f"?{asked}" if asked else "")
        body = None if call.body is None else json.dumps(call.body, ensure_ascii=False, allow_nan=False).encode()
        headers = {"Accept": "application/json", "Authorization": f"Bearer {self.api_key()}", "User-Agent": self.user_agent}
        if body is not None:
            headers["Content-Type"] = "application/json"
        deadline = time.monotonic() + self.timeout
        retries = 0
        while True:
            timeout = max(0.001, min(_ATTEMPT_TIMEOUT, deadline - time.monotonic()))
            try:
                try:
                    response = yield call.method, url, headers, body, timeout
                except TransportError as failed:
                    raise without_answer(call.operation, failed) from failed
                return _result(call, response)
            except StorefrontError as failed:
                again = failed.status == 429 or call.repeatable and failed.may_pass()
                # A Retry-After of 0 is treated like a missing one: the client waits for its own pause, which grows with each
                # retry.
                pause = failed.retry_after or _delay(retries)
                late = pause > _MAX_RETRY_AFTER or time.monotonic() + pause >= deadline
                if not again or late or retries >= self.max_retries:
                    raise
            yield float(pause)
            retries += 1


def _result(call: Call[T], response: Response) -> T:
    """Returns the model in a response, or raises the StorefrontError of the response."""
    if not 200 <= response.status < 300:
        raise refused(call.operation, response)
    try:
        if len(response.body) > MAX_ANSWER:
            raise ValueError(f"it has more than {MAX_ANSWER >> 20} MiB")
        answer = json.loads(response.body)
        if not isinstance(answer, dict):
            raise ValueError("it is no JSON object")
        result = call.read(answer)
        with_response(result, response)
        return result
    except (ValueError, RecursionError) as failed:
        raise unexpected(call.operation, response, failed) from failed


class Connection:
    """Makes the calls of one client."""

    def __init__(self, settings: Settings, transport: Transport) -> None:
        self._settings = settings
        self._transport = transport

    def call(self, call: Call[T]) -> T:
        steps = self._settings.steps(call)
        try:
            step = next(steps)
            while True:
                if isinstance(step, float):
                    time.sleep(step)
                    step = next(steps)
                    continue
                try:
                    response = self._transport(*step)
                except TransportError as failed:
                    step = steps.throw(failed)
                else:
                    step = steps.send(response)
        except StopIteration as done:
            return cast(T, done.value)


class AsyncConnection:
    """Makes the calls of one client for asyncio."""

    def __init__(self, settings: Settings, transport: AsyncTransport) -> None:
        self._settings = settings
        self._transport = transport

    async def call(self, call: Call[T]) -> T:
        steps = self._settings.steps(call)
        try:
            step = next(steps)
            while True:
                if isinstance(step, float):
                    await asyncio.sleep(step)
                    step = next(steps)
                    continue
                try:
                    response = await self._transport(*step)
                except TransportError as failed:
                    step = steps.throw(failed)
                else:
                    step = steps.send(response)
        except StopIteration as done:
            return cast(T, done.value)


def _delay(retries: int) -> float:
    """The pause before the next retry. Half of it is random, so that clients that failed together do not retry together."""
    full: float = min(_FIRST_DELAY * 2**retries, _MAX_DELAY)
    return full / 2 * (1 + random.random())


def segment(id: str) -> str:
    """Escapes an id as one segment of a path."""
    if id in ("", ".", ".."):
        raise ValueError('the id must not be empty, "." or ".."')
    return urllib.parse.quote(id, safe="")


def changed(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of an update without those that are OMITTED."""
    return {name: _written(value) for name, value in fields.items() if value is not OMITTED}


def drafted(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a creation or a query without those that are None."""
    return {name: _written(value) for name, value in fields.items() if value is not None}


def _written(value: Any) -> Any:
    return moment(value) if isinstance(value, datetime) else value


def _address(base_url: str, allow_http: bool) -> str:
    """Checks the base URL and returns it without a slash at its end. The errors do not quote it, as it may have a password."""
    try:
        base_url = base_url or ""  # an unset variable may be None
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
    if parts.scheme == "http" and not allow_http and not is_loopback(host):
        raise ValueError(
            "base_url must be https, or the key crosses the network readable; where that network is private, set allow_http"
        )
    return base_url.rstrip("/")


def _check_key(api_key: str) -> None:
    """Refuses a text that cannot be a key, so that a wrong setting fails at the start instead of with a later 401."""
    if not api_key:  # an unset variable may be None
        raise ValueError("api_key is empty; set it to a key of the store's dashboard, under Settings, Developer, API keys")
    if not api_key.startswith("svc_live_"):
        raise ValueError("api_key does not start with svc_live_")
    if re.fullmatch(r"[!-~]+", api_key) is None:
        raise ValueError("api_key holds white space or a character that no key has, such as the end of a line")
