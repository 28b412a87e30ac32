"""The API of a store and its webhooks, with the standard library alone.

    shop = Client(os.environ["SHOP_URL"], os.environ["SHOP_KEY"])
    for product in shop.products.list(status=ProductStatus.PUBLISHED):
        print(product.title, product.price_amount, product.currency)

The module webhook verifies deliveries of webhooks; models and events have the types of answers and events.
"""

from . import events, models, webhook
from ._client import Client
from ._connection import OMITTED, Omitted
from ._errors import FieldError, StorefrontError
from ._response import ApiResponse, RateLimit, response_of
from ._transport import Response, Transport, TransportError
from ._version import __version__
from .models import (
    ErrorCode,
    EventType,
    OrderStatus,
    PaymentLinkAvailability,
    PaymentLinkFilter,
    PaymentLinkPricing,
    ProductStatus,
    ProductType,
    StoreStatus,
)

__all__ = [
    "ApiResponse",
    "Client",
    "ErrorCode",
    "EventType",
    "FieldError",
    "OMITTED",
    "Omitted",
    "OrderStatus",
    "PaymentLinkAvailability",
    "PaymentLinkFilter",
    "PaymentLinkPricing",
    "ProductStatus",
    "ProductType",
    "RateLimit",
    "Response",
    "StoreStatus",
    "StorefrontError",
    "Transport",
    "TransportError",
    "__version__",
    "events",
    "models",
    "response_of",
    "webhook",
]
