/**
 * The client of one store's API and the verifier of its webhooks, for Node and edge runtimes.
 *
 * The package makes requests, retries them, converts errors, iterates over pages, and verifies
 * signatures of deliveries. It leaves checking a request's fields to the service, and keeps unknown
 * fields of answers. The messages and operations are generated from the protos (`gen/ts`); these
 * files wrap them for callers.
 *
 * @packageDocumentation
 */
export type { Attempt, CallOptions, StorefrontOptions } from "./connection.js";
export type { Customer, CustomerChanges, CustomerFilter, Customers, NewCustomer } from "./customer.js";
export { StorefrontError, type ClientCode, type ErrorCode, type ErrorDetails, type ServiceCode } from "./error.js";
export type {
  CustomerCreatedEvent,
  Envelope,
  OrderFailedEvent,
  OrderPaidEvent,
  PaymentLinkOrder,
  PaymentLinkPaidEvent,
  PingEvent,
  ProductArchivedEvent,
  ProductPublishedEvent,
  StorefrontEvent,
  StorefrontEventType,
  UnknownEvent,
} from "./event.js";
export type { NewerWord, Open, Page } from "./json.js";
export type { List } from "./list.js";
export type { Order, OrderFilter, Orders, OrderStatus } from "./order.js";
export type {
  NewPaymentLink,
  PaymentLink,
  PaymentLinkAvailability,
  PaymentLinkChanges,
  PaymentLinkFilter,
  PaymentLinkPricing,
  PaymentLinks,
} from "./paymentlink.js";
export type { Product, ProductChanges, ProductFilter, Products, ProductStatus, ProductType } from "./product.js";
export { responseOf, type ApiResponse, type RateLimit } from "./response.js";
export type { RawBody } from "./signature.js";
export type { Store, StoreOperations, StoreStatus } from "./store.js";
export { createStorefront, type Storefront } from "./storefront.js";
export {
  signatureHeader,
  signWebhook,
  verifyWebhook,
  WebhookVerificationError,
  type SignWebhookOptions,
  type VerifyWebhookOptions,
  type WebhookVerificationReason,
} from "./webhook.js";
export type { WebhookMistake } from "./mistake.js";
