import { WrongJson } from "./complete.js";
import { parseEvent, type StorefrontEvent } from "./event.js";
import { explain, explainFault, type Explained, type WebhookMistake } from "./mistake.js";
import { bytesOf, faultOf, sign, type RawBody, type SignatureFault } from "./signature.js";

/** The header that carries the signature of a delivery, in lower case as in the `request.headers` of Node; `Headers.get` takes it too. */
export const signatureHeader = "service-signature";

/**
 * Why a delivery is refused.
 *
 * - `no_signature`: the header is missing, or does not have the form `t=…,v1=…`.
 * - `mismatch`: the signature belongs to another body or another secret. A body that was parsed and
 *   written again is another body.
 * - `timestamp`: the signature matches, but its time is too far from now. Either somebody recorded
 *   the delivery and sent it again, or a clock is wrong.
 * - `no_secret`: the secret is empty, so that anybody could have signed.
 * - `payload`: the signature matches, but the body is not an event.
 */
export type WebhookVerificationReason = SignatureFault | "no_secret" | "payload";

/**
 * Why verifyWebhook refused a delivery: the message explains the likely mistake to who made it, and contains nothing of the
 * header or the secret. Answer it with a 400.
 */
export class WebhookVerificationError extends Error {
  override readonly name = "WebhookVerificationError";
  /** The reason to branch on. */
  readonly reason: WebhookVerificationReason;
  /** What was probably done wrong, for logs. */
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
  /** The time to compare with, for tests with recorded deliveries. Default the system's. */
  now?: Date | undefined;
}

/** Five minutes, as other verifiers of this scheme have it. */
const defaultToleranceSeconds = 300;

/**
 * Verifies who signed a delivery and when, and returns its event.
 *
 * Pass the body exactly as received: read it before anything parses it. The header is that of
 * `signatureHeader`. The secret is the whole text that was shown, including `whsec_`; pass several
 * while a new one replaces an old one (empty ones are ignored). Data newer than this package is
 * never refused: fields and words are kept as received, and an event of an unknown type is an
 * UnknownEvent. Nor is older data: a missing field has the zero value of its type. An event may come more than once, with the same `id`.
 *
 * Rejects with a WebhookVerificationError, and with a TypeError for a body that is neither text nor
 * bytes.
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
    return parseEvent(new TextDecoder().decode(body));
  } catch (failed) {
    throw failed instanceof WrongJson ? new WebhookVerificationError("payload", explain("no_event", failed.message)) : failed;
  }
}

/** Whether a value is a secret: null, say, of a setting that is missing, would become the text "null", with which anybody could sign. */
function isSecret(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

/** What to sign. */
export interface SignWebhookOptions {
  /** The body, byte for byte as it will be sent. */
  body: RawBody;
  /** The secret, `whsec_` included. */
  secret: string;
  /** When it is sent, in whole Unix seconds. Default now. */
  timestamp?: number | undefined;
}

/** Returns the value of the signature's header as the service would make it: for tests of a receiver. */
export async function signWebhook({ body, secret, timestamp = Math.floor(Date.now() / 1000) }: SignWebhookOptions): Promise<string> {
  const bytes = bytesOf(body);
  if (bytes === undefined || !isSecret(secret)) {
    throw new TypeError("body must be text or bytes, and secret must not be empty");
  }
  return `t=${timestamp},v1=${await sign(bytes, secret, String(timestamp))}`;
}
