import { StoreService, type Store as StoreMessage, type Store_Status } from "../../../gen/ts/storefront/v1/store_pb.js";
import type { CallOptions, Connection } from "./connection.js";
import type { Resource, Word } from "./json.js";

/** Whether a store is open to its buyers and its keys. */
export type StoreStatus = Word<Store_Status>;

/** An online store. */
export interface Store extends Resource<StoreMessage> {}

/** The store that the API key belongs to. */
export class StoreOperations {
  readonly #connection: Connection;

  /** @internal */
  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Retrieves the store. Needs the scope `store:read`. */
  get(options?: CallOptions): Promise<Store> {
    return this.#connection.call(StoreService.method.getStore, {}, options);
  }
}
