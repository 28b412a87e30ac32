// What the types allow, checked by the compiler: these lines run only to prove that they compiled.
import { it } from "node:test";

import type { NewCustomer, NewPaymentLink, Order, PaymentLink, PaymentLinkChanges, Product, ProductChanges, ProductFilter, ProductStatus, Store, StorefrontEvent } from "../src/index.js";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const holds = <_ extends true>(): void => undefined;

it("types follow the protos", () => {
  holds<Same<ProductStatus, "DRAFT" | "PUBLISHED" | "ARCHIVED">>();
  holds<Same<Product["priceAmount"], number>>();
  holds<Same<Product["compareAtAmount"], number | null>>();
  holds<Same<Product["publishedAt"], string | null>>();
  holds<Same<Product["createdAt"], string>>();
  holds<Same<Product["coverUrl"], string | null>>();
  holds<Same<Product["status"], ProductStatus | (string & {})>>();
  holds<Same<Order["customer"]["email"], string | null>>();
  holds<Same<Order["items"][number]["quantity"], number>>();
  holds<Same<Order["platformFeePercent"], number>>();
  holds<Same<PaymentLink["maxPayments"], number | null>>();
  holds<Same<Store["socialLinks"], { [key: string]: string }>>();
  holds<Same<keyof Product & `$${string}`, never>>();
});

it("requests take what the service takes, and nothing else", () => {
  const changes: ProductChanges[] = [{}, { priceAmount: 1n, compareAtAmount: null }, { status: "DRAFT", title: undefined }];
  const links: PaymentLinkChanges[] = [{ expiresAt: new Date(), maxPayments: null }, { expiresAt: "2027-01-01T00:00:00Z" }];
  const made: [NewCustomer, NewPaymentLink] = [{ phone: "+237670000001" }, { title: "x", pricing: "OPEN", minAmount: 100 }];
  // @ts-expect-error a title cannot be cleared
  changes.push({ title: null });
  // @ts-expect-error a status that does not exist
  changes.push({ status: "PUBLISHD" });
  // @ts-expect-error a field that cannot be changed
  changes.push({ currency: "XAF" });
  // @ts-expect-error the mask is the service's
  changes.push({ updateMask: { paths: [] } });
  // @ts-expect-error a code never changes
  links.push({ code: "abc" });
  // @ts-expect-error a payment link needs a title
  made.push({ pricing: "FIXED", amount: 1 });
  // @ts-expect-error what is never sent cannot be asked for
  const filter: ProductFilter = { type: "TYPE_UNSPECIFIED" };
  void filter;
});

it("events narrow by their type", () => {
  const read = (event: StorefrontEvent): string => {
    switch (event.type) {
      case "order.paid":
      case "order.failed":
        return event.data.reference;
      case "payment_link.paid":
        return event.data.paymentLink.code;
      case "customer.created":
        return event.data.name;
      case "product.published":
      case "product.archived":
        return event.data.title;
      case "ping":
        return event.data.message;
      case "unknown":
        holds<Same<typeof event.data, unknown>>();
        return event.unknownType;
    }
  };
  void read;
});
