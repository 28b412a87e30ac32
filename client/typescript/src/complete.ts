import { ScalarType, type DescField, type DescMessage } from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence, TimestampSchema } from "@bufbuild/protobuf/wkt";

import { alwaysPresent, isObject, type Json } from "./json.js";

/** Why an object of JSON is not what it should be; the message names the field. */
export class WrongJson extends Error {}

/** The types of JSON values by their names in messages, each with its zero value. */
const zeros = { text: "", "a number": 0, "a whole number": 0, "true or false": false, "a date": "1970-01-01T00:00:00.000Z" };
type Kind = keyof typeof zeros;

/** Refuses an object without these fields, with which nothing could be done. */
export function need(object: Json, owner: string, ...names: string[]): void {
  for (const name of names) {
    if (object[name] === undefined || object[name] === null) {
      throw new WrongJson(`${owner} has no ${name}`);
    }
  }
}

/**
 * Gives each field of a message that is absent the zero value of its type, because a service or an event that is older than
 * this package lacks fields: null where the type allows it, else "", 0, [], the first moment of 1970, or an object of
 * those. Fields that are newer than this package stay as received.
 */
export function complete(message: DescMessage, object: Json): Json {
  const owner = message.typeName.replace(`${message.file.proto.package}.`, "").replaceAll(".", "");
  // A loop over pages ends by the fields of a page.
  need(object, owner, ...message.fields.map((f) => f.jsonName).filter((name) => name === "id" || "pageSize" in message.field));
  for (const field of message.fields) {
    object[field.jsonName] = valueOf(field, object[field.jsonName], owner);
  }
  return object;
}

/** Reads a value that is not an object or a list. */
export function scalar(kind: Kind, value: unknown, name: string, owner: string): unknown {
  if (value === undefined) {
    return zeros[kind];
  }
  const fits =
    kind === "a date" ? typeof value === "string" && !Number.isNaN(Date.parse(value))
    : kind === "a whole number" ? Number.isInteger(value)
    : typeof value === typeof zeros[kind];
  if (!fits) {
    throw new WrongJson(`${name} of ${owner} is not ${kind}`);
  }
  return value;
}

function valueOf(field: DescField, given: unknown, owner: string): unknown {
  const value = given === undefined ? zeroOf(field) : given;
  const wrong = (want: string): WrongJson => new WrongJson(`${field.jsonName} of ${owner} is not ${want}`);
  const { message } = field;
  if (field.fieldKind === "list") {
    if (!Array.isArray(value)) {
      throw wrong("a list");
    }
    if (message !== undefined && !value.every(isObject)) {
      throw wrong("a list of objects");
    }
    return message === undefined ? value : value.map((one: Json) => complete(message, one));
  }
  if (field.fieldKind === "map") {
    if (!isObject(value) || !Object.values(value).every((text) => typeof text === "string")) {
      throw wrong("an object of texts");
    }
    return value;
  }
  if (value === null && isNullable(field)) {
    return null;
  }
  if (isObjectField(field)) {
    if (!isObject(value)) {
      throw wrong("an object");
    }
    return complete(field.message, value);
  }
  return scalar(kindOf(field), value, field.jsonName, owner);
}

/** The value of a field that is absent; undefined for that of a scalar. */
function zeroOf(field: DescField): unknown {
  switch (field.fieldKind) {
    case "list":
      return [];
    case "map":
      return {};
  }
  return isNullable(field) ? null : isObjectField(field) ? { id: "" } : undefined;
}

function isNullable({ presence, jsonName }: DescField): boolean {
  return presence === FeatureSet_FieldPresence.EXPLICIT && !alwaysPresent.includes(jsonName);
}

function isObjectField(field: DescField): field is DescField & { fieldKind: "message" } {
  return field.fieldKind === "message" && field.message.typeName !== TimestampSchema.typeName;
}

function kindOf(field: DescField): Kind {
  switch (field.scalar) {
    case undefined:
      return field.fieldKind === "message" ? "a date" : "text"; // an enum's word is a text
    case ScalarType.STRING:
      return "text";
    case ScalarType.BOOL:
      return "true or false";
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return "a number";
    default:
      return "a whole number";
  }
}
