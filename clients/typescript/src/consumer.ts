/**
 * Which event is to be applied next, and which ones are to be asked for again.
 *
 * In: events as they come: in order, twice, late, with gaps, under a new source. Out: each event
 * once, with the position to store beside its effect; the ranges that are missing. It does no I/O
 * and knows no time, so the same calls give the same results.
 * Must not know: transports, stores, what an event means.
 */

import { makeId, numberOf, readId, type Audience, type TableEvent } from "./event.js";
import { add, contains, firstOf, keyOf, subtract, type Position, type Range } from "./position.js";

/** So many numbers back is asked first for the beginning of a new source; then eight times as many. */
const FIRST_REACH = 64;

/** Events that wait behind a gap. More are not kept: they are asked for again with the gap. */
export const MOST_HELD = 10_000;

/**
 * What became of an event that was offered: it is to be applied, now or when those before it were;
 * it was applied before or waits already; or too many wait, and it will be asked for again.
 */
export type Offered = "taken" | "duplicate" | "not_kept";

/**
 * A table goes on under another source: its journal is a new one, or lost its newest part.
 *
 * `former` is how far the source before it was applied. `first` is the number with which the new
 * source began, null while that is not known. With `first` 1 the journal is a new one. Otherwise the
 * journal goes on without what the former source had from that number on: `disowned` is the range of
 * those that were applied, null if there are none.
 */
export interface NewSource {
  readonly former: Position;
  readonly first: number | null;
  readonly disowned: Range | null;
}

/**
 * An event to apply now, and the position to store in the same transaction.
 *
 * `late`: later events of the table were applied before it. `newSource` stands with the first event
 * of a source that follows another one.
 */
export interface Due {
  readonly event: TableEvent;
  readonly position: Position;
  readonly late: boolean;
  readonly newSource: NewSource | null;
}

/**
 * What to ask for again: all of this table and audience behind the event `after`.
 *
 * `source` is that event's own, null where it is not known. `upto` is the last number that is known
 * to be missing in the source `missingIn`, null where nothing is.
 */
export interface Resend {
  readonly table: string;
  readonly audience: Audience;
  readonly after: string;
  readonly source: string | null;
  readonly upto: number | null;
  readonly missingIn: string;
}

export interface Options {
  /**
   * Events behind a gap wait until it is closed or given up (the default). Without, they are applied
   * at once, and those of the gap later.
   */
  readonly hold?: boolean;
  /** Where a table begins that is not known yet: with the event that comes first, or the first one. */
  readonly begin?: "anywhere" | "first";
  readonly mostHeld?: number;
}

class Stream {
  /** The stream of the source before it. */
  former: Stream | null = null;
  /** False until an event of it was applied. */
  hasApplied = false;
  readonly held = new Map<number, TableEvent>();
  readonly late = new Map<number, TableEvent>();
  /** The highest number that was offered. */
  seen = 0;
  /** The lowest number that was offered while the beginning is looked for. */
  lowest = 0;
  /** Meanwhile: the number of the last event of another source that was offered. */
  lastBefore = 0;
  reach = FIRST_REACH;

  constructor(public position: Position) {}

  /** The streams of the table's earlier sources, newest first. */
  *formers(): Generator<Stream> {
    for (let each = this.former; each !== null; each = each.former) yield each;
  }

  get table(): string {
    return `${this.position.audience} ${this.position.table}`;
  }
}

/**
 * Applies each event of any number of tables once, in order.
 *
 * `positions` are those that were stored. Call `offer` for each event that comes; then, as long as
 * `due` has one, apply it and call `applied`; then ask for what `wanted` names.
 */
export class Consumer {
  readonly #hold: boolean;
  readonly #begin: "anywhere" | "first";
  readonly #mostHeld: number;
  readonly #streams = new Map<string, Stream>();
  readonly #newest = new Map<string, Stream>();
  readonly #expected = new Map<string, { table: string; audience: Audience; number: number }>();

  constructor(positions: Iterable<Position> = [], options: Options = {}) {
    this.#hold = options.hold ?? true;
    this.#begin = options.begin ?? "anywhere";
    this.#mostHeld = options.mostHeld ?? MOST_HELD;
    for (const position of positions) {
      const stream = new Stream(position);
      stream.seen = position.number;
      stream.lowest = firstOf(position);
      stream.hasApplied = true;
      this.#add(stream);
    }
    for (const newest of this.#newest.values()) {
      for (const stream of [newest, ...newest.formers()]) {
        if (stream.position.begun) this.#endFormers(stream, stream.lowest);
      }
    }
  }

