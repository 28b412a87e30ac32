import { Connection, type StorefrontOptions } from "./connection.js";
import { Customers } from "./customer.js";
import { Orders } from "./order.js";
import { PaymentLinks } from "./paymentlink.js";
import { Products } from "./product.js";
import { StoreOperations } from "./store.js";

/** The operations of the API, by resource. Create it once and share it in the whole program. */
export interface Storefront {
  /** The store that the key belongs to. */
  readonly store: StoreOperations;
  /** The store's products. */
  readonly products: Products;
  /** The store's orders. */
  readonly orders: Orders;
  /** The store's customers. */
  readonly customers: Customers;
  /** The store's payment links. */
  readonly paymentLinks: PaymentLinks;
}

/**
 * Returns a client for one store's API. It sends no request yet. It throws a TypeError for invalid
 * options.
 *
 * ```ts
 * const storefront = createStorefront({ baseUrl: "https://api.example.com", apiKey: process.env.STOREFRONT_KEY! });
 * for await (const product of storefront.products.list({ status: "PUBLISHED" })) {
 *   console.log(product.title, product.priceAmount, product.currency);
 * }
 * ```
 */
export function createStorefront(options: StorefrontOptions): Storefront {
  const connection = new Connection(options);
  return {
    store: new StoreOperations(connection),
    products: new Products(connection),
    orders: new Orders(connection),
    customers: new Customers(connection),
    paymentLinks: new PaymentLinks(connection),
  };
}
