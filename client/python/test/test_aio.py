"""Tests of what only the client for asyncio has; client/conformance has the tests that all clients share."""

from __future__ import annotations

import asyncio
import unittest
from typing import Any, cast

import httpx
from test_client import KEY, PRODUCT

from storefront_client import StorefrontError
from storefront_client.aio import Client


class TestAsyncClient(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        self.sent: list[str] = []

    async def answer(self, request: httpx.Request) -> httpx.Response:
        self.sent.append(str(request.url))
        return httpx.Response(200, json={"page": 1, "pageSize": 1, "total": 3, "data": [PRODUCT]})

    async def test_a_list_is_lazy_and_a_client_of_yours_stays_open(self) -> None:
        async with httpx.AsyncClient(transport=httpx.MockTransport(cast(Any, self.answer))) as http:
            async with Client("https://x.example", KEY, http=http) as shop:
                products = shop.products.list(page_size=1)
                self.assertEqual([], self.sent)
                async for product in products:
                    self.assertEqual("é 🎉", product.title)
                    break
                self.assertEqual(["https://x.example/v1/products?page=1&pageSize=1"], self.sent)
            self.assertFalse(http.is_closed)

    async def test_its_own_connections_are_closed(self) -> None:
        async with Client("https://x.example", KEY) as shop:
            self.assertFalse(shop._http.is_closed)
        self.assertTrue(shop._http.is_closed)

    async def test_calls_run_together_and_are_cancelled(self) -> None:
        async def hang(request: httpx.Request) -> httpx.Response:
            self.sent.append(str(request.url))
            await asyncio.sleep(60)
            raise AssertionError

        async with httpx.AsyncClient(transport=httpx.MockTransport(cast(Any, hang))) as http:
            shop = Client("https://x.example", KEY, http=http)
            calls = asyncio.gather(*(shop.products.get(str(i)) for i in range(5)))
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(calls, 0.2)
            self.assertEqual(5, len(self.sent))

    async def test_nothing_shows_the_key(self) -> None:
        async with Client("http://127.0.0.1:1", KEY, max_retries=0) as shop:
            with self.assertRaises(StorefrontError) as raised:
                await shop.store.get()
        failed = raised.exception
        self.assertEqual("network_error", failed.code)
        self.assertNotIn("secretsecret", f"{shop!r} {vars(shop)} {vars(shop.store._connection)} {failed!r} {failed}")


if __name__ == "__main__":
    unittest.main()