  /** How far each stream was applied. */
  get positions(): Position[] {
    return [...this.#streams.values()].map((stream) => stream.position);
  }

  /** True while an event is missing that is asked for. */
  get isWaiting(): boolean {
    if (this.#expected.size > 0) return true;
    return [...this.#streams.values()].some(
      ({ seen, position }) =>
        seen > position.number || position.missing.length > 0 || !position.begun,
    );
  }

  /**
   * Take in an event, in whatever order it comes.
   *
   * `seamless`: the transport reads the journal's own order, so that nothing lies between the event
   * of the same table and audience that was offered before and this one.
   */
  offer(event: TableEvent, { seamless = false } = {}): Offered {
    const stream = this.#streams.get(keyOf(event)) ?? this.#open(event, seamless);
    for (const other of this.#sourcesBehind(stream)) other.lastBefore = event.number;
    if (!stream.position.begun) this.#lookBack(stream, event.number);
    return this.#place(stream, event);
  }

  /**
   * There is an event with this id: if it did not come, it is missing.
   *
   * For a transport that shows how far a table has got; without it the loss of a table's last event
   * is seen when the next one comes. A table of which no event came is left alone, unless tables
   * begin with their first event.
   */
  expect(eventId: string): void {
    const { table, audience, number } = readId(eventId);
    const key = `${audience} ${table}`;
    const stream = this.#newest.get(key);
    if (stream === undefined) {
      if (this.#begin === "first") {
        const known = this.#expected.get(key)?.number ?? 0;
        this.#expected.set(key, { table, audience, number: Math.max(known, number) });
      }
    } else if (!this.#waitsForBeginning(stream)) {
      stream.seen = Math.max(stream.seen, number);
    }
  }

  /** Return the event that is to be applied now; null if there is none. */
  due(): Due | null {
    for (const newest of this.#newest.values()) {
      for (const stream of [newest, ...newest.formers()].reverse()) {
        const due = this.#dueOf(stream);
        if (due !== null) return due;
      }
    }
    return null;
  }

  /** Note that the event was applied, and its position stored. */
  applied(due: Due): void {
    const stream = this.#streamOf(due.position);
    stream.held.delete(due.event.number);
    stream.late.delete(due.event.number);
    stream.position = { ...due.position, begun: stream.position.begun || due.position.begun };
    stream.hasApplied = true;
  }

  /** Return what is missing now. Ask for it, and again after a while if it does not come. */
  wanted(): Resend[] {
    const found: Resend[] = [];
    for (const { table, audience, number } of this.#expected.values()) {
      const after = makeId(table, audience, 0);
      found.push({ table, audience, after, source: null, upto: number, missingIn: "" });
    }
    for (const stream of this.#streams.values()) {
      if (!stream.position.begun) {
        const after = Math.max(0, stream.lowest - 1 - stream.reach);
        // Behind the former source's last event the lowest one is the seam: it comes, too.
        const upto = stream.former === null ? stream.lowest - 1 : stream.lowest;
        found.push(resendOf(stream.position, after, upto));
      }
      const gaps = this.#openGaps(stream);
      const [first, last] = [gaps[0], gaps.at(-1)];
      if (first !== undefined && last !== undefined) {
        found.push(resendOf(stream.position, first[0] - 1, last[1]));
      }
    }
    return found;
  }

  /**
   * Return what to ask for after a new connection: the last event that came, and all behind.
   *
   * The last events may be missing without one that follows them. The last one that came shows
   * whether the journal still has the same source. What is missing before it `wanted` names.
   */
  resume(): Resend[] {
    return [...this.#newest.values()].map((newest) => {
      let stream = newest;
      while (this.#waitsForBeginning(stream) && stream.former !== null) stream = stream.former;
      const last = Math.max(stream.position.number, stream.seen);
      return resendOf(stream.position, Math.max(0, last - 1), null);
    });
  }

  /**
   * Return what to ask for where there is no event `after`; null if there is nothing.
   *
   * `last` is the last number that there is, if that is known. The journal then lost its newest
   * part, or is a new one, and its last event says so.
   */
  stepBack(asked: Resend, last: number | null = null): Resend | null {
    const number = numberOf(asked.after);
    const before = last === null ? 0 : Math.max(0, last - 1);
    if (before >= number) return null;
    const after = makeId(asked.table, asked.audience, before);
    return { ...asked, after, source: null, upto: null };
  }

  /**
   * What was asked for is kept nowhere any more: go on without it.
   *
   * An application that can get it in no way calls this, with the resend that `wanted` named. What
   * comes of it later is applied all the same.
   */
  giveUp(asked: Resend): void {
    if (asked.missingIn === "") {
      this.#expected.delete(`${asked.audience} ${asked.table}`);
      return;
    }
    const stream = this.#streamOf({ source: asked.missingIn, audience: asked.audience });
    if (!stream.position.begun) this.#foundBeginning(stream, stream.lowest);
    const upto = asked.upto ?? stream.seen;
    for (const [start, end] of this.#gaps(stream)) {
      if (start <= upto) giveUp(stream, start, Math.min(end, upto));
    }
  }

  /** Put a source among those of its table, by its time. */
  #add(stream: Stream): void {
    this.#streams.set(keyOf(stream.position), stream);
    let later: Stream | null = null;
    let former = this.#newest.get(stream.table) ?? null;
    while (former !== null && former.position.since > stream.position.since) {
      [later, former] = [former, former.former];
    }
    stream.former = former;
    if (later === null) this.#newest.set(stream.table, stream);
    else later.former = stream;
  }

  #streamOf(known: { source: string; audience: Audience }): Stream {
    const stream = this.#streams.get(keyOf(known));
    if (stream === undefined) throw new Error(`unknown stream: ${keyOf(known)}`);
    return stream;
  }

  /** The streams of the table's later sources, newest first. */
  *#sourcesBehind(stream: Stream): Generator<Stream> {
    let later = this.#newest.get(stream.table) ?? null;
    for (; later !== null && later !== stream; later = later.former) yield later;
  }

