/**
 * A signal that is aborted after a time, or together with another signal. It does not use
 * AbortSignal.any with AbortSignal.timeout, because Node 20 may collect the timeout's signal as garbage,
 * and then it is never aborted.
 */
export class Limit {
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal | undefined;
  readonly #follow = (): void => this.#controller.abort(this.#outer?.reason);
  readonly #timer: ReturnType<typeof setTimeout>;

  constructor(milliseconds: number, outer?: AbortSignal) {
    this.#outer = outer;
    this.#timer = setTimeout(() => this.#controller.abort(new DOMException("The time is over", "TimeoutError")), milliseconds);
    if (outer?.aborted) {
      this.#follow();
    }
    outer?.addEventListener("abort", this.#follow, { once: true });
  }

  /** The signal. Its reason is a TimeoutError, or else the reason of the other signal. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Stops the timer and stops listening to the other signal. Call it when the work is over, to free both. */
  end(): void {
    clearTimeout(this.#timer);
    this.#outer?.removeEventListener("abort", this.#follow);
  }
}
