import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { inspect } from "node:util";

import { Connection } from "../src/connection.js";
import { createStorefront, type StorefrontOptions } from "../src/index.js";
import { refusal } from "./setting.js";

const baseUrl = "https://api.example.com";
const apiKey = "svc_live_s3cret";

describe("options that cannot work", () => {
  const rows: { reason: string; options: Partial<StorefrontOptions>; message: RegExp }[] = [
    { reason: "no address", options: { baseUrl: "" }, message: /no URL/ },
    { reason: "an address without a scheme", options: { baseUrl: "api.example.com" }, message: /no URL/ },
    { reason: "another scheme", options: { baseUrl: "ftp://api.example.com" }, message: /https/ },
    { reason: "the key readable on the network", options: { baseUrl: "http://api.example.com" }, message: /allowHttp/ },
    { reason: "a name that only looks like this machine", options: { baseUrl: "http://127.0.0.1.example.com" }, message: /allowHttp/ },
    { reason: "a password in the address", options: { baseUrl: "https://me:hunter2@api.example.com" }, message: /user name/ },
    { reason: "a query", options: { baseUrl: `${baseUrl}/?a=b` }, message: /before \?/ },
    { reason: "an empty fragment", options: { baseUrl: `${baseUrl}/#` }, message: /before \?/ },
    { reason: "the version, which paths bring", options: { baseUrl: `${baseUrl}/v1/` }, message: /without \/v1/ },
    { reason: "no key", options: { apiKey: "" }, message: /empty/ },
    { reason: "no key, in JavaScript", options: { apiKey: undefined as unknown as string }, message: /empty/ },
    { reason: "a secret in place of the key", options: { apiKey: "whsec_s3cret" }, message: /svc_live_/ },
    { reason: "a key with the end of its line", options: { apiKey: `${apiKey}\n` }, message: /white space/ },
    { reason: "retries that are no number", options: { maxRetries: -1 }, message: /maxRetries/ },
    { reason: "a time that timers cannot hold", options: { timeoutMs: 2 ** 31 }, message: /timeoutMs/ },
    { reason: "a time that is no number", options: { timeoutMs: Number.NaN }, message: /timeoutMs/ },
  ];
  for (const row of rows) {
    it(row.reason, () => {
      assert.throws(
        () => createStorefront({ baseUrl, apiKey, ...row.options }),
        (error) => error instanceof TypeError && row.message.test(error.message) && !/hunter2|s3cret/.test(inspect(error)),
      );
    });
  }
});

it("accepts this machine, a path, and a private network on request", () => {
  for (const [address, allowHttp] of [["http://localhost:8080"], ["http://127.0.0.2/"], ["http://[::1]:8080"], [`${baseUrl}/shop/`], ["http://storefront:8080", true]] as const) {
    createStorefront({ baseUrl: address, apiKey, allowHttp });
  }
});

it("sends the key to the service and shows it nowhere", async () => {
  const sent: { url: string; authorization: string | null }[] = [];
  const shop = createStorefront({
    baseUrl: `${baseUrl}/shop/`,
    apiKey,
    maxRetries: 0,
    fetch: (url, init) => {
      sent.push({ url: String(url), authorization: new Headers(init?.headers).get("Authorization") });
      return Promise.reject(new TypeError("fetch failed"));
    },
  });
  const error = await refusal(shop.products.get("a b"));
  assert.deepEqual(sent, [{ url: `${baseUrl}/shop/v1/products/a%20b`, authorization: `Bearer ${apiKey}` }]);
  const shown = [inspect(new Connection({ baseUrl, apiKey }), { depth: 9, showHidden: true }), inspect(shop, { depth: 9, showHidden: true }), JSON.stringify(shop), inspect(error, { depth: 9, showHidden: true }), JSON.stringify(error), String(error.stack)];
  for (const text of shown) {
    assert.ok(!text.includes("s3cret"), text);
  }
});
