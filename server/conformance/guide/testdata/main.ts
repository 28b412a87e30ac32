// What calls the functions of the guide; those beside it are its blocks.
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { createStorefront } from "storefront-client";
import { noReference } from "./changes.js";
import { publish } from "./errors.js";
import { countPaid } from "./lists.js";
import { receiver } from "./receiver.js";
import { publishTyped } from "./typed.js";

const storefront = createStorefront({ baseUrl: process.env.SHOP_URL!, apiKey: process.env.SHOP_KEY! });
let draft = "";
for await (const product of storefront.products.list({ status: "DRAFT" })) {
  draft = product.id;
}

console.log("no reference price:", (await noReference(storefront, draft)).compareAtAmount === null);
console.log("missing:", (await publish(storefront, draft)).join(" "));
console.log("typed:", await publishTyped(draft));
const paid = await countPaid(storefront);
console.log("paid:", paid === (await storefront.orders.page({ status: "PAID" })).total && paid > 25);

const body = await text(process.stdin);
await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
const address = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/webhooks`;
const answers: number[] = [];
for (const sent of [body, `${body} `]) {
  const answer = await fetch(address, { method: "POST", body: sent, headers: { "Service-Signature": process.env.SIGNATURE! } });
  answers.push(answer.status);
}
console.log("answers:", ...answers);
receiver.closeAllConnections();
receiver.close();
