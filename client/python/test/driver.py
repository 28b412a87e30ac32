"""The Python driver of client/conformance. It reads commands from standard input, a JSON object on each line, runs them, and
prints a JSON object for each: the answer or the error. With the argument aio it uses the client for asyncio."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import sys
from collections.abc import AsyncIterator, Iterator
from typing import Any

from storefront_client import Client, StorefrontError, response_of, webhook

clients: dict[str, Any] = {}
loop = asyncio.new_event_loop()
if "aio" in sys.argv:
    from storefront_client.aio import Client as AsyncClient


async def arrived(answer: Any) -> Any:
    """Awaits an answer of asyncio's client; a list's items are collected."""
    return [one async for one in answer] if isinstance(answer, AsyncIterator) else await answer


def snake(name: str) -> str:
    return "from_" if name == "from" else re.sub("[A-Z]", lambda c: "_" + c[0].lower(), name)


def run(asked: dict[str, Any]) -> Any:
    arguments = {snake(name): value for name, value in asked.get("arguments", {}).items()}
    match asked["do"]:
        case "open":
            clients[asked["client"]] = AsyncClient(**arguments) if "aio" in sys.argv else Client(**arguments)
            return None
        case "call":
            answer = getattr(getattr(clients[asked["client"]], snake(asked["resource"])), asked["method"])(**arguments)
            if "aio" in sys.argv:
                answer = loop.run_until_complete(arrived(answer))
            if asked.get("response"):
                got = response_of(answer)
                limit = got.rate_limit
                return {
                    "status": got.status,
                    "requestId": got.request_id,
                    "header": got.headers.get("content-type"),
                    "rateLimit": limit and {"limit": limit.limit, "remaining": limit.remaining, "resetSeconds": limit.reset},
                }
            return [one.to_dict() for one in answer] if isinstance(answer, Iterator | list) else answer.to_dict()
        case "verify":
            event = webhook.read(
                base64.b64decode(asked["body"]),
                asked["header"],
                asked["secrets"],
                tolerance_seconds=asked["tolerance"],
                now=asked["now"],
            )
            data = getattr(event, "data", None)
            return {
                "class": type(event).__name__,
                "id": event.id,
                "type": event.type,
                "data": None if data is None else data.to_dict(),
                "store": event.store.to_dict(),
                "createdAt": event.created_at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{event.created_at.microsecond // 1000:03}Z",
            }
        case "sign":
            return webhook.sign(base64.b64decode(asked["body"]), asked["secret"], asked["now"])
    raise LookupError(asked["do"])


for line in sys.stdin:
    said: dict[str, Any]
    try:
        said = {"answer": run(json.loads(line))}
    except StorefrontError as e:
        said = {
            "refused": {
                "code": e.code,
                "status": e.status or 0,
                "operation": e.operation,
                "fields": [{"field": one.field, "message": one.message} for one in e.fields],
                "missing": e.missing,
                "required": e.required or "",
                "requestId": e.request_id or "",
                "retryAfter": e.retry_after or 0,
                "message": str(e),
            }
        }
    except webhook.WebhookError as e:
        said = {"refused": {"code": e.reason, "mistake": e.mistake, "message": str(e)}}
    except (ValueError, TypeError) as e:
        said = {"invalid": str(e)}
    print(json.dumps(said), flush=True)
for client in clients.values():
    if "aio" in sys.argv:
        loop.run_until_complete(client.aclose())
loop.close()
