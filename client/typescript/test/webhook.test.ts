// Tests verifyWebhook with the test vectors that all verifiers of the project share, and with other invalid input.
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";

import Stripe from "stripe";

import { signWebhook, verifyWebhook, WebhookVerificationError, type StorefrontEvent } from "../src/index.js";
import { setting } from "./setting.js";

interface Vector {
  name: string;
  secret: string;
  body: string;
  header: string;
  now: number;
  toleranceSeconds: number;
  want: "ok" | "no_signature" | "mismatch" | "timestamp";
  /** The mistake that the clients in all languages report. */
  mistake?: string;
  stripeNode?: "ok" | "refused";
}

const vectors = JSON.parse(readFileSync(setting("STOREFRONT_VECTORS"), "utf8")) as Vector[];
const stripe = new Stripe("unused");
const secret = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";
const body = JSON.stringify({ id: "1", type: "ping", createdAt: "2026-11-21T12:00:00.000Z", store: { id: "2", slug: "demo" }, data: { message: "hello", sentAt: "2026-11-21T12:00:00.000Z" } });

/** Returns "ok", or the reason of the WebhookVerificationError. */
async function verdict(verify: () => Promise<unknown>): Promise<string> {
  return (await refusal(verify))?.reason ?? "ok";
}

async function refusal(verify: () => Promise<unknown>): Promise<WebhookVerificationError | undefined> {
  try {
    await verify();
    return undefined;
  } catch (error) {
    assert.ok(error instanceof WebhookVerificationError, String(error));
    return error;
  }
}

describe("vectors", () => {
  assert.ok(vectors.length > 20);
  for (const v of vectors) {
    it(v.name, async () => {
      const options = { toleranceSeconds: v.toleranceSeconds, now: new Date(v.now * 1000 + 999) };
      const bytes = new Uint8Array(Buffer.from(v.body));
      // Like one of Node's small Buffers, this is a view of a part of a larger buffer.
      const within = new Uint8Array([1, ...bytes, 2]).subarray(1, bytes.length + 1);
      for (const raw of [v.body, Buffer.from(v.body), bytes, bytes.buffer, within]) {
        const refused = await refusal(() => verifyWebhook(raw, v.header, v.secret, options));
        // If the signature is right, v.want is "ok", even if the body is not an event. verifyWebhook refuses such a body
        // with the reason "payload".
        assert.equal(refused === undefined || refused.reason === "payload" ? "ok" : refused.reason, v.want);
        assert.equal(refused?.mistake === "no_event" ? undefined : refused?.mistake, v.mistake);
      }
      const theirs = (): unknown => stripe.webhooks.signature!.verifyHeader(v.body, v.header, v.secret, v.toleranceSeconds, undefined, v.now * 1000);
      if ((v.stripeNode ?? v.want) === "ok") {
        assert.equal(theirs(), true);
      } else {
        assert.throws(theirs);
      }
    });
  }
});

it("verifies what it signs, and so does stripe", async () => {
  const header = await signWebhook({ body, secret });
  assert.equal((await verifyWebhook(body, header, secret)).id, "1");
  assert.equal(stripe.webhooks.constructEvent(body, header, secret).id, "1");
  assert.equal(stripe.webhooks.generateTestHeaderString({ payload: body, secret, timestamp: 1790000000 }), await signWebhook({ body, secret, timestamp: 1790000000 }));
});

it("accepts one of several secrets, and never an empty one", async () => {
  const header = await signWebhook({ body, secret });
  assert.equal((await verifyWebhook(body, header, ["", "whsec_new", secret])).id, "1");
  const forged = `t=${Math.floor(Date.now() / 1000)},v1=${createHmac("sha256", "").update(`${Math.floor(Date.now() / 1000)}.${body}`).digest("hex")}`;
  for (const none of ["", [], [""], undefined as unknown as string]) {
    assert.equal(await verdict(() => verifyWebhook(body, forged, none)), "no_secret");
  }
  assert.equal(await verdict(() => verifyWebhook(body, forged, ["", secret])), "mismatch");
  const now = Math.floor(Date.now() / 1000);
  for (const none of [null, false, 0, {}]) {
    // A JavaScript program may pass a missing setting as null. It must not become the secret "null", which anybody could guess.
    const guessed = `t=${now},v1=${createHmac("sha256", String(none)).update(`${now}.${body}`).digest("hex")}`;
    assert.equal(await verdict(() => verifyWebhook(body, guessed, none as unknown as string)), "no_secret", String(none));
    assert.equal(await verdict(() => verifyWebhook(body, guessed, [none as unknown as string, secret])), "mismatch", String(none));
    await assert.rejects(signWebhook({ body, secret: none as unknown as string }), TypeError, String(none));
  }
  await assert.rejects(signWebhook({ body, secret: "" }), TypeError);
});

