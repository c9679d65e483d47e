/**
 * How far a stream was applied: what an application stores with its own effect.
 *
 * In: numbers that were applied or given up. Out: a Position, which JSON can hold as it is.
 * Must not know: events.
 */

import type { Audience } from "./event.js";

/** Numbers from the first to the last, both included. */
export type Range = readonly [number, number];

/**
 * How far one stream (a source and an audience) was applied.
 *
 * Every number up to `number` was applied, but for those in `missing`, which are asked for, and
 * those in `given_up`, which are not. If one of these comes after all it is applied. `since` is the
 * time of its first known event: of a table's sources the one with the latest is in use. `begun` is
 * false while it is not known with which number the source began.
 */
export interface Position {
  readonly source: string;
  readonly table: string;
  readonly audience: Audience;
  readonly number: number;
  readonly missing: readonly Range[];
  readonly given_up: readonly Range[];
  readonly since: string;
  readonly begun: boolean;
}

/** Return the key of a stream: what its position is stored under. */
export function keyOf(stream: { source: string; audience: Audience }): string {
  return `${stream.audience} ${stream.source}`;
}

/** Return the number of the source's first event; of the first known one while not `begun`. */
export function firstOf(position: Position): number {
  const start = position.given_up.find(([first]) => first === 1);
  return start === undefined ? 1 : start[1] + 1;
}

/** Return whether a number lies in one of these ranges. */
export function contains(ranges: readonly Range[], number: number): boolean {
  return ranges.some(([first, last]) => first <= number && number <= last);
}

/** Return the ranges with the numbers from `first` to `last`; none added if that is empty. */
export function add(ranges: readonly Range[], first: number, last: number): Range[] {
  if (first > last) return [...ranges];
  const joined: [number, number][] = [];
  for (const [start, end] of [...ranges, [first, last] as const].sort((a, b) => a[0] - b[0])) {
    const before = joined.at(-1);
    if (before !== undefined && start <= before[1] + 1) before[1] = Math.max(end, before[1]);
    else joined.push([start, end]);
  }
  return joined;
}

/** Return the ranges without the numbers from `first` to `last`. */
export function subtract(ranges: readonly Range[], first: number, last: number): Range[] {
  const left: Range[] = [];
  for (const [start, end] of ranges) {
    if (end < first || start > last) {
      left.push([start, end]);
      continue;
    }
    if (start < first) left.push([start, first - 1]);
    if (end > last) left.push([last + 1, end]);
  }
  return left;
}
