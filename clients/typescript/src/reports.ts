/**
 * Reports to the daemon: what was applied, and what a shoe came to in our books.
 *
 * In: events that were applied, our references; a shoe's rounds. Out: requests, each until it is
 * answered. It needs a user with `applies = true`. Must not know: transports, what a booking is.
 */

import { setTimeout as sleep } from "node:timers/promises";

import type { Answer } from "./answers.js";
import type { Due } from "./consumer.js";

const RULINGS = new Set(["round.outcome", "round.revised", "round.void"]);
/** Refusals that end by themselves, or by a person: the same report is taken later. */
const SEND_AGAIN = new Set(["daemon_starting", "daemon_storage_fault", "daemon_loss_not_ruled"]);
/** Reports that wait for an answer; of more the oldest are dropped, and the pit learns of them. */
const MOST_WAITING = 10_000;

/** The money of a wager in one round, in minor units; a fraction as a text such as `"19/2"`. */
export interface StatedMoney {
  readonly staked: number;
  readonly paid_out: number | string;
}

/** One round of a shoe as we count it. */
export interface StatedRound {
  readonly round_id: string;
  readonly void?: boolean;
  readonly wagers?: Readonly<Record<string, StatedMoney>>;
}

/** How a shoe's rounds compare; `first` is the first one that is not the same. */
export interface Compared {
  readonly shoe_id: string;
  readonly agrees: boolean;
  readonly first?: string;
  readonly what?: string;
}

/** The daemon refuses a statement; `code` is for programs. */
export class Refused extends Error {
  override readonly name = "Refused";

  constructor(
    readonly code: string,
    text: string,
  ) {
    super(text);
  }
}

/** A connection that takes requests; see `Connection` of `follow`. */
export interface Asker {
  request(table: string, asked: Readonly<Record<string, unknown>>): Promise<Answer>;
}

interface Waiting {
  readonly table: string;
  readonly asked: Readonly<Record<string, unknown>>;
  readonly answered?: (answer: Answer) => void;
}

/**
 * Reports what was applied. `referenceOf` returns your own reference for a booking; it is called
 * after an outcome, a revision or a void was applied, and null reports nothing. Give it to `follow`.
 * What is not answered yet is sent again, also over the next connection.
 */
export class Reports {
  readonly #waiting: Waiting[] = [];
  #wake: () => void = () => undefined;
  #dropped = 0;

  constructor(readonly referenceOf: (due: Due) => string | null) {}

  /** Report this event as soon as possible, if it says how a round ended. */
  applied(due: Due): void {
    const { event } = due;
    const reference = RULINGS.has(event.type) ? this.referenceOf(due) : null;
    if (reference === null) return;
    const { id, source, table } = event;
    this.#add({ table, asked: { request: "applied", event: id, source, reference } });
  }

  /**
   * State the rounds of a shoe and their money; return how the table's own compare. It waits as long
   * as the daemon is away, and throws Refused where the table does not keep this shoe.
   */
  async shoe(table: string, shoeId: string, rounds: readonly StatedRound[]): Promise<Compared> {
    const asked = { request: "shoe", table, shoe_id: shoeId, rounds };
    const answer = await new Promise<Answer>((answered) => this.#add({ table, asked, answered }));
    const { error, shoe } = answer as Answer & { readonly shoe?: Compared };
    if (error !== undefined) throw new Refused(error.code, error.text ?? error.code);
    if (shoe === undefined) throw new Refused("request_invalid", "the answer compares no shoe");
    return shoe;
  }

  #add(waiting: Waiting): void {
    this.#waiting.push(waiting);
    if (this.#waiting.length > MOST_WAITING) {
      const dropped = { code: "dropped", text: "too many reports wait" };
      this.#waiting.shift()?.answered?.({ accepted: false, error: dropped });
      this.#dropped += 1;
    }
    this.#wake();
  }

  /**
   * Send what waits, and what comes, until the signal is aborted or a request fails. What the daemon
   * does not take yet is sent again after `againMs`.
   */
  async send(
    connection: Asker,
    againMs: number,
    signal: AbortSignal,
    warn: (line: string) => void,
  ): Promise<void> {
    while (!signal.aborted) {
      if (this.#dropped > 0) {
        warn(`reports were dropped, too many waited: ${this.#dropped}`);
        this.#dropped = 0;
      }
      const waiting = this.#waiting[0];
      if (waiting === undefined) {
        await new Promise<void>((wake) => {
          this.#wake = wake;
          signal.addEventListener("abort", () => wake(), { once: true });
        });
        continue;
      }
      const answer = await connection.request(waiting.table, waiting.asked);
      const code = answer.accepted === false ? (answer.error?.code ?? "refused") : null;
      if (code !== null && SEND_AGAIN.has(code)) {
        await sleep(againMs, undefined, { signal }).catch(() => undefined);
        continue;
      }
      this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
      if (waiting.answered !== undefined) waiting.answered(answer);
      else if (code !== null) {
        warn(`not taken as applied: ${String(waiting.asked["event"])}: ${answer.error?.text ?? code}`);
      }
    }
  }
}
