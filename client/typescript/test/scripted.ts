// A service that gives prepared answers, for failures that the real service seldom has.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { TestContext } from "node:test";

import { Connection, type Clock, type StorefrontOptions } from "../src/connection.js";
import { serve } from "./setting.js";

export const apiKey = "svc_live_k3y0fTheTests";

export type Answer = (response: ServerResponse, request: IncomingMessage) => void;

export function json(status: number, body: unknown, headers: Record<string, string> = {}): Answer {
  return (response) => response.writeHead(status, { "Content-Type": "application/json", ...headers }).end(JSON.stringify(body));
}

export const refused = (status: number, code: string, headers: Record<string, string> = {}) =>
  json(status, { statusCode: status, code, message: "No.", requestId: "79a8915a-dfa3-4478-8f40-8432eb1c2055", timestamp: "2026-11-21T01:43:04.600Z" }, headers);
export const html: Answer = (response) => response.writeHead(502, { "Content-Type": "text/html" }).end("<h1>Bad gateway</h1>");
export const hangUp: Answer = (response) => response.socket?.destroy();
export const breakOff: Answer = (response) => response.writeHead(200, { "Content-Type": "application/json", "Content-Length": "99" }).write('{"id":', () => response.socket?.destroy());
export const good = json(200, { id: "1" });

/** Returns a clock whose pauses end at once. It appends their milliseconds to pauses. */
export function clock(pauses: number[]): Clock {
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

/** Starts a server that gives the answers in order, and then repeats the last one. */
export async function scripted(t: TestContext, answers: Answer[], options: Partial<StorefrontOptions> = {}) {
  const requests: string[] = [];
  const baseUrl = await serve(t, (request, response) => {
    requests.push(`${request.method} ${request.url}`);
    answers[Math.min(requests.length, answers.length) - 1]?.(response, request);
  });
  const pauses: number[] = [];
  return { connection: new Connection({ baseUrl, apiKey, ...options }, clock(pauses)), requests, pauses };
}
