// A receiver of webhooks in Hono, here on Node; the route is the same in an edge runtime.
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { signatureHeader, verifyWebhook, WebhookVerificationError } from "storefront-client";

const app = new Hono();

app.post("/webhooks", async (c) => {
  try {
    const event = await verifyWebhook(await c.req.arrayBuffer(), c.req.header(signatureHeader), process.env.WEBHOOK_SECRET);
    if (event.type === "customer.created") {
      console.log("new:", event.data.name, event.data.phone);
    }
    return c.body(null, 204);
  } catch (error) {
    if (!(error instanceof WebhookVerificationError)) {
      throw error;
    }
    console.log(error.message); // says why, for example that the secret is wrong
    return c.body(null, 400);
  }
});

serve({ fetch: app.fetch, hostname: "127.0.0.1", port: Number(process.env.PORT ?? 3000) }, ({ port }) => {
  console.log(`listening on http://127.0.0.1:${port}/webhooks`);
});
