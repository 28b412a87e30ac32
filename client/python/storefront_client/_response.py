"""The HTTP response that an answer came with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ._json import Answer
from ._transport import Response


@dataclass(frozen=True, slots=True)
class RateLimit:
    """How many requests the API key may still make in this minute."""

    limit: int
    """The maximum number of requests in a minute."""
    remaining: int
    """The number of requests that are left in this minute."""
    reset: int
    """The seconds until the counter restarts."""


@dataclass(frozen=True, slots=True)
class ApiResponse:
    """The HTTP response of a call, without its body."""

    status: int
    """201 for a customer or a payment link that was created, otherwise 200."""
    headers: Mapping[str, str]
    """All headers, their names in lower case."""
    request_id: str | None
    """The request's identifier in the service's logs, to quote when you ask for help."""
    rate_limit: RateLimit | None
    """The rate limit of the key; None if the service did not send it."""


def response_of(answer: Answer) -> ApiResponse:
    """Returns the HTTP response of an answer: status, headers, request id and rate limit.

        customer = shop.customers.create(email="ada@example.com")
        is_new = response_of(customer).status == 201

    Pass the object that a call returned; for a list, a page. For anything else, such as an item of a page or a copy, it raises
    ValueError."""
    response = getattr(answer, "_response", None)
    if not isinstance(response, ApiResponse):
        raise ValueError("this object came with no response: pass the object that the call returned")
    return response


def with_response(answer: object, response: Response) -> None:
    """Records the response of an answer. The answer is frozen, but a response is no field of it."""
    numbers = [response.headers.get(f"x-ratelimit-{name}", "") for name in ("limit", "remaining", "reset")]
    limit = RateLimit(*map(int, numbers)) if all(text.isdecimal() for text in numbers) else None
    about = ApiResponse(response.status, response.headers, response.headers.get("x-request-id"), limit)
    object.__setattr__(answer, "_response", about)
