/** What is left of a minute's requests (specification, Limits). */
export interface RateLimit {
  /** How many requests the key may make in a minute. */
  readonly limit: number;
  /** How many are left. */
  readonly remaining: number;
  /** The seconds until the counter restarts. */
  readonly resetSeconds: number;
}

/** The HTTP response of a call, beside its body. */
export interface ApiResponse {
  /** The status: 201 for what was created, 200 for what was there. */
  readonly status: number;
  /** All headers. */
  readonly headers: Headers;
  /** The request's identifier in the service's logs, to quote when you ask for help. */
  readonly requestId: string | undefined;
  /** What is left of the minute's requests; undefined if the service did not answer. */
  readonly rateLimit: RateLimit | undefined;
}

/** The responses by what a call returned or threw, so that answers stay plain JSON. */
const responses = new WeakMap<object, ApiResponse>();

/**
 * Returns the HTTP response that an answer came with:
 *
 * ```ts
 * const customer = await storefront.customers.create({ email: "ada@example.com" });
 * const isNew = responseOf(customer).status === 201;
 * ```
 *
 * It takes what a method resolved to (for a list, the page), or a StorefrontError. It throws a
 * TypeError for anything else, such as a copy or an error without a response.
 */
export function responseOf(answer: object): ApiResponse {
  const response = responses.get(answer);
  if (response === undefined) {
    throw new TypeError("this object came with no response: give the object that the call returned, or its StorefrontError");
  }
  return response;
}

/** Records the response that an answer or an error came with, and returns the answer. */
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