it("reports what is wrong with the rest", async () => {
  const header = await signWebhook({ body, secret });
  assert.equal(await verdict(() => verifyWebhook(body, undefined, secret)), "no_signature");
  assert.equal(await verdict(() => verifyWebhook(body, null, secret)), "no_signature");
  assert.equal(await verdict(() => verifyWebhook(body, [header, header], secret)), "no_signature", "two times");
  assert.equal(await verdict(() => verifyWebhook(body, `${header},${"x".repeat(1024)}`, secret)), "no_signature", "longer than any header of the service's");
  assert.equal(await verdict(() => verifyWebhook(body, header, secret, { toleranceSeconds: Number.NaN })), "timestamp");
  for (const text of ["", "[]", "null", "{}", '{"id":1,"type":"ping"}', "no JSON"]) {
    assert.equal(await verdict(() => signWebhook({ body: text, secret }).then((signed) => verifyWebhook(text, signed, secret))), "payload", text);
  }
  await assert.rejects(verifyWebhook(JSON.parse(body) as string, header, secret), TypeError, "a body that something parsed");
});

it("names the mistake that was made", async () => {
  const timestamp = 1790000000;
  const header = await signWebhook({ body, secret, timestamp });
  const rows: [string, string, string | undefined, string, number, string][] = [
    ["no_header", body, undefined, secret, 0, "no Service-Signature header"],
    ["api_key", body, header, "svc_live_x", 0, "API key"],
    ["secret_form", body, header, `${secret}\n`, 0, "line's end"],
    ["secret_form", body, header, secret.slice(0, 20), 0, "all of it"],
    ["empty_body", "", header, secret, 0, "read it before"],
    ["changed_body", JSON.stringify(JSON.parse(body), null, 1), header, secret, 0, "exactly as received"],
    ["changed_body", body.replace("hello", "h\\u00e9llo"), header, secret, 0, "exactly as received"],
    ["wrong_secret", body.replace("hello", "hallo"), header, secret, 0, "storefront listen"],
    ["too_old", body, header, secret, 301, "301 seconds ago by this machine's clock, which reads 2026-09-21T14:18:21Z"],
    ["too_new", body, header, secret, -3600, "in 3600 seconds by this machine's clock"],
  ];
  for (const [mistake, raw, given, with_, late, words] of rows) {
    const refused = await refusal(() => verifyWebhook(raw, given, with_, { now: new Date((timestamp + late) * 1000) }));
    assert.equal(refused?.mistake, mistake, refused?.message);
    assert.ok(refused.message.includes(words), refused.message);
  }
});

it("answers any header, and accepts none by chance", async () => {
  const good = await signWebhook({ body, secret });
  const pieces = ["t=", "v1=", ",", "=", "0", "-", "1790000000", " ", "é", "\u0000", "v0=", good, good.slice(0, 40), good.slice(-64), "t=9".padEnd(40, "9"), "x".repeat(300)];
  let seed = 1;
  const next = (below: number): number => (seed = (seed * 48271) % 2147483647) % below;
  for (let round = 0; round < 5000; round++) {
    const header = Array.from({ length: next(12) }, () => pieces[next(pieces.length)]).join("");
    if (await verdict(() => verifyWebhook(body, header, secret)) === "ok") {
      assert.ok(header.split(",").includes(good.slice(-67)), header);
    }
  }
});

describe("events", () => {
  const event = async (type: string, data: unknown): Promise<StorefrontEvent> => {
    const text = JSON.stringify({ id: "1", type, createdAt: "2026-11-21T12:00:00.000Z", store: { id: "2", slug: "demo" }, data });
    return verifyWebhook(text, await signWebhook({ body: text, secret }), secret);
  };

  it("are told apart by their type", async () => {
    const paid = await event("payment_link.paid", { id: "3", amount: 2500, paymentLink: { id: "4", code: "abc", title: "Tickets" } });
    assert.ok(paid.type === "payment_link.paid");
    assert.equal(paid.data.amount + 1, 2501);
    assert.equal(paid.data.paymentLink.code, "abc", "it is never null here");
  });

  it("keep words and fields that are newer", async () => {
    const published = await event("product.published", { id: "3", status: "PREORDER", rating: 5 });
    assert.ok(published.type === "product.published");
    assert.equal(published.data.status, "PREORDER");
    assert.equal((published.data as unknown as { rating: number }).rating, 5);
  });

  it("keep types that are newer", async () => {
    const unknown = await event("coupon.used", { code: "X" });
    assert.ok(unknown.type === "unknown");
    assert.equal(unknown.unknownType, "coupon.used");
    assert.deepEqual(unknown.data, { code: "X" });
    assert.equal((await event("toString", {})).type, "unknown");
  });
});
