import { isLoopback } from "./address.js";

/** Deno's clients, which can connect to a host and port whatever the environment says. */
interface Deno {
  createHttpClient(options: { proxy: { transport: "tcp"; hostname: string; port: number } }): { close(): void };
}

/**
 * Returns a function that calls the global fetch. If the base URL is of this machine, it keeps requests away from the proxy
 * of `http_proxy`, which would read the key. Bun and Deno otherwise use that proxy for every address.
 */
export function directFetch(baseUrl: string): typeof fetch {
  const url = new URL(baseUrl);
  const { Deno } = globalThis as { Deno?: Deno };
  // fetch must not be called as a method of another object, because it would throw in browsers and edge runtimes.
  if (!isLoopback(url.hostname)) {
    return (...request) => fetch(...request);
  }
  if (typeof Deno?.createHttpClient !== "function") {
    return (input, init) => fetch(input, { ...init, proxy: false } as RequestInit); // Bun reads proxy; other runtimes ignore it
  }
  const port = Number(url.port) || (url.protocol === "https:" ? 443 : 80);
  return async (input, init) => {
    const client = Deno.createHttpClient({ proxy: { transport: "tcp", hostname: url.hostname, port } });
    const end = (): void => client.close();
    const answer = await fetch(input, { ...init, client } as RequestInit).catch((cause: unknown) => {
      end();
      throw cause;
    });
    const body = new TransformStream<Uint8Array, Uint8Array>();
    void (answer.body?.pipeTo(body.writable) ?? body.writable.close()).catch(() => undefined).finally(end);
    return answer.body ? new Response(body.readable, answer) : answer;
  };
}
