/**
 * Events at the local socket of the daemon: each table's stream from where it was left.
 *
 * In: the socket's path, tables, a consumer's positions. Out: the events, in the journal's order.
 * Must not know: what an event means, stores.
 */

import { connect as open, type Socket } from "node:net";
import { createInterface } from "node:readline";

import { asObject, type Answer } from "./answers.js";
import type { Consumer, Resend } from "./consumer.js";
import { makeId, numberOf, type Audience } from "./event.js";
import { ConnectionLost, NotKept, type Connect, type Connection, type Received } from "./follow.js";
import { Queue } from "./queue.js";

const ANOTHER_JOURNAL = new Set(["events_unknown", "events_none", "events_source_unknown"]);

type Request = Readonly<Record<string, string>>;

interface Refusal {
  readonly error: { readonly code: string; readonly text?: string; readonly args: { first?: string } };
}

export interface SocketOptions {
  readonly audience?: Audience;
  /** A table without a position begins with the journal's first event, not with what comes. */
  readonly fromFirst?: boolean;
}

/** Return how `follow` connects to a daemon's socket. Each table takes a connection. */
export function socket(
  path: string,
  consumer: Consumer,
  tables: readonly string[],
  { audience = "public", fromFirst = false }: SocketOptions = {},
): Connect {
  return async () => {
    const streams = new Streams(path, tables, audience);
    const known = consumer.resume().filter((asked) => asked.audience === audience);
    for (const table of tables) {
      if (!known.some((asked) => asked.table === table)) {
        streams.open(table, fromFirst ? { after: makeId(table, audience, 0) } : {});
      }
    }
    return streams;
  };
}

/** A connection for each table. What is asked for again begins its table's stream anew. */
class Streams implements Connection {
  readonly #sockets = new Map<string, Socket>();
  readonly #firstKept = new Map<string, number>();
  readonly #queue = new Queue();

  constructor(
    readonly path: string,
    readonly tables: readonly string[],
    readonly audience: Audience,
  ) {}

  events(): AsyncIterable<Received> {
    return this.#queue;
  }

  async resend(asked: Resend): Promise<void> {
    if (!this.tables.includes(asked.table) || asked.audience !== this.audience) return;
    const first = this.#firstKept.get(asked.table) ?? 1;
    if (numberOf(asked.after) < first - 1) { // the stream that is read begins with that one
      throw new NotKept(`the first event of ${asked.table} in the journal is number ${first}`);
    }
    const { after, source } = asked;
    this.open(asked.table, source === null ? { after } : { after, source });
  }

  async request(_table: string, asked: Readonly<Record<string, unknown>>): Promise<Answer> {
    const socket = open(this.path);
    try {
      return await new Promise<Answer>((resolve, reject) => {
        socket.on("connect", () => socket.write(`${JSON.stringify(asked)}\n`));
        socket.on("error", (error) => reject(new ConnectionLost(`${this.path}: ${error.message}`)));
        socket.on("close", () => reject(new ConnectionLost(`${this.path}: the daemon closed it`)));
        const lines = createInterface({ input: socket, crlfDelay: Infinity });
        lines.on("error", () => undefined);
        lines.once("line", (line) => resolve(asObject(Buffer.from(line)) as Answer));
      });
    } finally {
      socket.destroy();
    }
  }

  /** Begin a table's stream, in place of the one that there is. */
  open(table: string, begin: Request): void {
    this.#sockets.get(table)?.destroy();
    const socket = open(this.path);
    this.#sockets.set(table, socket);
    const request = { request: "events", table, audience: this.audience, ...begin };
    const fail = (why: string) => {
      if (this.#sockets.get(table) === socket) this.#queue.fail(`${this.path}: ${why}`);
    };
    socket.on("connect", () => socket.write(`${JSON.stringify(request)}\n`));
    socket.on("error", (error) => fail(error.message));
    const lines = createInterface({ input: socket, crlfDelay: Infinity });
    lines.on("error", () => undefined);
    lines.on("line", (line) => {
      if (this.#sockets.get(table) !== socket) return;
      if (!line.startsWith('{"accepted"')) {
        this.#queue.push({ body: line, seamless: true });
        return;
      }
      const refusal = JSON.parse(line) as Refusal;
      const instead = this.#instead(begin, table, refusal);
      if (instead === null) fail(refusal.error.text ?? refusal.error.code);
      else this.open(table, instead);
    });
    socket.on("close", () => fail("the daemon closed it"));
  }

  close(): void {
    const sockets = [...this.#sockets.values()];
    this.#sockets.clear();
    for (const socket of sockets) socket.destroy();
    this.#queue.end();
  }

  /** Return what to begin with where the daemon has another journal, or not all; null otherwise. */
  #instead(begin: Request, table: string, { error }: Refusal): Request | null {
    const beginning = makeId(table, this.audience, 0);
    const after = begin["after"];
    if (ANOTHER_JOURNAL.has(error.code) && after !== undefined && after !== beginning) {
      return { after: beginning };
    }
    if (error.code === "events_not_kept" && error.args.first !== undefined) {
      const first = numberOf(error.args.first);
      this.#firstKept.set(table, first);
      return { after: makeId(table, this.audience, first - 1) };
    }
    return null;
  }
}
