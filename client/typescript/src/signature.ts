// The signature of deliveries: "t=<unix seconds>,v1=<hex>", HMAC-SHA256 over "<t>.<body>" with the
// whole secret as the key (proto/CONTRACT.md, choice 33).

/** The bytes of a body as received or sent; text stands for its UTF-8. */
export type RawBody = string | Uint8Array | ArrayBuffer;

/** Why a signature is refused. */
export type SignatureFault = "no_signature" | "mismatch" | "timestamp";

/** The service's header has 80 bytes; a few more signatures of other schemes or secrets still fit. */
const maxHeaderBytes = 1024;

/** The service's times are 64-bit integers. */
const latest = 2n ** 63n - 1n;

/** One form for each time: the text is what is signed, and "+5" or "05" would be others. */
const canonical = /^(0|-?[1-9]\d*)$/;

const utf8 = new TextEncoder();

/** HMAC-SHA256, by the WebCrypto that Node and edge runtimes share. */
const hmac = { name: "HMAC", hash: "SHA-256" };

/**
 * Returns what is wrong with the header of a body, at a time in Unix seconds; undefined if it was
 * made of this body with this secret within the tolerance. One matching v1 of several is enough,
 * and other parts are ignored, so that a sender may add signatures. The comparison takes constant
 * time. The time is checked last, because it means nothing until the signature matches.
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
  // Written this way round, a tolerance of NaN tolerates nothing.
  return Math.abs(Number(seconds) - Math.floor(now)) <= toleranceSeconds ? undefined : "timestamp";
}

/** The signature of a body under the text of a time, in lower-case hex. */
export async function sign(body: Uint8Array, secret: string, seconds: string): Promise<string> {
  const key = await crypto.subtle.importKey("raw", utf8.encode(secret), hmac, false, ["sign"]);
  const signature = await crypto.subtle.sign(hmac, key, signedBytes(body, seconds));
  return Array.from(new Uint8Array(signature), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The bytes of a body; undefined for a value that is none, such as an object that something parsed. */
export function bytesOf(body: unknown): Uint8Array | undefined {
  if (typeof body === "string") {
    return utf8.encode(body);
  }
  if (ArrayBuffer.isView(body)) {
    return new Uint8Array(body.buffer, body.byteOffset, body.byteLength);
  }
  // Not instanceof, which another realm's buffer fails.
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
