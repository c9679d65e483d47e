/** Following a daemon at its socket: what is asked for after a cut, and what a refusal means. */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";

import { Consumer, follow, type FollowOptions } from "../src/index.js";
import { requestFor } from "../src/answers.js";
import { socket } from "../src/unix_socket.js";

const [OLD, NEW] = ["aaaaaaaa", "bbbbbbbb"];

type Request = Record<string, string>;
type Answer = readonly [text: string, stays: boolean];

function line(epoch: string, number: number): string {
  const source = `/journal/${epoch}/table/t1`;
  const time = `2026-01-01T00:${epoch === OLD ? "00" : "01"}:0${number}.000000Z`;
  const event = { specversion: "1.0", id: `t1/p${number}`, source, type: "table.resumed", time };
  return `${JSON.stringify({ ...event, data: {} })}\n`;
}

function refusal(code: string, args: object = {}): string {
  return `${JSON.stringify({ accepted: false, error: { code, args, text: code }, needs: {} })}\n`;
}

/** Follow a daemon that gives these answers, until so many events are applied. */
async function followed(
  answers: readonly Answer[],
  until: number,
  options: FollowOptions = {},
): Promise<{ applied: string[]; requests: Request[]; consumer: Consumer }> {
  const requests: Request[] = [];
  const applied: string[] = [];
  const folder = mkdtempSync(join(tmpdir(), "shoe-events-"));
  const path = join(folder, "socket");
  const server = createServer((connection) => {
    createInterface({ input: connection }).on("line", (request) => {
      requests.push(JSON.parse(request) as Request);
      const [text, stays] = answers[requests.length - 1] ?? ["", true];
      if (stays) connection.write(text);
      else connection.end(text);
    });
    connection.on("error", () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  const ended = new AbortController();
  const consumer = new Consumer([], { begin: "first" });
  try {
    await follow(
      socket(path, consumer, ["t1"], { fromFirst: true }),
      consumer,
      ({ event }) => {
        applied.push(`${event.source.split("/")[2]} ${event.number}`);
        if (applied.length === until) ended.abort();
      },
      { signal: ended.signal, firstRetryMs: 1, askAgainMs: 5, warn: () => undefined, ...options },
    );
  } finally {
    server.close();
    rmSync(folder, { recursive: true });
  }
  return { applied, requests, consumer };
}

test("after a cut it goes on with the last event and its source", async () => {
  const { applied, requests } = await followed(
    [
      [`${line(OLD, 1)}${line(OLD, 2)}`, false],
      [`${line(OLD, 2)}${line(OLD, 3)}`, true],
    ],
    3,
  );
  assert.deepEqual(applied, [1, 2, 3].map((number) => `${OLD} ${number}`));
  assert.deepEqual(requests, [
    { request: "events", table: "t1", audience: "public", after: "t1/p0" },
    {
      request: "events",
      table: "t1",
      audience: "public",
      after: "t1/p1",
      source: `/journal/${OLD}/table/t1`,
    },
  ]);
});

test("another journal is read from its first event, and follows without being looked for", async () => {
  const { applied, requests } = await followed(
    [
      [`${line(OLD, 1)}${line(OLD, 2)}`, false],
      [refusal("events_source_unknown"), false],
      [`${line(NEW, 1)}${line(NEW, 2)}`, true],
    ],
    4,
  );
  assert.deepEqual(applied, [`${OLD} 1`, `${OLD} 2`, `${NEW} 1`, `${NEW} 2`]);
  assert.deepEqual(requests.map(({ after }) => after), ["t1/p0", "t1/p1", "t1/p0"]);
});

test("what is not kept any more waits, until it is given up", async () => {
  const notKept: Answer = [refusal("events_not_kept", { first: "t1/p4" }), true];
  const { applied, consumer } = await followed(
    [[line(OLD, 1), false], notKept, [`${line(OLD, 4)}${line(OLD, 5)}`, true]],
    3,
    { mayGiveUp: () => true },
  );
  assert.deepEqual(applied, [1, 4, 5].map((number) => `${OLD} ${number}`));
  assert.deepEqual(consumer.positions[0]?.given_up, [[2, 3]]);
});

test("a table of which no event came is asked for whole", () => {
  const consumer = new Consumer([], { begin: "first" });
  consumer.expect("t1/r1");
  const [asked] = consumer.wanted();
  assert.ok(asked);
  assert.deepEqual(requestFor(asked, "floor"), { request: "resend", sink: "floor", after: "t1/r0" });
});
