// Runs the package as in an edge runtime. esbuild bundles it for browsers, and would fail at an import of a Node module. The
// bundle runs in a realm with only the globals that browsers and edge runtimes share.
import assert from "node:assert/strict";
import { it } from "node:test";
import { createContext, runInContext } from "node:vm";

import { build } from "esbuild";

import { setting } from "./setting.js";

// An edge worker that calls the API with the client and with Connect, and receives a webhook.
const worker = `
import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { createStorefront, responseOf, signWebhook, verifyWebhook } from ${JSON.stringify(new URL("../src/index.js", import.meta.url).pathname)};
import { apiKey, StoreService } from ${JSON.stringify(new URL("../src/connect.js", import.meta.url).pathname)};

globalThis.main = async ({ baseUrl, key, body, secret }) => {
  const shop = createStorefront({ baseUrl, apiKey: key });
  const store = await shop.store.get();
  const products = await shop.products.list({ status: "PUBLISHED" }).toArray({ limit: 2 });
  const error = await shop.products.get("x").catch((reason) => reason);
  const typed = await createClient(StoreService, createConnectTransport({ baseUrl, interceptors: [apiKey(key)] })).getStore({});
  const header = await signWebhook({ body, secret });
  const bytes = await new Response(body).arrayBuffer();
  const event = await verifyWebhook(bytes, header, secret);
  const forged = await verifyWebhook(body + " ", header, secret).catch(({ reason }) => reason);
  return JSON.stringify([store.slug, responseOf(store).status, products.length, String(error).split(" (")[0], typed.slug, event.type, forged]);
};
`;

it("runs as a bundle for browsers, without anything of Node", async () => {
  const { outputFiles, warnings } = await build({
    stdin: { contents: worker, resolveDir: new URL(".", import.meta.url).pathname },
    bundle: true, write: false, platform: "browser", format: "iife", target: "es2022", minify: true, logLevel: "silent",
  });
  assert.deepEqual(warnings, []);
  const [bundle] = outputFiles;
  assert.ok(bundle);
  // Globals of the Minimum Common Web Platform API that the package uses. There is no process, Buffer or require.
  const realm = createContext({
    AbortController, AbortSignal, clearTimeout, crypto, DOMException, fetch, Headers, performance, Request, Response, setTimeout, TextDecoder, TextEncoder, URL, URLSearchParams,
    // fetch and crypto come from the outer realm, so the types of the values that they return must come from it as well.
    ArrayBuffer, Uint8Array,
  });
  runInContext(bundle.text, realm);
  const main = runInContext("main", realm) as (input: object) => Promise<string>;
  const body = JSON.stringify({ id: "1", type: "ping", createdAt: "2026-11-21T12:00:00.000Z", store: { id: "2", slug: "demo" }, data: {} });
  const said = await main({ baseUrl: setting("STOREFRONT_URL"), key: setting("STOREFRONT_KEY"), body, secret: "whsec_x" });
  assert.deepEqual(JSON.parse(said), ["demo", 200, 2, "StorefrontError: GetProduct: product_not_found: The store has no product with this id.", "demo", "ping", "mismatch"]);
});
