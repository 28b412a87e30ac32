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
import { List } from "./list.js";

/** Who sets the amount of a payment link: the link, or the buyer. */
export type PaymentLinkPricing = Word<PaymentLink_Pricing>;

/** Whether a payment link takes payments now, or why not. */
export type PaymentLinkAvailability = Word<PaymentLink_Availability>;

/** An address at which a buyer pays. Amounts are in minor units of `currency`, dates are ISO 8601 in UTC. */
export interface PaymentLink extends Resource<PaymentLinkMessage> {}

/** Which payment links to list. */
export interface PaymentLinkFilter extends Filter<ListPaymentLinksRequest> {}

/** A payment link to create, in the store's currency: FIXED with `amount`, or OPEN with `minAmount`. */
export interface NewPaymentLink extends Draft<CreatePaymentLinkRequest> {}

/** The changes to a payment link: omitted fields stay, null clears a field that may be null. */
export interface PaymentLinkChanges extends Changes<UpdatePaymentLinkRequest, PaymentLinkMessage> {}

/** The store's payment links. */
export class PaymentLinks {
  readonly #connection: Connection;

  /** @internal */
  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /**
   * Lists all payment links that match, with their counters, newest first. Each request reads
   * `pageSize` links; the first request reads page `page`. A link that is created meanwhile moves the older
   * ones towards the end, so a link may come twice: compare ids. A link that stops matching meanwhile
   * moves the older ones towards the front, so a link may be missed. Needs the scope
   * `payment_links:read`. Throws a StorefrontError.
   */
  list(filter: PaymentLinkFilter = {}, options?: CallOptions): List<PaymentLink> {
    return new List(filter, options, (paging, each, site) =>
      this.#connection.call<Page<PaymentLink>>(PaymentLinkService.method.listPaymentLinks, { ...filter, ...paging }, each, site),
    );
  }

  /** Retrieves one page of payment links, for programs that show one page at a time. Needs the scope `payment_links:read`. Rejects with a StorefrontError: `validation_failed`. */
  page(filter: PaymentLinkFilter = {}, options?: CallOptions): Promise<Page<PaymentLink>> {
    return this.#connection.call(PaymentLinkService.method.listPaymentLinks, { ...filter }, options);
  }

  /** Retrieves a payment link. Needs the scope `payment_links:read`. Rejects with a StorefrontError: `payment_link_not_found`. */
  get(id: string, options?: CallOptions): Promise<PaymentLink> {
    return this.#connection.call(PaymentLinkService.method.getPaymentLink, { id }, options);
  }

  /**
   * Creates a payment link. The call is retried only after a 429. After a `network_error`, a `timeout` or
   * a status of 500 or more the link may exist: look in the list before you call again. Needs the scope
   * `payment_links:write`. Rejects with a
   * StorefrontError: `feature_disabled`, `payment_link_invalid_pricing`,
   * `payment_link_expiry_invalid`, `payment_link_expiry_past` or `validation_failed`.
   */
  create(link: NewPaymentLink, options?: CallOptions): Promise<PaymentLink> {
    return this.#connection.call(PaymentLinkService.method.createPaymentLink, { ...link }, options);
  }

  /**
   * Changes a payment link and returns the new state. Changing `pricing` clears the amount that the new
   * pricing does not use (`amount` or `minAmount`). Needs the scope `payment_links:write`. Rejects with a
   * StorefrontError: `payment_link_not_found`, `payment_link_invalid_pricing`,
   * `payment_link_expiry_invalid`, `payment_link_expiry_past` or `validation_failed`.
   */
  update(id: string, changes: PaymentLinkChanges, options?: CallOptions): Promise<PaymentLink> {
    return this.#connection.call(PaymentLinkService.method.updatePaymentLink, { ...changes, id }, options);
  }

  /**
   * Enables a disabled payment link; an enabled link stays as it is. The link may still be expired or
   * exhausted: see `availability`. Needs the scope `payment_links:write`. Rejects with a
   * StorefrontError: `payment_link_not_found`.
   */
  enable(id: string, options?: CallOptions): Promise<PaymentLink> {
    return this.#connection.call(PaymentLinkService.method.enablePaymentLink, { id }, options);
  }
}
