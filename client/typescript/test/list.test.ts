// Tests which pages a list requests, and when the list ends.
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { createStorefront, StorefrontError } from "../src/index.js";
import { Products } from "../src/product.js";
import { apiKey, json, refused, scripted, type Answer } from "./scripted.js";
import { refusal, serve } from "./setting.js";

describe("lists", () => {
  const page = (number: number): Answer => json(200, { page: number, pageSize: 2, total: 5, data: [{ id: `${number}a` }, { id: `${number}b` }] });

  it("ask for no page that nobody reads", async (t) => {
    const requests: (string | undefined)[] = [];
    const baseUrl = await serve(t, (request, response) => {
      requests.push(request.url);
      page(requests.length)(response, request);
    });
    const seen: string[] = [];
    for await (const { id } of createStorefront({ baseUrl, apiKey }).products.list({ q: "a&b", pageSize: 2 })) {
      seen.push(id);
      if (id === "2a") {
        break;
      }
    }
    assert.deepEqual(seen, ["1a", "1b", "2a"]);
    assert.deepEqual(requests, ["/v1/products?q=a%26b&pageSize=2&page=1", "/v1/products?q=a%26b&pageSize=2&page=2"]);
  });

  it("end with the page that reaches the total", async (t) => {
    const { connection, requests } = await scripted(t, [page(1), page(2), json(200, { page: 3, pageSize: 2, total: 5, data: [{ id: "3a" }] })]);
    const seen: string[] = [];
    for await (const { id } of new Products(connection).list({ page: 1 })) {
      seen.push(id);
    }
    assert.deepEqual(seen, ["1a", "1b", "2a", "2b", "3a"]);
    assert.equal(requests.length, 3);
  });

  it("end where the total shrank meanwhile", async (t) => {
    const requests: (string | undefined)[] = [];
    const baseUrl = await serve(t, (request, response) => {
      requests.push(request.url);
      json(200, { page: 1, pageSize: 2, total: 9, data: [] })(response, request);
    });
    for await (const _ of createStorefront({ baseUrl, apiKey }).orders.list()) {
      assert.fail("there is none");
    }
    assert.deepEqual(requests, ["/v1/orders?page=1"]);
  });

  it("throw what the page was refused with", async (t) => {
    const baseUrl = await serve(t, (request, response) => refused(403, "insufficient_scope")(response, request));
    const items = createStorefront({ baseUrl, apiKey }).customers.list();
    await assert.rejects(items.toArray({ limit: 1 }), (error) => error instanceof StorefrontError && error.code === "insufficient_scope");
  });

  it("end with an error where something else answers", async (t) => {
    const data = [{ id: "1a" }];
    for (const body of [{ online: true }, { data }, { data, total: 9 }, { data, pageSize: 0, total: 9 }, { data, pageSize: 2 }, { pageSize: 2, total: 9 }, { data: "ab", pageSize: 2, total: 9 }]) {
      const { connection, requests } = await scripted(t, [...Array<Answer>(9).fill(json(200, body)), refused(403, "insufficient_scope")]);
      const error = await refusal(new Products(connection).list().toArray({ limit: 50 }));
      assert.equal(error.code, "unexpected_answer", JSON.stringify(body));
      assert.equal(error.operation, "ListProducts");
      assert.equal(error.status, 200);
      assert.match(error.message, /not the service's: check baseUrl/);
      assert.equal(requests.length, 1);
    }
  });

  it("are arrays up to a limit, with as few requests as possible", async (t) => {
    const requests: (string | undefined)[] = [];
    const baseUrl = await serve(t, (request, response) => {
      requests.push(request.url);
      const size = Number(new URL(request.url ?? "", "http://x").searchParams.get("pageSize") ?? 25);
      json(200, { page: 1, pageSize: size, total: 1000, data: Array.from({ length: size }, (_, i) => ({ id: `${i}` })) })(response, request);
    });
    const { products } = createStorefront({ baseUrl, apiKey });
    assert.deepEqual((await products.list().toArray({ limit: 3 })).map(({ id }) => id), ["0", "1", "2"]);
    assert.equal((await products.list({ q: "a" }).toArray({ limit: 250 })).length, 250);
    assert.equal((await products.list({ pageSize: 10 }).toArray({ limit: 20 })).length, 20);
    assert.equal((await products.list({ page: 2 }).toArray({ limit: 20 })).length, 20);
    assert.deepEqual(requests, [
      "/v1/products?page=1&pageSize=3",
      "/v1/products?q=a&page=1&pageSize=100", "/v1/products?q=a&page=2&pageSize=100", "/v1/products?q=a&page=3&pageSize=100",
      "/v1/products?pageSize=10&page=1", "/v1/products?pageSize=10&page=2",
      "/v1/products?page=2",
    ]);
    for (const limit of [0, 1.5, Number.NaN, undefined as unknown as number]) {
      await assert.rejects(products.list().toArray({ limit }), TypeError);
    }
  });

  it("are read from the start by each loop", async (t) => {
    const { connection, requests } = await scripted(t, [json(200, { page: 1, pageSize: 2, total: 1, data: [{ id: "1a" }] })]);
    const list = new Products(connection).list();
    assert.equal((await list.toArray({ limit: 9 })).length, 1);
    assert.equal((await list.toArray({ limit: 9 })).length, 1);
    assert.equal(requests.length, 2);
  });

  it("have one deadline for the requests of all pages, which leaves out the time of the loop", async (t) => {
    let slow = false;
    const baseUrl = await serve(t, (request, response) => {
      const number = Number(new URL(request.url ?? "", "http://x").searchParams.get("page"));
      setTimeout(() => page(number)(response, request), slow ? 1_200 : 0);
    });
    const { products } = createStorefront({ baseUrl, apiKey });
    let seen = 0;
    for await (const _ of products.list({}, { timeoutMs: 2_800 })) {
      seen++;
      await new Promise((resolve) => setTimeout(resolve, 600));
    }
    assert.equal(seen, 6);
    slow = true;
    assert.equal((await refusal(products.list({}, { timeoutMs: 2_800 }).toArray({ limit: 6 }))).code, "timeout", "three pages of 1.2 s");
    assert.equal((await createStorefront({ baseUrl, apiKey, timeoutMs: 2_800 }).products.list().toArray({ limit: 6 })).length, 6, "each page has the client's");
  });
});

it("keeps what is newer than this package", async (t) => {
  const product = { id: "1", status: "PREORDER", rating: 5 };
  const baseUrl = await serve(t, (request, response) => {
    const newer = request.url === "/v1/products/1" ? json(200, product) : refused(409, "quota_reached");
    newer(response, request);
  });
  const shop = createStorefront({ baseUrl, apiKey });
  const answered = await shop.products.get("1");
  assert.equal(answered.status, "PREORDER");
  assert.equal((answered as unknown as { rating: number }).rating, 5);
  assert.equal((await refusal(shop.products.get("2"))).code, "quota_reached");
});
