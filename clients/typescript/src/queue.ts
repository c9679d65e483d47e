/** What comes from several places, to be read one after the other. */

import { ConnectionLost, type Received } from "./follow.js";

export class Queue {
  readonly #waiting: Received[] = [];
  #error: Error | null = null;
  #ended = false;
  #wake: () => void = () => undefined;

  push(received: Received): void {
    this.#waiting.push(received);
    this.#wake();
  }

  /** Nothing more comes: it throws this once all was read. */
  fail(message: string): void {
    this.#error ??= new ConnectionLost(message);
    this.#wake();
  }

  /** Nothing more is wanted. */
  end(): void {
    this.#ended = true;
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Received> {
    while (!this.#ended) {
      const next = this.#waiting.shift();
      if (next !== undefined) yield next;
      else if (this.#error !== null) throw this.#error;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}
