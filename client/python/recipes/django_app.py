"""A receiver of webhooks in Django: the view, and a minimal project that serves it."""

import os
import sys

from django.conf import settings
from django.core.management import execute_from_command_line
from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from storefront_client import webhook
from storefront_client.events import CustomerCreatedEvent


@csrf_exempt  # the signature proves who sent the request
@require_POST
def webhooks(request: HttpRequest) -> HttpResponse:
    try:
        event = webhook.read(request.body, request.headers, os.environ["WEBHOOK_SECRET"])
    except webhook.WebhookError as refused:
        print(refused, flush=True)
        return HttpResponse(status=400)
    match event:
        case CustomerCreatedEvent(data=customer):
            print("new:", customer.name, customer.phone, flush=True)
    return HttpResponse(status=204)


urlpatterns = [path("webhooks", webhooks)]

if __name__ == "__main__":
    settings.configure(ROOT_URLCONF=__name__, SECRET_KEY="only of this recipe", ALLOWED_HOSTS=["127.0.0.1"])
    port = os.environ.get("PORT", "3000")
    execute_from_command_line([sys.argv[0], "runserver", "--noreload", f"127.0.0.1:{port}"])
