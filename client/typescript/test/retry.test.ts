// Tests which requests are retried and when, and how answers that are not from the service are reported.
import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { describe, it } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import type { DescMethod } from "@bufbuild/protobuf";

import { Connection } from "../src/connection.js";
import { createStorefront } from "../src/index.js";
import { Limit } from "../src/limit.js";
import { CustomerService } from "../../../gen/ts/storefront/v1/customer_pb.js";
import { PaymentLinkService } from "../../../gen/ts/storefront/v1/payment_link_pb.js";
import { ProductService } from "../../../gen/ts/storefront/v1/product_pb.js";
import { apiKey, breakOff, clock, good, hangUp, html, json, refused, scripted, type Answer } from "./scripted.js";
import { refusal, serve } from "./setting.js";

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
    { reason: "the POST that creates a payment link after a 429: it made none", operation: link, answers: [limited, good], pauses: [7000] },
    { reason: "the POST that enables one, after anything", operation: enable, answers: [limited, hangUp, html, good], pauses: [7000, 500, 1000] },
    { reason: "a read after 5xx, with growing pauses", operation: get, answers: [refused(503, "unavailable"), refused(500, "internal_error"), html, good], pauses: [250, 500, 1000] },
    { reason: "a read four times in all", operation: get, answers: [refused(503, "unavailable")], pauses: [250, 500, 1000], code: "unavailable" },
    { reason: "a read after no answer", operation: get, answers: [hangUp, breakOff, good], pauses: [250, 500] },
    { reason: "a change after 5xx and no answer: the second changes nothing more", operation: update, answers: [refused(503, "unavailable", { "Retry-After": "2" }), hangUp, good], pauses: [2000, 500] },
    { reason: "a change of a payment link too", operation: changeLink, answers: [breakOff, good], pauses: [250] },
    { reason: "a customer, who is never recorded twice", operation: create, answers: [hangUp, html, good], pauses: [250, 500] },
    { reason: "no payment link after a 5xx: it may have been made", operation: link, answers: [refused(503, "unavailable", { "Retry-After": "2" })], pauses: [], code: "unavailable" },
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
        assert.equal(((await call) as { id: string }).id, "1");
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
    assert.equal((await refusal(connection.call(link.method, link.input))).code, "timeout");
    assert.equal(attempts, 5, "and no payment link");
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

  it("by the caller's signal before it waits", async (t) => {
    const controller = new AbortController();
    const baseUrl = await serve(t, (request, response) => refused(429, "rate_limited", { "Retry-After": "30" })(response, request));
    const late = setTimeout(() => assert.fail("it waits all the same"), 20_000);
    const call = createStorefront({ baseUrl, apiKey, onAttempt: () => controller.abort() }).products.get("1", { signal: controller.signal });
    assert.equal((await refusal(call)).code, "canceled");
    clearTimeout(late);
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

  it("by a signal whose time is over in another realm", async (t) => {
    const { connection } = await scripted(t, [good]);
    const reason: unknown = runInNewContext(`Object.assign(new Error("late"), { name: "TimeoutError" })`);
    assert.equal((await refusal(connection.call(get.method, get.input, { signal: AbortSignal.abort(reason) }))).code, "timeout");
  });

  it("by its time, though garbage is collected meanwhile", { timeout: 60_000 }, async (t) => {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    const keepsNodeRunning = setInterval(collect, 10);
    t.after(() => clearInterval(keepsNodeRunning));
    const ended = (): Promise<unknown> => {
      const { signal } = new Limit(200, new AbortController().signal);
      return new Promise((resolve) => signal.addEventListener("abort", () => resolve(signal.reason)));
    };
    assert.equal((await ended() as Error).name, "TimeoutError");
  });

  it("leaves nothing behind at the caller's signal", async (t) => {
    const { connection } = await scripted(t, [good]);
    const { signal } = new AbortController();
    await connection.call(get.method, get.input, { signal });
    assert.equal(getEventListeners(signal, "abort").length, 0);
  });
});
