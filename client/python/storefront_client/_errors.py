from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal, cast

from ._transport import Response, TransportError
from .models import ErrorCodeLiteral

ClientCodeLiteral = Literal["network_error", "timeout", "unexpected_answer"]
"""The codes that this package sets itself, when the service did not answer."""


@dataclass(frozen=True, slots=True)
class FieldError:
    """One refused field of a request."""

    field: str
    """The field's name in the JSON or the query, such as pageSize. Dots join the names of nested fields."""
    message: str
    """What the field may hold, in English."""


class StorefrontError(Exception):
    """Why a call failed. Branch on code, never on the message:

    except StorefrontError as refused:
        if refused.code == ErrorCode.PRODUCT_INCOMPLETE:
            print(refused.missing)

    operation: the operation that was called, such as updateProduct
    code: a member of ErrorCode, or a code that is newer than this package; or network_error (no complete answer came), timeout
        (an attempt or the whole call took too long) or unexpected_answer (not the service answered, but a proxy, for example)
    status: the HTTP status; None without an answer
    message: the reason in English, for people
    fields, missing, required: the details of validation_failed, product_incomplete and insufficient_scope
    request_id: the request's identifier in the service's logs; quote it when you ask for help
    retry_after: the Retry-After of the answer, in seconds; None without one
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
        super().__init__(message, operation, code, status)  # pickle passes these again; the rest is in __dict__
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
        """Whether the same request may succeed later, because the service or the network failed."""
        return (self.status or 0) >= 500 or self.code in ("network_error", "timeout")


def without_answer(operation: str, failed: TransportError) -> StorefrontError:
    if failed.timed_out:
        return StorefrontError(f"no answer in time: {failed}", operation, "timeout")
    return StorefrontError(f"no whole answer: {failed}", operation, "network_error")


def unexpected(operation: str, response: Response, why: Exception | None = None) -> StorefrontError:
    """Makes the error for an answer that is not from the service."""
    kind = response.headers.get("content-type", "no content type")
    to = response.headers.get("location")
    reason = f" ({why})" if why is not None else f" (it redirects to {to})" if to else ""
    return StorefrontError(
        f"the answer, {response.status} with {kind}, is not the service's: "
        f"check the base URL and what stands before the service{reason}",
        operation,
        "unexpected_answer",
        response.status,
        retry_after=_retry_after(response),
    )


def refused(operation: str, response: Response) -> StorefrontError:
    """Makes the error for an answer without a 2xx status."""
    try:
        body = json.loads(response.body)
    except (ValueError, RecursionError):
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
    """Reads a text from an error's body. A missing or wrong text is None, so that the other parts of the error are still used."""
    value = values.get(name) if isinstance(values, dict) else None
    return value if isinstance(value, str) else None


def _retry_after(response: Response) -> int | None:
    """The Retry-After in seconds. A date, which some proxies send, is ignored. Of several values, the first counts."""
    text = response.headers.get("retry-after", "").split(",")[0]
    return int(text[:18]) if text.isascii() and text.isdecimal() else None
