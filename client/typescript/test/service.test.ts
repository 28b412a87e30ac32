// Calls every operation of a development server.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { it } from "node:test";

import { createStorefront, type Product } from "../src/index.js";
import { serviceCodes } from "../src/error.js";
import { refusal, setting } from "./setting.js";

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const date = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const nobody = "00000000-0000-4000-8000-000000000000";

const shop = createStorefront({ baseUrl: setting("STOREFRONT_URL"), apiKey: setting("STOREFRONT_KEY") });

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) {
    all.push(item);
  }
  return all;
}

it("retrieves the store", async () => {
  const store = await shop.store.get();
  assert.match(store.id, uuid);
  assert.equal(store.status, "open");
  assert.equal(store.currency, "XAF");
  assert.match(store.socialLinks["facebook"] ?? "", /^https:/);
  assert.match(store.createdAt, date);
});

it("walks products over three pages, and one page is one page", async () => {
  const first = await shop.products.page({ pageSize: 5 });
  assert.equal(first.page, 1);
  assert.equal(first.pageSize, 5);
  assert.equal(first.data.length, 5);
  assert.ok(first.total > 10, "three pages");
  const all = await collect(shop.products.list({ pageSize: 5 }));
  assert.equal(all.length, first.total);
  assert.equal(new Set(all.map(({ id }) => id)).size, first.total);
  assert.deepEqual(all.slice(0, 5), first.data);
  const later = await collect(shop.products.list({ pageSize: 5, page: 2n }));
  assert.deepEqual(later, all.slice(5), "from a page on");
  assert.deepEqual((await shop.products.page({ page: 99 })).data, [], "beyond the last");
});

it("filters products, by words and by text", async () => {
  const drafts = await collect(shop.products.list({ status: "DRAFT", type: "COURSE" }));
  assert.deepEqual(drafts.map(({ title }) => title), ["Écrire pour vendre"]);
  const found = await collect(shop.products.list({ q: "caisse & cie", status: undefined }));
  assert.deepEqual(found, [], "text is taken literally");
  assert.equal((await collect(shop.products.list({ q: "CAISSE" }))).length, 2);
});

it("changes what is named, clears what is null, and leaves the rest", async () => {
  const [product] = (await shop.products.page({ status: "PUBLISHED", pageSize: 1 })).data as [Product];
  assert.equal(typeof product.priceAmount, "number");
  const changed = await shop.products.update(product.id, { title: "Renamed", compareAtAmount: BigInt(product.priceAmount) + 500n, summary: undefined });
  assert.equal(changed.title, "Renamed");
  assert.equal(changed.compareAtAmount, product.priceAmount + 500);
  assert.equal(changed.summary, product.summary);
  const cleared = await shop.products.update(product.id, { compareAtAmount: null });
  assert.equal(cleared.compareAtAmount, null);
  assert.equal(cleared.title, "Renamed");
  assert.deepEqual(await shop.products.get(product.id), cleared);
  assert.deepEqual(await shop.products.update(product.id, {}), cleared, "nothing to change");
  const most = await shop.products.update(product.id, { priceAmount: Number.MAX_SAFE_INTEGER });
  assert.equal(most.priceAmount, Number.MAX_SAFE_INTEGER, "the largest amount is exact");
  assert.deepEqual(JSON.parse(JSON.stringify(most)), most, "an answer is plain JSON");
});

it("walks orders, by status and by date", async () => {
  const orders = await collect(shop.orders.list({ pageSize: 50 }));
  const [latest] = orders;
  assert.ok(latest);
  assert.match(latest.customer.id, uuid);
  assert.match(latest.createdAt, date);
  assert.deepEqual(await shop.orders.get(latest.id), latest);
  const since = new Date(latest.createdAt);
  assert.deepEqual((await collect(shop.orders.list({ from: since }))).map(({ id }) => id), [latest.id], "a Date");
  assert.deepEqual(await collect(shop.orders.list({ to: latest.createdAt, pageSize: 50 })), orders.slice(1), "text, as it was answered");
  for await (const order of shop.orders.list({ status: "PAID" })) {
    assert.equal(order.status, "PAID");
    assert.match(order.paidAt ?? "", date);
  }
  assert.ok(orders.some(({ paymentLink }) => paymentLink?.code), "one came through a payment link");
  assert.ok(orders.some(({ paymentLink, paidAt }) => paymentLink === null && paidAt === null), "what is absent is null");
});

