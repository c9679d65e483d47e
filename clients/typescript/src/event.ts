/**
 * One event of a table: its envelope read and checked.
 *
 * In: a CloudEvents envelope as text, bytes or an object. Out: a TableEvent with its table, audience
 * and number. Must not know: what was applied before.
 */

/** Who may see a stream of events. */
export type Audience = "public" | "restricted";

/** One event. `source` and `id` name it; `number` is its place in its stream, from 1. */
export interface TableEvent {
  readonly source: string;
  readonly id: string;
  readonly type: string;
  readonly time: string;
  readonly subject: string | null;
  readonly data: Readonly<Record<string, unknown>>;
  readonly table: string;
  readonly audience: Audience;
  readonly number: number;
  /** The whole CloudEvents object, with keys that this version does not know. */
  readonly envelope: Readonly<Record<string, unknown>>;
}

/** What came is no event of a table. The message says what was expected. */
export class InvalidEvent extends Error {
  override readonly name = "InvalidEvent";
}

/** Return the event in an envelope, or throw InvalidEvent. */
export function readEvent(received: string | Uint8Array | object): TableEvent {
  const envelope = plainObject(received);
  const { table, audience, number } = readId(textOf(envelope, "id"));
  const data = envelope["data"] ?? {};
  if (!isObject(data)) throw new InvalidEvent("data: expected an object");
  const { time, subject } = envelope;
  return {
    source: textOf(envelope, "source"),
    id: textOf(envelope, "id"),
    type: textOf(envelope, "type"),
    time: typeof time === "string" ? time : "",
    subject: typeof subject === "string" ? subject : null,
    data,
    table,
    audience,
    number,
    envelope,
  };
}

/** Return the table, the audience and the number of an id such as `bac-07/p31`. */
export function readId(text: string): { table: string; audience: Audience; number: number } {
  const found = /^(.+)\/([pr])([0-9]{1,15})$/su.exec(text);
  const number = Number(found?.[3] ?? 0);
  if (!found?.[1] || number < 1) {
    throw new InvalidEvent(`id: expected one such as bac-07/p31, not ${JSON.stringify(text)}`);
  }
  return { table: found[1], audience: found[2] === "p" ? "public" : "restricted", number };
}

/** Return the id of an event; number 0 stands before a table's first event. */
export function makeId(table: string, audience: Audience, number: number): string {
  return `${table}/${audience[0]}${number}`;
}

/** Return the number in an id, which may be 0: before a table's first event. */
export function numberOf(eventId: string): number {
  return Number(eventId.slice(eventId.lastIndexOf("/") + 2));
}

function plainObject(received: string | Uint8Array | object): Record<string, unknown> {
  let envelope: unknown = received;
  if (typeof received === "string" || received instanceof Uint8Array) {
    try {
      envelope = JSON.parse(
        typeof received === "string" ? received : new TextDecoder().decode(received),
      );
    } catch {
      throw new InvalidEvent("expected a JSON object: it is no JSON");
    }
  }
  if (!isObject(envelope)) throw new InvalidEvent("expected a JSON object");
  return envelope;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function textOf(envelope: Readonly<Record<string, unknown>>, key: string): string {
  const found = envelope[key];
  if (typeof found !== "string" || found === "") throw new InvalidEvent(`${key}: expected a text`);
  return found;
}
