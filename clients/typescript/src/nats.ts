/**
 * Events from a stream of NATS JetStream: each table's subject from where it was left.
 *
 * In: the options of the package nats, tables, a consumer's positions. Out: the events, in the
 * stream's order. What is missing is read from the stream again, and what it lost is asked for from
 * the daemon.
 * Must not know: what an event means, stores.
 */

import { randomBytes } from "node:crypto";

import {
  connect as open,
  createInbox,
  ConsumerEvents,
  DeliverPolicy,
  type ConnectionOptions,
  type Consumer as StreamConsumer,
  type ConsumerMessages,
  headers,
  type JsMsg,
  type Msg,
  type NatsConnection,
  type OrderedConsumerOptions,
} from "nats";

import { asObject, check, EVENT_TYPE, requestFor, type Answer } from "./answers.js";
import type { Consumer, Resend } from "./consumer.js";
import { InvalidEvent, numberOf, readEvent, type Audience } from "./event.js";
import {
  ConnectionLost,
  NotAllowed,
  NotAnswered,
  NotFound,
  NotKept,
  type Connect,
  type Connection,
  type Received,
} from "./follow.js";
import { Queue } from "./queue.js";

const STREAMS = { public: "SHOE", restricted: "SHOE_RESTRICTED" } as const;
const ANSWERED_WITHIN_MS = 5_000;
/** The header of an event that the daemon offers again: it does not stand in the order. */
const OFFERED_AGAIN = "Shoe-Newest";
/** The header of a request that stands in its answer, too. */
const CORRELATION = "Shoe-Correlation";
/** A daemon that was just started, or that the server has no connection to, does not answer. */
const ANSWER_MS = 2_000;

/** The server is asked for a sign of life so often; a link without two of them is dead. */
const PING_MS = 10_000;

/** Between two signs of life of the stream; without two of them its reader is dead. */
const HEARTBEAT_MS = 5_000;

export interface NatsOptions {
  /** Without it the daemon's stream for this audience: SHOE or SHOE_RESTRICTED. */
  readonly stream?: string;
  readonly audience?: Audience;
  /** A table without a position begins with the stream's first event, not with what comes. */
  readonly fromFirst?: boolean;
  /**
   * The name of the daemon's sink for this stream. The `user` of the options must be one of its
   * senders, so that the daemon sends it what the stream does not have; the inbox is `_INBOX_USER`.
   */
  readonly sink?: string;
}

/**
 * Return how `follow` connects to a stream. `options` are those of the package nats: a server with
 * users wants `user`, `pass` and the user's own `inboxPrefix`.
 */
export function natsStream(
  options: ConnectionOptions,
  consumer: Consumer,
  tables: readonly string[],
  { stream, audience = "public", fromFirst = false, sink }: NatsOptions = {},
): Connect {
  const { user } = options;
  if (sink !== undefined && user === undefined) {
    throw new Error("sink needs a user: the daemon answers only users that it knows");
  }
  const inbox = sink === undefined ? {} : { inboxPrefix: `_INBOX_${user}` };
  return async () => {
    let opened: Stream | undefined;
    try {
      const sooner = { pingInterval: PING_MS, ...inbox, ...options };
      const client = await open({ ...sooner, reconnect: false });
      const name = stream ?? STREAMS[audience];
      opened = new Stream(client, name, tables, audience);
      if (sink !== undefined) opened.askDaemon(sink, String(user), sooner.inboxPrefix);
      const known = consumer.resume().filter((asked) => asked.audience === audience);
      for (const table of tables) {
        if (!known.some((asked) => asked.table === table)) {
          await opened.read(table, fromFirst ? 1 : null);
        }
      }
      return opened;
    } catch (error) {
      await opened?.close();
      throw new ConnectionLost(String(error));
    }
  };
}

/** The daemon that is asked, who asks, and where it answers. */
interface Daemon {
  readonly sink: string;
  readonly user: string;
  readonly inbox: string;
}

/** Each table's subject, read in order from one of its messages on. */
class Stream implements Connection {
  readonly #queue = new Queue();
  readonly #reading = new Map<string, ConsumerMessages>();
  readonly #asked = new Map<string, (answer: Answer) => void>();
  #daemon: Daemon | null = null;

