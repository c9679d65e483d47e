/**
 * Follow all tables of an MQTT broker, and ask the daemon for what the broker loses.
 *
 * MQTT_PASSWORD logs in. MQTT_CA is the file of the authority that signed the broker's certificate.
 */

import { readFileSync } from "node:fs";

import { Consumer, follow, Rounds } from "shoe-events";
import { mqtt } from "shoe-events/mqtt";

const [address = "", sink = ""] = process.argv.slice(2);
const rounds = new Rounds();
const consumer = new Consumer([], { begin: "first" });
const { MQTT_PASSWORD: password, MQTT_CA: ca } = process.env;
const options = {
  ...(password === undefined ? {} : { password }),
  ...(ca === undefined ? {} : { ca: readFileSync(ca) }),
};
const connect = mqtt(address, { clientId: "results", username: "results", options, sink });
await follow(connect, consumer, async (due) => {
  const change = await rounds.apply(due);
  if (change === null) return;
  console.log(change.now.round.roundId, change.now.result, due.event.data["winner"]);
});
