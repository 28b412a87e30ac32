// The compiler checks here which values the package's types accept. Running the tests proves only that the file compiled.
import { it } from "node:test";

import type { ErrorCode, NewCustomer, NewerWord, NewPaymentLink, Order, Page, PaymentLink, PaymentLinkChanges, Product, ProductChanges, ProductFilter, ProductStatus, Store, StorefrontError, StorefrontEvent } from "../src/index.js";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const holds = <_ extends true>(): void => undefined;

it("types follow the protos", () => {
  holds<Same<ProductStatus, "DRAFT" | "PUBLISHED" | "ARCHIVED">>();
  holds<Same<Product["priceAmount"], number>>();
  holds<Same<Product["compareAtAmount"], number | null>>();
  holds<Same<Product["publishedAt"], string | null>>();
  holds<Same<Product["createdAt"], string>>();
  holds<Same<Product["coverUrl"], string | null>>();
  holds<Same<Product["status"], ProductStatus | NewerWord>>();
  holds<Same<Order["customer"]["email"], string | null>>();
  holds<Same<Order["items"][number]["quantity"], number>>();
  holds<Same<Order["platformFeePercent"], number>>();
  holds<Same<PaymentLink["maxPayments"], number | null>>();
  holds<Same<Store["socialLinks"], { readonly [key: string]: string }>>();
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
  // @ts-expect-error callers do not send the mask
  changes.push({ updateMask: { paths: [] } });
  // @ts-expect-error a code never changes
  links.push({ code: "abc" });
  // @ts-expect-error a payment link needs a title
  made.push({ pricing: "FIXED", amount: 1 });
  // @ts-expect-error no product has this type, so no filter may name it
  const filter: ProductFilter = { type: "TYPE_UNSPECIFIED" };
  void filter;
  // @ts-expect-error an e-mail or a phone must be there
  made.push({});
  // @ts-expect-error a name identifies nobody
  made.push({ name: "Ada" });
  // @ts-expect-error a customer with the e-mail null has neither e-mail nor phone
  made.push({ email: null });
});

it("answers are readonly all through", () => {
  holds<Same<Product, Readonly<Product>>>();
  holds<Same<Order["items"], readonly Readonly<Order["items"][number]>[]>>();
  holds<Same<Order["customer"], Readonly<Order["customer"]>>>();
  holds<Same<Page<Product>, Readonly<Page<Product>>>>();
  holds<Same<Page<Product>["data"], readonly Product[]>>();
  holds<Same<StorefrontEvent["store"], Readonly<StorefrontEvent["store"]>>>();
  const write = (product: Product, order: Order, { details }: StorefrontError): void => {
    // @ts-expect-error a field is read-only
    product.title = "x";
    // @ts-expect-error a nested field is read-only
    order.customer.name = "x";
    // @ts-expect-error a list is read-only
    order.items.push(order.items[0]!);
    // @ts-expect-error an object of texts is read-only
    ({} as Store).socialLinks["web"] = "x";
    // @ts-expect-error a list in an error is read-only
    details?.fields?.pop();
  };
  void write;
});

it("a misspelt word is found where it is compared, and newer words are taken", () => {
  const compared = (status: Product["status"], code: ErrorCode): string => {
    // @ts-expect-error a misspelt value
    if (status === "PUBLISHD" || status === "PUBLISHED") {
      return status;
    }
    // @ts-expect-error a misspelt value
    if (code === "product_incomplet" || code === "product_incomplete" || code === "network_error") {
      return code;
    }
    switch (status) {
      case "DRAFT":
        return "";
      // @ts-expect-error a value of another enum
      case "PAID":
        return "";
      default: {
        const word: string = status;
        return (status as string) === "PREORDER" ? word.toLowerCase() : `${status}`;
      }
    }
  };
  void compared;
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
