/** Keep the result of each round in results.json, from events on stdin. */

import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";

import { changeOf, Consumer, keyOf, readEvent } from "shoe-events";
import type { Due, Position, RoundStore, Standing } from "shoe-events";

interface Book {
  positions: Record<string, Position>;
  rounds: Standing[];
  winners: Record<string, string>;
}

const FILE = "results.json";
const empty: Book = { positions: {}, rounds: [], winners: {} };
let book: Book = existsSync(FILE) ? (JSON.parse(readFileSync(FILE, "utf-8")) as Book) : empty;

/** How rounds stand, in the same file as everything else. */
const store: RoundStore = {
  findRound: ({ source, audience, roundId }) =>
    book.rounds.find(
      ({ round }) =>
        round.source === source && round.audience === audience && round.roundId === roundId,
    ) ?? null,
  findEvent: (eventId, audience) =>
    book.rounds.findLast(
      (standing) => standing.eventId === eventId && standing.round.audience === audience,
    ) ?? null,
};

/** Your effect and the position, in one step: the file is replaced, or stays as it was. */
async function apply(due: Due): Promise<void> {
  const change = await changeOf(due, store);
  const next: Book = structuredClone(book);
  next.positions[keyOf(due.position)] = due.position;
  if (change !== null) {
    const { round, result } = change.now;
    next.rounds = next.rounds.filter((each) => JSON.stringify(each.round) !== JSON.stringify(round));
    next.rounds.push(change.now);
    next.winners[round.roundId] = result === "void" ? "void" : String(due.event.data["winner"]);
  }
  writeFileSync(`${FILE}.new`, JSON.stringify(next), { flush: true });
  renameSync(`${FILE}.new`, FILE);
  book = next;
}

const consumer = new Consumer(Object.values(book.positions));
for await (const line of createInterface({ input: process.stdin })) {
  consumer.offer(readEvent(line));
  for (let due = consumer.due(); due !== null; due = consumer.due()) {
    await apply(due);
    consumer.applied(due);
  }
}
for (const [roundId, winner] of Object.entries(book.winners).sort()) console.log(roundId, winner);
for (const asked of consumer.wanted()) {
  console.log("missing behind", asked.after, "up to number", asked.upto);
}
