// Bun and Deno send requests to this machine through the proxy of http_proxy, unless fetch gets an option of theirs. Node has
// neither runtime's option, so these tests look at what fetch gets.
import assert from "node:assert/strict";
import { afterEach, it } from "node:test";

import { createStorefront, responseOf } from "../src/index.js";

const here = ["http://localhost:1", "http://LOCALHOST:1", "http://127.0.0.1:1", "http://127.255.0.9:1", "http://127.1:1", "http://[::1]:1", "http://[::ffff:127.0.0.1]:1", "https://localhost"];
const elsewhere = ["https://api.example.com", "https://localhost.example.com", "https://[::2]", "https://128.0.0.1", "https://[::ffff:10.0.0.1]"];

const original = globalThis.fetch;
afterEach(() => {
  globalThis.fetch = original;
  delete (globalThis as { Deno?: unknown }).Deno;
});

/** Replaces fetch by one that answers with a store, and returns the options with which the client calls it. */
function recorded(): Record<string, unknown>[] {
  const seen: Record<string, unknown>[] = [];
  globalThis.fetch = async (_, init) => {
    seen.push({ ...init });
    return Response.json({ id: "1" });
  };
  return seen;
}

const apiKey = "svc_live_x";

it("tells Bun to use no proxy for this machine, and says nothing about other machines", async () => {
  for (const baseUrl of [...here, ...elsewhere]) {
    const seen = recorded();
    await createStorefront({ baseUrl, apiKey }).store.get();
    assert.equal(seen[0]?.["proxy"], here.includes(baseUrl) ? false : undefined, baseUrl);
  }
});

it("gives Deno a client that connects to this machine, and closes it after the answer", async () => {
  let open = 0;
  const made: unknown[] = [];
  (globalThis as { Deno?: unknown }).Deno = {
    createHttpClient(options: unknown) {
      open++;
      made.push(options);
      return { close: () => open-- };
    },
  };
  for (const [baseUrl, hostname, port] of [["http://127.0.0.1:81", "127.0.0.1", 81], ["http://[::1]", "[::1]", 80], ["https://localhost", "localhost", 443]] as const) {
    const seen = recorded();
    const store = await createStorefront({ baseUrl, apiKey }).store.get();
    assert.equal(store.id, "1");
    assert.equal(responseOf(store).status, 200);
    assert.ok(seen[0]?.["client"]);
    assert.deepEqual(made.pop(), { proxy: { transport: "tcp", hostname, port } });
    await new Promise(setImmediate);
    assert.equal(open, 0);
  }
  const seen = recorded();
  await createStorefront({ baseUrl: "https://api.example.com", apiKey }).store.get();
  assert.equal(seen[0]?.["client"], undefined);
  globalThis.fetch = () => Promise.reject(new TypeError("refused"));
  await assert.rejects(createStorefront({ baseUrl: "http://localhost", apiKey, maxRetries: 0 }).store.get(), { code: "network_error" });
  assert.equal(open, 0);
});

it("leaves a fetch of the program's own alone", async () => {
  const seen = recorded();
  await createStorefront({ baseUrl: "http://localhost", apiKey, fetch: (...request) => globalThis.fetch(...request) }).store.get();
  assert.equal(seen[0]?.["proxy"], undefined);
});
