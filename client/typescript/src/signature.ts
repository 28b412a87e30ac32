// The signature of deliveries: "t=<unix seconds>,v1=<hex>", HMAC-SHA256 over "<t>.<body>" with the
// whole secret as the key (proto/CONTRACT.md, choice 33).
import { createHmac, timingSafeEqual } from "node:crypto";

/** The bytes of a body as received or sent; text stands for its UTF-8. */
export type RawBody = string | Uint8Array;

/** Why a signature is refused. */
export type SignatureFault = "no_signature" | "mismatch" | "timestamp";

/** The service's header has 80 bytes; a few more signatures of other schemes or secrets still fit. */
const maxHeaderBytes = 1024;

/** The service's times are 64-bit integers. */
const latest = 2n ** 63n - 1n;

/** One form for each time: the text is what is signed, and "+5" or "05" would be others. */
const canonical = /^(0|-?[1-9]\d*)$/;

/**
 * Returns what is wrong with the header of a body, at a time in Unix seconds; undefined if it was
 * made of this body with this secret within the tolerance. One matching v1 of several is enough,
 * and other parts are ignored, so that a sender may add signatures. The comparison takes constant
 * time. The time is checked last, because it means nothing until the signature matches.
 */
export function faultOf(body: RawBody, header: string, secret: string, now: number, toleranceSeconds: number): SignatureFault | undefined {
  if (Buffer.byteLength(header) > maxHeaderBytes) {
    return "no_signature";
  }
  const parts = header.split(",");
  const [seconds, ...otherTimes] = valuesOf(parts, "t=");
  const signatures = valuesOf(parts, "v1=");
  if (seconds === undefined || otherTimes.length > 0 || signatures.length === 0 || !isTime(seconds)) {
    return "no_signature";
  }
  const want = Buffer.from(sign(body, secret, seconds));
  let matches = 0;
  for (const given of signatures.map((text) => Buffer.from(text))) {
    matches += Number(given.length === want.length && timingSafeEqual(given, want));
  }
  if (matches === 0) {
    return "mismatch";
  }
  // Written this way round, a tolerance of NaN tolerates nothing.
  return Math.abs(Number(seconds) - Math.floor(now)) <= toleranceSeconds ? undefined : "timestamp";
}

/** The signature of a body under the text of a time, in lower-case hex. */
export function sign(body: RawBody, secret: string, seconds: string): string {
  return createHmac("sha256", secret).update(`${seconds}.`).update(body).digest("hex");
}

function valuesOf(parts: string[], name: string): string[] {
  return parts.filter((part) => part.startsWith(name)).map((part) => part.slice(name.length));
}

function isTime(text: string): boolean {
  if (!canonical.test(text)) {
    return false;
  }
  const time = BigInt(text);
  return time <= latest && time >= -latest - 1n;
}
