import { ScalarType, type DescField, type DescMessage } from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence, TimestampSchema } from "@bufbuild/protobuf/wkt";

import { alwaysPresent, isObject, type Json } from "./json.js";

/** The error of a JSON object with a missing field or a field of another type. Its message names the field. */
export class WrongJson extends Error {}

/** The types of JSON values, as error messages name them, each with its zero value. */
const zeros = { text: "", "a number": 0, "a whole number": 0, "true or false": false, "a date": "1970-01-01T00:00:00.000Z" };
type Kind = keyof typeof zeros;

/** Throws WrongJson if an object lacks one of these fields, for example its id. */
export function need(object: Json, owner: string, ...names: string[]): void {
  for (const name of names) {
    if (object[name] === undefined || object[name] === null) {
      throw new WrongJson(`${owner} has no ${name}`);
    }
  }
}

/**
 * Checks the fields of a message and fills in the missing ones, because an older service or a recorded event lacks the newer
 * fields. A missing field becomes null if it can be null; otherwise it becomes "", 0, [], the first moment of 1970, or an
 * object with such fields. Unknown fields stay as received.
 */
export function complete(message: DescMessage, object: Json): Json {
  const owner = message.typeName.replace(`${message.file.proto.package}.`, "").replaceAll(".", "");
  // All fields of a page are required, because they tell the class List whether there is another page.
  need(object, owner, ...message.fields.map((f) => f.jsonName).filter((name) => name === "id" || "pageSize" in message.field));
  for (const field of message.fields) {
    object[field.jsonName] = valueOf(field, object[field.jsonName], owner);
  }
  return object;
}

/** Checks a value that is neither an object nor a list; a missing one becomes the zero value. */
export function scalar(kind: Kind, value: unknown, name: string, owner: string): unknown {
  if (value === undefined) {
    return zeros[kind];
  }
  const fits =
    kind === "a date" ? typeof value === "string" && !Number.isNaN(Date.parse(value))
    : kind === "a whole number" ? Number.isSafeInteger(value)
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

/** Returns the value for a missing field, or undefined for a scalar, whose zero value scalar fills in. */
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
      return field.fieldKind === "message" ? "a date" : "text"; // an enum's value is text in JSON
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