  constructor(
    readonly client: NatsConnection,
    readonly stream: string,
    readonly tables: readonly string[],
    readonly audience: Audience,
  ) {
    void client.closed().then((error) => this.#queue.fail(error?.message ?? "the server closed it"));
  }

  events(): AsyncIterable<Received> {
    return this.#queue;
  }

  async resend(asked: Resend): Promise<void> {
    if (!this.tables.includes(asked.table) || asked.audience !== this.audience) return;
    try {
      // a gap that is known: the stream has not what is missing
      if (this.#daemon !== null && asked.upto !== null) await this.#ask(asked, this.#daemon.sink);
      else await this.read(asked.table, await this.#find(asked));
    } catch (error) {
      if (error instanceof NotFound || error instanceof NotKept) throw error;
      throw error instanceof ConnectionLost ? error : new ConnectionLost(String(error));
    }
  }

  /** From now on ask the daemon for what the stream does not have. */
  askDaemon(sink: string, user: string, prefix: string | undefined): void {
    const inbox = createInbox(prefix);
    this.#daemon = { sink, user, inbox };
    this.client.subscribe(inbox, {
      callback: (error, message) => {
        if (error === null) this.#answered(message);
      },
    });
  }

  #answered(message: Msg): void {
    if (message.headers?.get("Content-Type") === EVENT_TYPE) {
      this.#queue.push({ body: message.data, seamless: false });
    } else {
      this.#asked.get(message.headers?.get(CORRELATION) ?? "")?.(asObject(message.data));
    }
  }

  /** Ask the daemon; where it does not answer, read the stream again, which is refilled. */
  async #ask(asked: Resend, sink: string): Promise<void> {
    try {
      check(await this.request(asked.table, requestFor(asked, sink)));
    } catch (error) {
      if (!(error instanceof NotAnswered)) throw error;
      await this.read(asked.table, await this.#find(asked));
    }
  }

  async request(table: string, asked: Readonly<Record<string, unknown>>): Promise<Answer> {
    if (this.#daemon === null) throw new NotAllowed("requests need the name of the daemon's sink");
    const { user, inbox } = this.#daemon;
    const mark = randomBytes(12).toString("hex");
    const marked = headers();
    marked.set(CORRELATION, mark);
    let timer: NodeJS.Timeout | undefined;
    const answer = new Promise<Answer>((resolve, reject) => {
      this.#asked.set(mark, resolve);
      timer = setTimeout(() => reject(new NotAnswered()), ANSWER_MS);
    });
    try {
      const subject = `shoe.v1.${tokenOf(table)}.commands.${user}`;
      this.client.publish(subject, JSON.stringify(asked), { reply: inbox, headers: marked });
      return await answer;
    } catch (error) {
      throw error instanceof NotAnswered ? error : new ConnectionLost(String(error));
    } finally {
      clearTimeout(timer);
      this.#asked.delete(mark);
    }
  }

  /** Return a message's sequence from which on all that is asked for comes, or 1. */
  async #find(asked: Resend): Promise<number> {
    const number = numberOf(asked.after);
    let found = await this.#look(asked.table, null);
    let begin = found?.seq ?? 1;
    for (let step = 1; found !== null && begin > 1; step *= 2) {
      if (isAtOrBefore(found, number, asked.source)) return found.seq;
      // The table's first message from there on may be this one again: other tables' lie between,
      // or the stream has none before it.
      begin = Math.max(1, found.seq - step);
      found = await this.#look(asked.table, begin);
    }
    return 1;
  }

  /** Return a table's first message from a sequence on, or its last one; null: there is none. */
  async #look(table: string, sequence: number | null): Promise<JsMsg | null> {
    const consumer = await this.#consumer(
      table,
      sequence === null
        ? { deliver_policy: DeliverPolicy.Last }
        : { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: sequence },
    );
    return await consumer.next({ expires: ANSWERED_WITHIN_MS });
  }

  #consumer(table: string, begin: Partial<OrderedConsumerOptions>): Promise<StreamConsumer> {
    const filterSubjects = this.#subject(table);
    return this.client.jetstream().consumers.get(this.stream, { filterSubjects, ...begin });
  }

  #subject(table: string): string {
    return `shoe.v1.${tokenOf(table)}.${this.audience}`;
  }

  /** Read a table's subject from this message of the stream on; null: what comes. */
  async read(table: string, sequence: number | null): Promise<void> {
    this.#reading.get(table)?.stop();
    const consumer = await this.#consumer(
      table,
      sequence === null
        ? { deliver_policy: DeliverPolicy.New }
        : { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: sequence },
    );
    const messages = await consumer.consume({ idle_heartbeat: HEARTBEAT_MS });
    this.#reading.set(table, messages);
    void this.#watch(messages);
    this.#take(table, messages).catch((error: unknown) => this.#queue.fail(String(error)));
  }

  /** A reader lives on one server of several: if that one is lost, the connection may still work. */
  async #watch(messages: ConsumerMessages): Promise<void> {
    for await (const status of await messages.status()) {
      if (status.type === ConsumerEvents.HeartbeatsMissed) {
        this.#queue.fail("the stream gives no sign of life");
      }
    }
  }

  async #take(table: string, messages: ConsumerMessages): Promise<void> {
    for await (const message of messages) {
      if (this.#reading.get(table) !== messages) return;
      this.#queue.push({ body: message.data, seamless: true });
    }
  }

  async close(): Promise<void> {
    this.#queue.end();
    await this.client.close();
  }
}

function tokenOf(table: string): string {
  return table.replaceAll(".", "%2E");
}

/** Return whether what follows on this event stands behind it in the stream. */
function isAtOrBefore(message: JsMsg, number: number, source: string | null): boolean {
  if (message.headers?.has(OFFERED_AGAIN)) return false;
  try {
    const event = readEvent(message.data);
    return event.number <= number && (source === null || source === event.source);
  } catch (error) {
    if (error instanceof InvalidEvent) return false;
    throw error;
  }
}
