/**
 * A signal that is aborted after a time, or together with another signal. AbortSignal.any with
 * AbortSignal.timeout does not serve: nothing else refers to the timeout, so Node 20 may collect it as
 * garbage, and then the signal is never aborted.
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

  /** The signal; its reason is a TimeoutError, or the other signal's reason. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Stops waiting. Call it when the work is over, or the timer and the other signal keep this alive. */
  end(): void {
    clearTimeout(this.#timer);
    this.#outer?.removeEventListener("abort", this.#follow);
  }
}
