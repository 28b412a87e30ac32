import type { DescMethod } from "@bufbuild/protobuf";

import { checkApiKey, checkBaseUrl } from "./address.js";
import { CallSite } from "./callsite.js";
import { WrongJson } from "./complete.js";
import { directFetch } from "./direct.js";
import { answerError, StorefrontError, unexpectedAnswer, type ErrorCode } from "./error.js";
import { parseObject } from "./json.js";
import { Limit } from "./limit.js";
import { Operation, type Input, type Wire } from "./operation.js";
import { responseOf, withResponse } from "./response.js";
import { version } from "./version.js";

/** How to reach the service. */
export interface StorefrontOptions {
  /** The address of the service, without `/v1`: `https://api.example.com`. */
  baseUrl: string;
  /** An API key, `svc_live_…`. It is sent only to `baseUrl`, and appears in no error and no printed object. */
  apiKey: string;
  /** The most retries of a request; 0 means none. Default 3. */
  maxRetries?: number | undefined;
  /** How many milliseconds a call may take, including retries and pauses. Default 120,000. */
  timeoutMs?: number | undefined;
  /** Accept an `http://` address of another machine. For private networks only, because the key is then sent unencrypted. */
  allowHttp?: boolean | undefined;
  /** The function that sends requests, for example through a proxy. Default: the global `fetch`. */
  fetch?: typeof fetch | undefined;
  /** Called after every attempt, for logs and metrics. Its errors are ignored. */
  onAttempt?: ((attempt: Attempt) => void) | undefined;
}

/** One attempt of a call. It contains no key, no query and no body. */
export interface Attempt {
  /** The operation of the API, such as `UpdateProduct`. */
  readonly operation: string;
  /** The HTTP method. */
  readonly method: string;
  /** The path, without its query. */
  readonly path: string;
  /** The number of the attempt, from 1. */
  readonly attempt: number;
  /** How long the attempt took. */
  readonly durationMs: number;
  /** The HTTP status; undefined without an answer. */
  readonly status: number | undefined;
  /** The request's identifier in the service's logs; undefined if the service did not answer. */
  readonly requestId: string | undefined;
  /** Why the attempt failed; undefined if it succeeded. */
  readonly code: ErrorCode | undefined;
  /** How long the call waits before the next attempt; undefined after the last attempt. */
  readonly retryInMs: number | undefined;
}

/** The options of one call. */
export interface CallOptions {
  /** Aborts the call, which rejects with `canceled`, or with `timeout` if the signal is from `AbortSignal.timeout`. */
  signal?: AbortSignal | undefined;
  /**
   * How many milliseconds this call may take, including retries and pauses. For a list, it bounds the
   * requests of all pages together. Without it, the client's `timeoutMs` bounds each page, and the list
   * has no bound, because your loop may take any time between two pages.
   */
  timeoutMs?: number | undefined;
}

/** Time and randomness, which tests replace. */
export interface Clock {
  /** Returns the time of a monotonic clock, in milliseconds. */
  now(): number;
  /** Resolves after the milliseconds, or rejects if the signal is aborted before. */
  pause(milliseconds: number, signal: AbortSignal): Promise<unknown>;
  /** Returns a random number from 0 up to, but not including, 1. */
  random(): number;
}

const systemClock: Clock = {
  now: () => performance.now(),
  pause: (milliseconds, signal) =>
    new Promise<void>((resolve, reject) => {
      signal.throwIfAborted(); // onAttempt may have aborted it already
      const abort = (): void => {
        clearTimeout(timer);
        reject(signal.reason as Error);
      };
      const timer = setTimeout(() => {
        signal.removeEventListener("abort", abort);
        resolve();
      }, milliseconds);
      signal.addEventListener("abort", abort, { once: true });
    }),
  random: Math.random,
};

const defaultMaxRetries = 3;
const defaultTimeoutMs = 120_000;
/** How long one attempt may take: shorter than a call, so that after a dead connection there is time for a retry. */
const attemptTimeoutMs = 30_000;
/** The pause before the first retry without a `Retry-After`. It doubles with each retry, up to maxDelayMs. */
const firstDelayMs = 250;
const maxDelayMs = 8_000;
/**
 * The longest `Retry-After` after which a request is retried. The service's limits count requests per minute
 * (specification, Limits), so the service never asks for more.
 */
