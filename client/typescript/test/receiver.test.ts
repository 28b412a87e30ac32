// Tests of startReceiver with deliveries from a development server, deliveries signed by signWebhook, and forged ones.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { describe, it } from "node:test";

import { signatureHeader, signWebhook, WebhookVerificationError } from "../src/index.js";
import { startReceiver } from "../src/testing.js";
import { setting } from "./setting.js";

const secret = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";
const body = JSON.stringify({ id: "1", type: "ping", createdAt: "2026-11-21T12:00:00.000Z", store: { id: "2", slug: "demo" }, data: { message: "hello", sentAt: "2026-11-21T12:00:00.000Z" } });

describe("startReceiver", () => {
  it("gives what arrived, in its order, and tells what was refused", async () => {
    const receiver = await startReceiver({ secret });
    const post = async (signed: string) =>
      (await fetch(receiver.url, { method: "POST", body, headers: { [signatureHeader]: await signWebhook({ body, secret: signed }) } })).status;
    const early = receiver.next();
    const second = assert.rejects(receiver.next(), WebhookVerificationError);
    assert.equal(await post(secret), 204);
    assert.equal((await early).type, "ping");
    assert.equal(await post(`${secret}x`), 400);
    await second;
    await assert.rejects(receiver.next({ timeoutMs: 20 }), /no delivery arrived in 20 ms/);
    await receiver.close();
    await assert.rejects(fetch(receiver.url));
  });

  it("gets a delivery of the service", async () => {
    const receiver = await startReceiver();
    const operate = (...args: string[]) =>
      JSON.parse(execFileSync(setting("STOREFRONT_BINARY"), [...args, "--admin-url", setting("STOREFRONT_ADMIN_URL"), "-o", "json"], { encoding: "utf8" }));
    receiver.secret = operate("webhook", "create", "--store", "demo", "--url", receiver.url, "--events", "customer.created").secret;
    const customer = operate("customer", "create", "--store", "demo", "--name", "Awa", "--email", "awa@example.com");
    const event = await receiver.next({ timeoutMs: 60_000 });
    assert.ok(event.type === "customer.created");
    assert.equal((event.data as { id: string }).id, customer.id);
    await receiver.close();
  });
});
