// Tests what a program gets of an answer besides its body: the printed error, responseOf and onAttempt.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { it } from "node:test";
import { inspect } from "node:util";

import { createStorefront, responseOf, type Attempt } from "../src/index.js";
import { version } from "../src/version.js";
import { apiKey, hangUp, json, refused, type Answer } from "./scripted.js";
import { refusal, serve } from "./setting.js";

const requestId = "79a8915a-dfa3-4478-8f40-8432eb1c2055";
const invalid = json(400, {
  statusCode: 400, code: "validation_failed", message: "Two fields cannot be used.", requestId, timestamp: "2026-11-21T01:43:04.600Z",
  details: { fields: [{ field: "title", message: "must be text" }, { field: "status", message: "must be known" }] },
});
const invalidText = `StorefrontError: UpdateProduct: validation_failed: Two fields cannot be used. [title must be text; status must be known] (request ${requestId})`;

it("prints an error with its code, its fields and its request", async (t) => {
  const baseUrl = await serve(t, (request, response) => invalid(response, request));
  const error = await refusal(createStorefront({ baseUrl, apiKey }).products.update("1", { title: "" }));
  assert.equal(String(error), invalidText);
  assert.ok(inspect(error).startsWith(`${invalidText}\n    at `), inspect(error));
  assert.ok(error.stack?.startsWith(invalidText));
  assert.equal(error.message, "Two fields cannot be used.");
  const nested = inspect({ failed: [error] });
  assert.ok(nested.includes("status must be known"), nested);
});

it("prints the cause of an error that nothing answered", async (t) => {
  const baseUrl = await serve(t, (request, response) => hangUp(response, request));
  const error = await refusal(createStorefront({ baseUrl, apiKey, maxRetries: 0 }).store.get());
  assert.match(inspect(error), /^StorefrontError: GetStore: network_error: no whole answer: .*\n {4}at [^]*\[cause\]: TypeError: fetch failed/);
  assert.throws(() => responseOf(error), TypeError);
});

it("has the caller's lines in the stack, after waits and on later pages", async (t) => {
  const limited = refused(429, "rate_limited", { "Retry-After": "1" });
  const answers: Answer[] = [limited, refused(404, "product_not_found")];
  const baseUrl = await serve(t, (request, response) => {
    if (request.url?.includes("page=")) {
      const second = request.url.includes("page=2");
      (second ? invalid : json(200, { page: 1, pageSize: 1, total: 9, data: [{ id: "1" }] }))(response, request);
      return;
    }
    answers.shift()?.(response, request);
  });
  const shop = createStorefront({ baseUrl, apiKey });
  const callerOfGet = (): Promise<unknown> => shop.products.get("1").then((product) => product.title);
  assert.match((await refusal(callerOfGet())).stack ?? "", /at callerOfGet \(.*answer\.test\.js/);
  const callerOfList = async (): Promise<void> => {
    for await (const _ of shop.products.list()) {
      // The server refuses the request for the second page, so the loop ends with an error.
    }
  };
  assert.match((await refusal(callerOfList())).stack ?? "", /at callerOfList \(.*answer\.test\.js/);
});

it("has the response of an answer and of an error", async (t) => {
  const limits = { "X-RateLimit-Limit": "120", "X-RateLimit-Remaining": "7", "X-RateLimit-Reset": "31", "X-Request-Id": requestId };
  let made = false;
  const baseUrl = await serve(t, (request, response) => {
    const answer = request.method === "GET" ? refused(404, "customer_not_found", limits) : json(made ? 200 : 201, { id: "1" }, limits);
    made = true;
    answer(response, request);
  });
  const { customers } = createStorefront({ baseUrl, apiKey });
  const rateLimit = { limit: 120, remaining: 7, resetSeconds: 31 };
  for (const status of [201, 200]) {
    const customer = await customers.create({ email: "ada@example.com" });
    assert.equal(Object.getPrototypeOf(customer), Object.prototype, "an answer is plain JSON");
    assert.equal(customer.id, "1");
    assert.equal(responseOf(customer).status, status);
    assert.equal(responseOf(customer).requestId, requestId);
    assert.deepEqual(responseOf(customer).rateLimit, rateLimit);
    assert.equal(responseOf(customer).headers.get("Content-Type"), "application/json");
    assert.throws(() => responseOf({ ...customer }), TypeError, "a copy came with no response");
  }
  const error = await refusal(customers.get("1"));
  assert.deepEqual(responseOf(error).rateLimit, rateLimit);
});

it("reports every attempt, without the key and what was asked", async (t) => {
  const answers: Answer[] = [refused(429, "rate_limited", { "Retry-After": "1", "X-Request-Id": requestId }), hangUp, json(200, { page: 1, pageSize: 1, total: 0, data: [] }, { "X-Request-Id": requestId })];
  const agents: unknown[] = [];
  const baseUrl = await serve(t, (request, response) => {
    agents.push(request.headers["user-agent"]);
    answers.shift()?.(response, request);
  });
  const attempts: Attempt[] = [];
  const shop = createStorefront({
    baseUrl,
    apiKey,
    onAttempt: (attempt) => {
      attempts.push(attempt);
      throw new Error("a broken log");
    },
  });
  await shop.customers.page({ q: "ada@example.com" });
  const common = { operation: "ListCustomers", method: "GET", path: "/v1/customers" };
  assert.deepEqual(
    attempts.map(({ durationMs, retryInMs, ...rest }) => ({ ...rest, timed: durationMs >= 0, again: retryInMs !== undefined })),
    [
      { ...common, attempt: 1, status: 429, requestId, code: "rate_limited", timed: true, again: true },
      { ...common, attempt: 2, status: undefined, requestId: undefined, code: "network_error", timed: true, again: true },
      { ...common, attempt: 3, status: 200, requestId, code: undefined, timed: true, again: false },
    ],
  );
  assert.equal(attempts[0]?.retryInMs, 1000);
  const text = JSON.stringify(attempts);
  assert.ok(!text.includes(apiKey) && !text.includes("ada"), text);
  assert.deepEqual(new Set(agents), new Set([`storefront-typescript/${version}`]));
});

it("ignores the rejection of an async log", async (t) => {
  const baseUrl = await serve(t, (request, response) => json(200, { id: "1" })(response, request));
  const rejections: unknown[] = [];
  const note = (reason: unknown): void => void rejections.push(reason);
  process.on("unhandledRejection", note);
  t.after(() => void process.off("unhandledRejection", note));
  const shop = createStorefront({ baseUrl, apiKey, onAttempt: () => Promise.reject(new Error("a broken log")) });
  await shop.products.get("1");
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(rejections, []);
});

it("names the version of the package", () => {
  assert.equal((JSON.parse(readFileSync("package.json", "utf8")) as { version: string }).version, version);
});
