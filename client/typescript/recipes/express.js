// A receiver of webhooks in Express. The route uses express.raw, because express.json would parse the body.
import express from "express";
import { signatureHeader, verifyWebhook, WebhookVerificationError } from "storefront-client";

const app = express();

app.post("/webhooks", express.raw({ type: "application/json", limit: "4mb" }), async (request, response) => {
  try {
    const event = await verifyWebhook(request.body, request.headers[signatureHeader], process.env.WEBHOOK_SECRET);
    response.sendStatus(204); // answer first, then do the work
    if (event.type === "customer.created") {
      console.log("new:", event.data.name, event.data.phone);
    }
  } catch (error) {
    if (!(error instanceof WebhookVerificationError)) {
      throw error;
    }
    console.log(error.message); // says why, for example that the secret is wrong
    response.sendStatus(400);
  }
});

const port = Number(process.env.PORT ?? 3000);
app.listen(port, "127.0.0.1", () => console.log(`listening on http://127.0.0.1:${port}/webhooks`));
