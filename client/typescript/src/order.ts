import {
  OrderService,
  type ListOrdersRequest,
  type Order as OrderMessage,
  type Order_Status,
} from "../../../gen/ts/storefront/v1/order_pb.js";
import type { CallOptions, Connection } from "./connection.js";
import type { Filter, Page, Resource, Word } from "./json.js";
import { List } from "./list.js";

/** The status of an order. */
export type OrderStatus = Word<Order_Status>;

/** A purchase. Amounts are in minor units of `currency`, dates are ISO 8601 in UTC. */
export interface Order extends Resource<OrderMessage> {}

/** Which orders to list. `from` is inclusive, `to` exclusive. */
export interface OrderFilter extends Filter<ListOrdersRequest> {}

/** The store's orders, which the platform's checkout writes. */
export class Orders {
  readonly #connection: Connection;

  /** @internal */
  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /**
   * Lists all orders that match, newest first. Each request reads `pageSize` orders; the first
   * request reads page `page`. An order that is recorded meanwhile moves the older ones towards the end, so an
   * order may come twice: compare ids. An order that stops matching meanwhile moves the older ones
   * towards the front, so an order may be missed. Needs the scope `orders:read`. Throws a StorefrontError.
   */
  list(filter: OrderFilter = {}, options?: CallOptions): List<Order> {
    return new List(filter, options, (paging, each, site) =>
      this.#connection.call<Page<Order>>(OrderService.method.listOrders, { ...filter, ...paging }, each, site),
    );
  }

  /** Retrieves one page of orders, for programs that show one page at a time. Needs the scope `orders:read`. Rejects with a StorefrontError: `validation_failed`. */
  page(filter: OrderFilter = {}, options?: CallOptions): Promise<Page<Order>> {
    return this.#connection.call(OrderService.method.listOrders, { ...filter }, options);
  }

  /** Retrieves an order. Needs the scope `orders:read`. Rejects with a StorefrontError: `order_not_found`. */
  get(id: string, options?: CallOptions): Promise<Order> {
    return this.#connection.call(OrderService.method.getOrder, { id }, options);
  }
}
