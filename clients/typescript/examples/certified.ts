/** Follow all tables of an MQTT broker, and keep in a file what `certify-consumer` asks for. */

import { renameSync, writeFileSync } from "node:fs";

import { Consumer, follow, Rounds } from "shoe-events";
import { mqtt } from "shoe-events/mqtt";

const [address = "", user = "", sink = "", answer = ""] = process.argv.slice(2);
const rounds = new Rounds();
const events: Record<string, number> = {};
const results: Record<string, Record<string, string>> = {};
const consumer = new Consumer([], { begin: "first" });
const connect = mqtt(address, { clientId: user, username: user, sink });
await follow(connect, consumer, async (due) => {
  const { source, data } = due.event;
  events[source] = (events[source] ?? 0) + 1;
  const change = await rounds.apply(due);
  if (change !== null) {
    const { round, result } = change.now;
    (results[round.source] ??= {})[round.roundId] =
      result === "void" ? "void" : String(data["winner"]);
  }
  writeFileSync(`${answer}.new`, JSON.stringify({ events, rounds: results }));
  renameSync(`${answer}.new`, answer);
});
