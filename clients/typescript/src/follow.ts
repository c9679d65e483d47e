/**
 * Read a transport for good: apply what is due, ask for what is missing, connect again.
 *
 * In: a way to connect, a consumer, a function that applies an event in a transaction. Out: nothing;
 * it ends when its signal is aborted or when that function throws.
 * Must not know: which transport it is, what an event means.
 */

import { setTimeout as sleep } from "node:timers/promises";

import type { Answer } from "./answers.js";
import type { Consumer, Due, Resend } from "./consumer.js";
import { InvalidEvent, numberOf, readEvent, readId } from "./event.js";
import type { Asker, Reports } from "./reports.js";

const FIRST_RETRY_MS = 500;
/** An outage of the broker costs so much at most once it is back. A hall has few readers. */
const LONGEST_RETRY_MS = 3_000;
/** Where events come unasked, the first of them show within about this time what is missing. */
const COMES_WITHIN_MS = 100;
/** A right that is missing is given by a person, not by a restart. */
const REFUSED_RETRY_MS = 30_000;

/** The transport is away. The message says why; it is tried again. */
export class ConnectionLost extends Error {
  override readonly name: string = "ConnectionLost";
}

/** The transport refuses this user. The message says what is not allowed. */
export class NotAllowed extends ConnectionLost {}

/** There is no event behind which to send again; `last` is the last number, if known. */
export class NotFound extends Error {
  override readonly name = "NotFound";

  constructor(
    message: string,
    readonly last: number | null = null,
  ) {
    super(message);
  }
}

/** Nobody answered. It is asked again. */
export class NotAnswered extends Error {
  override readonly name = "NotAnswered";
}

/** What was asked for is not kept any more. */
export class NotKept extends Error {
  override readonly name = "NotKept";
}

/**
 * What came: an envelope as JSON, `seamless` as for `Consumer.offer`. Or what a table shows: there is
 * an event with this id, as for `Consumer.expect`.
 */
export type Received =
  | { readonly body: string | Uint8Array; readonly seamless: boolean }
  | { readonly shown: string };

/** A transport that is connected. */
export interface Connection {
  /** What comes, also what is sent again; it throws ConnectionLost when nothing more comes. */
  events(): AsyncIterable<Received>;
  /** Ask for events; they come as others do. It throws an error of this module. */
  resend(asked: Resend): Promise<void>;
  /** Send the daemon a request for a table; return its answer, also a refusal. It throws as above. */
  request?(table: string, asked: Readonly<Record<string, unknown>>): Promise<Answer>;
  /** Whether events come before they are asked for. */
  readonly comesUnasked?: boolean;
  close(): Promise<void> | void;
}

export type Connect = () => Promise<Connection>;

export interface FollowOptions {
  readonly signal?: AbortSignal;
  /** Called for what is not kept any more; true goes on without it. Without it, the table waits. */
  readonly mayGiveUp?: (asked: Resend) => boolean;
  /** Tells the daemon what was applied. */
  readonly reports?: Reports;
  readonly askAgainMs?: number;
  readonly firstRetryMs?: number;
  /** Where warnings go. */
  readonly warn?: (line: string) => void;
}

/** Apply all that comes. `apply` makes your effect and stores the position in one transaction. */
export async function follow(
  connect: Connect,
  consumer: Consumer,
  apply: (due: Due) => Promise<void> | void,
  options: FollowOptions = {},
): Promise<void> {
  const { signal = new AbortController().signal, warn = console.warn } = options;
  const { firstRetryMs = FIRST_RETRY_MS } = options;
  let retryMs = firstRetryMs;
  while (!signal.aborted) {
    let pauseMs = retryMs;
    const counted = async (due: Due): Promise<void> => {
      await apply(due);
      retryMs = pauseMs = firstRetryMs; // an event came, and was applied: the transport works
    };
    try {
      await serve(await connect(), consumer, counted, { ...options, signal, warn });
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error;
      warn(`connection lost: ${error.message}`);
      if (error instanceof NotAllowed) pauseMs = REFUSED_RETRY_MS;
    }
    // So that the readers of a hall do not all come back in the same moment.
    const jitter = 0.5 + Math.random() / 2;
    await sleep(pauseMs * jitter, undefined, { signal }).catch(() => undefined);
    retryMs = Math.min(2 * retryMs, LONGEST_RETRY_MS);
  }
}

function takesRequests(connection: Connection): connection is Connection & Asker {
  return connection.request !== undefined;
}

