// The program of main.ts in CommonJS, which loads the package with require.
const { createServer } = require("node:http");
const { createStorefront, StorefrontError, verifyWebhook } = require("storefront-client");

const storefront = createStorefront({ baseUrl: process.env.STOREFRONT_URL, apiKey: process.env.STOREFRONT_KEY });

const server = createServer((request, response) => {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", async () => {
    try {
      const event = await verifyWebhook(Buffer.concat(chunks), request.headers["service-signature"], process.env.WEBHOOK_SECRET);
      response.writeHead(204).end();
      console.log("event", event.type, event.data.title);
      server.close();
    } catch (error) {
      response.writeHead(400).end();
      console.log("refused", error.reason);
    }
  });
});
server.listen(Number(process.env.PORT), "127.0.0.1", async () => {
  const products = [];
  for await (const product of storefront.products.list({ pageSize: 5 })) {
    products.push(product);
  }
  console.log("products", products.length);

  const draft = products.find(({ status }) => status === "DRAFT");
  await storefront.products.update(draft.id, { status: "PUBLISHED" }).catch((error) => {
    if (!(error instanceof StorefrontError)) {
      throw error;
    }
    console.log("refused", error.status, error.code, error.details.missing);
  });

  const forged = await fetch(`http://127.0.0.1:${process.env.PORT}`, { method: "POST", body: "{}" });
  console.log("forged", forged.status);

  const published = products.find(({ status }) => status === "PUBLISHED");
  const archived = await storefront.products.update(published.id, { title: "The last one", status: "ARCHIVED" });
  console.log("archived", archived.title, archived.priceAmount, archived.currency);
});