const maxRetryAfterSeconds = 60;
/** The largest answer that is read. A page of a hundred products with the longest descriptions has 20 MB. */
const maxAnswerBytes = 32 * 2 ** 20;

/** The longest delay that setTimeout accepts; with a longer delay it fires at once. */
const longestTimer = 2 ** 31 - 1;

/** Sends requests to one service with one key, and retries them. */
export class Connection {
  // A private name (#), so that printing or serialising the object does not show the key.
  readonly #apiKey: string;
  readonly #baseUrl: string;
  readonly #fetch: typeof fetch;
  readonly #maxRetries: number;
  readonly #timeoutMs: number;
  readonly #onAttempt: (attempt: Attempt) => void;
  readonly #clock: Clock;

  constructor(options: StorefrontOptions, clock = systemClock) {
    this.#apiKey = checkApiKey(options.apiKey);
    this.#baseUrl = checkBaseUrl(options.baseUrl, options.allowHttp ?? false);
    this.#fetch = options.fetch ?? directFetch(this.#baseUrl);
    this.#onAttempt = options.onAttempt ?? (() => undefined);
    this.#maxRetries = count("maxRetries", options.maxRetries ?? defaultMaxRetries);
    this.#timeoutMs = count("timeoutMs", options.timeoutMs ?? defaultTimeoutMs, 1);
    this.#clock = clock;
  }

  /**
   * Calls a method of the API, and retries failed requests:
   *
   * | failure                       | paymentLinks.create       | everything else                              |
   * | ----------------------------- | ------------------------- | -------------------------------------------- |
   * | 429                           | retry after `Retry-After` | retry after `Retry-After`                    |
   * | 5xx, network error, time-out  | no retry                  | retry after `Retry-After` or a growing pause |
   *
   * After a 429 the service has changed nothing; after any other failure it may have created the
   * payment link. All attempts share one deadline.
   */
  async call<T extends object>(method: DescMethod, input: Input, options: CallOptions = {}, site = new CallSite(this.call)): Promise<T> {
    const operation = new Operation(method);
    const wire = operation.request(input);
    const timeoutMs = count("timeoutMs", options.timeoutMs ?? this.#timeoutMs);
    const limit = new Limit(timeoutMs, options.signal);
    try {
      return (await this.#attempts(operation, wire, this.#clock.now() + timeoutMs, limit.signal)) as T;
    } catch (failed) {
      throw failed instanceof StorefrontError ? site.mark(failed) : failed;
    } finally {
      limit.end();
    }
  }

  /** Sends a request, with retries. Returns the answer, or throws the error of the last attempt. */
  async #attempts(operation: Operation, wire: Wire, deadline: number, signal: AbortSignal): Promise<object> {
    for (let retries = 0; ; retries++) {
      const start = this.#clock.now();
      const answer = await this.#attempt(operation, wire, signal);
      const failed = answer instanceof StorefrontError ? answer : undefined;
      const retryInMs = failed && !signal.aborted ? this.#retryInMs(operation, failed, retries, deadline) : undefined;
      this.#report(operation.name, wire, retries + 1, this.#clock.now() - start, answer, retryInMs);
      if (failed === undefined) {
        return answer;
      }
      if (retryInMs === undefined) {
        throw failed;
      }
      await this.#clock.pause(retryInMs, signal).catch((cause: unknown) => {
        throw aborted(operation.name, signal, cause);
      });
    }
  }

  /** Returns the pause before the next attempt, or undefined if the request must not be retried. */
  #retryInMs(operation: Operation, failed: StorefrontError, retries: number, deadline: number): number | undefined {
    if (retries >= this.#maxRetries || !isRepeatable(operation, failed)) {
      return undefined;
    }
    // A Retry-After of 0 is treated like a missing one: the client waits for its own pause, which grows with each retry.
    const pauseMs = failed.retryAfterSeconds ? failed.retryAfterSeconds * 1000 : this.#delayMs(retries);
    const late = pauseMs > maxRetryAfterSeconds * 1000 || this.#clock.now() + pauseMs >= deadline;
    return late ? undefined : pauseMs;
  }

  #report(operation: string, wire: Wire, attempt: number, durationMs: number, answer: object, retryInMs: number | undefined): void {
    const failed = answer instanceof StorefrontError ? answer : undefined;
    const [path = ""] = wire.path.split("?");
    try {
      const logged: unknown = this.#onAttempt({
        operation,
        method: wire.verb,
        path,
        attempt,
        durationMs,
        status: failed ? failed.status : responseOf(answer).status,
        requestId: failed ? failed.requestId : responseOf(answer).requestId,
        code: failed?.code,
        retryInMs,
      });
      // If onAttempt is async, catch its rejection too, because Node ends a program with an unhandled rejection.
      Promise.resolve(logged).catch(() => undefined);
    } catch {
      // An error in onAttempt must not fail a call that the service has carried out.
    }
  }

  /** Sends a request once. Returns the answer's object, or the StorefrontError. */
  async #attempt(called: Operation, wire: Wire, signal: AbortSignal): Promise<object> {
    const operation = called.name;
    const limit = new Limit(attemptTimeoutMs, signal);
    try {
      const response = await this.#fetch(this.#baseUrl + wire.path, {
        method: wire.verb,
        headers: {
          Accept: "application/json",
          Authorization: `Bearer ${this.#apiKey}`,
          "User-Agent": `storefront-typescript/${version}`,
          ...(wire.body === undefined ? {} : { "Content-Type": "application/json" }),
        },
        ...(wire.body === undefined ? {} : { body: wire.body }),
        // Follow no redirect, because that would send the key to another address.
        redirect: "manual",
        signal: limit.signal,
      });
      return withResponse(await answerOf(called, response), response);
    } catch (cause) {
      if (signal.aborted) {
        return aborted(operation, signal, cause);
      }
      if (isTimeout(cause)) {
        return new StorefrontError({ operation, code: "timeout", message: "no answer in time", cause });
      }
      return new StorefrontError({ operation, code: "network_error", message: `no whole answer: ${reason(cause)}`, cause });
    } finally {
      limit.end();
    }
  }

  /** The pause before the next retry. Half of it is random, so that clients that failed together do not retry together. */
  #delayMs(retries: number): number {
    const full = Math.min(firstDelayMs * 2 ** retries, maxDelayMs);
    return (full / 2) * (1 + this.#clock.random());
  }
}

