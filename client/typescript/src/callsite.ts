/** A caller's place in the program, for the stack of an error that is made after the caller has waited. */
export class CallSite {
  /** Formatted when it is first read, as the runtime does it. */
  readonly #holder: { stack?: string } = {};

  /** Records the frames above a function. */
  constructor(above: Function) {
    const capture = (Error as { captureStackTrace?: (holder: object, above: Function) => void }).captureStackTrace;
    capture?.(this.#holder, above);
  }

  /** Gives an error the frames of this place; where the runtime has no such frames, the error keeps its own. */
  mark<E extends Error>(error: E): E {
    const [, ...frames] = this.#holder.stack?.split("\n") ?? [];
    if (frames.length > 0) {
      Object.defineProperty(error, "stack", { value: [String(error), ...frames].join("\n"), configurable: true, writable: true });
    }
    return error;
  }
}