async function serve(
  connection: Connection,
  consumer: Consumer,
  apply: (due: Due) => Promise<void> | void,
  options: FollowOptions & { readonly signal: AbortSignal; readonly warn: (line: string) => void },
): Promise<void> {
  const { signal, warn, mayGiveUp = () => false, reports, askAgainMs = 5_000 } = options;
  let timer: NodeJS.Timeout | undefined;
  let asking: Promise<void> = connection.comesUnasked ? sleep(COMES_WITHIN_MS) : Promise.resolve();
  let failure: unknown = null;
  const ended = new AbortController();
  const stop = () => void connection.close();
  signal.addEventListener("abort", stop);

  let applying: Promise<void> = Promise.resolve();
  const applyDue = (change: () => void): Promise<void> => {
    applying = applying.then(async () => {
      change();
      for (let due = consumer.due(); due !== null; due = consumer.due()) {
        await apply(due);
        consumer.applied(due);
        reports?.applied(due);
      }
    });
    return applying;
  };
  /** Ask for events; where there are none, go back as far as there are. False: nobody answered. */
  const resend = async (asked: Resend): Promise<boolean> => {
    for (let wanted: Resend | null = asked; wanted !== null; ) {
      try {
        await connection.resend(wanted);
        return true;
      } catch (error) {
        if (error instanceof NotAnswered) return false;
        if (error instanceof NotFound) {
          wanted = consumer.stepBack(wanted, error.last);
        } else if (error instanceof NotKept) {
          warn(`not sent again: ${error.message}`);
          if (asked.upto !== null && mayGiveUp(asked)) {
            await applyDue(() => consumer.giveUp(asked));
          }
          return true;
        } else {
          throw error;
        }
      }
    }
    return true;
  };

  const tableOf = (asked: Resend) => `${asked.audience} ${asked.table}`;
  const unanswered = new Set(consumer.resume().map(tableOf));
  let askedBefore = new Map<string, { readonly after: string; readonly at: number }>();
  const ask = async () => {
    if (ended.signal.aborted) return;
    const resumed = new Map<string, number>();
    for (const asked of consumer.resume()) {
      // from where it is now
      const table = tableOf(asked);
      if (unanswered.has(table) && (await resend(asked))) {
        unanswered.delete(table);
        resumed.set(table, numberOf(asked.after));
      }
    }
    const now = performance.now();
    const before = askedBefore;
    askedBefore = new Map();
    for (const asked of consumer.wanted()) {
      const key = `${asked.audience} ${asked.missingIn}`;
      const last = before.get(key) ?? { after: asked.after, at: -Infinity };
      // what was not asked for yet, and that of which nothing came for so long
      const isDue = last.after === asked.after && now >= last.at + askAgainMs / 2;
      askedBefore.set(key, last.after === asked.after && !isDue ? last : { after: asked.after, at: now });
      if (!isDue) continue;
      if (numberOf(asked.after) >= (resumed.get(tableOf(asked)) ?? Infinity)) continue; // on its way
      warn(`events are missing: after=${asked.after} upto=${asked.upto}. Asking for them.`);
      if (!(await resend(asked))) askedBefore.delete(key);
    }
  };
  let mayAsk = true;
  /** Ask, unless that was done just now: at once for the first event that is missing. */
  const askAgain = (isFirst = false) => {
    if ((timer !== undefined && !isFirst) || ended.signal.aborted || !mayAsk) return;
    clearTimeout(timer);
    timer = setTimeout(() => {
      timer = undefined;
      if (consumer.isWaiting || unanswered.size > 0) askAgain();
    }, askAgainMs);
    asking = asking.then(ask).catch(async (error: unknown) => {
      if (error instanceof NotAllowed) {
        warn(`missing events cannot be asked for: ${error.message}`);
        mayAsk = false; // reading goes on
        return;
      }
      if (!(error instanceof ConnectionLost)) failure ??= error;
      await connection.close();
    });
  };

  /** Tell the daemon what was applied; where it does not answer, again after a while. */
  const report = async (): Promise<void> => {
    while (!ended.signal.aborted && reports !== undefined) {
      try {
        if (!takesRequests(connection)) throw new NotAllowed("this transport takes no requests");
        await reports.send(connection, askAgainMs, ended.signal, warn);
      } catch (error) {
        if (error instanceof NotAllowed) {
          warn(`what was applied cannot be reported: ${error.message}`);
          return; // reading goes on
        }
        if (!(error instanceof NotAnswered)) {
          if (!(error instanceof ConnectionLost)) failure ??= error;
          await connection.close();
          return;
        }
        await sleep(askAgainMs, undefined, { signal: ended.signal }).catch(() => undefined);
      }
    }
  };

  let reporting: Promise<void> = Promise.resolve();
  try {
    reporting = report();
    askAgain();
    for await (const received of connection.events()) {
      let take: () => void;
      try {
        if ("shown" in received) {
          readId(received.shown);
          take = () => consumer.expect(received.shown);
        } else {
          const event = readEvent(received.body);
          take = () => consumer.offer(event, received);
        }
      } catch (error) {
        if (!(error instanceof InvalidEvent)) throw error;
        warn(`not an event: ${error.message}`);
        continue;
      }
      const wasWaiting = consumer.isWaiting;
      await applyDue(take);
      if (consumer.isWaiting) askAgain(!wasWaiting);
    }
    if (failure !== null) throw failure;
    if (!signal.aborted) throw new ConnectionLost("the other end closed it");
  } finally {
    ended.abort();
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
    await connection.close();
    await asking;
    await reporting;
  }
}
