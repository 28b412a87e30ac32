"""A receiver of webhooks in Flask."""

import os

from flask import Flask, request

from storefront_client import webhook
from storefront_client.events import CustomerCreatedEvent

app = Flask(__name__)


@app.post("/webhooks")
def webhooks() -> tuple[str, int]:
    try:
        event = webhook.read(request.get_data(), request.headers, os.environ["WEBHOOK_SECRET"])
    except webhook.WebhookError as refused:
        print(refused, flush=True)
        return "", 400
    match event:
        case CustomerCreatedEvent(data=customer):
            print("new:", customer.name, customer.phone, flush=True)
    return "", 204


app.run("127.0.0.1", int(os.environ.get("PORT", "3000")))
