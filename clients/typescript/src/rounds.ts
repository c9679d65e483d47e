/**
 * The one outcome that stands of a round: told, revised, or taken back by a void.
 *
 * In: an event that is due, and what stood of its round before. Out: what stands now.
 * Must not know: wagers, money, stores, in which order events come.
 */

import type { Due } from "./consumer.js";
import { readId, type Audience, type TableEvent } from "./event.js";
import { firstOf } from "./position.js";

/** What a round is known by. Round ids are unique within a source. */
export interface Round {
  readonly source: string;
  readonly audience: Audience;
  readonly roundId: string;
}

/**
 * How a round stands: by an outcome, or void. `eventId` is the event that said so last. `toldIn` is
 * that event's source: another one than the round's, where the table went on under a new source in
 * between.
 */
export interface Standing {
  readonly round: Round;
  readonly result: "outcome" | "void";
  readonly eventId: string;
  readonly number: number;
  readonly toldIn: string;
}

/**
 * A round stands otherwise than before: settle it by `now`, and take back `was`, which is null for a
 * round of which nothing stood. With `now.result` `"outcome"` the event has the whole outcome; with
 * `"void"` all wagers go back.
 */
export interface Change {
  readonly event: TableEvent;
  readonly was: Standing | null;
  readonly now: Standing;
}

/** Where an application keeps how rounds stand. */
export interface RoundStore {
  /** Return how a round stands; null if nothing was told of it. */
  findRound(round: Round): Standing | null | Promise<Standing | null>;
  /** Return how the round stands of which this event spoke last; the newest one of several. */
  findEvent(eventId: string, audience: Audience): Standing | null | Promise<Standing | null>;
}

const NAMES_FORMER: Readonly<Record<string, string>> = {
  "round.outcome": "",
  "round.revised": "revises",
  "round.void": "revokes",
};

/** Return the round that an event is about, by its own source; null for other events. */
export function roundOf(event: TableEvent): Round | null {
  const roundId = event.data["round_id"];
  if (!(event.type in NAMES_FORMER) || typeof roundId !== "string") return null;
  return { source: event.source, audience: event.audience, roundId };
}

/** Return the id of the event that a revision revises or a void revokes; null without one. */
export function replacedEvent(event: TableEvent): string | null {
  const found = event.data[NAMES_FORMER[event.type] ?? ""];
  return typeof found === "string" ? found : null;
}

/**
 * Return what an event changes of its round; null if it changes nothing.
 *
 * An event that comes late changes nothing if a later one already says how the round stands. After a
 * change of the source a revision may name an event of the source before.
 */
export async function changeOf(due: Due, store: RoundStore): Promise<Change | null> {
  const { event, position } = due;
  const own = roundOf(event);
  if (own === null) return null;
  let was = await store.findRound(own);
  const replaced = replacedEvent(event);
  if (was === null && replaced !== null) {
    const isEarlierSource = position.begun && readId(replaced).number < firstOf(position);
    was = isEarlierSource ? await store.findEvent(replaced, event.audience) : null;
  }
  if (was !== null) {
    const isOlder =
      event.source === was.toldIn
        ? event.number <= was.number
        : event.source === was.round.source; // a later source spoke of it since
    if (isOlder) return null;
  }
  const now: Standing = {
    round: was?.round ?? own,
    result: event.type === "round.void" ? "void" : "outcome",
    eventId: event.id,
    number: event.number,
    toldIn: event.source,
  };
  return { event, was, now };
}

/** How rounds stand, in memory: for an application that keeps nothing, and for tests. */
export class Rounds implements RoundStore {
  readonly #rounds = new Map<string, Standing>();
  readonly #events = new Map<string, Standing>();

  findRound(round: Round): Standing | null {
    return this.#rounds.get(keyOf(round)) ?? null;
  }

  findEvent(eventId: string, audience: Audience): Standing | null {
    return this.#events.get(`${audience} ${eventId}`) ?? null;
  }

  /** Take in an event that is due; return what it changes, null if nothing. */
  async apply(due: Due): Promise<Change | null> {
    const change = await changeOf(due, this);
    if (change !== null) {
      this.#rounds.set(keyOf(change.now.round), change.now);
      this.#events.set(`${due.event.audience} ${due.event.id}`, change.now);
    }
    return change;
  }

  /** How each round stands. */
  [Symbol.iterator](): Iterator<Standing> {
    return this.#rounds.values();
  }
}

function keyOf(round: Round): string {
  return `${round.audience} ${round.roundId} ${round.source}`;
}