/** Reads a response. Throws WrongJson if it has more than maxAnswerBytes or is not UTF-8. */
async function textOf(response: Response): Promise<string> {
  const reader = response.body?.getReader();
  if (reader === undefined) {
    return response.text();
  }
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let text = "";
  for (let size = 0; size <= maxAnswerBytes; ) {
    const { done, value } = await reader.read();
    size += value?.length ?? 0;
    try {
      text += decoder.decode(value, { stream: !done });
    } catch {
      throw new WrongJson("it is not UTF-8");
    }
    if (done) {
      return text;
    }
  }
  await reader.cancel();
  throw new WrongJson("it has more than 32 MiB");
}

/** Returns the object in a response, or the StorefrontError of the response. */
async function answerOf(called: Operation, response: Response): Promise<object> {
  try {
    const answer = parseObject(await textOf(response));
    return response.ok && answer ? called.read(answer) : answerError(called.name, response, answer);
  } catch (failed) {
    if (!(failed instanceof WrongJson)) {
      throw failed;
    }
    return unexpectedAnswer(called.name, response, failed);
  }
}

function isRepeatable(operation: Operation, { code, status = 0 }: StorefrontError): boolean {
  return status === 429 || (operation.repeatable && (status >= 500 || code === "network_error" || code === "timeout"));
}

/** Makes the error of a call that was ended by the caller's signal or by the call's deadline. */
function aborted(operation: string, signal: AbortSignal, cause: unknown): StorefrontError {
  if (isTimeout(signal.reason)) {
    return new StorefrontError({ operation, code: "timeout", message: "the time of the call is over", cause });
  }
  return new StorefrontError({ operation, code: "canceled", message: "the call was canceled", cause });
}

function isTimeout(error: unknown): boolean {
  // Compare the name, because instanceof is false for an error of another realm, as in Jest.
  return (error as Error | null | undefined)?.name === "TimeoutError";
}

/** Returns why fetch failed. The reason is in the error's cause, because its own message is only "fetch failed". */
function reason(error: unknown): string {
  const inner = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code = inner instanceof Error && "code" in inner ? ` (${String(inner.code)})` : "";
  return (inner instanceof Error ? inner.message : String(inner)) + code;
}

function count(name: string, value: number, least = 0): number {
  if (!Number.isInteger(value) || value < least || value > longestTimer) {
    throw new TypeError(`${name} must be a whole number from ${least} to ${longestTimer}`);
  }
  return value;
}
