// The TypeScript driver of client/conformance. It reads requests from standard input, a JSON object on each line, and prints a
// JSON object for each: the answer or the error.
import { createInterface } from "node:readline";

import { createStorefront, responseOf, signatureHeader, signWebhook, StorefrontError, verifyWebhook, WebhookVerificationError, type List, type Storefront } from "../src/index.js";

type Arguments = Record<string, unknown>;

type Asked =
  | { do: "open"; client: string; arguments: Arguments }
  | { do: "call"; client: string; resource: keyof Storefront; method: string; arguments: Arguments; response?: boolean }
  | { do: "verify"; body: string; header: string | string[] | Record<string, string> | null; secrets: string[]; tolerance: number; now: number }
  | { do: "sign"; body: string; secret: string; now: number };

const clients = new Map<string, Storefront>();

/** Returns the arguments in the order of the method's parameters: the id first, then all others as one object. */
function positional(method: string, { id, ...rest }: Arguments): unknown[] {
  switch (method) {
    case "get":
    case "enable":
      return id === undefined ? [] : [id];
    case "update":
      return [id, rest];
  }
  return [rest];
}

async function run(asked: Asked): Promise<unknown> {
  switch (asked.do) {
    case "open": {
      // The tests give the timeout in seconds, as the other clients take it.
      const { timeout, ...options } = asked.arguments;
      const given = { ...options, timeoutMs: typeof timeout === "number" ? timeout * 1000 : undefined };
      clients.set(asked.client, createStorefront(given as unknown as Parameters<typeof createStorefront>[0]));
      return null;
    }
    case "call": {
      const methods = clients.get(asked.client)?.[asked.resource] as unknown as Record<string, (...given: unknown[]) => Promise<unknown> | List<unknown>>;
      const answer = methods[asked.method]!(...positional(asked.method, asked.arguments));
      if (asked.response) {
        const { status, headers, requestId, rateLimit } = responseOf((await answer) as object);
        return { status, requestId, header: headers.get("Content-Type"), rateLimit };
      }
      if (answer instanceof Promise) {
        return answer;
      }
      const items: unknown[] = [];
      for await (const item of answer) {
        items.push(item);
      }
      return items;
    }
    case "verify": {
      const { header } = asked;
      // If header is an object, it has all headers of the request. Pass them as Headers, as a fetch handler gets them.
      const value = typeof header === "string" || header === null || Array.isArray(header) ? header : new Headers(header).get(signatureHeader);
      const options = { toleranceSeconds: asked.tolerance, now: new Date(asked.now * 1000) };
      const { id, type, createdAt, store, data, ...more } = await verifyWebhook(Buffer.from(asked.body, "base64"), value, asked.secrets, options);
      // Events have no classes in TypeScript; the name of the interface follows from the type.
      const name = type.replace(/(?:^|[._])([a-z])/g, (_, letter: string) => letter.toUpperCase());
      return { class: `${name}Event`, id, type: "unknownType" in more ? more.unknownType : type, createdAt, store, data };
    }
    case "sign":
      return signWebhook({ body: Buffer.from(asked.body, "base64"), secret: asked.secret, timestamp: asked.now });
  }
}

async function said(line: string): Promise<object> {
  try {
    return { answer: await run(JSON.parse(line) as Asked) };
  } catch (e) {
    if (e instanceof StorefrontError) {
      const { code, operation, status, details, requestId, retryAfterSeconds } = e;
      return { refused: { ...details, code, operation, status, requestId, retryAfter: retryAfterSeconds, message: String(e) } };
    }
    if (e instanceof WebhookVerificationError) {
      return { refused: { code: e.reason, mistake: e.mistake, message: e.message } };
    }
    if (e instanceof TypeError) {
      return { invalid: e.message };
    }
    throw e;
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await said(line)));
}
