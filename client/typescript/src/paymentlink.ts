import {
  PaymentLinkService,
  type CreatePaymentLinkRequest,
  type ListPaymentLinksRequest,
  type PaymentLink as PaymentLinkMessage,
  type PaymentLink_Availability,
  type PaymentLink_Pricing,
  type UpdatePaymentLinkRequest,
} from "../../../gen/ts/storefront/v1/payment_link_pb.js";
import type { CallOptions, Connection } from "./connection.js";
import type { Changes, Draft, Filter, Page, Resource, Word } from "./json.js";
import { walk } from "./list.js";

/** Who sets the amount of a payment link: the link, or the buyer. */
export type PaymentLinkPricing = Word<PaymentLink_Pricing>;

/** Whether a payment link takes payments now, or why not. */
export type PaymentLinkAvailability = Word<PaymentLink_Availability>;

/** An address at which a buyer pays. Amounts are in minor units of `currency`, dates are ISO 8601 in UTC. */
export interface PaymentLink extends Resource<PaymentLinkMessage, "createdAt" | "updatedAt"> {}

/** Which payment links to list. */
export interface PaymentLinkFilter extends Filter<ListPaymentLinksRequest> {}

/** A payment link to create, in the store's currency: FIXED with `amount`, or OPEN with `minAmount`. */
export interface NewPaymentLink extends Draft<CreatePaymentLinkRequest> {}

/** What to change of a payment link: what is left out stays, null clears what may be null. */
export interface PaymentLinkChanges extends Changes<UpdatePaymentLinkRequest, PaymentLinkMessage> {}

/** The store's payment links. */
export class PaymentLinks {
  readonly #connection: Connection;

  /** @internal */
  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /**
   * Walks all payment links that match, newest first and with their counters, a page at a time:
   * `pageSize` is how many a request brings, `page` where to start. Links that are created meanwhile move
   * the others towards the end, so that one may come twice: the id tells. One that stops matching
   * meanwhile moves them towards the front, so that one may be passed over. Needs the scope
   * `payment_links:read`. Throws a StorefrontError.
   */
  list(filter: PaymentLinkFilter = {}, options?: CallOptions): AsyncGenerator<PaymentLink, void, undefined> {
    return walk(filter.page, (page) => this.page({ ...filter, page }, options));
  }

  /** Retrieves one page of payment links, for what shows pages itself. Needs the scope `payment_links:read`. Rejects with a StorefrontError: `validation_failed`. */
  page(filter: PaymentLinkFilter = {}, options?: CallOptions): Promise<Page<PaymentLink>> {
    return this.#connection.call(PaymentLinkService.method.listPaymentLinks, { ...filter }, options);
  }

  /** Retrieves a payment link. Needs the scope `payment_links:read`. Rejects with a StorefrontError: `payment_link_not_found`. */
  get(id: string, options?: CallOptions): Promise<PaymentLink> {
    return this.#connection.call(PaymentLinkService.method.getPaymentLink, { id }, options);
  }

  /**
   * Creates a payment link. It is sent once, whatever comes back: after a `network_error` or a `timeout`
   * look at the list before calling it again. Needs the scope `payment_links:write`. Rejects with a
   * StorefrontError: `feature_disabled`, `payment_link_invalid_pricing`, `payment_link_expiry_invalid`,
   * `payment_link_expiry_past` or `validation_failed`.
   */
  create(link: NewPaymentLink, options?: CallOptions): Promise<PaymentLink> {
    return this.#connection.call(PaymentLinkService.method.createPaymentLink, { ...link }, options);
  }

  /**
   * Changes a payment link and returns it as it is then; changing `pricing` clears the amount of the other
   * kind unless it is given. Needs the scope `payment_links:write`. Rejects with a StorefrontError:
   * `payment_link_not_found`, `payment_link_invalid_pricing`, `payment_link_expiry_invalid`,
   * `payment_link_expiry_past` or `validation_failed`.
   */
  update(id: string, changes: PaymentLinkChanges, options?: CallOptions): Promise<PaymentLink> {
    return this.#connection.call(PaymentLinkService.method.updatePaymentLink, { ...changes, id }, options);
  }

  /**
   * Enables a disabled payment link, and leaves an enabled one as it is; whether it takes payments then is
   * its `availability`. It is sent once, and may be called again. Needs the scope `payment_links:write`.
   * Rejects with a StorefrontError: `payment_link_not_found`.
   */
  enable(id: string, options?: CallOptions): Promise<PaymentLink> {
    return this.#connection.call(PaymentLinkService.method.enablePaymentLink, { id }, options);
  }
}
