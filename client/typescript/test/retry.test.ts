// What is sent again, when, and what becomes of answers that are not the service's.
import assert from "node:assert/strict";
import type { IncomingMessage, ServerResponse } from "node:http";
import { describe, it, type TestContext } from "node:test";

import type { DescMethod } from "@bufbuild/protobuf";

import { Connection, type Clock, type StorefrontOptions } from "../src/connection.js";
import { createStorefront, StorefrontError } from "../src/index.js";
import { Products } from "../src/product.js";
import { CustomerService } from "../../../gen/ts/storefront/v1/customer_pb.js";
import { PaymentLinkService } from "../../../gen/ts/storefront/v1/payment_link_pb.js";
import { ProductService } from "../../../gen/ts/storefront/v1/product_pb.js";
import { refusal, serve } from "./setting.js";

const apiKey = "svc_live_k3y0fTheTests";

type Answer = (response: ServerResponse, request: IncomingMessage) => void;

function json(status: number, body: unknown, headers: Record<string, string> = {}): Answer {
  return (response) => response.writeHead(status, { "Content-Type": "application/json", ...headers }).end(JSON.stringify(body));
}

const refused = (status: number, code: string, headers: Record<string, string> = {}) =>
  json(status, { statusCode: status, code, message: "No.", requestId: "79a8915a-dfa3-4478-8f40-8432eb1c2055", timestamp: "2026-11-21T01:43:04.600Z" }, headers);
const html: Answer = (response) => response.writeHead(502, { "Content-Type": "text/html" }).end("<h1>Bad gateway</h1>");
const hangUp: Answer = (response) => response.socket?.destroy();
const breakOff: Answer = (response) => response.writeHead(200, { "Content-Type": "application/json", "Content-Length": "99" }).write('{"id":', () => response.socket?.destroy());
const good = json(200, { id: "1" });

/** A clock on which pauses pass at once, and are noted. */
function clock(pauses: number[]): Clock {
  let now = 0;
  return {
    now: () => now,
    pause: (milliseconds) => {
      pauses.push(milliseconds);
      now += milliseconds;
      return Promise.resolve();
    },
    random: () => 1,
  };
}

/** A service that gives these answers, the last one for ever. */
async function scripted(t: TestContext, answers: Answer[], options: Partial<StorefrontOptions> = {}) {
  const requests: string[] = [];
  const baseUrl = await serve(t, (request, response) => {
    requests.push(`${request.method} ${request.url}`);
    answers[Math.min(requests.length, answers.length) - 1]?.(response, request);
  });
  const pauses: number[] = [];
  return { connection: new Connection({ baseUrl, apiKey, ...options }, clock(pauses)), requests, pauses };
}

const get = { method: ProductService.method.getProduct, input: { id: "1" } };
const update = { method: ProductService.method.updateProduct, input: { id: "1", title: "x" } };
const create = { method: CustomerService.method.createCustomer, input: { email: "a@example.com" } };
const link = { method: PaymentLinkService.method.createPaymentLink, input: { title: "x" } };
const enable = { method: PaymentLinkService.method.enablePaymentLink, input: { id: "1" } };
const changeLink = { method: PaymentLinkService.method.updatePaymentLink, input: { id: "1" } };

describe("what is sent again", () => {
  const limited = refused(429, "rate_limited", { "Retry-After": "7" });
  const rows: { reason: string; operation: { method: DescMethod; input: Record<string, unknown> }; answers: Answer[]; pauses: number[]; code?: string }[] = [
    { reason: "a read after a 429, after the time that the service asks for", operation: get, answers: [limited, good], pauses: [7000] },
    { reason: "a write after a 429: it did nothing", operation: update, answers: [limited, limited, good], pauses: [7000, 7000] },
    { reason: "a POST after a 429", operation: create, answers: [limited, good], pauses: [7000] },
    { reason: "a change of a payment link after a 429", operation: changeLink, answers: [limited, good], pauses: [7000] },
    { reason: "never the POST that creates a payment link", operation: link, answers: [limited], pauses: [], code: "rate_limited" },
    { reason: "never the POST that enables one", operation: enable, answers: [limited], pauses: [], code: "rate_limited" },
    { reason: "a read after 5xx, with growing pauses", operation: get, answers: [refused(503, "unavailable"), refused(500, "internal_error"), html, good], pauses: [250, 500, 1000] },
    { reason: "a read four times in all", operation: get, answers: [refused(503, "unavailable")], pauses: [250, 500, 1000], code: "unavailable" },
    { reason: "a read after no answer", operation: get, answers: [hangUp, breakOff, good], pauses: [250, 500] },
    { reason: "no write after a 5xx: it may have been done", operation: update, answers: [refused(503, "unavailable")], pauses: [], code: "unavailable" },
    { reason: "no write after no answer", operation: create, answers: [hangUp], pauses: [], code: "network_error" },
    { reason: "no payment link after no answer", operation: link, answers: [breakOff], pauses: [], code: "network_error" },
    { reason: "no read after a refusal", operation: get, answers: [refused(404, "product_not_found")], pauses: [], code: "product_not_found" },
    { reason: "nothing that the service wants to wait for too long", operation: get, answers: [refused(429, "rate_limited", { "Retry-After": "61" })], pauses: [], code: "rate_limited" },
    { reason: "a 429 that asks for no wait, with growing pauses", operation: get, answers: [refused(429, "rate_limited", { "Retry-After": "0" }), good], pauses: [250] },
    { reason: "a 429 without a time, with growing pauses", operation: update, answers: [refused(429, "rate_limited", { "Retry-After": "soon" }), good], pauses: [250] },
  ];
  for (const row of rows) {
    it(row.reason, async (t) => {
      const { connection, requests, pauses } = await scripted(t, row.answers);
      const call = connection.call(row.operation.method, row.operation.input);
      if (row.code === undefined) {
        assert.deepEqual(await call, { id: "1" });
      } else {
        assert.equal((await refusal(call)).code, row.code);
      }
      assert.deepEqual(pauses, row.pauses);
      assert.equal(requests.length, row.pauses.length + 1);
    });
  }

  it("nothing with maxRetries 0", async (t) => {
    const { connection, requests } = await scripted(t, [limited], { maxRetries: 0 });
    const error = await refusal(connection.call(get.method, get.input));
    assert.equal(error.retryAfterSeconds, 7);
    assert.equal(requests.length, 1);
  });

  it("pauses that stop growing, half of them chance", async (t) => {
    const { connection, pauses } = await scripted(t, [html], { maxRetries: 7 });
    await refusal(connection.call(get.method, get.input));
    assert.deepEqual(pauses, [250, 500, 1000, 2000, 4000, 8000, 8000]);
  });

  it("a read after an attempt that took too long", async () => {
    let attempts = 0;
    const slow: typeof fetch = () => {
      attempts++;
      return Promise.reject(new DOMException("The operation was aborted due to timeout", "TimeoutError"));
    };
    const pauses: number[] = [];
    const connection = new Connection({ baseUrl: "https://api.example.com", apiKey, fetch: slow }, clock(pauses));
    assert.equal((await refusal(connection.call(get.method, get.input))).code, "timeout");
    assert.equal(attempts, 4);
    assert.equal((await refusal(connection.call(update.method, update.input))).code, "timeout");
    assert.equal(attempts, 5, "and no write");
  });

  it("no wait that ends after the call's time", async (t) => {
    const { connection, pauses } = await scripted(t, [limited]);
    assert.equal((await refusal(connection.call(get.method, get.input, { timeoutMs: 20_000 }))).code, "rate_limited");
    assert.deepEqual(pauses, [7000, 7000], "21 seconds would be too late");
  });
});

