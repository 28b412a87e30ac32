// A receiver of webhooks in Express 4 or 5. express.raw passes on every body as bytes; express.json would parse it.
import express from "express";
import { signatureHeader, verifyWebhook } from "storefront-client";

const stored = []; // stands for a table of your database, which outlives the program
const shipped = new Set(); // stands for a table whose key is the order's id

const app = express();

app.post("/webhooks", express.raw({ type: () => true, limit: "4mb" }), async (request, response) => {
  try {
    stored.push(await verifyWebhook(request.body, request.headers[signatureHeader], process.env.WEBHOOK_SECRET));
  } catch (error) {
    console.log(error.message); // says why
    return response.sendStatus(400);
  }
  response.sendStatus(204); // the event is stored: answer 2xx, then work
  work();
});

app.use((error, request, response, next) => {
  console.log(error.message); // a body that cannot be read, such as one that is not gzip as its header says
  response.sendStatus(400);
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

const port = Number(process.env.PORT ?? 3000);
app.listen(port, "127.0.0.1", () => console.log(`listening on http://127.0.0.1:${port}/webhooks`));
