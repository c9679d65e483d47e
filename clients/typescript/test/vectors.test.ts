/** The vectors that all languages share: what a consumer makes of sequences of events. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";

import {
  Consumer,
  keyOf,
  readEvent,
  Rounds,
  type Due,
  type Options,
  type Position,
  type TableEvent,
} from "../src/index.js";

const FOLDER = new URL("../../../vectors/", import.meta.url);

type Shorthand = [epoch: string, id: string, type: string, data: object];

interface Step {
  offer?: Shorthand[];
  restart?: true;
  give_up?: true;
  expect?: string;
  applied?: string[];
  wanted?: [string, number][];
  new_source?: unknown;
}

interface Vector {
  title: string;
  hold?: boolean;
  begin?: "anywhere" | "first";
  steps: Step[];
  rounds: { round_id: string; epoch: string; result: string; event: string; told_in: string }[];
}

function makeEvent([epoch, id, type, data]: Shorthand): TableEvent {
  const slash = id.lastIndexOf("/");
  const source = `/journal/${epoch}/table/${id.slice(0, slash)}`;
  const seconds = parseInt(epoch[0] ?? "0", 16) * 3600 + Number(id.slice(slash + 2));
  const time = new Date(seconds * 1000).toISOString().replace("Z", "000Z");
  return readEvent(JSON.stringify({ specversion: "1.0", id, source, type, time, data }));
}

/** A table system with a store: it keeps positions and rounds when it ends. */
class Program {
  readonly stored = new Map<string, string>();
  readonly rounds = new Rounds();
  consumer: Consumer;

  constructor(readonly options: Options) {
    this.consumer = new Consumer([], options);
  }

  restart(): void {
    const positions = [...this.stored.values()].map((text) => JSON.parse(text) as Position);
    this.consumer = new Consumer(positions, this.options);
  }

  giveUp(): void {
    for (const asked of this.consumer.wanted()) this.consumer.giveUp(asked);
  }

  async applyDue(): Promise<Due[]> {
    const applied: Due[] = [];
    for (let due = this.consumer.due(); due !== null; due = this.consumer.due()) {
      await this.rounds.apply(due);
      this.stored.set(keyOf(due.position), JSON.stringify(due.position));
      this.consumer.applied(due);
      applied.push(due);
    }
    return applied;
  }

  async take(step: Step): Promise<Due[]> {
    const applied: Due[] = [];
    for (const each of step.offer ?? []) {
      this.consumer.offer(makeEvent(each));
      applied.push(...(await this.applyDue()));
    }
    if (step.restart) this.restart();
    if (step.give_up) this.giveUp();
    if (step.expect !== undefined) this.consumer.expect(step.expect);
    return [...applied, ...(await this.applyDue())];
  }
}

for (const name of readdirSync(FOLDER).filter((each) => each.endsWith(".json"))) {
  const vector = JSON.parse(readFileSync(new URL(name, FOLDER), "utf-8")) as Vector;
  test(`${name}: ${vector.title}`, async () => {
    const { hold = true, begin = "anywhere" } = vector;
    const program = new Program({ hold, begin });
    for (const step of vector.steps) {
      const applied = await program.take(step);
      const ids = applied.map((due) => (due.late ? `${due.event.id} late` : due.event.id));
      assert.deepEqual(ids, step.applied ?? []);
      const wanted = program.consumer.wanted().map((asked) => [asked.after, asked.upto]);
      assert.deepEqual(wanted, step.wanted ?? []);
      const sources = applied.flatMap((due) => due.newSource ?? []);
      assert.deepEqual(sources.map((each) => [each.first, each.disowned])[0], step.new_source);
    }
    const standing = [...program.rounds].map((each) => ({
      round_id: each.round.roundId,
      epoch: each.round.source.split("/")[2],
      result: each.result,
      event: each.eventId,
      told_in: each.toldIn.split("/")[2],
    }));
    const key = (each: object) => JSON.stringify(each);
    assert.deepEqual(standing.map(key).sort(), vector.rounds.map(key).sort());
  });
}
