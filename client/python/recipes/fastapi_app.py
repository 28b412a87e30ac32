"""A receiver of webhooks in FastAPI."""

import os
import queue
import threading

import uvicorn
from fastapi import FastAPI, Request, Response

from storefront_client import webhook
from storefront_client.events import CustomerCreatedEvent, Event, OrderPaidEvent, PaymentLinkPaidEvent

app = FastAPI()
stored: queue.Queue[Event] = queue.Queue()  # stands for a table of your database, which outlives the program


@app.post("/webhooks")
async def webhooks(request: Request) -> Response:
    try:
        event = webhook.read(await request.body(), request.headers, os.environ["WEBHOOK_SECRET"])
    except webhook.WebhookError as refused:
        print(refused, flush=True)
        return Response(status_code=400)
    stored.put(event)  # store the event first, then answer 2xx, then work
    return Response(status_code=204)


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
uvicorn.run(app, host="127.0.0.1", port=int(os.environ.get("PORT", "3000")))
