"""A receiver of webhooks in FastAPI."""

import os

import uvicorn
from fastapi import FastAPI, Request, Response

from storefront_client import webhook
from storefront_client.events import CustomerCreatedEvent

app = FastAPI()


@app.post("/webhooks")
async def webhooks(request: Request) -> Response:
    try:
        event = webhook.read(await request.body(), request.headers, os.environ["WEBHOOK_SECRET"])
    except webhook.WebhookError as refused:
        print(refused, flush=True)
        return Response(status_code=400)
    match event:
        case CustomerCreatedEvent(data=customer):
            print("new:", customer.name, customer.phone, flush=True)
    return Response(status_code=204)


uvicorn.run(app, host="127.0.0.1", port=int(os.environ.get("PORT", "3000")))
