"""A receiver of webhooks with the standard library alone."""

import os
import queue
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from storefront_client import webhook
from storefront_client.events import CustomerCreatedEvent, Event, OrderPaidEvent, PaymentLinkPaidEvent

stored: queue.Queue[Event] = queue.Queue()  # stands for a table of your database, which outlives the program


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        size = self.headers.get("Content-Length", "")
        body = self.rfile.read(int(size)) if re.fullmatch("[0-9]{1,7}", size) else b""
        try:
            event = webhook.read(body, self.headers, os.environ["WEBHOOK_SECRET"])
        except webhook.WebhookError as refused:
            print(refused, flush=True)  # says why
            self.send_error(400)
            return
        stored.put(event)  # store the event first,
        self.send_response(204)  # then answer 2xx, then work
        self.end_headers()


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


server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "3000"))), Receiver)
print(f"listening on http://127.0.0.1:{server.server_port}/webhooks", flush=True)
threading.Thread(target=work, daemon=True).start()
server.serve_forever()
