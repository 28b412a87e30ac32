/**
 * A receiver of webhooks, for tests on Node of code that causes events.
 *
 * @packageDocumentation
 */
import type { StorefrontEvent } from "./event.js";
import { signatureHeader, verifyWebhook } from "./webhook.js";

/** A running receiver. */
export interface TestReceiver {
  /** The address to which deliveries are posted. */
  readonly url: string;
  /** The webhook's secret. You can set it after the start, because a webhook gets it when you register the url. */
  secret: string;
  /**
   * Returns the next event, in the order of arrival, and waits for it up to `timeoutMs`, by default 10 seconds. If the next
   * delivery was refused, rejects with its WebhookVerificationError.
   */
  next(options?: { timeoutMs?: number | undefined }): Promise<StorefrontEvent>;
  /** Ends the receiver. */
  close(): Promise<void>;
}

// The parts of Node's types that this file uses. @types/node is not imported, because a caller's project may lack it.
interface Exchange {
  headers: Record<string, string | string[] | undefined>;
  [Symbol.asyncIterator](): AsyncIterator<Uint8Array>;
}
interface Server {
  listen(port: number, host: string, done: () => void): void;
  address(): { port: number };
  close(done: () => void): void;
  closeAllConnections(): void;
}

/** How many deliveries wait for next() at most. Further deliveries are answered 503, so that the sender retries. */
const maxWaiting = 1000;
const maxBodyBytes = 4 << 20;

/** Starts a receiver on a free port of 127.0.0.1. It verifies each delivery as verifyWebhook does. */
export async function startReceiver(options: { secret?: string | undefined } = {}): Promise<TestReceiver> {
  const arrived: Promise<StorefrontEvent>[] = [];
  let waiting: (() => void)[] = [];
  const take = async (request: Exchange): Promise<number> => {
    const parts: Uint8Array[] = [];
    let size = 0;
    for await (const part of request) {
      size += part.length;
      if (size > maxBodyBytes) {
        return 413;
      }
      parts.push(part);
    }
    if (arrived.length >= maxWaiting) {
      return 503;
    }
    const body = new Uint8Array(await new Blob(parts as BlobPart[]).arrayBuffer());
    const event = verifyWebhook(body, request.headers[signatureHeader], receiver.secret);
    const status = await event.then(() => 204, () => 400);
    arrived.push(event);
    waiting.forEach((wake) => wake());
    return status;
  };
  const { createServer } = (await import("node:http" as string)) as {
    createServer(serve: (request: Exchange, response: { writeHead(status: number): { end(): void } }) => void): Server;
  };
  const server = createServer((request, response) => {
    take(request).then((status) => response.writeHead(status).end(), () => response.writeHead(400).end());
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const receiver: TestReceiver = {
    url: `http://127.0.0.1:${server.address().port}`,
    secret: options.secret ?? "",
    async next({ timeoutMs = 10_000 } = {}) {
      const end = Date.now() + timeoutMs;
      for (let event = arrived.shift(); ; event = arrived.shift()) {
        const left = end - Date.now();
        if (event !== undefined) {
          return event;
        }
        if (left <= 0) {
          throw new Error(`no delivery arrived in ${timeoutMs} ms`);
        }
        await new Promise<void>((done) => {
          const timer = setTimeout(done, left);
          waiting.push(() => {
            clearTimeout(timer);
            done();
          });
        });
        waiting = [];
      }
    },
    close: () =>
      new Promise<void>((done) => {
        server.close(done);
        server.closeAllConnections();
      }),
  };
  return receiver;
}
