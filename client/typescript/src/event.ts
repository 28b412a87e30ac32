import { CustomerSchema } from "../../../gen/ts/storefront/v1/customer_pb.js";
import { OrderSchema } from "../../../gen/ts/storefront/v1/order_pb.js";
import { ProductSchema } from "../../../gen/ts/storefront/v1/product_pb.js";
import { complete, need, scalar, WrongJson } from "./complete.js";
import type { Customer } from "./customer.js";
import { isObject, parseObject, type Json } from "./json.js";
import type { Order } from "./order.js";
import type { Product } from "./product.js";

/** What every event has (specification, Webhook event envelope). */
export interface Envelope<Type extends string, Data> {
  /** The event's UUID, the same at every attempt: use it to detect events that you have handled already. */
  readonly id: string;
  /** What happened. */
  readonly type: Type;
  /** When it happened, ISO 8601 in UTC. Events may come in any order; compare this to see which is older. */
  readonly createdAt: string;
  /** Where it happened. */
  readonly store: { readonly id: string; readonly slug: string };
  /** The object concerned, as the API returned it then. */
  readonly data: Data;
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
  readonly paymentLink: NonNullable<Order["paymentLink"]>;
}

/** A payment link is paid, beside `order.paid` of the same order. */
export interface PaymentLinkPaidEvent extends Envelope<"payment_link.paid", PaymentLinkOrder> {}

/** The test button was pressed. */
export interface PingEvent extends Envelope<"ping", { readonly message: string; readonly sentAt: string }> {}

/**
 * An event of a type newer than this package: answer it with a 2xx, and do nothing. Its `type` has
 * a literal type, because a plain string would keep TypeScript from narrowing the union.
 */
export interface UnknownEvent extends Envelope<"unknown", unknown> {
  /** The type as received. */
  readonly unknownType: string;
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

/** Completes the data of each type of event. */
const readers: Record<StorefrontEventType, (data: Json) => void> = {
  "order.paid": (data) => complete(OrderSchema, data),
  "order.failed": (data) => complete(OrderSchema, data),
  "customer.created": (data) => complete(CustomerSchema, data),
  "product.published": (data) => complete(ProductSchema, data),
  "product.archived": (data) => complete(ProductSchema, data),
  "payment_link.paid": (data) => complete(OrderSchema, Object.assign(data, { paymentLink: data["paymentLink"] ?? { id: "" } })),
  ping: (data) => {
    data["message"] = scalar("text", data["message"], "message", "Ping");
    data["sentAt"] = scalar("a date", data["sentAt"], "sentAt", "Ping");
  },
};

/**
 * Reads the event of a verified body. Fields and words newer than this package stay as received, and missing fields of the
 * data have the zero value of their type. Throws WrongJson for anything else than an event.
 *
 * @internal
 */
export function parseEvent(text: string): StorefrontEvent {
  const event = parseObject(text);
  if (event === undefined) {
    throw new WrongJson("it is no JSON object");
  }
  const owner = "the event";
  need(event, owner, "id", "type", "createdAt", "store");
  scalar("text", event["id"], "id", owner);
  const type = scalar("text", event["type"], "type", owner) as StorefrontEventType;
  scalar("a date", event["createdAt"], "createdAt", owner);
  const { store, data } = event;
  if (!isObject(store)) {
    throw new WrongJson("store of the event is not an object");
  }
  need(store, "EventStore", "id");
  scalar("text", store["id"], "id", "EventStore");
  store["slug"] = scalar("text", store["slug"], "slug", "EventStore");
  if (!Object.hasOwn(readers, type)) {
    return { ...event, type: "unknown", unknownType: type } as unknown as UnknownEvent;
  }
  need(event, owner, "data");
  if (!isObject(data)) {
    throw new WrongJson("data of the event is not an object");
  }
  readers[type](data);
  return event as unknown as StorefrontEvent;
}