it("creates a customer once, changes and finds them", async () => {
  const created = await shop.customers.create({ email: "Ada@Example.com" });
  assert.equal(created.email, "ada@example.com");
  assert.equal(created.phone, null);
  const again = await shop.customers.create({ email: "ada@example.com", name: "Ada", phone: "+237 670 99 99 99" });
  assert.equal(again.id, created.id, "completed, not doubled");
  const changed = await shop.customers.update(created.id, { email: null, name: "Ada L." });
  assert.equal(changed.email, null);
  assert.equal(changed.phone, "+237670999999");
  assert.deepEqual(await collect(shop.customers.list({ q: "ada l" })), [changed]);
  assert.deepEqual(await shop.customers.get(created.id), changed);
  assert.equal((await shop.customers.page({ pageSize: 1 })).data[0]?.id, created.id, "newest first");
  const error = await refusal(shop.customers.update(created.id, { phone: null }));
  assert.equal(error.code, "customer_identifier_required");
});

it("creates, changes, enables and lists payment links", async () => {
  const expiresAt = new Date(Date.now() + 86_400_000);
  const link = await shop.paymentLinks.create({ title: "Tickets", pricing: "FIXED", amount: 2500, maxPayments: 10, description: null, expiresAt });
  assert.equal(link.amount, 2500);
  assert.equal(link.minAmount, null);
  assert.equal(link.availability, "ACTIVE");
  assert.equal(link.expiresAt, expiresAt.toISOString());
  const open = await shop.paymentLinks.update(link.id, { pricing: "OPEN", minAmount: 100n, expiresAt: null, maxPayments: null });
  assert.equal(open.pricing, "OPEN");
  assert.equal(open.amount, null);
  assert.equal(open.minAmount, 100);
  assert.equal(open.expiresAt, null);
  assert.equal(open.maxPayments, null);
  assert.deepEqual(await shop.paymentLinks.get(link.id), open);
  assert.deepEqual(await shop.paymentLinks.enable(link.id), open, "it was not disabled");

  const inactive = await collect(shop.paymentLinks.list({ status: "inactive", pageSize: 2 }));
  const disabled = inactive.find(({ availability }) => availability === "DISABLED");
  assert.ok(disabled?.disabledAt);
  assert.equal((await shop.paymentLinks.enable(disabled.id)).disabledAt, null);
  assert.equal((await shop.paymentLinks.page({ status: "active" })).data[0]?.id, link.id);
});

it("reports every refused field", async () => {
  const error = await refusal(shop.products.page({ page: 0, pageSize: 1000 }));
  assert.equal(error.code, "validation_failed");
  assert.equal(error.status, 400);
  assert.match(error.requestId ?? "", uuid);
  assert.equal(error.operation, "ListProducts");
  assert.deepEqual(error.details?.fields?.map(({ field }) => field).sort(), ["page", "pageSize"]);
  assert.equal(error.details.required, undefined);
});

it("is refused by a 422 with its code and what is missing", async () => {
  const [draft] = (await shop.products.page({ status: "DRAFT", pageSize: 1 })).data as [Product];
  const error = await refusal(shop.products.update(draft.id, { status: "PUBLISHED" }));
  assert.equal(error.status, 422);
  assert.equal(error.code, "product_incomplete");
  assert.deepEqual(error.details, { missing: ["content"] });
});

it("names what is not there by its own code", async () => {
  assert.equal((await refusal(shop.products.get(nobody))).code, "product_not_found");
  assert.equal((await refusal(shop.orders.get("../products/1?x=y#z"))).code, "order_not_found", "an id stays one segment");
  assert.equal((await refusal(shop.customers.get("é/%2e"))).code, "customer_not_found");
  assert.equal((await refusal(shop.paymentLinks.enable(nobody))).code, "payment_link_not_found");
  for (const id of ["", ".", "..", "\ud800"]) {
    await assert.rejects(shop.paymentLinks.enable(id), TypeError);
  }
});

it("is refused with a key that nobody made", async () => {
  const stranger = createStorefront({ baseUrl: `${setting("STOREFRONT_URL")}/`, apiKey: "svc_live_nobody" });
  const error = await refusal(stranger.store.get());
  assert.equal(error.code, "api_key_invalid");
  assert.equal(error.status, 401);
});

it("has the codes of the service", () => {
  const source = readFileSync(setting("STOREFRONT_REFUSALS"), "utf8");
  const [, block = ""] = /const \(\n(.*?)\n\)/s.exec(source) ?? [];
  const codes = [...block.matchAll(/Code = "(\w+)"/g)].map(([, code]) => code);
  assert.ok(codes.length > 20);
  assert.deepEqual([...serviceCodes], codes);
});
