/** The stack of a call. It becomes the stack of the call's error, which is created later and has lost the caller's frames. */
export class CallSite {
  /** Has the recorded frames in `stack`. The runtime formats them only when `stack` is read, so recording costs little. */
  readonly #holder: { stack?: string } = {};

  /** Records the frames that called the function `above`. */
  constructor(above: Function) {
    const capture = (Error as { captureStackTrace?: (holder: object, above: Function) => void }).captureStackTrace;
    capture?.(this.#holder, above);
  }

  /** Gives an error the recorded frames. If the runtime cannot record frames, the error keeps its stack. */
  mark<E extends Error>(error: E): E {
    const [, ...frames] = this.#holder.stack?.split("\n") ?? [];
    if (frames.length > 0) {
      Object.defineProperty(error, "stack", { value: [String(error), ...frames].join("\n"), configurable: true, writable: true });
    }
    return error;
  }
}
