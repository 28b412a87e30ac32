import type { ErrorDetails as ErrorDetailsMessage } from "../../../gen/ts/storefront/v1/error_pb.js";
import { isObject, type Json, type Open, type Resource } from "./json.js";

/** The service's codes (specification, Errors). */
export const serviceCodes = [
  "validation_failed",
  "compare_at_invalid",
  "phone_invalid",
  "customer_identifier_required",
  "payment_link_expiry_invalid",
  "api_key_missing",
  "api_key_invalid",
  "api_key_revoked",
  "api_key_expired",
  "insufficient_scope",
  "store_unavailable",
  "product_not_found",
  "order_not_found",
  "customer_not_found",
  "payment_link_not_found",
  "not_found",
  "method_not_allowed",
  "customer_conflict",
  "payload_too_large",
  "unsupported_media_type",
  "product_incomplete",
  "product_type_unavailable",
  "feature_disabled",
  "payment_link_invalid_pricing",
  "payment_link_expiry_past",
  "rate_limited",
  "internal_error",
  "unavailable",
] as const;

/** A code of the service. */
export type ServiceCode = (typeof serviceCodes)[number];

/**
 * A code of this package, for a request that the service did not answer.
 *
 * - `network_error`: no answer came, or it broke off. Whether a write took effect is unknown.
 * - `timeout`: an attempt or the whole call took too long. Whether a write took effect is unknown.
 * - `canceled`: the caller's signal was aborted.
 * - `unexpected_answer`: the answer is not from the service but, for example, a proxy's page; `status`
 *   is the status of that answer.
 */
export type ClientCode = "network_error" | "timeout" | "canceled" | "unexpected_answer";

/**
 * Why a call failed. Branch on the code, never on a message. A code that is newer than this package is
 * kept as received, with the type NewerWord.
 */
export type ErrorCode = Open<ServiceCode | ClientCode>;

/** Details of an error; each code fills at most one field. */
export interface ErrorDetails extends Partial<Resource<ErrorDetailsMessage>> {}

/** @internal */
export interface ErrorParts {
  operation: string;
  code: ErrorCode;
  message: string;
  status?: number | undefined;
  details?: ErrorDetails | undefined;
  requestId?: string | undefined;
  retryAfterSeconds?: number | undefined;
  cause?: unknown;
}

/**
 * The error with which a failed call rejects. Only a mistake in the program, such as an empty id,
 * rejects with a TypeError instead.
 *
 * `message` explains the reason in English, for people, and may change at any time.
 */
export class StorefrontError extends Error {
  override readonly name = "StorefrontError";
  /** The operation of the API that was called, such as `UpdateProduct`. */
  readonly operation: string;
  /** The reason. */
  readonly code: ErrorCode;
  /** The HTTP status; undefined without an answer. */
  readonly status: number | undefined;
  /**
   * Details of the codes `validation_failed` (`fields`), `insufficient_scope` (`required`) and
   * `product_incomplete` (`missing`). Undefined for other codes of this version.
   */
  readonly details: ErrorDetails | undefined;
  /** The request's identifier in the service's logs, to quote when you ask for help; undefined if the service did not answer. */
  readonly requestId: string | undefined;
  /** The `Retry-After` of the answer, in seconds; undefined without one. */
  readonly retryAfterSeconds: number | undefined;

  /** @internal */
  constructor({ message, cause, ...parts }: ErrorParts) {
    super(message, cause === undefined ? undefined : { cause });
    this.operation = parts.operation;
    this.code = parts.code;
    this.status = parts.status;
    this.details = parts.details;
    this.requestId = parts.requestId;
    this.retryAfterSeconds = parts.retryAfterSeconds;
  }

  /** The operation, the code, the message with its details, and the request's identifier. */
  override toString(): string {
    const { fields = [], missing = [], required } = this.details ?? {};
    const details = [...fields.map(({ field, message }) => `${field} ${message}`), ...missing, ...(required ? [required] : [])];
    const list = details.length > 0 ? ` [${details.join("; ")}]` : "";
    const request = this.requestId === undefined ? "" : ` (request ${this.requestId})`;
    return `${this.name}: ${this.operation}: ${this.code}: ${this.message}${list}${request}`;
  }

  /** Returns the text that `console.log` prints in Node: toString, the stack of the caller and the cause. */
  [Symbol.for("nodejs.util.inspect.custom")](_depth: number, options: object, inspect: (value: unknown, options: object) => string): string {
    const cause = this.cause === undefined ? "" : `\n  [cause]: ${inspect(this.cause, options)}`;
    return `${this.stack ?? String(this)}${cause}`;
  }
}

/**
 * Makes the error for an answer without a 2xx status, from its decoded body.
 *
 * @internal
 */
export function answerError(operation: string, response: Response, body: Json | undefined): StorefrontError {
  const { code, message, requestId } = body ?? {};
  if (response.status < 400 || typeof code !== "string") {
    return unexpectedAnswer(operation, response);
  }
  return new StorefrontError({
    operation,
    code: code as ErrorCode,
    message: textOf(message) ?? "",
    status: response.status,
    details: detailsOf(body?.["details"]),
    requestId: textOf(requestId),
    retryAfterSeconds: retryAfterOf(response),
  });
}

/**
 * Makes the error for an answer that is not from the service.
 *
 * @internal
 */
export function unexpectedAnswer(operation: string, response: Response, why?: Error): StorefrontError {
  const kind = response.headers.get("Content-Type") ?? "no content type";
  const to = response.headers.get("Location");
  const reason = why !== undefined ? ` (${why.message})` : to !== null ? ` (it redirects to ${to})` : "";
  const message = `the answer, ${response.status} with ${kind}, is not the service's: check baseUrl and what stands before the service${reason}`;
  return new StorefrontError({ operation, code: "unexpected_answer", message, status: response.status, retryAfterSeconds: retryAfterOf(response), cause: why });
}

/** Returns the Retry-After in seconds. A date, which some proxies send, is ignored. Of several values, the first counts. */
function retryAfterOf({ headers }: Response): number | undefined {
  const [text = ""] = (headers.get("Retry-After") ?? "").split(",");
  return /^\d+$/.test(text) ? Number(text) : undefined;
}

/** Reads details field by field, so that a part that is missing or has another type does not hide the error. */
function detailsOf(details: unknown): ErrorDetails | undefined {
  if (!isObject(details)) {
    return undefined;
  }
  const { fields, missing, required, ...newer } = details;
  return {
    ...newer,
    ...(Array.isArray(fields) && {
      fields: fields.filter(isObject).map((one) => ({ ...one, field: textOf(one["field"]) ?? "", message: textOf(one["message"]) ?? "" })),
    }),
    ...(Array.isArray(missing) && { missing: missing.filter((one) => typeof one === "string") }),
    ...(typeof required === "string" && { required }),
  };
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
