// Guesses why a delivery was refused, and explains it in the same words as the other clients.
import type { SignatureFault } from "./signature.js";

/**
 * The probable cause of a refused delivery, for logs.
 *
 * - `no_header`, `unreadable_header`, `altered_header`: the header is missing, has another form, or was cut.
 * - `no_secret`, `api_key`, `secret_form`, `wrong_secret`: the secret is empty, an API key, incomplete, or another webhook's.
 * - `empty_body`, `base64_body`, `decoded_body`, `changed_body`: the body was read before, is still base64, was decoded as another
 *   encoding than UTF-8, or was parsed and written again.
 * - `too_old`, `too_new`: the signature's time is too far from this machine's clock.
 * - `no_event`: the signature matches, but the body is no event.
 */
export type WebhookMistake = keyof typeof explanations;

const explanations = {
  no_header: "there is no Service-Signature header: this is no delivery, or a proxy or framework dropped the header",
  unreadable_header: "the Service-Signature header does not have the form t=…,v1=…: pass its value as received, once",
  altered_header: "the signature in the header is not 64 hexadecimal digits: it was cut or changed on the way",
  no_secret: "the secret is empty; set it to the whsec_… that was shown when the webhook was made",
  api_key: "the secret is an API key (svc_live_…); a webhook's secret starts with whsec_",
  secret_form:
    "the secret is not of the form that was shown: whsec_ and what follows, all of it, without spaces, quotes or a line's end",
  empty_body: "the body is empty: something read it before; verify the bytes first",
  base64_body: "the body is still base64, as some gateways pass it on: decode it, and verify the bytes that come out",
  decoded_body: "the body was decoded as Latin-1, as ASCII or as another encoding than UTF-8: verify the bytes exactly as received",
  changed_body:
    "the body is not written as the service writes it: it was probably parsed and written again; verify the bytes exactly as received",
  wrong_secret:
    "the body looks untouched, so the secret is probably that of another webhook, an old one, or not the one that storefront listen prints",
  too_old: "the signature is older than allowed",
  too_new: "the signature is of the future",
  no_event: "the signature matches, but the body is no event",
};

/** A mistake and its explanation, which quotes neither the header nor the secret. */
export interface Explained {
  readonly mistake: WebhookMistake;
  readonly message: string;
}

/** Explains a mistake, and adds the text `more` to the explanation. */
export function explain(mistake: WebhookMistake, more?: string): Explained {
  return { mistake, message: explanations[mistake] + (more === undefined ? "" : `: ${more}`) };
}

/** Guesses the mistake behind a wrong signature from the header, the secrets and the body, and explains it. */
export function explainFault(fault: SignatureFault, body: Uint8Array, header: string, secrets: readonly string[], now: number, tolerance: number): Explained {
  switch (fault) {
    case "no_signature":
      return explain(header === "" ? "no_header" : "unreadable_header");
    case "timestamp":
      return outside(header, now, tolerance);
    default:
      return explain(mismatch(body, header, secrets));
  }
}

function mismatch(body: Uint8Array, header: string, secrets: readonly string[]): WebhookMistake {
  if (!/(?:^|,)v1=[0-9a-f]{64}(?:,|$)/.test(header)) {
    return "altered_header";
  }
  for (const secret of secrets) {
    if (secret.startsWith("svc_live_")) {
      return "api_key";
    }
    if (!/^whsec_(?:[0-9A-Za-z_-]{43}|[0-9a-f]{64})$/.test(secret)) {
      return "secret_form";
    }
  }
  if (body.length === 0) {
    return "empty_body";
  }
  if (/^[\s"]*eyJpZCI6I/.test(new TextDecoder().decode(body))) { // {"id":"
    return "base64_body";
  }
  if (isDecoded(body)) {
    return "decoded_body";
  }
  return isAsTheServiceWrites(new TextDecoder().decode(body)) ? "wrong_secret" : "changed_body";
}

/** The character that Latin-1 or Windows-1252 makes of a continuation byte of UTF-8. */
const next = "[\\u0080-\\u00bf\\u0152\\u0153\\u0160\\u0161\\u0178\\u017d\\u017e\\u0192\\u02c6\\u02dc\\u2013-\\u203a\\u20ac\\u2122]";
const utf8AsLatin1 = new RegExp(`[\\u00c2-\\u00df]${next}|[\\u00e0-\\u00ef]${next}{2}|[\\u00f0-\\u00f4]${next}{3}`, "g");
/**
 * Traces of UTF-8 that was read as ASCII: Node drops the highest bit of each byte, so that é becomes C); other decoders make
 * U+FFFD of each byte.
 */
const utf8AsAscii = /\ufffd|[\x00-\x08\x0e-\x1f]|[a-z]C[\t!-/;]|[ "]C[\t()*+][a-z]/;

/** Reports whether a body is not UTF-8, or was UTF-8 and then decoded as another encoding. */
function isDecoded(body: Uint8Array): boolean {
  const text = new TextDecoder().decode(body); // has U+FFFD for invalid UTF-8
  const rest = text.replace(utf8AsLatin1, "");
  return (rest !== text && !/[^\x00-\x7f]/.test(rest)) || utf8AsAscii.test(text);
}

/**
 * Reports whether a text is JSON as the service writes it: the id first, no spaces between the tokens, and only the escapes
 * that JSON requires.
 */
function isAsTheServiceWrites(text: string): boolean {
  try {
    JSON.parse(text);
  } catch {
    return false;
  }
  const between = text.replace(/"(?:[^"\\]|\\.)*"/g, "");
  const needless = (text.match(/\\(?:u[0-9A-Fa-f]{4}|.)/g) ?? []).some((one) => !/^\\(?:["\\bfnrt]|u00[01].|u202[89])$/i.test(one));
  return text.startsWith('{"id":"') && !/\s/.test(between) && !needless;
}

function outside(header: string, now: number, tolerance: number): Explained {
  const at = Number(/(?:^|,)t=(-?\d+)/.exec(header)?.[1]);
  const age = Math.floor(now) - at;
  const date = new Date(now * 1000);
  const clock = Number.isNaN(date.getTime()) ? String(now) : `${date.toISOString().slice(0, 19)}Z`;
  const than = `by this machine's clock, which reads ${clock}, and ${tolerance} are allowed`;
  return age > 0
    ? {
        mistake: "too_old",
        message: `${explanations.too_old}: it was made ${age} seconds ago ${than}; either the delivery was held up or sent again, or this clock is fast`,
      }
    : {
        mistake: "too_new",
        message: `${explanations.too_new}: it was made in ${-age} seconds ${than}; this clock is slow, or the sender's is fast`,
      };
}
