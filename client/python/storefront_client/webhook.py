"""Verifies the deliveries of a store's webhooks and reads their events.

    event = webhook.read(request.get_data(), request.headers, os.environ["WEBHOOK_SECRET"])

Events that are newer than this package are accepted: unknown fields are ignored, unknown words of an enum are kept, and an
event of an unknown type is an UnknownEvent.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import time
from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from typing import Any, Protocol

from .events import Event, read_event

SIGNATURE_HEADER = "Service-Signature"
TOLERANCE_SECONDS = 300
"""How many seconds the signature's time may be before or after this machine's time."""

# A longer header is refused. The service's header has 80 bytes now; a later release may send several signatures in it.
_MAX_HEADER_BYTES = 1024

# WebhookError.reason and WebhookError.message for each WebhookError.mistake.
_MISTAKES = {
    "no_secret": ("no_secret", "the secret is empty; set it to the whsec_… that was shown when the webhook was made"),
    "no_header": (
        "no_signature",
        "there is no Service-Signature header: this is no delivery, or a proxy or framework dropped the header",
    ),
    "unreadable_header": (
        "no_signature",
        "the Service-Signature header does not have the form t=…,v1=…: pass its value as received, once",
    ),
    "altered_header": (
        "mismatch",
        "the signature in the header is not 64 hexadecimal digits: it was cut or changed on the way",
    ),
    "api_key": ("mismatch", "the secret is an API key (svc_live_…); a webhook's secret starts with whsec_"),
    "secret_form": (
        "mismatch",
        "the secret is not of the form that was shown: whsec_ and what follows, all of it, "
        "without spaces, quotes or a line's end",
    ),
    "empty_body": ("mismatch", "the body is empty: something read it before; verify the bytes first"),
    "base64_body": (
        "mismatch",
        "the body is still base64, as some gateways pass it on: decode it, and verify the bytes that come out",
    ),
    "decoded_body": (
        "mismatch",
        "the body was decoded as Latin-1, as ASCII or as another encoding than UTF-8: verify the bytes exactly as received",
    ),
    "changed_body": (
        "mismatch",
        "the body is not written as the service writes it: it was probably parsed and written again; "
        "verify the bytes exactly as received",
    ),
    "wrong_secret": (
        "mismatch",
        "the body looks untouched, so the secret is probably that of another webhook, an old one, "
        "or not the one that storefront listen prints",
    ),
    "too_old": ("timestamp", "the signature is older than allowed"),
    "too_new": ("timestamp", "the signature is of the future"),
    "no_event": ("payload", "the signature matches, but the body is no event"),
}


class WebhookError(ValueError):
    """Why a delivery is refused: answer it with 400. It quotes neither the header nor the secret.

    reason: for branching: no_signature, mismatch, timestamp, no_secret or payload
    mistake: the probable cause, for logs: no_header, changed_body, wrong_secret, too_old, …
    """

    def __init__(self, mistake: str, more: str = "") -> None:
        super().__init__(mistake, more)
        self.mistake = mistake
        self.reason, self.message = _MISTAKES[mistake]
        if more:
            self.message += f": {more}"

    def __str__(self) -> str:
        return self.message


class Headers(Protocol):
    """All headers of a request: the mapping that a web framework has."""

    def items(self) -> Iterable[tuple[Any, Any]]: ...


def read(
    body: bytes | bytearray | memoryview | str,
    header: str | Sequence[str] | Headers | None,
    secret: str | Sequence[str],
    *,
    tolerance_seconds: int = TOLERANCE_SECONDS,
    now: float | None = None,
) -> Event:
    """Verifies the signature of a delivery and returns its event. Raises WebhookError.

    body: the body exactly as received, not parsed
    header: the value of the header Service-Signature, a list of its values, or all headers of the request
    secret: the whole secret, with whsec_; during a change of the secret, a list of the old and the new one
    tolerance_seconds: how far the signature's time may be from now
    now: the current time in Unix seconds, for tests with recorded deliveries
    """
    text = _bytes(body)
    secrets = [one for one in ([secret] if isinstance(secret, str) else secret or []) if isinstance(one, str) and one]
    if not secrets:
        raise WebhookError("no_secret")
    value = _header(header)
    if not value:
        raise WebhookError("no_header")
    at, signatures = _parse(value)
    matches = False
    for one in secrets:
        want = _sum(text, one, at).encode()
        for given in signatures:
            matches = hmac.compare_digest(want, given.encode("utf-8", "replace")) or matches
    if not matches:
        raise WebhookError(_mistake(text, signatures, secrets))
    clock = int(time.time() if now is None else now)
    age = clock - int(at)
    if abs(age) > tolerance_seconds:
        raise _outside(age, clock, tolerance_seconds)
    try:
        event = json.loads(text)
        if not isinstance(event, dict):
            raise ValueError("it is no JSON object")
        return read_event(event)
    except (ValueError, RecursionError) as failed:
        raise WebhookError("no_event", str(failed)) from failed


def sign(body: bytes | bytearray | memoryview | str, secret: str, at: int | None = None) -> str:
    """Returns the value of the header Service-Signature as the service would send it, for tests of your receiver."""
    if not secret:
        raise ValueError("the secret must not be empty")
    seconds = str(int(time.time()) if at is None else at)
    return f"t={seconds},v1={_sum(_bytes(body), secret, seconds)}"


def _bytes(body: bytes | bytearray | memoryview | str) -> bytes:
    if isinstance(body, str):
        return body.encode("utf-8", "surrogatepass")  # some decoders make surrogates of invalid bytes
    if isinstance(body, (bytes, bytearray, memoryview)):
        return bytes(body)
    raise TypeError("the body must be the bytes or the text as received, before anything parsed them")


def _sum(body: bytes, secret: str, at: str) -> str:
    return hmac.new(secret.encode(), at.encode() + b"." + body, hashlib.sha256).hexdigest()


def _header(header: str | Sequence[str] | Headers | None) -> str:
    if header is None:
        return ""
    if isinstance(header, str):
        return header
    if isinstance(header, Sequence):
        return ",".join(header)
    # Django's META and WSGI call the header HTTP_SERVICE_SIGNATURE.
    names = ("service-signature", "http_service_signature")
    found = [value for name, value in header.items() if str(name).lower() in names]
    return ",".join(part for one in found for part in ([one] if isinstance(one, str) else one))


def _parse(header: str) -> tuple[str, list[str]]:
    """Returns the time, as a text, and all v1 signatures of a header. Other parts of the header are ignored, so that a later
    sender can add signatures of other schemes."""
    parts = header.split(",") if len(header.encode("utf-8", "replace")) <= _MAX_HEADER_BYTES else []
    times = [part[2:] for part in parts if part.startswith("t=")]
    signatures = [part[3:] for part in parts if part.startswith("v1=")]
    # The signed text has the time as the header writes it. So a time in another form than the service's, such as "+5" or
    # "05", is refused, and so is a time that does not fit 64 bits.
    if len(times) != 1 or not signatures or not re.fullmatch(r"0|-?[1-9][0-9]{0,18}", times[0]):
        raise WebhookError("unreadable_header")
    if not -(2**63) <= int(times[0]) < 2**63:
        raise WebhookError("unreadable_header")
    return times[0], signatures


def _mistake(body: bytes, signatures: list[str], secrets: list[str]) -> str:
    """Returns the probable mistake when no signature matches, guessed from the header, the secrets and the body."""
    if not any(re.fullmatch(r"[0-9a-f]{64}", one) for one in signatures):
        return "altered_header"
    for secret in secrets:
        if secret.startswith("svc_live_"):
            return "api_key"
        if not re.fullmatch(r"whsec_(?:[0-9A-Za-z_-]{43}|[0-9a-f]{64})", secret):
            return "secret_form"
    if not body:
        return "empty_body"
    if re.match(rb'[\s"]*eyJpZCI6I', body):  # {"id":"
        return "base64_body"
    if _is_decoded(body):
        return "decoded_body"
    # The service begins an event with its id, writes no spaces between the tokens, and escapes only the characters that JSON
    # requires. A body in another form was written again by another program.
    try:
        text = body.decode()
        is_object = isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return "changed_body"
    between = re.sub(r'"(?:[^"\\]|\\.)*"', "", text)
    untouched = (
        is_object
        and text.startswith('{"id":"')
        and not re.search(r"\s", between)
        and not re.search(r"(?<!\\)(?:\\\\)*\\(?:/|u(?!00[01]|2028|2029))", text, re.IGNORECASE)
    )
    return "wrong_secret" if untouched else "changed_body"


# The character that a continuation byte of UTF-8 becomes if it is read as Latin-1 or Windows-1252.
_NEXT = "[\u0080-\u00bf\u0152\u0153\u0160\u0161\u0178\u017d\u017e\u0192\u02c6\u02dc\u2013-\u203a\u20ac\u2122]"
_UTF8_AS_LATIN1 = re.compile(f"[\u00c2-\u00df]{_NEXT}|[\u00e0-\u00ef]{_NEXT}{{2}}|[\u00f0-\u00f4]{_NEXT}{{3}}")
# Traces of UTF-8 that was read as ASCII: Node drops the highest bit of each byte, so that é becomes C); other decoders replace
# each byte by U+FFFD.
_UTF8_AS_ASCII = re.compile(r'\ufffd|[\x00-\x08\x0e-\x1f]|[a-z]C[\t!-/;]|[ "]C[\t()*+][a-z]')


def _is_decoded(body: bytes) -> bool:
    """Reports whether a body is not UTF-8, or was UTF-8 and then decoded as another encoding."""
    try:
        text = body.decode()
    except ValueError:
        return True
    rest = _UTF8_AS_LATIN1.sub("", text)
    return (rest != text and rest.isascii()) or _UTF8_AS_ASCII.search(text) is not None


def _outside(age: int, now: int, tolerance: int) -> WebhookError:
    try:
        clock = datetime.fromtimestamp(now, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError):
        clock = str(now)
    than = f"by this machine's clock, which reads {clock}, and {tolerance} are allowed"
    if age > 0:
        return WebhookError(
            "too_old",
            f"it was made {age} seconds ago {than}; either the delivery was held up or sent again, or this clock is fast",
        )
    return WebhookError("too_new", f"it was made in {-age} seconds {than}; this clock is slow, or the sender's is fast")
