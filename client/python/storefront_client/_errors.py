from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal, cast

from ._transport import Response, TransportError
from .models import ErrorCodeLiteral

ClientCodeLiteral = Literal["network_error", "timeout", "unexpected_answer"]
"""The codes of a request that the service did not answer."""


@dataclass(frozen=True, slots=True)
class FieldError:
    """One refused field of a request."""

    field: str
    """The field's name in the JSON or the query, dotted for nesting, such as pageSize."""
    message: str
    """What the field may hold, in English."""


class StorefrontError(Exception):
    """Why a call failed. Branch on code, never on the message:

    except StorefrontError as refused:
        if refused.code == ErrorCode.PRODUCT_INCOMPLETE:
            print(refused.missing)

    operation: the operation that was called, such as updateProduct
    code: one of ErrorCode, a newer one of the service's, or network_error (no whole answer came), timeout (the call's time was
        over, or an attempt's) or unexpected_answer (something other than the service answered, such as a proxy)
    status: the HTTP status; None if nothing answered
    message: the reason in English, for people
    fields, missing, required: the details of validation_failed, product_incomplete and insufficient_scope
    request_id: the request's identifier in the service's logs: quote it when you ask for help
    retry_after: how many seconds the service asks to wait; None if it does not
    """

    code: ErrorCodeLiteral | ClientCodeLiteral

    def __init__(
        self,
        message: str,
        operation: str = "",
        code: str = "",
        status: int | None = None,
        *,
        fields: tuple[FieldError, ...] = (),
        missing: tuple[str, ...] = (),
        required: str | None = None,
        request_id: str | None = None,
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message, operation, code, status)  # what pickle passes again; the rest is in the object's dict
        self.message = message
        self.operation = operation
        self.code = cast(ErrorCodeLiteral, code)
        self.status = status
        self.fields = fields
        self.missing = missing
        self.required = required
        self.request_id = request_id
        self.retry_after = retry_after

    def __str__(self) -> str:
        details = [f"{one.field} {one.message}" for one in self.fields] + list(self.missing)
        if self.required is not None:
            details.append(self.required)
        return (
            f"storefront: {self.operation}: {self.code}: {self.message}"
            + (f" [{'; '.join(details)}]" if details else "")
            + (f" (request {self.request_id})" if self.request_id is not None else "")
        )

    def may_pass(self) -> bool:
        """Whether the same request may succeed later: a failure of the service or on the way to it."""
        return (self.status or 0) >= 500 or self.code in ("network_error", "timeout")


def without_answer(operation: str, failed: TransportError) -> StorefrontError:
    if failed.timed_out:
        return StorefrontError(f"no answer in time: {failed}", operation, "timeout")
    return StorefrontError(f"no whole answer: {failed}", operation, "network_error")


def unexpected(operation: str, response: Response, why: Exception | None = None) -> StorefrontError:
    """The error of an answer that is not from the service."""
    kind = response.headers.get("content-type", "no content type")
    reason = "" if why is None else f" ({why})"
    return StorefrontError(
        f"the answer, {response.status} with {kind}, is not the service's: "
        f"check the base URL and what stands before the service{reason}",
        operation,
        "unexpected_answer",
        response.status,
        retry_after=_retry_after(response),
    )


def refused(operation: str, response: Response) -> StorefrontError:
    """The error of an answer that is not a success."""
    try:
        body = json.loads(response.body)
    except ValueError:
        body = None
    code = _text(body, "code")
    if response.status < 400 or code is None:
        return unexpected(operation, response)
    details: dict[str, Any] = body["details"] if isinstance(body.get("details"), dict) else {}
    fields = details.get("fields")
    missing = details.get("missing")
    return StorefrontError(
        _text(body, "message") or "",
        operation,
        code,
        response.status,
        fields=tuple(
            FieldError(_text(one, "field") or "", _text(one, "message") or "")
            for one in (fields if isinstance(fields, list) else [])
            if isinstance(one, dict)
        ),
        missing=tuple(one for one in (missing if isinstance(missing, list) else []) if isinstance(one, str)),
        required=_text(details, "required") or None,
        request_id=_text(body, "requestId"),
        retry_after=_retry_after(response),
    )


def _text(values: Any, name: str) -> str | None:
    """A text of an error's body, whose other parts count even without it."""
    value = values.get(name) if isinstance(values, dict) else None
    return value if isinstance(value, str) else None


def _retry_after(response: Response) -> int | None:
    """The service sends seconds; the date form, which proxies may send, is ignored."""
    text = response.headers.get("retry-after", "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None
