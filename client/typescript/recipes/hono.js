// A receiver of webhooks in Hono, here on Node; the route is the same in an edge runtime, with c.executionCtx.waitUntil.
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { signatureHeader, verifyWebhook } from "storefront-client";

const stored = []; // stands for a table of your database, which outlives the program
const shipped = new Set(); // stands for a table whose key is the order's id

const app = new Hono();

app.post("/webhooks", async (c) => {
  try {
    stored.push(await verifyWebhook(await c.req.arrayBuffer(), c.req.header(signatureHeader), process.env.WEBHOOK_SECRET));
  } catch (error) {
    console.log(error.message); // says why
    return c.body(null, 400);
  }
  setTimeout(work); // the event is stored: answer 2xx, then work
  return c.body(null, 204);
});

/** Handles the stored events, and each order once: two events report the payment of a link, and any event may come again. */
function work() {
  while (stored.length > 0) {
    const event = stored.shift();
    if (event.type === "order.paid" || event.type === "payment_link.paid") {
      const order = event.data;
      if (!shipped.has(order.id)) {
        shipped.add(order.id);
        console.log("paid:", order.reference, order.amount, order.currency);
      }
    } else if (event.type === "customer.created") {
      console.log("new:", event.data.name, event.data.phone);
    }
  }
}

serve({ fetch: app.fetch, hostname: "127.0.0.1", port: Number(process.env.PORT ?? 3000) }, ({ port }) => {
  console.log(`listening on http://127.0.0.1:${port}/webhooks`);
});
