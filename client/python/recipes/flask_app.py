"""A receiver of webhooks in Flask."""

import os
import queue
import threading

from flask import Flask, request

from storefront_client import webhook
from storefront_client.events import CustomerCreatedEvent, Event, OrderPaidEvent, PaymentLinkPaidEvent

app = Flask(__name__)
stored: queue.Queue[Event] = queue.Queue()  # stands for a table of your database, which outlives the program


@app.post("/webhooks")
def webhooks() -> tuple[str, int]:
    try:
        event = webhook.read(request.get_data(), request.headers, os.environ["WEBHOOK_SECRET"])
    except webhook.WebhookError as refused:
        print(refused, flush=True)
        return "", 400
    stored.put(event)  # store the event first, then answer 2xx, then work
    return "", 204


def work() -> None:
    """Handles the stored events, and each order once: two events report the payment of a link, and any event may come again."""
    shipped: set[str] = set()  # stands for a table whose key is the order's id
    while True:
        match stored.get():
            case OrderPaidEvent(data=order) | PaymentLinkPaidEvent(data=order) if order.id not in shipped:
                shipped.add(order.id)
                print(f"paid: {order.reference} {order.amount} {order.currency}", flush=True)
            case CustomerCreatedEvent(data=customer):
                print(f"new: {customer.name} {customer.phone}", flush=True)

threading.Thread(target=work, daemon=True).start()
app.run("127.0.0.1", int(os.environ.get("PORT", "3000")))
