// A shop's server, in TypeScript: it lists the products, changes one, and waits for the webhook
// about the change. program_test.go installs the package in an empty project, checks this file with
// tsc and runs it.
import { createServer, type IncomingMessage } from "node:http";
import { createStorefront, StorefrontError, verifyWebhook, WebhookVerificationError, type Product } from "storefront-client";

const storefront = createStorefront({ baseUrl: process.env.STOREFRONT_URL!, apiKey: process.env.STOREFRONT_KEY! });

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) {
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

const server = createServer(async (request, response) => {
  try {
    const event = await verifyWebhook(await readBody(request), request.headers["service-signature"], process.env.WEBHOOK_SECRET!);
    response.writeHead(204).end();
    if (event.type === "product.archived") {
      console.log("event", event.type, event.data.title);
      server.close();
    }
  } catch (error) {
    if (!(error instanceof WebhookVerificationError)) {
      throw error;
    }
    response.writeHead(400).end();
    console.log("refused", error.reason);
  }
});
server.listen(Number(process.env.PORT), "127.0.0.1", async () => {
  const products: Product[] = [];
  for await (const product of storefront.products.list({ pageSize: 5 })) {
    products.push(product);
  }
  console.log("products", products.length);

  const draft = products.find(({ status }) => status === "DRAFT")!;
  try {
    await storefront.products.update(draft.id, { status: "PUBLISHED" });
  } catch (error) {
    if (!(error instanceof StorefrontError) || error.code !== "product_incomplete") {
      throw error;
    }
    console.log("refused", error.status, error.code, error.details?.missing);
  }

  // A delivery without a signature is refused.
  const forged = await fetch(`http://127.0.0.1:${process.env.PORT}`, { method: "POST", body: "{}" });
  console.log("forged", forged.status);

  const published = products.find(({ status }) => status === "PUBLISHED")!;
  const archived = await storefront.products.update(published.id, { title: "The last one", status: "ARCHIVED" });
  console.log("archived", archived.title, archived.priceAmount, archived.currency);
});
