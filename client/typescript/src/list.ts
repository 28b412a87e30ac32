import type { Page } from "./json.js";

/**
 * Iterates over the pages of a list from a given one, one request a page, each made when its first
 * item is needed; leaving the loop makes no more.
 */
export async function* walk<T>(
  first: number | bigint | undefined,
  load: (page: number) => Promise<Page<T>>,
): AsyncGenerator<T, void, undefined> {
  for (let number = Number(first ?? 1); ; number++) {
    const { data, pageSize, total } = await load(number);
    yield* data;
    if (data.length === 0 || number * pageSize >= total) {
      return;
    }
  }
}
