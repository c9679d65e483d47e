/**
 * Requests to the daemon over a broker for events that are missing, and what its answers mean.
 *
 * In: what is missing; answers as JSON. Out: requests as JSON; the errors of `follow`.
 * Must not know: brokers.
 */

import type { Resend } from "./consumer.js";
import { makeId, numberOf } from "./event.js";
import { ConnectionLost, NotAnswered, NotFound, NotKept } from "./follow.js";

/** The content type of an event that was asked for, among the answers. */
export const EVENT_TYPE = "application/cloudevents+json";

export interface Answer {
  readonly accepted?: boolean;
  readonly error?: {
    readonly code: string;
    readonly args?: { readonly last?: string };
    readonly text?: string;
  };
}

/**
 * Return the request for what is missing and no more. `sink` is the daemon's.
 *
 * Where no event of the table came yet, nobody knows how many there are: all are asked for.
 */
export function requestFor(asked: Resend, sink: string): Readonly<Record<string, unknown>> {
  const { table, audience, after, upto, missingIn } = asked;
  const bound = upto === null || missingIn === "" ? {} : { upto: makeId(table, audience, upto) };
  return { request: "resend", sink, after, ...bound };
}

/** Return a JSON object; an empty one for anything else. */
export function asObject(payload: Uint8Array): Record<string, unknown> {
  try {
    const found: unknown = JSON.parse(Buffer.from(payload).toString());
    return typeof found === "object" && found !== null ? (found as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** Throw what the daemon's refusal means. */
export function check({ accepted, error }: Answer): void {
  if (accepted !== false || error === undefined) return;
  const text = error.text ?? error.code;
  switch (error.code) {
    case "events_not_kept":
      throw new NotKept(text);
    case "events_unknown":
    case "events_none":
      throw new NotFound(text, error.args?.last === undefined ? null : numberOf(error.args.last));
    case "daemon_starting":
    case "sink_resends_too_many":
      throw new NotAnswered();
    default:
      throw new ConnectionLost(text);
  }
}
