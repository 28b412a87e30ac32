from __future__ import annotations

from . import resources
from ._connection import Connection, Settings
from ._transport import Transport, send


class Client:
    """The API of a store, with one key. Threads may share it.

    A request that failed is sent again by this table, at most max_retries times:

        after                           payment_links.create   everything else
        429                             after Retry-After      after Retry-After
        5xx, no answer, none in 30 s    never                  after Retry-After or a growing pause

    A 429 changed nothing; after any other failure a payment link may have been created, and it takes
    money, so the caller decides. A Retry-After of more than a minute is not waited for.

    A call that fails raises StorefrontError, and ValueError or TypeError for an argument that cannot be
    sent. The key is sent to the base URL alone, never over plain HTTP to another machine, never along a
    redirect, and no repr shows it.

    base_url: the address of the service, without /v1: https://api.example.com
    api_key: svc_live_…, on servers only
    max_retries: the most retries of a request; 0 means none
    timeout: how many seconds a call may take, with its retries and waits; for a list, each of its pages
    allow_http: accept http:// to another machine, for private networks only: the key crosses them in clear text
    transport: what sends requests, by default the standard library's urllib, with the proxy of its environment variables
    user_agent: your program's name, such as crm/1.4, which goes before this package's
    """

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        max_retries: int = 3,
        timeout: float = 120.0,
        allow_http: bool = False,
        transport: Transport = send,
        user_agent: str = "",
    ) -> None:
        settings = Settings.checked(base_url, api_key, max_retries, timeout, allow_http, user_agent)
        connection = Connection(settings, transport)
        self._base_url = base_url
        self.store = resources.Store(connection)
        self.products = resources.Products(connection)
        self.orders = resources.Orders(connection)
        self.customers = resources.Customers(connection)
        self.payment_links = resources.PaymentLinks(connection)

    def __repr__(self) -> str:
        return f"Client({self._base_url!r})"
