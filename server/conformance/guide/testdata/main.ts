// This program calls the functions of the guide. The other files in its folder are the blocks of the guide.
import { createStorefront } from "storefront-client";
import { noReference } from "./changes.js";
import { publish } from "./errors.js";
import { paidIn } from "./lists.js";
import { publishTyped } from "./typed.js";

const storefront = createStorefront({ baseUrl: process.env.SHOP_URL!, apiKey: process.env.SHOP_KEY! });
let draft = "";
for await (const product of storefront.products.list({ status: "DRAFT" })) {
  draft = product.id;
}

console.log("no reference price:", (await noReference(storefront, draft)).compareAtAmount === null);
console.log("missing:", (await publish(storefront, draft)).join(" "));
console.log("typed:", await publishTyped(draft));
let all = 0;
for await (const order of storefront.orders.list({ status: "PAID" })) {
  all += order.amount;
}
const paid: number[] = [];
for (const month of process.env.MONTHS!.split(" ")) {
  paid.push(await paidIn(storefront, month));
}
console.log("paid:", paid.reduce((sum, amount) => sum + amount, 0) === all && Math.max(...paid) < all);
