// Requests with values that JSON cannot express, such as NaN: the client throws a TypeError and sends nothing.
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { createStorefront, type Storefront } from "../src/index.js";
import { apiKey } from "./scripted.js";

describe("a value that JSON would write as null, which clears a field", () => {
  const rows: { reason: string; name: string; call: (storefront: Storefront) => Promise<unknown> }[] = [
    { reason: "a date that is none", name: "expiresAt", call: ({ paymentLinks }) => paymentLinks.update("1", { expiresAt: new Date("soon") }) },
    { reason: "a number that is none", name: "maxPayments", call: ({ paymentLinks }) => paymentLinks.update("1", { maxPayments: Number("ten") }) },
    { reason: "an endless number", name: "compareAtAmount", call: ({ products }) => products.update("1", { compareAtAmount: 1 / 0 }) },
    { reason: "a date of another library that is none", name: "expiresAt", call: ({ paymentLinks }) => paymentLinks.update("1", { expiresAt: { toJSON: () => null } as unknown as Date }) },
    { reason: "a date that is none in a query", name: "from", call: ({ orders }) => orders.page({ from: new Date("soon") }) },
    { reason: "a number that is none in a query", name: "page", call: ({ orders }) => orders.page({ page: Number("two") }) },
  ];
  for (const { reason, name, call } of rows) {
    it(reason, async () => {
      const sent: unknown[] = [];
      const fetch = (...request: unknown[]): Promise<Response> => {
        sent.push(request);
        return Promise.resolve(new Response(`{"id":"1"}`));
      };
      const storefront = createStorefront({ baseUrl: "https://api.example.com", apiKey, fetch });
      await assert.rejects(call(storefront), (error) => error instanceof TypeError && error.message.startsWith(`${name} is `));
      assert.deepEqual(sent, []);
    });
  }
});
