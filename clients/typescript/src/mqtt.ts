/**
 * Events from an MQTT 5 broker, and requests to the daemon for those that the broker lost.
 *
 * In: the options of the package mqtt, the name of the daemon's sink. Out: the events as they come.
 * Must not know: what an event means, stores.
 */

import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

import {
  connectAsync,
  ErrorWithReasonCode,
  ErrorWithSubackPacket,
  type IClientOptions,
  type IPublishPacket,
  type MqttClient,
} from "mqtt";

import { asObject, check, EVENT_TYPE, requestFor, type Answer } from "./answers.js";
import type { Resend } from "./consumer.js";
import { makeId, type Audience } from "./event.js";
import {
  ConnectionLost,
  NotAllowed,
  NotAnswered,
  type Connect,
  type Connection,
  type Received,
} from "./follow.js";
import { Queue } from "./queue.js";

const ROOT = "shoe/v1";
/** A daemon that was just started, or that the broker has no connection to, does not answer. */
const ANSWER_MS = 2_000;
/** So soon it is asked again where the broker has no connection to a daemon. */
const UNHEARD_MS = 200;
/** The broker took a message, and has nobody who gets it. */
const NO_MATCHING_SUBSCRIBERS = 0x10;

/** So long, in seconds, the broker keeps events for a consumer that is away, if it keeps any. */
const SESSION_S = 7 * 24 * 3600;

/** After so many seconds without traffic the broker is asked for a sign of life. */
const KEEPALIVE_S = 10;

export interface MqttOptions {
  /** This consumer's own: with the same one the broker goes on where it was. */
  readonly clientId: string;
  /** Who we are at the broker, and for the daemon: one of the sink's senders. */
  readonly username?: string;
  /** More options of the package mqtt: `password`, `ca`, `cert`, `key`. */
  readonly options?: IClientOptions;
  readonly tables?: readonly string[];
  readonly audience?: Audience;
  /** The name of the daemon's sink for this broker. Without it nothing is asked for. */
  readonly sink?: string;
}

/** Return how `follow` connects to a broker at `mqtt://HOST:PORT` or `mqtts://HOST:PORT`. */
export function mqtt(address: string, given: MqttOptions): Connect {
  if (given.sink !== undefined && given.username === undefined) {
    throw new Error("sink needs a username: the daemon answers only users that it knows");
  }
  return async () => {
    const { username, tables = ["+"], audience = "public" } = given;
    const options: IClientOptions = {
      keepalive: KEEPALIVE_S,
      ...given.options,
      protocolVersion: 5,
      clientId: given.clientId,
      clean: false,
      reconnectPeriod: 0,
      properties: { sessionExpiryInterval: SESSION_S },
      ...(username === undefined ? {} : { username }),
    };
    let broker: Broker | undefined;
    try {
      const client = await connectAsync(address, options);
      // Always the same: the broker keeps our subscriptions.
      const answers = `${username ?? ""}/${given.clientId.replaceAll(/[+#]/gu, "-")}`;
      broker = new Broker(client, given, answers, audience);
      for (const table of tables) {
        await broker.read(`${ROOT}/${table}/${audience}`, 1);
        await broker.read(`${ROOT}/${table}/state`, 0);
        if (given.sink !== undefined) {
          await broker.read(`${ROOT}/${table}/answers/${broker.answers}`, 1);
        }
      }
      return broker;
    } catch (error) {
      await broker?.close();
      if (error instanceof ConnectionLost) throw error;
      throw new ConnectionLost(`${address}: ${String(error)}`);
    }
  };
}

class Broker implements Connection {
  readonly comesUnasked = true;
  readonly #queue = new Queue();
  readonly #asked = new Map<string, (answer: Answer) => void>();

