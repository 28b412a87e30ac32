import type { Customer } from "./customer.js";
import { isObject, parseObject } from "./json.js";
import type { Order } from "./order.js";
import type { Product } from "./product.js";

/** What every event has (specification, Webhook event envelope). */
export interface Envelope<Type extends string, Data> {
  /** The event's UUID, the same at every attempt: use it to detect events that you have handled already. */
  id: string;
  /** What happened. */
  type: Type;
  /** When it happened, ISO 8601 in UTC. Events may come in any order; compare this to see which is older. */
  createdAt: string;
  /** Where it happened. */
  store: { id: string; slug: string };
  /** The object concerned, as the API returned it then. */
  data: Data;
}

/** An order is paid, from the catalogue or through a payment link. */
export interface OrderPaidEvent extends Envelope<"order.paid", Order> {}

/** The payment provider confirms that the payment of an order failed. */
export interface OrderFailedEvent extends Envelope<"order.failed", Order> {}

/** A customer is new to the store. */
export interface CustomerCreatedEvent extends Envelope<"customer.created", Customer> {}

/** A product moves to PUBLISHED. */
export interface ProductPublishedEvent extends Envelope<"product.published", Product> {}

/** A product moves to ARCHIVED. */
export interface ProductArchivedEvent extends Envelope<"product.archived", Product> {}

/** An order that came through a payment link. */
export interface PaymentLinkOrder extends Order {
  /** The payment link; never null here. */
  paymentLink: NonNullable<Order["paymentLink"]>;
}

/** A payment link is paid, beside `order.paid` of the same order. */
export interface PaymentLinkPaidEvent extends Envelope<"payment_link.paid", PaymentLinkOrder> {}

/** The test button was pressed. */
export interface PingEvent extends Envelope<"ping", { message: string; sentAt: string }> {}

/**
 * An event of a type newer than this package: answer it with a 2xx, and do nothing. Its `type` has
 * a literal type, because a plain string would keep TypeScript from narrowing the union.
 */
export interface UnknownEvent extends Envelope<"unknown", unknown> {
  /** The type as received. */
  unknownType: string;
}

/** The event of a delivery: `type` decides what `data` is. */
export type StorefrontEvent =
  | OrderPaidEvent
  | OrderFailedEvent
  | CustomerCreatedEvent
  | ProductPublishedEvent
  | ProductArchivedEvent
  | PaymentLinkPaidEvent
  | PingEvent
  | UnknownEvent;

/** The name of an event type of this version. */
export type StorefrontEventType = Exclude<StorefrontEvent, UnknownEvent>["type"];

const knownTypes: Record<StorefrontEventType, true> = {
  "order.paid": true,
  "order.failed": true,
  "customer.created": true,
  "product.published": true,
  "product.archived": true,
  "payment_link.paid": true,
  ping: true,
};

/**
 * Reads the event of a verified body; returns undefined for anything else. Its data is passed on as
 * received: fields and words newer than this package stay.
 *
 * @internal
 */
export function parseEvent(text: string): StorefrontEvent | undefined {
  const event = parseObject(text);
  if (typeof event?.["id"] !== "string" || typeof event["type"] !== "string" || Number.isNaN(Date.parse(String(event["createdAt"])))) {
    return undefined;
  }
  const known = Object.hasOwn(knownTypes, event["type"]);
  if (!isObject(event["store"]) || (known && !isObject(event["data"]))) {
    return undefined;
  }
  return (known ? event : { ...event, type: "unknown", unknownType: event["type"] }) as unknown as StorefrontEvent;
}
