"""Tests of what only the Python client has; client/conformance has the tests that all languages share."""

from __future__ import annotations

import copy
import dataclasses
import email.message
import json
import os
import pickle
import socket
import subprocess
import threading
import unittest
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from typing import Any

from storefront_client import Client, ErrorCode, EventType, ProductStatus, Response, StorefrontError, testing, webhook
from storefront_client._transport import send
from storefront_client.events import CustomerCreatedEvent
from storefront_client.models import Customer, Order, Product, Store

KEY = "svc_live_secretsecret"
SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
PRODUCT = {
    "id": "1",
    "title": "é 🎉",
    "slug": "x",
    "type": "FILE",
    "status": "SOLD_OUT",
    "summary": "",
    "description": "",
    "priceAmount": 9007199254740991,
    "compareAtAmount": None,
    "currency": "KWD",
    "url": "",
    "coverUrl": None,
    "publishedAt": None,
    "createdAt": "2026-10-01T12:00:30.007Z",
    "updatedAt": "2026-10-01T12:00:30.999Z",
}


class Pages:
    """A transport that records requests and answers each with the same page, which has one product and the total 3."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, bytes | None]] = []

    def __call__(self, method: str, url: str, headers: Mapping[str, str], body: bytes | None, timeout: float) -> Response:
        self.sent.append((f"{method} {url}", body))
        answer = {"page": 1, "pageSize": 1, "total": 3, "data": [PRODUCT]} if method == "GET" else PRODUCT
        return Response(200, {}, json.dumps(answer).encode())


class TestClient(unittest.TestCase):
    def setUp(self) -> None:
        self.pages = Pages()
        self.shop = Client("https://x.example", KEY, transport=self.pages)

    def test_a_list_is_lazy_and_ends_with_the_loop(self) -> None:
        products = self.shop.products.list(page_size=1)
        self.assertEqual([], self.pages.sent)
        self.assertEqual("é 🎉", next(products).title)
        self.assertEqual([("GET https://x.example/v1/products?page=1&pageSize=1", None)], self.pages.sent)
        self.assertEqual(3, len(list(self.shop.products.list())))

    def test_a_change_has_what_is_named(self) -> None:
        self.shop.products.update("a/b", compare_at_amount=None, title='é/"')
        self.shop.products.update("1")
        self.assertEqual(
            [
                ("PATCH https://x.example/v1/products/a%2Fb", '{"title": "é/\\"", "compareAtAmount": null}'.encode()),
                ("PATCH https://x.example/v1/products/1", b"{}"),
            ],
            self.pages.sent,
        )
        with self.assertRaises(TypeError):
            self.shop.products.update("1", pric_amount=12)  # type: ignore[call-arg]
        for bad in ("\ud800", float("nan")):
            with self.assertRaises(ValueError):
                self.shop.products.update("1", title=bad)  # type: ignore[arg-type]

    def test_dates_are_in_utc_with_milliseconds(self) -> None:
        product = Product.from_dict(PRODUCT)
        self.assertEqual(datetime(2026, 10, 1, 12, 0, 30, 7000, timezone.utc), product.created_at)
        self.shop.orders.page(from_=datetime(2026, 10, 1, 14, 0, 30, 123900, timezone(timedelta(hours=2))))
        self.assertEqual("GET https://x.example/v1/orders?from=2026-10-01T12%3A00%3A30.123Z", self.pages.sent[0][0])
        with self.assertRaises(ValueError):
            self.shop.orders.page(to=datetime(2026, 10, 1))

    def test_models_are_frozen_slotted_and_no_dicts(self) -> None:
        product = Product.from_dict(PRODUCT)
        self.assertEqual(PRODUCT, product.to_dict())
        self.assertEqual(product, copy.deepcopy(product))
        self.assertEqual(product, pickle.loads(pickle.dumps(product)))
        self.assertFalse(hasattr(product, "__dict__"))
        self.assertNotIsInstance(product, Mapping)
        with self.assertRaises(dataclasses.FrozenInstanceError):
            product.title = "y"  # type: ignore[misc]
        with self.assertRaisesRegex(ValueError, "Order has no id"):
            Order.from_dict({})
        order = Order.from_dict({"id": "1"})
        self.assertEqual(("", 0, None, "", None, ()), (order.status, order.amount, order.note, order.customer.id, order.paid_at, order.items))
        self.assertEqual(datetime(1970, 1, 1, tzinfo=timezone.utc), order.created_at)
        for wrong in (1.5, True, "1", None):
            with self.assertRaisesRegex(ValueError, "priceAmount of Product is not a whole number"):
                Product.from_dict({**PRODUCT, "priceAmount": wrong})

    def test_a_misspelt_word_is_found_by_the_type_checker(self) -> None:
        product, error = Product.from_dict(PRODUCT), StorefrontError("")
        self.assertFalse(product.status == "PUBLISHD")  # type: ignore[comparison-overlap]
        self.assertFalse(error.code == "product_incomplet")  # type: ignore[comparison-overlap]
        self.assertFalse(product.status == "PUBLISHED" or error.code in ("product_incomplete", "timeout"))
        self.assertFalse(product.status == ProductStatus.PUBLISHED or error.code == ErrorCode.PRODUCT_INCOMPLETE)
        self.assertFalse(error.code in (ErrorCode.UNAVAILABLE, ErrorCode.RATE_LIMITED) or EventType.PING == error.code)
        self.shop.products.page(status="PUBLISHD")  # type: ignore[arg-type]
        self.shop.products.page(status=ProductStatus.PUBLISHED)
        self.shop.products.page(status="PUBLISHED")
        self.shop.products.page(status=product.status)

    def test_words_are_open(self) -> None:
        status = Product.from_dict(PRODUCT).status
        self.assertEqual("SOLD_OUT", status)
        self.assertIsInstance(status, ProductStatus)
        self.assertEqual('"SOLD_OUT"', json.dumps(status))
        self.assertEqual("SOLD_OUT PUBLISHED", f"{status} {ProductStatus.PUBLISHED!s}")
        self.assertIs(ProductStatus.PUBLISHED, ProductStatus("PUBLISHED"))
        self.assertEqual({"a": 1}[ErrorCode("a")], 1)
        self.assertEqual(status, pickle.loads(pickle.dumps(status)))
        self.assertIs(ProductStatus.DRAFT, pickle.loads(pickle.dumps(ProductStatus.DRAFT)))
        match status:
            case ProductStatus.PUBLISHED:
                self.fail()
            case other:
                self.assertEqual("SOLD_OUT", str(other))
        with self.assertRaises(ValueError):
            ProductStatus(1)

    def test_nothing_shows_the_key(self) -> None:
        shop = Client("http://127.0.0.1:1", KEY, max_retries=0)
        with self.assertRaises(StorefrontError) as raised:
            shop.store.get()
        failed = raised.exception
        self.assertEqual("network_error", failed.code)
        self.assertNotIn("secretsecret", f"{shop!r} {vars(shop)} {vars(shop.store._connection)} {failed!r} {failed}")
        with self.assertRaises(ValueError) as refused:
            Client("ftp://x", KEY)
        self.assertNotIn("secretsecret", str(refused.exception))

    def test_a_variable_that_is_not_set(self) -> None:
        unset: Any = None
        with self.assertRaisesRegex(ValueError, "base_url must start with https://"):
            Client(unset, KEY)
        with self.assertRaisesRegex(ValueError, "api_key is empty"):
            Client("https://x.example", unset)
        with self.assertRaisesRegex(ValueError, "user_agent must be one line of ASCII text"):
            Client("https://x.example", KEY, user_agent="é/1")  # http.client and httpx would refuse it at each call

    def test_a_host_that_cannot_be_one(self) -> None:
        with self.assertRaises(StorefrontError) as raised:
            Client("https://api..example.com", KEY, max_retries=0).store.get()
        self.assertEqual("network_error", raised.exception.code)

    def test_errors_cross_processes(self) -> None:
        failed = StorefrontError("No.", "getStore", "x", 400, missing=("content",), request_id="r")
        copied = pickle.loads(pickle.dumps(failed))
        self.assertEqual((str(failed), ("content",), "r", 400), (str(copied), copied.missing, copied.request_id, copied.status))
        self.assertEqual("no_header", pickle.loads(pickle.dumps(webhook.WebhookError("no_header"))).mistake)

    def test_an_empty_map(self) -> None:
        texts = "id name slug url description currency country supportEmail phone whatsappPhone status".split()
        values: dict[str, Any] = {name: "" for name in texts} | {"socialLinks": {}, "createdAt": PRODUCT["createdAt"]}
        self.assertEqual(values, Store.from_dict(values).to_dict())


class TestWebhook(unittest.TestCase):
    body = (
        '{"id":"1","type":"customer.created","createdAt":"2026-11-21T12:00:00.000Z","store":{"id":"2","slug":"demo"},"data":{"id":"3",'
        '"name":"é 🎉","email":null,"phone":null,"ordersCount":0,"totalPaid":0,"currency":"NGN","createdAt":"2026-11-21T12:00:00.000Z"}}'
    )

    def test_bodies_and_headers_as_frameworks_give_them(self) -> None:
        signature = webhook.sign(self.body, SECRET)
        message = email.message.Message()  # the type of http.server's headers
        message["service-signature"] = signature
        body = self.body.encode()
        headers: list[Any] = [signature, [signature], (signature,), message]
        headers += [{"SERVICE-SIGNATURE": signature}, {"HTTP_SERVICE_SIGNATURE": signature}]
        bodies: list[Any] = [self.body, body, bytearray(body), memoryview(body)]
        for header in headers:
            for raw in bodies:
                event = webhook.read(raw, header, [SECRET])
                match event:
                    case CustomerCreatedEvent(data=Customer(name=name)):
                        self.assertEqual("é 🎉", name)
                    case _:
                        self.fail(event)
                self.assertEqual("3", event.raw["data"]["id"])

    def test_what_is_no_body_and_no_secret(self) -> None:
        signature = webhook.sign(self.body, SECRET)
        with self.assertRaises(TypeError):
            webhook.read(json.loads(self.body), signature, SECRET)
        with self.assertRaises(webhook.WebhookError) as decoded:
            webhook.read("é".encode().decode("ascii", "surrogateescape"), signature, SECRET)
        self.assertEqual("decoded_body", decoded.exception.mistake)
        secrets: list[Any] = [None, "", [], [None], 0]
        for secret in secrets:
            with self.assertRaises(webhook.WebhookError) as refused:
                webhook.read(self.body, signature, secret)
            self.assertEqual("no_secret", refused.exception.reason)
        with self.assertRaises(ValueError):
            webhook.sign(self.body, "")

    def test_junk(self) -> None:
        for header in ("t=١,v1=" + "0" * 64, "\ud800", "t=1,v1=é", "t=1,v1=\udce9", "t=" + "9" * 2000 + ",v1=0", "t=1\n,v1=" + "0" * 64):
            with self.assertRaises(webhook.WebhookError):
                webhook.read(self.body, header, SECRET)


class EarlyAnswer(unittest.TestCase):
    def test_a_body_that_is_refused_before_all_of_it_is_sent(self) -> None:
        def refuse() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(100)
                connection.sendall(b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")

        with socket.create_server(("127.0.0.1", 0)) as listener:
            server = threading.Thread(target=refuse)
            server.start()
            answer = send("POST", f"http://127.0.0.1:{listener.getsockname()[1]}/", {}, b"x" * 20_000_000, 10)
            server.join()
        self.assertEqual((answer.status, answer.body), (413, b"{}"))


class TestReceiver(unittest.TestCase):
    def operate(self, *args: str) -> Any:
        more = ("--store", "demo", "--admin-url", os.environ["STOREFRONT_ADMIN_URL"], "-o", "json")
        return json.loads(subprocess.run([os.environ["STOREFRONT_BINARY"], *args, *more], check=True, capture_output=True).stdout)

    def test_it_gets_deliveries_of_the_service_and_tells_what_it_refuses(self) -> None:
        with testing.Receiver() as receiver:
            receiver.secret = self.operate("webhook", "create", "--url", receiver.url, "--events", "customer.created")["secret"]
            made = self.operate("customer", "create", "--name", "é 🎉", "--email", "awa@example.com")
            event = receiver.next(60)
            assert isinstance(event, CustomerCreatedEvent)
            self.assertEqual((event.data.id, event.data.name), (made["id"], "é 🎉"))
            receiver.secret = SECRET
            self.operate("trigger", "customer.created", "--yes")
            with self.assertRaises(webhook.WebhookError) as refused:
                receiver.next(60)
            self.assertEqual(refused.exception.mistake, "wrong_secret")
            with self.assertRaises(TimeoutError):
                receiver.next(0.01)


if __name__ == "__main__":
    unittest.main()