describe("answers that are not the service's", () => {
  const rows: { reason: string; answer: Answer; status: number }[] = [
    { reason: "a proxy's page", answer: html, status: 502 },
    { reason: "a page in place of an answer", answer: (response) => response.writeHead(200, { "Content-Type": "text/html" }).end("<p>Sign in</p>"), status: 200 },
    { reason: "JSON that is no object", answer: json(200, []), status: 200 },
    { reason: "JSON of somebody else's errors", answer: json(404, { error: "nothing here" }), status: 404 },
    { reason: "a redirect, which would take the key elsewhere", answer: (response) => response.writeHead(302, { Location: "/elsewhere" }).end(), status: 302 },
  ];
  for (const row of rows) {
    it(row.reason, async (t) => {
      const { connection, requests } = await scripted(t, [row.answer], { maxRetries: 0 });
      const error = await refusal(connection.call(get.method, get.input));
      assert.equal(error.code, "unexpected_answer");
      assert.equal(error.status, row.status);
      assert.equal(error.requestId, undefined);
      assert.deepEqual(requests, ["GET /v1/products/1"]);
    });
  }

  it("no answer has a cause and no status", async (t) => {
    const { connection } = await scripted(t, [hangUp], { maxRetries: 0 });
    const error = await refusal(connection.call(get.method, get.input));
    assert.equal(error.code, "network_error");
    assert.equal(error.status, undefined);
    assert.match(error.message, /^no whole answer: .+ \(UND_ERR_SOCKET\)$/);
    assert.ok(error.cause instanceof Error);
  });
});

describe("the end of a call", () => {
  const never: Answer = () => undefined;

  it("by the caller's signal", async (t) => {
    const { connection, requests } = await scripted(t, [never]);
    const controller = new AbortController();
    const call = connection.call(get.method, get.input, { signal: controller.signal });
    setImmediate(() => controller.abort());
    const error = await refusal(call);
    assert.equal(error.code, "canceled");
    assert.ok(requests.length <= 1);
  });

  it("by the caller's signal while it waits", async (t) => {
    const controller = new AbortController();
    const baseUrl = await serve(t, (_, response) => {
      refused(429, "rate_limited", { "Retry-After": "30" })(response, _);
      setImmediate(() => controller.abort());
    });
    const call = createStorefront({ baseUrl, apiKey }).products.get("1", { signal: controller.signal });
    assert.equal((await refusal(call)).code, "canceled");
  });

  it("by a signal that was aborted before", async (t) => {
    const { connection, requests } = await scripted(t, [good]);
    assert.equal((await refusal(connection.call(get.method, get.input, { signal: AbortSignal.abort() }))).code, "canceled");
    assert.deepEqual(requests, []);
  });

  it("by its time", async (t) => {
    const { connection } = await scripted(t, [never]);
    assert.equal((await refusal(connection.call(get.method, get.input, { timeoutMs: 20 }))).code, "timeout");
    assert.equal((await refusal(connection.call(get.method, get.input, { signal: AbortSignal.timeout(20) }))).code, "timeout");
  });
});

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
    await assert.rejects(items.next(), (error) => error instanceof StorefrontError && error.code === "insufficient_scope");
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
  assert.deepEqual(answered, product);
  assert.equal((await refusal(shop.products.get("2"))).code, "quota_reached");
});
