import {
  CustomerService,
  type CreateCustomerRequest,
  type Customer as CustomerMessage,
  type ListCustomersRequest,
  type UpdateCustomerRequest,
} from "../../../gen/ts/storefront/v1/customer_pb.js";
import type { CallOptions, Connection } from "./connection.js";
import type { Changes, Draft, Filter, Page, Resource } from "./json.js";
import { walk } from "./list.js";

/** A buyer. Amounts are in minor units of `currency`, dates are ISO 8601 in UTC. */
export interface Customer extends Resource<CustomerMessage, "createdAt"> {}

/** Which customers to list. */
export interface CustomerFilter extends Filter<ListCustomersRequest> {}

/** A customer to record: an e-mail, a phone, or both; the name may be left out. */
export interface NewCustomer extends Partial<Draft<CreateCustomerRequest>> {}

/** What to change of a customer: what is left out stays, null clears the e-mail or the phone. */
export interface CustomerChanges extends Changes<UpdateCustomerRequest, CustomerMessage> {}

/** The store's customers. */
export class Customers {
  readonly #connection: Connection;

  /** @internal */
  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /**
   * Walks all customers that match, newest first, a page at a time: `pageSize` is how many a request
   * brings, `page` where to start. Customers that are recorded meanwhile move the others towards the
   * end, so that one may come twice: the id tells. Needs the scope `customers:read`. Throws a
   * StorefrontError.
   */
  list(filter: CustomerFilter = {}, options?: CallOptions): AsyncGenerator<Customer, void, undefined> {
    return walk(filter.page, (page) => this.page({ ...filter, page }, options));
  }

  /** Retrieves one page of customers, for what shows pages itself. Needs the scope `customers:read`. Rejects with a StorefrontError: `validation_failed`. */
  page(filter: CustomerFilter = {}, options?: CallOptions): Promise<Page<Customer>> {
    return this.#connection.call(CustomerService.method.listCustomers, { ...filter }, options);
  }

  /** Retrieves a customer. Needs the scope `customers:read`. Rejects with a StorefrontError: `customer_not_found`. */
  get(id: string, options?: CallOptions): Promise<Customer> {
    return this.#connection.call(CustomerService.method.getCustomer, { id }, options);
  }

  /**
   * Creates a customer, or completes the one whom the store already knows by that e-mail or phone;
   * nobody is recorded twice, so it may be called again. Needs the scope `customers:write`. Rejects with
   * a StorefrontError: `customer_identifier_required`, `phone_invalid`, `customer_conflict` or
   * `validation_failed`.
   */
  create(customer: NewCustomer, options?: CallOptions): Promise<Customer> {
    return this.#connection.call(CustomerService.method.createCustomer, { ...customer }, options);
  }

  /**
   * Changes a customer and returns it as it is then. Needs the scope `customers:write`. Rejects with a
   * StorefrontError: `customer_not_found`, `customer_identifier_required`, `phone_invalid`,
   * `customer_conflict` or `validation_failed`.
   */
  update(id: string, changes: CustomerChanges, options?: CallOptions): Promise<Customer> {
    return this.#connection.call(CustomerService.method.updateCustomer, { ...changes, id }, options);
  }
}
