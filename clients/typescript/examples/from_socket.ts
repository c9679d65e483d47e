/** Follow the tables of a daemon at its socket. Positions are kept in memory here: store yours. */

import { Consumer, follow, Rounds } from "shoe-events";
import { socket } from "shoe-events/unix-socket";

const [path = "", ...tables] = process.argv.slice(2);
const rounds = new Rounds();
const consumer = new Consumer();
await follow(socket(path, consumer, tables, { fromFirst: true }), consumer, async (due) => {
  const change = await rounds.apply(due);
  if (change === null) return;
  console.log(change.now.round.roundId, change.now.result, due.event.data["winner"]);
});
