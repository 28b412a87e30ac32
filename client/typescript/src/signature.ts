// The signature of deliveries: "t=<unix seconds>,v1=<hex>", HMAC-SHA256 over "<t>.<body>" with the
// whole secret as the key (proto/CONTRACT.md, choice 33).

/** A body exactly as received or sent. A string stands for its UTF-8 bytes. */
export type RawBody = string | Uint8Array | ArrayBuffer;

/** Why a signature is refused. */
export type SignatureFault = "no_signature" | "mismatch" | "timestamp";

/** A longer header is refused. The service's header has 80 bytes now; a later release may send several signatures in it. */
const maxHeaderBytes = 1024;

/** The latest time of a signature, because the service's times are signed 64-bit integers. */
const latest = 2n ** 63n - 1n;

/** The usual form of a time. "+5" and "05" are refused, because the time's text is part of the signed text. */
const canonical = /^(0|-?[1-9]\d*)$/;

const utf8 = new TextEncoder();

/** WebCrypto's name of HMAC-SHA256. Node and edge runtimes have WebCrypto. */
const hmac = { name: "HMAC", hash: "SHA-256" };

/**
 * Verifies the signature header of a body. now is in Unix seconds. Returns undefined if the signature
 * matches the body and the secret, and its time is within the tolerance of now; otherwise the fault.
 * One matching v1 is enough, and other parts of the header are ignored, so that a later sender can add
 * signatures. The comparison takes constant time. The time is checked last, because before the
 * signature matches anybody may have written it.
 */
export async function faultOf(body: Uint8Array, header: string, secret: string, now: number, toleranceSeconds: number): Promise<SignatureFault | undefined> {
  if (utf8.encode(header).length > maxHeaderBytes) {
    return "no_signature";
  }
  const parts = header.split(",");
  const [seconds, ...otherTimes] = valuesOf(parts, "t=");
  const signatures = valuesOf(parts, "v1=");
  if (seconds === undefined || otherTimes.length > 0 || signatures.length === 0 || !isTime(seconds)) {
    return "no_signature";
  }
  const key = await crypto.subtle.importKey("raw", utf8.encode(secret), hmac, false, ["verify"]);
  const signed = signedBytes(body, seconds);
  let matches = false;
  for (const given of signatures.filter((text) => lowerHex.test(text))) {
    matches = (await crypto.subtle.verify(hmac, key, fromHex(given), signed)) || matches;
  }
  if (!matches) {
    return "mismatch";
  }
  // If the tolerance is NaN, this comparison is false, and every time is refused.
  return Math.abs(Number(seconds) - Math.floor(now)) <= toleranceSeconds ? undefined : "timestamp";
}

/** Signs a body together with a time's text, and returns the signature in lower-case hex. */
export async function sign(body: Uint8Array, secret: string, seconds: string): Promise<string> {
  const key = await crypto.subtle.importKey("raw", utf8.encode(secret), hmac, false, ["sign"]);
  const signature = await crypto.subtle.sign(hmac, key, signedBytes(body, seconds));
  return Array.from(new Uint8Array(signature), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Returns the bytes of a body, or undefined if the value is neither text nor bytes, such as a parsed object. */
export function bytesOf(body: unknown): Uint8Array | undefined {
  if (typeof body === "string") {
    return utf8.encode(body);
  }
  if (ArrayBuffer.isView(body)) {
    return new Uint8Array(body.buffer, body.byteOffset, body.byteLength);
  }
  // instanceof is false for an ArrayBuffer of another realm.
  return Object.prototype.toString.call(body) === "[object ArrayBuffer]" ? new Uint8Array(body as ArrayBuffer) : undefined;
}

function signedBytes(body: Uint8Array, seconds: string): Uint8Array<ArrayBuffer> {
  const before = utf8.encode(`${seconds}.`);
  const all = new Uint8Array(before.length + body.length);
  all.set(before);
  all.set(body, before.length);
  return all;
}

const lowerHex = /^([0-9a-f]{2})+$/;

function fromHex(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from({ length: text.length / 2 }, (_, i) => Number.parseInt(text.slice(2 * i, 2 * i + 2), 16));
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
