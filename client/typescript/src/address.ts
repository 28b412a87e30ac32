/** Checks the base URL and returns it without a slash at its end. The errors do not quote it, as it may contain a password. */
export function checkBaseUrl(baseUrl: string, allowHttp: boolean): string {
  let url: URL;
  try {
    url = new URL(baseUrl);
  } catch {
    throw new TypeError("baseUrl is no URL; give one such as https://api.example.com");
  }
  // The constructor URL silently removes line breaks, so they are refused here.
  if (/[\s\p{Cc}]/u.test(baseUrl)) {
    throw new TypeError("baseUrl must hold no white space, such as the end of a line");
  }
  const path = url.pathname.replace(/\/+$/, "");
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    throw new TypeError("baseUrl must start with https://");
  }
  if (url.username !== "" || url.password !== "") {
    throw new TypeError("baseUrl must hold no user name or password; the API key is given beside it");
  }
  if (/[?#]/.test(baseUrl)) {
    throw new TypeError("baseUrl must end before ? and #");
  }
  if (path.endsWith("/v1")) {
    throw new TypeError("baseUrl must be the address of the service without /v1");
  }
  checkPrivate(url, allowHttp);
  return url.origin + path;
}

/** Refuses an http address of another machine, because the key would cross the network unencrypted. */
export function checkPrivate(url: URL, allowHttp: boolean): void {
  if (url.protocol === "http:" && !allowHttp && !isLoopback(url.hostname)) {
    throw new TypeError(
      "baseUrl must be https, or the key crosses the network readable; where that network is private, set allowHttp",
    );
  }
}

/**
 * Reports whether a host is this machine. The URL class has already written an address such as 127.1 as 127.0.0.1, and the
 * IPv4-mapped ::ffff:127.0.0.1 as ::ffff:7f00:1.
 */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "[::1]" || /^127\.\d+\.\d+\.\d+$|^\[::ffff:7f[\da-f]{2}:[\da-f]+\]$/.test(host);
}

/**
 * Refuses a text that cannot be a key, so that a wrong setting fails at the start instead of with a
 * later 401. The errors do not quote the text.
 */
export function checkApiKey(key: unknown): string {
  if (typeof key !== "string" || key === "") {
    throw new TypeError("apiKey is empty; set it to a key of the store's dashboard, under Settings, Developer, API keys");
  }
  if (!key.startsWith("svc_live_")) {
    throw new TypeError("apiKey does not start with svc_live_");
  }
  if (!/^[!-~]+$/.test(key)) {
    throw new TypeError("apiKey holds white space or a character that no key has, such as the end of a line");
  }
  return key;
}
