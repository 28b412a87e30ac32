/** How many requests the API key may still make in this minute (specification, Limits). */
export interface RateLimit {
  /** The maximum number of requests in a minute. */
  readonly limit: number;
  /** The number of requests that are left in this minute. */
  readonly remaining: number;
  /** The seconds until the counter restarts. */
  readonly resetSeconds: number;
}

/** The HTTP response of a call, without its body. */
export interface ApiResponse {
  /** The HTTP status: 201 for a customer that was created; 200 for one that was there, perhaps made by an attempt without answer. */
  readonly status: number;
  /** All headers. */
  readonly headers: Headers;
  /** The request's identifier in the service's logs, to quote when you ask for help. */
  readonly requestId: string | undefined;
  /** The rate limit of the key; undefined if the service did not answer. */
  readonly rateLimit: RateLimit | undefined;
}

/** The response of each answer and error. It is kept here, so that answers stay plain JSON. */
const responses = new WeakMap<object, ApiResponse>();

/**
 * Returns the HTTP response of an answer:
 *
 * ```ts
 * const customer = await storefront.customers.create({ email: "ada@example.com" });
 * const isNew = responseOf(customer).status === 201;
 * ```
 *
 * Pass the object that a call returned (for a list, a page), or a StorefrontError. For anything else,
 * such as a copy of an answer or an error without a response, it throws a TypeError.
 */
export function responseOf(answer: object): ApiResponse {
  const response = responses.get(answer);
  if (response === undefined) {
    throw new TypeError("this object came with no response: give the object that the call returned, or its StorefrontError");
  }
  return response;
}

/** Records the response of an answer or an error, and returns the answer or error. */
export function withResponse<T extends object>(answer: T, { status, headers }: Response): T {
  const numbers = ["Limit", "Remaining", "Reset"].map((name) => Number(headers.get(`X-RateLimit-${name}`) ?? Number.NaN));
  const [limit = Number.NaN, remaining = Number.NaN, resetSeconds = Number.NaN] = numbers;
  responses.set(answer, {
    status,
    headers,
    requestId: headers.get("X-Request-Id") ?? undefined,
    rateLimit: numbers.every(Number.isFinite) ? { limit, remaining, resetSeconds } : undefined,
  });
  return answer;
}
