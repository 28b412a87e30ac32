import {
  ProductService,
  type ListProductsRequest,
  type Product as ProductMessage,
  type Product_Status,
  type Product_Type,
  type UpdateProductRequest,
} from "../../../gen/ts/storefront/v1/product_pb.js";
import type { CallOptions, Connection } from "./connection.js";
import type { Changes, Filter, Page, Resource, Word } from "./json.js";
import { List } from "./list.js";

/** Whether a product is on sale. */
export type ProductStatus = Word<Product_Status>;

/** The kind of a product. */
export type ProductType = Word<Product_Type>;

/** What the store sells in its catalogue. Amounts are in minor units of `currency`, dates are ISO 8601 in UTC. */
export interface Product extends Resource<ProductMessage> {}

/** Which products to list. */
export interface ProductFilter extends Filter<ListProductsRequest> {}

/** The changes to a product: omitted fields stay, null clears a field that may be null. */
export interface ProductChanges extends Changes<UpdateProductRequest, ProductMessage> {}

/** The store's products. */
export class Products {
  readonly #connection: Connection;

  /** @internal */
  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /**
   * Lists all products that match, whatever their status, newest first. Each request reads `pageSize`
   * products; the first request reads page `page`. A product that is created meanwhile moves the older ones
   * towards the end, so a product may come twice: compare ids. A product that stops matching meanwhile
   * moves the older ones towards the front, so a product may be missed. Needs the scope
   * `products:read`. Throws a StorefrontError.
   */
  list(filter: ProductFilter = {}, options?: CallOptions): List<Product> {
    return new List(filter, options, (paging, each, site) =>
      this.#connection.call<Page<Product>>(ProductService.method.listProducts, { ...filter, ...paging }, each, site),
    );
  }

  /** Retrieves one page of products, for programs that show one page at a time. Needs the scope `products:read`. Rejects with a StorefrontError: `validation_failed`. */
  page(filter: ProductFilter = {}, options?: CallOptions): Promise<Page<Product>> {
    return this.#connection.call(ProductService.method.listProducts, { ...filter }, options);
  }

  /** Retrieves a product. Needs the scope `products:read`. Rejects with a StorefrontError: `product_not_found`. */
  get(id: string, options?: CallOptions): Promise<Product> {
    return this.#connection.call(ProductService.method.getProduct, { id }, options);
  }

  /**
   * Changes a product and returns the new state. Needs the scope `products:write`. Rejects with a
   * StorefrontError: `product_not_found`, `validation_failed`, `compare_at_invalid`,
   * `product_type_unavailable`, or `product_incomplete` with `details.missing`.
   */
  update(id: string, changes: ProductChanges, options?: CallOptions): Promise<Product> {
    return this.#connection.call(ProductService.method.updateProduct, { ...changes, id }, options);
  }
}
