import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { promisify } from "node:util";

import { StorefrontError } from "../src/index.js";

/** Returns an environment variable that typescript_test.go sets. */
export function setting(name: string): string {
  const value = process.env[name];
  assert.ok(value, `${name} is not set`);
  return value;
}

/** Runs a command of the service and returns the value that it prints. */
export async function storefront(...args: string[]): Promise<Record<string, string>> {
  const { stdout } = await promisify(execFile)(setting("STOREFRONT_BINARY"), [...args, "--admin-url", setting("STOREFRONT_ADMIN_URL"), "-o", "json"]);
  return JSON.parse(stdout) as Record<string, string>;
}

/** Serves on a free port of this machine until the test is over. */
export async function serve(
  t: { after(done: () => Promise<void>): void },
  answer: (request: IncomingMessage, response: ServerResponse, body: Buffer) => void,
): Promise<string> {
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => answer(request, response, Buffer.concat(chunks)));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Returns the error of a call that must fail. */
export async function refusal(call: Promise<unknown>): Promise<StorefrontError> {
  const error = await call.then(
    () => assert.fail("the call was not refused"),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof StorefrontError, String(error));
  return error;
}
