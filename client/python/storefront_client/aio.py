"""The client for asyncio, with httpx: pip install storefront-client[aio].

    async with Client(os.environ["SHOP_URL"], os.environ["SHOP_KEY"]) as shop:
        async for product in shop.products.list(status=ProductStatus.PUBLISHED):
            print(product.title, product.price_amount, product.currency)

It has the same models, errors and retries as storefront_client.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx

from . import aio_resources as resources
from ._connection import AsyncConnection, Settings
from ._transport import MAX_ANSWER, Response, TransportError, is_loopback

__all__ = ["Client"]


class Client:
    """storefront_client.Client for asyncio: await its methods, and use async for with its lists. Use a client in
    one event loop, such as one asyncio.run. The arguments are the same, except that http replaces transport:

    http: your httpx.AsyncClient, for example with a proxy or certificates. The client never closes it. Without this argument,
        the client makes an httpx.AsyncClient, and closes it in aclose and at the end of async with.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        max_retries: int = 3,
        timeout: float = 120.0,
        allow_http: bool = False,
        http: httpx.AsyncClient | None = None,
        user_agent: str = "",
    ) -> None:
        settings = Settings.checked(base_url, api_key, max_retries, timeout, allow_http, user_agent)
        self._base_url = base_url
        # A transport of its own makes httpx ignore the proxy of http_proxy, which would read the key on its way to this machine.
        direct = httpx.AsyncHTTPTransport() if is_loopback(urlsplit(settings.base_url).hostname or "") else None
        self._http = http or httpx.AsyncClient(transport=direct)
        self._is_own = http is None
        connection = AsyncConnection(settings, _Sender(self._http))
        self.store = resources.Store(connection)
        self.products = resources.Products(connection)
        self.orders = resources.Orders(connection)
        self.customers = resources.Customers(connection)
        self.payment_links = resources.PaymentLinks(connection)

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes the connections, unless they are those of the argument http."""
        if self._is_own:
            await self._http.aclose()

    def __repr__(self) -> str:
        return f"Client({self._base_url!r})"


class _Sender:
    """The AsyncTransport over httpx."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http

    async def __call__(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None, timeout: float
    ) -> Response:
        try:
            # wait_for bounds the time of the whole answer, because the timeout of httpx bounds only each read.
            return await asyncio.wait_for(self._answer(method, url, headers=headers, content=body, timeout=timeout), timeout)
        except (asyncio.TimeoutError, httpx.TimeoutException) as error:
            raise TransportError(str(error) or "the time is over", timed_out=True) from error
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
            raise TransportError(str(error) or type(error).__name__) from error

    async def _answer(self, method: str, url: str, **more: Any) -> Response:
        async with self._http.stream(method, url, follow_redirects=False, **more) as answer:
            text = bytearray()
            async for part in answer.aiter_bytes():
                text += part
                if len(text) > MAX_ANSWER:
                    break
        return Response(answer.status_code, {name.lower(): value for name, value in answer.headers.items()}, bytes(text))
