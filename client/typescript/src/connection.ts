import type { DescMethod } from "@bufbuild/protobuf";

import { checkApiKey, checkBaseUrl } from "./address.js";
import { CallSite } from "./callsite.js";
import { WrongJson } from "./complete.js";
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
  /** How many milliseconds a call may take, including waits and retries. Default 120,000. */
  timeoutMs?: number | undefined;
  /** Accept an `http://` address of another machine, for private networks only: the key crosses them in clear text. */
  allowHttp?: boolean | undefined;
  /** The function that sends requests, for your own proxy or traces. Default the global `fetch`. */
  fetch?: typeof fetch | undefined;
  /** Called after every attempt, for logs and metrics. What it throws or rejects with is ignored. */
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
  /** How long it took. */
  readonly durationMs: number;
  /** The HTTP status; undefined if nothing answered. */
  readonly status: number | undefined;
  /** The request's identifier in the service's logs; undefined if the service did not answer. */
  readonly requestId: string | undefined;
  /** Why it failed; undefined if it succeeded. */
  readonly code: ErrorCode | undefined;
  /** How long the call waits before the next attempt; undefined if this was the last. */
  readonly retryInMs: number | undefined;
}

/** The options of one call. */
export interface CallOptions {
  /** Ends the call when it is aborted: the call rejects with `canceled`, or with `timeout` if the signal is one of `AbortSignal.timeout`. */
  signal?: AbortSignal | undefined;
  /**
   * How many milliseconds this call may take, including waits and retries. For a list it bounds the
   * requests of all pages together; without it, each page has the client's `timeoutMs`, because a
   * list may take as long as its reader does.
   */
  timeoutMs?: number | undefined;
}

/** Time and randomness, which tests replace. */
export interface Clock {
  /** Milliseconds that only grow. */
  now(): number;
  /** Resolves after so many milliseconds, and rejects when the signal is aborted first. */
  pause(milliseconds: number, signal: AbortSignal): Promise<unknown>;
  /** From 0 up to 1. */
  random(): number;
}

const systemClock: Clock = {
  now: () => performance.now(),
  pause: (milliseconds, signal) =>
    new Promise<void>((resolve, reject) => {
      signal.throwIfAborted(); // as by onAttempt, before this listens
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
/** How long one attempt may take, so that a connection that died silently leaves time for the next. */
const attemptTimeoutMs = 30_000;
/** The first pause before a retry that waits for no `Retry-After`; it doubles up to the last. */
const firstDelayMs = 250;
const maxDelayMs = 8_000;
/**
 * The longest wait before an automatic retry: the service's limits count by the minute
 * (specification, Limits), so a person should decide about anything longer.
 */
const maxRetryAfterSeconds = 60;

/** The longest delay of a timer; a longer one would end at once. */
const longestTimer = 2 ** 31 - 1;

/** Sends requests to one service with one key, and retries them. */
export class Connection {
  // Private to the language, so that nothing that prints or serialises an object reaches the key.
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
    // Called as a method of another object, the fetch of browsers and edge runtimes throws.
    this.#fetch = options.fetch ?? ((...request) => fetch(...request));
    this.#onAttempt = options.onAttempt ?? (() => undefined);
    this.#maxRetries = count("maxRetries", options.maxRetries ?? defaultMaxRetries);
    this.#timeoutMs = count("timeoutMs", options.timeoutMs ?? defaultTimeoutMs, 1);
    this.#clock = clock;
  }

  /**
   * Calls a method of the API, with retries by this table:
   *
   * | after                             | paymentLinks.create | everything else |
   * | --------------------------------- | ------------------- | --------------- |
   * | 429: waits `Retry-After`          | again               | again           |
   * | 5xx, no answer, no answer in time | once                | again           |
   *
   * A 429 changed nothing; after any other failure a payment link may have been created. All
   * attempts share one deadline.
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

  /** Sends a request until it is answered, or may not be sent again; throws what went wrong last. */
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

  /** How long to wait before the next attempt; undefined if there is to be none. */
  #retryInMs(operation: Operation, failed: StorefrontError, retries: number, deadline: number): number | undefined {
    if (retries >= this.#maxRetries || !isRepeatable(operation, failed)) {
      return undefined;
    }
    // Even if the service asks for an immediate retry, the growing pauses apply.
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
      // Nobody else waits for an async function, and Node ends a program whose promise nobody handles.
      Promise.resolve(logged).catch(() => undefined);
    } catch {
      // A broken log must not make a call look failed that the service has carried out.
    }
  }

  /** Sends a request once, and returns the answer's object or what went wrong. */
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
        // The key would travel to wherever a redirect leads.
        redirect: "manual",
        signal: limit.signal,
      });
      return withResponse(answerOf(called, response, await response.text()), response);
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

  /** The pause after so many retries: half of it is random, so that clients that failed together do not retry together. */
  #delayMs(retries: number): number {
    const full = Math.min(firstDelayMs * 2 ** retries, maxDelayMs);
    return (full / 2) * (1 + this.#clock.random());
  }
}

/** The object of a response, or the error that the response is. */
function answerOf(called: Operation, response: Response, text: string): object {
  try {
    const answer = parseObject(text);
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

/** The error of a call whose signal ended it: the caller's, or its deadline. */
function aborted(operation: string, signal: AbortSignal, cause: unknown): StorefrontError {
  if (isTimeout(signal.reason)) {
    return new StorefrontError({ operation, code: "timeout", message: "the time of the call is over", cause });
  }
  return new StorefrontError({ operation, code: "canceled", message: "the call was canceled", cause });
}

function isTimeout(error: unknown): boolean {
  // Not instanceof, which the error of another realm fails, as in Jest.
  return (error as Error | null | undefined)?.name === "TimeoutError";
}

/** fetch's message is only "fetch failed"; the cause has the reason. */
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
