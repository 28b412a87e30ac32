// The JSON of the API as types, derived from the generated messages, so that each field is written
// once. The service writes a message the same way in answers and in webhooks: 64-bit integers as
// numbers, dates as text, enum values by name, and null for missing values.
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

/** The names of an enum's values that may be sent. */
type Names<E> = Exclude<keyof E & string, `${string}_UNSPECIFIED`>;

/** The names of a generated enum's values. */
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
 * A word that is newer than this package, kept as received, or `""` where an older service or event has none. It is a string,
 * and its type has the form of an enum because the compiler then finds a misspelt literal that a word is compared with, which
 * it does not with `string & {}`. To compare it with a word that only a newer package has, write `status as string`.
 */
export declare enum NewerWord {
  missing = "",
}

/** One of the words of this version of the package, or a NewerWord: give a `switch` over it a `default`. */
export type Open<W extends string> = W | NewerWord;

/** Distinguishes an enum from a plain number, whose text may be any number. */
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
 * The dates and objects that are never null. Their generated type allows undefined as that of the others does, because the
 * protos do not tell them apart.
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

/** A message to send as a query: omitted or undefined fields filter nothing. */
export type Filter<T> = {
  [K in keyof T as Exclude<K, Internal>]?: Given<NonNullable<T[K]>> | undefined;
};

/** A message to create something from: null is the same as leaving an optional field out. */
export type Draft<T> = {
  [K in keyof T as Exclude<K, Internal>]: IsOptional<T, K> extends true
    ? Given<NonNullable<T[K]>> | null | undefined
    : Given<T[K]>;
};

/**
 * The fields of a resource `R` to change: an omitted or undefined field stays as it is, and null
 * clears a field that may be null.
 */
export type Changes<T, R> = {
  [K in keyof T as Exclude<K, Internal | "id" | "updateMask">]?:
    | Given<NonNullable<T[K]>>
    | (K extends keyof R ? (IsOptional<R, K> extends true ? null : never) : never)
    | undefined;
};

/** One page of a list. While `page * pageSize < total`, more pages remain. */
export interface Page<T> {
  /** The page, from 1. */
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
 * Reads a JSON object, and anything else as undefined.
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
 * Whether a value of JSON is an object.
 *
 * @internal
 */
export function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