  /**
   * Look for the beginning of a source: its number 1, or the seam to the source before it. Offered
   * again, the events of a journal stand in its order, each with its own source.
   */
  #lookBack(stream: Stream, number: number): void {
    if (number === 1 || number === stream.lastBefore + 1) {
      this.#foundBeginning(stream, number);
    } else if (number < stream.lowest) {
      if (number <= stream.lowest - stream.reach) stream.reach *= 8; // all of it has this source
      this.#missBetween(stream, number);
      stream.lowest = number;
    }
  }

  /** What lies between two events of a source is of that source, and missing. */
  #missBetween(stream: Stream, number: number): void {
    if (this.#hold) return; // all that is missing is found with the beginning
    const { position } = stream;
    const last = stream.lowest - 1;
    const missing = add(position.missing, number + 1, last);
    const given_up = subtract(position.given_up, number + 1, last);
    stream.position = { ...position, missing, given_up };
  }

  #place(stream: Stream, event: TableEvent): Offered {
    const { number } = event;
    const { position } = stream;
    if (stream.held.has(number) || stream.late.has(number)) return "duplicate";
    if (this.#waitsForBeginning(stream) || number > position.number) {
      return this.#keep(stream, event);
    }
    if (!contains([...position.missing, ...position.given_up], number)) return "duplicate";
    stream.late.set(number, event);
    return "taken";
  }

  #keep(stream: Stream, event: TableEvent): Offered {
    stream.seen = Math.max(stream.seen, event.number);
    const isNext = event.number === stream.position.number + 1;
    if (stream.held.size >= this.#mostHeld && !isNext) return "not_kept";
    stream.held.set(event.number, event);
    return "taken";
  }

  #waitsForBeginning(stream: Stream): boolean {
    return this.#hold && !stream.position.begun;
  }

  /** Begin a stream with the first event of it that comes. */
  #open(event: TableEvent, isFirst: boolean): Stream {
    this.#expected.delete(`${event.audience} ${event.table}`);
    const before = event.number - 1;
    const stream = new Stream({
      source: event.source,
      table: event.table,
      audience: event.audience,
      number: before,
      missing: [],
      given_up: add([], 1, before),
      since: event.time,
      begun: event.number === 1,
    });
    stream.lowest = event.number;
    this.#add(stream);
    const isKnown = stream.former !== null;
    if (isKnown ? isFirst : this.#begin === "anywhere") {
      stream.position = { ...stream.position, begun: true };
    } else if (!isKnown) {
      stream.reach = event.number;
    }
    if (stream.position.begun) this.#endFormers(stream, event.number);
    return stream;
  }

  /** The source began with this number. */
  #foundBeginning(stream: Stream, first: number): void {
    const { position } = stream;
    if (this.#hold) {
      const given_up = add([], 1, first - 1);
      stream.position = { ...position, number: first - 1, given_up, begun: true };
    } else {
      const last = stream.lowest - 1;
      let missing = position.missing;
      for (const [start, end] of position.given_up) {
        missing = add(missing, Math.max(start, first), Math.min(end, last));
      }
      const given_up = subtract(position.given_up, first, last);
      stream.position = { ...position, missing, given_up, begun: true };
    }
    this.#endFormers(stream, first);
  }

  /** Ask no more for what the journal has no more: from `first` on, or all if that is 1. */
  #endFormers(stream: Stream, first: number): void {
    for (const former of stream.formers()) {
      if (!former.position.begun && (first === 1 || former.lowest >= first)) {
        this.#foundBeginning(former, former.lowest);
      }
      for (const [start, end] of this.#gaps(former)) {
        giveUp(former, first === 1 ? start : Math.max(start, first), end);
      }
    }
  }

  /** The gaps that were not given up, oldest first. */
  #openGaps(stream: Stream): Range[] {
    return this.#gaps(stream).flatMap((gap) => without(gap, stream.position.given_up));
  }

  /** The numbers that are missing below one that came, oldest first. */
  #gaps(stream: Stream): Range[] {
    if (this.#waitsForBeginning(stream)) return [];
    const { number, missing } = stream.position;
    if (stream.held.size === 0 && missing.length === 0 && stream.seen <= number) return [];
    const found: Range[] = [...missing];
    let before = number;
    for (const each of [...stream.held.keys(), stream.seen + 1].sort((a, b) => a - b)) {
      if (each > before + 1) found.push([before + 1, each - 1]);
      before = Math.max(before, each);
    }
    return found;
  }

  #dueOf(stream: Stream): Due | null {
    const { position } = stream;
    const late = lowestOf(stream.late);
    if (late !== undefined) {
      const { number } = late;
      const missing = subtract(position.missing, number, number);
      const given_up = subtract(position.given_up, number, number);
      return { event: late, position: { ...position, missing, given_up }, late: true, newSource: null };
    }
    if (this.#waitsForBeginning(stream)) return null;
    const following = position.number + 1;
    let event = stream.held.get(following);
    if (event === undefined) {
      const wentOn = position.given_up.some(([, last]) => last >= following);
      if (this.#hold && !wentOn) return null; // as is most often so while many wait
      event = lowestOf(stream.held);
    }
    if (event === undefined) return null;
    const { number } = event;
    let missing = position.missing;
    for (const [first, last] of without([following, number - 1], position.given_up)) {
      if (this.#hold) return null;
      missing = add(missing, first, last);
    }
    if (this.#hold && this.#hasGapBefore(stream)) return null;
    const given_up = subtract(position.given_up, number, number);
    const isLate = [...this.#sourcesBehind(stream)].some((later) => later.hasApplied);
    return {
      event,
      position: { ...position, number, missing, given_up },
      late: isLate,
      newSource: isLate ? null : newSourceOf(stream),
    };
  }

  /** Return whether an event of an earlier source of the table is still missing. */
  #hasGapBefore(stream: Stream): boolean {
    return [...stream.formers()].some(
      (former) => this.#waitsForBeginning(former) || this.#openGaps(former).length > 0,
    );
  }
}

function giveUp(stream: Stream, first: number, last: number): void {
  const { position } = stream;
  stream.position = {
    ...position,
    missing: subtract(position.missing, first, last),
    given_up: add(position.given_up, first, last),
  };
}

/** The parts of a gap that lie in none of these ranges; none of an empty gap. */
function without(gap: Range, ranges: readonly Range[]): Range[] {
  return ranges.reduce((left, [first, last]) => subtract(left, first, last), add([], ...gap));
}

function lowestOf(events: ReadonlyMap<number, TableEvent>): TableEvent | undefined {
  let lowest: TableEvent | undefined;
  for (const event of events.values()) {
    if (lowest === undefined || event.number < lowest.number) lowest = event;
  }
  return lowest;
}

function newSourceOf(stream: Stream): NewSource | null {
  if (stream.hasApplied || stream.former === null) return null;
  const former = stream.former.position;
  if (!stream.position.begun) return { former, first: null, disowned: null };
  const first = stream.position.number + 1;
  return { former, first, disowned: 1 < first && first <= former.number ? [first, former.number] : null };
}

function resendOf(position: Position, after: number, upto: number | null): Resend {
  const { source: missingIn, table, audience } = position;
  const source = after >= firstOf(position) ? missingIn : null;
  return { table, audience, after: makeId(table, audience, after), source, upto, missingIn };
}
