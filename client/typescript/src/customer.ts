import {
  CustomerService,
  type CreateCustomerRequest,
  type Customer as CustomerMessage,
  type ListCustomersRequest,
  type UpdateCustomerRequest,
} from "../../../gen/ts/storefront/v1/customer_pb.js";
import type { CallOptions, Connection } from "./connection.js";
import type { Changes, Draft, Filter, Page, Resource } from "./json.js";
import { List } from "./list.js";

/** A buyer. Amounts are in minor units of `currency`, dates are ISO 8601 in UTC. */
export interface Customer extends Resource<CustomerMessage> {}

/** Which customers to list. */
export interface CustomerFilter extends Filter<ListCustomersRequest> {}

/** A customer to record: an e-mail, a phone, or both; the name may be left out. */
export type NewCustomer = Draft<Partial<CreateCustomerRequest>> & ({ readonly email: string } | { readonly phone: string });

/** The changes to a customer: omitted fields stay, null clears the e-mail or the phone. */
export interface CustomerChanges extends Changes<UpdateCustomerRequest, CustomerMessage> {}

/** The store's customers. */
export class Customers {
  readonly #connection: Connection;

  /** @internal */
  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /**
   * Lists all customers that match, newest first. Each request reads `pageSize` customers; the first
   * request reads page `page`. A customer who is recorded meanwhile moves the older ones towards the end,
   * so a customer may come twice: compare ids. Needs the scope `customers:read`. Throws a StorefrontError.
   */
  list(filter: CustomerFilter = {}, options?: CallOptions): List<Customer> {
    return new List(filter, options, (paging, each, site) =>
      this.#connection.call<Page<Customer>>(CustomerService.method.listCustomers, { ...filter, ...paging }, each, site),
    );
  }

  /** Retrieves one page of customers, for programs that show one page at a time. Needs the scope `customers:read`. Rejects with a StorefrontError: `validation_failed`. */
  page(filter: CustomerFilter = {}, options?: CallOptions): Promise<Page<Customer>> {
    return this.#connection.call(CustomerService.method.listCustomers, { ...filter }, options);
  }

  /** Retrieves a customer. Needs the scope `customers:read`. Rejects with a StorefrontError: `customer_not_found`. */
  get(id: string, options?: CallOptions): Promise<Customer> {
    return this.#connection.call(CustomerService.method.getCustomer, { id }, options);
  }

  /**
   * Creates a customer. If the store already has a customer with that e-mail or phone, fills in the name,
   * e-mail or phone that the customer lacks. `responseOf(customer).status` is 201 for a new customer and
   * 200 for a known one. The call is retried like a read, because it never records a customer twice. Needs the scope
   * `customers:write`. Rejects with a StorefrontError: `customer_identifier_required`,
   * `phone_invalid`, `customer_conflict` or `validation_failed`.
   */
  create(customer: NewCustomer, options?: CallOptions): Promise<Customer> {
    return this.#connection.call(CustomerService.method.createCustomer, { ...customer }, options);
  }

  /**
   * Changes a customer and returns the new state. Needs the scope `customers:write`. Rejects with a
   * StorefrontError: `customer_not_found`, `customer_identifier_required`, `phone_invalid`,
   * `customer_conflict` or `validation_failed`.
   */
  update(id: string, changes: CustomerChanges, options?: CallOptions): Promise<Customer> {
    return this.#connection.call(CustomerService.method.updateCustomer, { ...changes, id }, options);
  }
}
