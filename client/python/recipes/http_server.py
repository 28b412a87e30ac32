"""A receiver of webhooks with the standard library alone."""

import os
import signal
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from storefront_client import webhook
from storefront_client.events import CustomerCreatedEvent, OrderPaidEvent


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            event = webhook.read(body, self.headers, os.environ["WEBHOOK_SECRET"])
        except webhook.WebhookError as refused:
            print(refused, flush=True)  # says why, for example that the secret is wrong
            self.send_error(400)
            return
        self.send_response(204)  # answer first, then do the work
        self.end_headers()
        match event:
            case OrderPaidEvent(data=order):
                print("paid:", order.reference, order.amount, order.currency, flush=True)
            case CustomerCreatedEvent(data=customer):
                print("new:", customer.name, customer.phone, flush=True)


server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "3000"))), Receiver)
print(f"listening on http://127.0.0.1:{server.server_port}/webhooks", flush=True)
for stop in (signal.SIGINT, signal.SIGTERM):
    signal.signal(stop, lambda *_: threading.Thread(target=server.shutdown).start())
server.serve_forever()
