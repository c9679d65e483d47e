/** Receive the events of baccarat tables: each once, in order, none lost unseen. */

export { Consumer, MOST_HELD } from "./consumer.js";
export type { Due, NewSource, Offered, Options, Resend } from "./consumer.js";
export { InvalidEvent, makeId, readEvent, readId } from "./event.js";
export type { Audience, TableEvent } from "./event.js";
export { firstOf, keyOf } from "./position.js";
export type { Position, Range } from "./position.js";
export { Refused, Reports } from "./reports.js";
export type { Compared, StatedMoney, StatedRound } from "./reports.js";
export { changeOf, replacedEvent, roundOf, Rounds } from "./rounds.js";
export type { Change, Round, RoundStore, Standing } from "./rounds.js";
export { ConnectionLost, follow, NotAllowed, NotAnswered, NotFound, NotKept } from "./follow.js";
export type { Connect, Connection, FollowOptions, Received } from "./follow.js";
