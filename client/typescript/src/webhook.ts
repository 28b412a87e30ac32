import { WrongJson } from "./complete.js";
import { parseEvent, type StorefrontEvent } from "./event.js";
import { explain, explainFault, type Explained, type WebhookMistake } from "./mistake.js";
import { bytesOf, faultOf, sign, type RawBody, type SignatureFault } from "./signature.js";

/** The name of the header with a delivery's signature, in lower case, as Node's `request.headers` and `Headers.get` need it. */
export const signatureHeader = "service-signature";

/**
 * Why a delivery is refused.
 *
 * - `no_signature`: the header is missing, or does not have the form `t=…,v1=…`.
 * - `mismatch`: the signature belongs to another body or another secret. A body that was parsed and
 *   serialised again counts as another body.
 * - `timestamp`: the signature matches, but its time is too far from now. Either somebody recorded
 *   the delivery and sent it again, or a clock is wrong.
 * - `no_secret`: the secret is empty, so that anybody could have signed.
 * - `payload`: the signature matches, but the body is not an event.
 */
export type WebhookVerificationReason = SignatureFault | "no_secret" | "payload";

/**
 * Why verifyWebhook refused a delivery: answer it with a 400. The message explains the probable mistake to the receiver's
 * developer. It quotes neither the header nor the secret.
 */
export class WebhookVerificationError extends Error {
  override readonly name = "WebhookVerificationError";
  /** The reason, for branching. */
  readonly reason: WebhookVerificationReason;
  /** The probable mistake, for logs. */
  readonly mistake: WebhookMistake;

  /** @internal */
  constructor(reason: WebhookVerificationReason, { mistake, message }: Explained) {
    super(message);
    this.reason = reason;
    this.mistake = mistake;
  }
}

/** The options of verifyWebhook. */
export interface VerifyWebhookOptions {
  /** How many seconds the signature's time may be from now, in either direction. Default 300. */
  toleranceSeconds?: number | undefined;
  /** The current time, for tests with recorded deliveries. Default: the system's time. */
  now?: Date | undefined;
}

/** Five minutes, as in other verifiers of this kind of signature. */
const defaultToleranceSeconds = 300;

/**
 * Verifies the signature of a delivery and its time, and returns the event.
 *
 * Pass the body exactly as received, not parsed, and the value of the header `signatureHeader`. The
 * secret is the whole text, including `whsec_`. While a new secret replaces an old one, pass both; empty
 * secrets are ignored. Unknown fields and enum values are kept as received, and an event of an unknown type
 * is an UnknownEvent. A missing field gets the zero value of its type. An event may come more than
 * once, with the same `id`.
 *
 * Rejects with a WebhookVerificationError or, for a body that is neither text nor bytes, with a
 * TypeError.
 */
export async function verifyWebhook(
  rawBody: RawBody,
  header: string | readonly string[] | null | undefined,
  secret: string | readonly string[],
  options: VerifyWebhookOptions = {},
): Promise<StorefrontEvent> {
  const body = bytesOf(rawBody);
  if (body === undefined) {
    throw new TypeError("rawBody must be the text or the bytes as they came, before anything parsed them");
  }
  const secrets = [secret].flat().filter(isSecret);
  const now = (options.now ?? new Date()).getTime() / 1000;
  const tolerance = options.toleranceSeconds ?? defaultToleranceSeconds;
  const text = [header ?? ""].flat().join(",");
  if (secrets.length === 0) {
    throw new WebhookVerificationError("no_secret", explain("no_secret"));
  }
  let fault: SignatureFault | undefined;
  for (const one of secrets) {
    fault = await faultOf(body, text, one, now, tolerance);
    if (fault !== "mismatch") {
      break;
    }
  }
  if (fault !== undefined) {
    throw new WebhookVerificationError(fault, explainFault(fault, body, text, secrets, now, tolerance));
  }
  try {
    return parseEvent(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch (failed) {
    // The decoder throws a TypeError if the body is not UTF-8.
    throw failed instanceof WrongJson || failed instanceof TypeError ? new WebhookVerificationError("payload", explain("no_event", failed.message)) : failed;
  }
}

/** Reports whether a value is a text. A missing setting may be null, which must not become the secret "null". */
function isSecret(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

/** The options of signWebhook. */
export interface SignWebhookOptions {
  /** The body, byte for byte as it will be sent. */
  body: RawBody;
  /** The secret, `whsec_` included. */
  secret: string;
  /** The signature's time, in whole Unix seconds. Default: now. */
  timestamp?: number | undefined;
}

/** Returns the value of the signature header as the service would send it, for tests of your receiver. */
export async function signWebhook({ body, secret, timestamp = Math.floor(Date.now() / 1000) }: SignWebhookOptions): Promise<string> {
  const bytes = bytesOf(body);
  if (bytes === undefined || !isSecret(secret)) {
    throw new TypeError("body must be text or bytes, and secret must not be empty");
  }
  return `t=${timestamp},v1=${await sign(bytes, secret, String(timestamp))}`;
}
