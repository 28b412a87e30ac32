// What calls the functions of the guide; those beside it are its blocks.
import { createStorefront } from "storefront-client";
import { noReference } from "./changes.js";
import { publish } from "./errors.js";
import { countPaid } from "./lists.js";
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
