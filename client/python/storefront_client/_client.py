from __future__ import annotations

from . import resources
from ._connection import Connection, Settings
from ._transport import Transport, send


class Client:
    """The API of a store, with one key. Threads may share it.

    The client sends a failed request again, at most max_retries times:

        failure                              payment_links.create       everything else
        429                                  retry after Retry-After    retry after Retry-After
        5xx, network error, no answer        no retry                   retry after Retry-After or a growing pause
          within 30 s

    After a 429 the service has changed nothing. After any other failure it may have created the payment
    link, and a second link could take money too, so the caller must decide. If Retry-After is more than a
    minute, the call fails at once.

    A call that fails raises StorefrontError; an argument that cannot be sent raises ValueError or
    TypeError. The client sends the key only to the base URL, never over plain HTTP to another machine, and
    follows no redirect. No repr shows the key.

    base_url: the address of the service, without /v1: https://api.example.com
    api_key: svc_live_…, on servers only
    max_retries: the most retries of a request; 0 means none
    timeout: the most seconds that a call may take with its retries and pauses; in a list, that a page may take
    allow_http: accept http:// to another machine; for private networks only, because the key is then sent unencrypted
    transport: the function that sends a request; by default urllib, which uses the proxy of the environment variables
    user_agent: your program's name, such as crm/1.4; the header User-Agent has it before this package's name
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
