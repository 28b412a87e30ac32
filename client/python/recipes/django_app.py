"""A receiver of webhooks in Django: the view, and a minimal project that serves it."""

import os
import queue
import sys
import threading

from django.conf import settings
from django.core.management import execute_from_command_line
from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from storefront_client import webhook
from storefront_client.events import CustomerCreatedEvent, Event, OrderPaidEvent, PaymentLinkPaidEvent

stored: queue.Queue[Event] = queue.Queue()  # stands for a table of your database, which outlives the program


@csrf_exempt  # the signature proves who sent the request
@require_POST
def webhooks(request: HttpRequest) -> HttpResponse:
    try:
        event = webhook.read(request.body, request.headers, os.environ["WEBHOOK_SECRET"])
    except webhook.WebhookError as refused:
        print(refused, flush=True)
        return HttpResponse(status=400)
    stored.put(event)  # store the event first, then answer 2xx, then work
    return HttpResponse(status=204)


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


urlpatterns = [path("webhooks", webhooks)]

if __name__ == "__main__":
    threading.Thread(target=work, daemon=True).start()
    settings.configure(ROOT_URLCONF=__name__, SECRET_KEY="only of this recipe", ALLOWED_HOSTS=["127.0.0.1"])
    port = os.environ.get("PORT", "3000")
    execute_from_command_line([sys.argv[0], "runserver", "--noreload", f"127.0.0.1:{port}"])
