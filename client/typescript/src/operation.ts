import { getOption, type DescMessage, type DescMethod } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";

import { http } from "../../../gen/ts/google/api/annotations_pb.js";
import { CustomerService } from "../../../gen/ts/storefront/v1/customer_pb.js";
import { complete } from "./complete.js";
import type { Json } from "./json.js";

/** The parameters of an operation: the fields of its request, by their JSON names. */
export type Input = Readonly<Record<string, unknown>>;

/** A request as sent, without address and key. */
export interface Wire {
  verb: string;
  /** The path under the base URL, query included. */
  path: string;
  /** JSON, or undefined for a request without a body. */
  body: string | undefined;
}

/** One operation of the API, as its method's options in the protos describe it. */
export class Operation {
  /** The method's name, such as UpdateProduct. */
  readonly name: string;
  /**
   * Whether sending the same request twice has the effect of sending it once, so that it may be retried
   * after any failure. By the protos this is true of reads and of enabling a payment link; by the
   * specification also of PATCH and of creating a customer.
   */
  readonly repeatable: boolean;
  readonly #verb: string;
  readonly #path: string;
  readonly #output: DescMessage;

  constructor(method: DescMethod) {
    const { pattern } = getOption(method, http);
    if (pattern.case === undefined || pattern.case === "custom") {
      throw new TypeError(`${method.name} has no HTTP binding`);
    }
    this.name = method.name;
    this.repeatable =
      method.idempotency !== MethodOptions_IdempotencyLevel.IDEMPOTENCY_UNKNOWN ||
      pattern.case === "patch" ||
      method === CustomerService.method.createCustomer;
    this.#verb = pattern.case.toUpperCase();
    this.#path = pattern.value;
    this.#output = method.output;
  }

  /** Checks and completes the service's answer. Throws WrongJson if it is not this operation's answer. */
  read(answer: Json): Json {
    return complete(this.#output, answer);
  }

  /** Builds a request: first the path parameters, then the rest as the query of a GET or as the body. */
  request(input: Input): Wire {
    const rest = { ...input };
    for (const [name, value] of Object.entries(rest)) {
      checkValue(name, value);
    }
    const path = this.#path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
      delete rest[name];
      return segment(name, input[name]);
    });
    if (this.#verb === "GET") {
      return { verb: this.#verb, path: path + query(rest), body: undefined };
    }
    // In a creation null means the same as no field; in a PATCH null clears the field, so null is sent.
    const body = this.#verb === "POST" ? Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== null)) : rest;
    return { verb: this.#verb, path, body: JSON.stringify(body, integers) };
  }
}

/** Refuses an invalid date, NaN and Infinity, because JSON.stringify makes null of them, and null clears a field. */
function checkValue(name: string, value: unknown): void {
  if (value !== null && typeof value !== "bigint" && JSON.stringify(value) === "null") {
    throw new TypeError(`${name} is an invalid date or no finite number`);
  }
}

function segment(name: string, value: unknown): string {
  // "." and ".." would lead to another address, and half of a surrogate pair cannot be encoded.
  if (typeof value !== "string" || value === "" || value === "." || value === ".." || /\p{Surrogate}/u.test(value)) {
    throw new TypeError(`${name} must be the text of an identifier`);
  }
  return encodeURIComponent(value);
}

function query(input: Input): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(input)) {
    if (value !== undefined && value !== null) {
      parameters.set(name, value instanceof Date ? value.toISOString() : String(value));
    }
  }
  const text = parameters.toString();
  return text === "" ? "" : `?${text}`;
}

/** Converts a bigint for JSON, which has only numbers. Amounts stay exact, because they are below 2^53. */
function integers(_: string, value: unknown): unknown {
  return typeof value === "bigint" ? Number(value) : value;
}
