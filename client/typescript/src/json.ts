// Types of the API's JSON, derived from the types of the generated messages, so that a new field needs
// no change here. In answers and webhooks the service writes 64-bit integers as numbers, dates as text,
// enum values by name, and null for missing values.
import type { Message } from "@bufbuild/protobuf";
import type { Timestamp } from "@bufbuild/protobuf/wkt";

import type { Order_Status } from "../../../gen/ts/storefront/v1/order_pb.js";
import type {
  ListPaymentLinksRequest_Status,
  PaymentLink_Availability,
  PaymentLink_Pricing,
} from "../../../gen/ts/storefront/v1/payment_link_pb.js";
import type { Product_Status, Product_Type } from "../../../gen/ts/storefront/v1/product_pb.js";
import type { Store_Status } from "../../../gen/ts/storefront/v1/store_pb.js";

/** The names of an enum's values, without the one that is never sent. */
type Names<E> = Exclude<keyof E & string, `${string}_UNSPECIFIED`>;

/** The names of the values of a generated enum, found by the enum's type. */
export type Word<T> =
  T extends Product_Status ? Names<typeof Product_Status>
  : T extends Product_Type ? Names<typeof Product_Type>
  : T extends Order_Status ? Names<typeof Order_Status>
  : T extends PaymentLink_Availability ? Names<typeof PaymentLink_Availability>
  : T extends PaymentLink_Pricing ? Names<typeof PaymentLink_Pricing>
  : T extends ListPaymentLinksRequest_Status ? Names<typeof ListPaymentLinksRequest_Status>
  : T extends Store_Status ? Names<typeof Store_Status>
  : never;

/**
 * An enum value that is newer than this package, kept as received; or `""` if an older service or event has none. At run time
 * it is a string. Its type is an enum and not `string & {}`, so that the compiler refuses a comparison with a misspelt value.
 * To compare it with a value that this package does not know, write `status as string`.
 */
export declare enum NewerWord {
  missing = "",
}

/** An enum value that this version knows, or a NewerWord: give a `switch` over it a `default`. */
export type Open<W extends string> = W | NewerWord;

/** Whether a type is `number` and not an enum. In a template literal `number` allows every number, an enum only its values. */
type IsNumber<T extends number> = `${number}` extends `${T}` ? true : false;

type Answer<T> =
  T extends bigint ? number
  : T extends number ? (IsNumber<T> extends true ? number : Open<Word<T>>)
  : T extends Timestamp ? string
  : T extends Message ? Resource<T>
  : T extends (infer Item)[] ? readonly Answer<Item>[]
  : Readonly<T>;

type Internal = "$typeName" | "$unknown";

/** Whether a field of a message may be missing. */
type IsOptional<T, K extends keyof T> = {} extends Pick<T, K> ? true : false;

/**
 * The dates and objects that are never null. They are listed here because the generated types allow undefined for every date
 * and object.
 *
 * @internal
 */
export const alwaysPresent: readonly string[] = ["createdAt", "updatedAt", "customer"] satisfies Present[];
type Present = "createdAt" | "updatedAt" | "customer";

/** A message as the service answers it: missing values are null. */
export type Resource<T> = {
  readonly [K in keyof T as Exclude<K, Internal>]-?: K extends Present
    ? Answer<NonNullable<T[K]>>
    : IsOptional<T, K> extends true
      ? Answer<NonNullable<T[K]>> | null
      : Answer<T[K]>;
};

type Given<T> =
  T extends bigint ? number | bigint
  : T extends number ? (IsNumber<T> extends true ? number : Word<T>)
  : T extends Timestamp ? Date | string
  : T;

/** A message to send as a query. An omitted or undefined field is not sent. */
export type Filter<T> = {
  [K in keyof T as Exclude<K, Internal>]?: Given<NonNullable<T[K]>> | undefined;
};

/** A message to send in a creation. For an optional field, null is the same as leaving it out. */
export type Draft<T> = {
  [K in keyof T as Exclude<K, Internal>]: IsOptional<T, K> extends true
    ? Given<NonNullable<T[K]>> | null | undefined
    : Given<T[K]>;
};

/**
 * The changes to a resource `R`. An omitted or undefined field stays as it is, and null clears a field
 * that can be null.
 */
export type Changes<T, R> = {
  [K in keyof T as Exclude<K, Internal | "id" | "updateMask">]?:
    | Given<NonNullable<T[K]>>
    | (K extends keyof R ? (IsOptional<R, K> extends true ? null : never) : never)
    | undefined;
};

/** One page of a list. While `page * pageSize < total`, more pages remain. */
export interface Page<T> {
  /** The number of the page, from 1. */
  readonly page: number;
  /** How many items a page holds. */
  readonly pageSize: number;
  /** How many items match in all. */
  readonly total: number;
  /** The items, newest first; empty beyond the last page. */
  readonly data: readonly T[];
}

/** An object of JSON. */
export type Json = Record<string, unknown>;

/**
 * Parses a JSON object. Returns undefined for any other text.
 *
 * @internal
 */
export function parseObject(text: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Reports whether a JSON value is an object.
 *
 * @internal
 */
export function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
