import { CallSite } from "./callsite.js";
import type { CallOptions } from "./connection.js";
import type { Page } from "./json.js";

/** The largest page (specification, Conventions). */
const maxPageSize = 100;

/** The page with which a list starts, and the number of items per request. */
interface Paging {
  page?: number | bigint | undefined;
  pageSize?: number | undefined;
}

/** Requests one page. */
type Load<T> = (paging: Paging, options: CallOptions | undefined, site: CallSite) => Promise<Page<T>>;

/**
 * All items of a list. `for await` requests a page only when the loop reaches it. Each loop starts at
 * the first page again. Read the whole list with `toArray` before you change what its filter selects.
 */
export class List<T> implements AsyncIterable<T> {
  readonly #paging: Paging;
  readonly #options: CallOptions | undefined;
  readonly #load: Load<T>;
  readonly #site = new CallSite(List);

  /** @internal */
  constructor(paging: Paging, options: CallOptions | undefined, load: Load<T>) {
    this.#paging = paging;
    this.#options = options;
    this.#load = load;
  }

  /** Iterates over the items. */
  [Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    return this.#walk(this.#paging.pageSize);
  }

  /** Returns the first items in an array, at most `limit`, with as few requests as possible. */
  async toArray({ limit }: { limit: number }): Promise<T[]> {
    if (!Number.isInteger(limit) || limit < 1) {
      throw new TypeError("limit must be a whole number from 1");
    }
    const { page, pageSize } = this.#paging;
    // Choose a size only if the caller gave neither size nor page, because the size decides with which item page 2 begins.
    const size = pageSize === undefined && page === undefined ? Math.min(limit, maxPageSize) : pageSize;
    const items: T[] = [];
    for await (const item of this.#walk(size)) {
      items.push(item);
      if (items.length === limit) {
        break;
      }
    }
    return items;
  }

  async *#walk(pageSize: number | undefined): AsyncGenerator<T, void, undefined> {
    const { timeoutMs, ...others } = this.#options ?? {};
    let leftMs = timeoutMs;
    for (let page = Number(this.#paging.page ?? 1); ; page++) {
      const start = performance.now();
      const options = leftMs === undefined ? others : { ...others, timeoutMs: Math.max(0, Math.round(leftMs)) };
      const { data, total, ...answered } = await this.#load({ page, pageSize }, options, this.#site);
      if (leftMs !== undefined) {
        leftMs -= performance.now() - start;
      }
      yield* data;
      if (data.length === 0 || page * answered.pageSize >= total) {
        return;
      }
    }
  }
}
