/**
 * The generated Connect services and messages, for transports of `@connectrpc/connect` over Connect,
 * gRPC-Web and gRPC:
 *
 * ```ts
 * const transport = createConnectTransport({ baseUrl, httpVersion: "1.1", interceptors: [apiKey(key)] });
 * const products = createClient(ProductService, transport);
 * ```
 *
 * In these messages amounts are `bigint`, dates are `Timestamp`, and enum values are numbers. No call is retried.
 *
 * @packageDocumentation
 */
import { ConnectError, type Interceptor } from "@connectrpc/connect";

import { ErrorSchema, type Error as ServiceError } from "../../../gen/ts/storefront/v1/error_pb.js";
import { checkApiKey, checkPrivate } from "./address.js";

export * from "../../../gen/ts/storefront/v1/customer_pb.js";
export * from "../../../gen/ts/storefront/v1/error_pb.js";
export * from "../../../gen/ts/storefront/v1/order_pb.js";
export * from "../../../gen/ts/storefront/v1/payment_link_pb.js";
export * from "../../../gen/ts/storefront/v1/product_pb.js";
export * from "../../../gen/ts/storefront/v1/store_pb.js";

/** The options of apiKey. */
export interface ApiKeyOptions {
  /** Accept an `http://` address of another machine. For private networks only, because the key is then sent unencrypted. */
  allowHttp?: boolean | undefined;
}

/**
 * Returns an interceptor that adds the API key, `svc_live_…`, to every request of a transport. It
 * throws a TypeError for a text that cannot be a key. The interceptor rejects calls to an `http://`
 * address of another machine, unless `allowHttp` is set.
 */
export function apiKey(key: string, { allowHttp = false }: ApiKeyOptions = {}): Interceptor {
  const authorization = `Bearer ${checkApiKey(key)}`;
  return (next) => (request) => {
    checkPrivate(new URL(request.url), allowHttp);
    request.header.set("Authorization", authorization);
    return next(request);
  };
}

/**
 * Returns the service's Error of a rejected call: its `code`, `message`, `details` and `requestId`.
 * It is undefined if the service did not answer, or the rejection is no ConnectError.
 */
export function serviceError(reason: unknown): ServiceError | undefined {
  return reason instanceof ConnectError ? reason.findDetails(ErrorSchema)[0] : undefined;
}
