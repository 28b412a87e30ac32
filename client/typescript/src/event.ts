import { CustomerSchema } from "../../../gen/ts/storefront/v1/customer_pb.js";
import { OrderSchema } from "../../../gen/ts/storefront/v1/order_pb.js";
import { ProductSchema } from "../../../gen/ts/storefront/v1/product_pb.js";
import { complete, need, scalar, WrongJson } from "./complete.js";
import type { Customer } from "./customer.js";
import { isObject, parseObject, type Json } from "./json.js";
import type { Order } from "./order.js";
import type { Product } from "./product.js";

/** The fields that every event has (specification, Webhook event envelope). */
export interface Envelope<Type extends string, Data> {
  /** The event's UUID, the same in every delivery. Store the event by it, and ship by the order's id: a payment through a link has two events. */
  readonly id: string;
  /** What happened. */
  readonly type: Type;
  /**
   * When the event happened, ISO 8601 in UTC. Events may arrive in any order; of two events of one object, the later event has
   * the later time.
   */
  readonly createdAt: string;
  /** The store of the event. */
  readonly store: { readonly id: string; readonly slug: string };
  /** The object that was changed, as the API returned it right after the change. */
  readonly data: Data;
}

/** An order is paid, from the catalogue or through a payment link, which also has a `payment_link.paid` event with another id. */
export interface OrderPaidEvent extends Envelope<"order.paid", Order> {}

/** The payment provider confirms that the payment of an order failed: the order is not paid. */
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

/** A payment link is paid. The order also has an `order.paid` event, with another id: ship by the order's id. */
export interface PaymentLinkPaidEvent extends Envelope<"payment_link.paid", PaymentLinkOrder> {}

/** Somebody tests the webhook, for example with the button in the dashboard. */
export interface PingEvent extends Envelope<"ping", { readonly message: string; readonly sentAt: string }> {}

/**
 * An event of a type that is newer than this package: answer it with a 2xx, and do nothing. Its `type`
 * is always "unknown", because with any string TypeScript could not tell the events of the union apart.
 */
export interface UnknownEvent extends Envelope<"unknown", unknown> {
  /** The type as received. */
  readonly unknownType: string;
}

/** An event of a delivery. The type of `data` follows from `type`. */
export type StorefrontEvent =
  | OrderPaidEvent
  | OrderFailedEvent
  | CustomerCreatedEvent
  | ProductPublishedEvent
  | ProductArchivedEvent
  | PaymentLinkPaidEvent
  | PingEvent
  | UnknownEvent;

/** The names of the event types that this version knows. */
export type StorefrontEventType = Exclude<StorefrontEvent, UnknownEvent>["type"];

/** For each type of event, the function that checks and completes its data. */
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
 * Parses the event in a verified body. Unknown fields and enum values stay as received, and missing fields of the data get
 * the zero value of their type. Throws WrongJson if the body is not an event.
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