  constructor(
    readonly client: MqttClient,
    readonly given: MqttOptions,
    readonly answers: string,
    readonly audience: Audience,
  ) {
    client.on("message", (topic, payload, packet) => this.#take(topic, payload, packet));
    client.on("error", (error) => this.#queue.fail(error.message));
    client.on("close", () => this.#queue.fail("the broker closed it"));
  }

  events(): AsyncIterable<Received> {
    return this.#queue;
  }

  /** Subscribe to a topic; it throws NotAllowed where the broker does not let this user read it. */
  async read(topic: string, qos: 0 | 1): Promise<void> {
    try {
      await this.client.subscribeAsync(topic, { qos });
    } catch (error) {
      if (!isRefusal(error)) throw error;
      throw new NotAllowed(`the broker refuses the subscription to ${topic}: ${error.message}`);
    }
  }

  #take(topic: string, payload: Buffer, packet: IPublishPacket): void {
    const [table = "", kind] = topic.slice(ROOT.length + 1).split("/");
    if (kind === "answers" && packet.properties?.contentType === EVENT_TYPE) {
      this.#queue.push({ body: payload, seamless: false }); // one that we asked for
    } else if (kind === "answers") {
      const answered = this.#asked.get(String(packet.properties?.correlationData));
      answered?.(asObject(payload) as Answer);
    } else if (kind === "state") {
      const shown = shownBy(table, asObject(payload), this.audience);
      if (shown !== null) this.#queue.push({ shown });
    } else {
      this.#queue.push({ body: payload, seamless: false });
    }
  }

  async resend(asked: Resend): Promise<void> {
    const { sink } = this.given;
    if (sink === undefined || asked.audience !== this.audience) return;
    check(await this.request(asked.table, requestFor(asked, sink)));
  }

  async request(table: string, asked: Readonly<Record<string, unknown>>): Promise<Answer> {
    const { sink, username } = this.given;
    if (sink === undefined) throw new NotAllowed("requests need the name of the daemon's sink");
    const correlationData = Buffer.from(randomBytes(12).toString("hex"));
    const key = String(correlationData);
    const topic = `${ROOT}/${table}/commands/${username}`;
    let timer: NodeJS.Timeout | undefined;
    const answer = new Promise<Answer>((resolve, reject) => {
      this.#asked.set(key, resolve);
      timer = setTimeout(() => reject(new NotAnswered()), ANSWER_MS);
    });
    answer.catch(() => undefined); // it may come to that while the request is still being sent
    try {
      const properties = {
        responseTopic: `${ROOT}/${table}/answers/${this.answers}`,
        correlationData,
        messageExpiryInterval: ANSWER_MS / 1000,
      };
      const deadline = performance.now() + ANSWER_MS;
      const say = () =>
        this.client.publishAsync(topic, JSON.stringify(asked), { qos: 1, properties });
      while (isUnheard(await say()) && performance.now() < deadline) await sleep(UNHEARD_MS);
      return await answer;
    } catch (error) {
      if (error instanceof NotAnswered) throw error;
      if (!isRefusal(error)) throw new ConnectionLost(String(error));
      throw new NotAllowed(`the broker refuses a message to ${topic}: ${error.message}`);
    } finally {
      clearTimeout(timer);
      this.#asked.delete(key);
    }
  }

  async close(): Promise<void> {
    this.#queue.end();
    await this.client.endAsync(true);
  }
}

/**
 * Return the id of an event of this audience that a table's state shows to be there.
 *
 * The state names the last public event. A table at work has told of its start, to both audiences.
 */
function shownBy(
  table: string,
  state: Record<string, unknown>,
  audience: Audience,
): string | null {
  const last = state["last_event"];
  if (typeof last === "string" && last[last.lastIndexOf("/") + 1] === audience[0]) return last;
  return Object.keys(state).length > 0 ? makeId(table, audience, 1) : null;
}

/** Whether the broker says that nobody got a message. */
function isUnheard(answer: unknown): boolean {
  return (answer as { readonly reasonCode?: number } | undefined)?.reasonCode === NO_MATCHING_SUBSCRIBERS;
}

/** Whether the broker answered, and said no. */
function isRefusal(error: unknown): error is Error {
  return error instanceof ErrorWithReasonCode || error instanceof ErrorWithSubackPacket;
}
