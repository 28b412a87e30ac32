// This program calls the functions of the guide. The other files in its folder are the blocks of the guide.
import { createStorefront } from "storefront-client";
import { publish } from "./errors.js";
import { archiveDrafts } from "./lists.js";
import { publishTyped } from "./typed.js";

const storefront = createStorefront({ baseUrl: process.env.SHOP_URL!, apiKey: process.env.SHOP_KEY! });
const drafts: string[] = [];
for await (const product of storefront.products.list({ status: "DRAFT" })) {
  drafts.push(product.id);
}

const last = drafts.at(-1)!;
console.log("missing:", (await publish(storefront, last)).join(" "));
console.log("typed:", await publishTyped(last));
const archived = await archiveDrafts(storefront);
console.log("archived:", archived === drafts.length && (await storefront.products.page({ status: "DRAFT" })).total === 0);
for (const id of drafts) { // for the programs in other languages
  await storefront.products.update(id, { status: "DRAFT" });
}
