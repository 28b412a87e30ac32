"""What calls the functions of the guide; those beside it are its blocks."""

import os

from part_changes import no_reference
from part_errors import publish
from part_lists import paid_in
from storefront_client import Client

shop = Client(os.environ["SHOP_URL"], os.environ["SHOP_KEY"])
draft = [product.id for product in shop.products.list(status="DRAFT")][-1]
print("no reference price:", str(no_reference(shop, draft).compare_at_amount is None).lower())
print("missing:", *publish(shop, draft))
total = sum(order.amount for order in shop.orders.list(status="PAID"))
paid = [paid_in(shop, month) for month in os.environ["MONTHS"].split()]
print("paid:", str(sum(paid) == total > max(paid)).lower())
