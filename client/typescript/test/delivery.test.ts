// A delivery that the real worker makes, verified by this package and by stripe.
import assert from "node:assert/strict";
import type { IncomingHttpHeaders } from "node:http";
import { it } from "node:test";

import Stripe from "stripe";

import { createStorefront, signatureHeader, verifyWebhook } from "../src/index.js";
import { serve, setting, storefront } from "./setting.js";

it("is what its receivers expect", { timeout: 60_000 }, async (t) => {
  let arrive: (delivery: { headers: IncomingHttpHeaders; body: Buffer }) => void;
  const arrived = new Promise<{ headers: IncomingHttpHeaders; body: Buffer }>((resolve) => (arrive = resolve));
  const url = await serve(t, (request, response, body) => {
    response.writeHead(204).end();
    arrive({ headers: request.headers, body });
  });
  const { secret } = await storefront("webhook", "create", "--store", "demo", "--url", url, "--events", "product.archived");
  assert.ok(secret);

  const shop = createStorefront({ baseUrl: setting("STOREFRONT_URL"), apiKey: setting("STOREFRONT_KEY") });
  const [product] = (await shop.products.page({ status: "PUBLISHED", pageSize: 1 })).data;
  assert.ok(product);
  const archived = await shop.products.update(product.id, { status: "ARCHIVED" });

  const { headers, body } = await arrived;
  const header = String(headers[signatureHeader]);
  const event = await verifyWebhook(body, headers[signatureHeader], secret);
  assert.ok(event.type === "product.archived");
  assert.equal(event.id, headers["service-event-id"]);
  assert.equal(event.store.slug, "demo");
  assert.deepEqual(event.data, archived, "the object as the API answers it");

  const { webhooks } = new Stripe("unused");
  assert.equal(webhooks.constructEvent(body, header, secret).id, event.id);
  const changed = Buffer.from(body.toString().replace("ARCHIVED", "PUBLISHED"));
  const old = Date.now() + 301_000;
  for (const [reason, refuse] of Object.entries({
    "a changed body": [() => webhooks.constructEvent(changed, header, secret), () => verifyWebhook(changed, header, secret)],
    "an old timestamp": [() => webhooks.constructEvent(body, header, secret, 300, undefined, old), () => verifyWebhook(body, header, secret, { now: new Date(old) })],
    "a wrong secret": [() => webhooks.constructEvent(body, header, `${secret}x`), () => verifyWebhook(body, header, `${secret}x`)],
  })) {
    const [theirs, ours] = refuse as [() => unknown, () => Promise<unknown>];
    assert.throws(theirs, Stripe.errors.StripeSignatureVerificationError, reason);
    await assert.rejects(ours, { name: "WebhookVerificationError" }, reason);
  }
});
