/**
 * Follow tables in a stream of NATS JetStream.
 *
 * NATS_USER and NATS_PASSWORD log in. NATS_CA is the file of the authority that signed the server's
 * certificate.
 */

import { Consumer, follow, Rounds } from "shoe-events";
import { natsStream } from "shoe-events/nats";

const [servers = "", ...tables] = process.argv.slice(2);
const rounds = new Rounds();
const consumer = new Consumer([], { begin: "first" });
const { NATS_USER: user, NATS_PASSWORD: pass = "", NATS_CA: caFile } = process.env;
const login = user === undefined ? {} : { user, pass, inboxPrefix: `_INBOX_${user}` };
const tls = caFile === undefined ? {} : { tls: { caFile } };
const connect = natsStream({ servers, ...login, ...tls }, consumer, tables, { fromFirst: true });
await follow(connect, consumer, async (due) => {
  const change = await rounds.apply(due);
  if (change === null) return;
  console.log(change.now.round.roundId, change.now.result, due.event.data["winner"]);
});
