import { type InRecord, type Kafka, type Range } from '../../../shared/kafka/port';
import { scanAll } from '../../../shared/kafka/scan';
import { MESSAGES } from '../../../shared/kafka/topics';
import {
  LARGEST_DELAY_MS,
  type MessageHeaders,
  parseMessage,
  readMessageHeaders,
} from '../../../shared/model/message-codec';
import { type Message } from '../../../shared/model/message';
import { requireKnownFormat } from '../../../shared/runtime/errors';

/**
 * Finds messages in Kafka, newest first, within a time limit. Kafka has no index of them, so this
 * reads `messages` backwards in slices of time, each from all partitions.
 */

/** People wait for the result. A slice that has begun is finished. */
const BUDGET_MS = 6_000;
const FIRST_SLICE_MS = 10_000;
/** A slice that took less time is followed by one that is twice as long. */
const SHORT_MS = 500;
const MOST_HELD = 10_000;
/** Sorts before the id of every message. */
const BEFORE_IDS = '\u0001';

export interface Sought {
  message?: string | undefined;
  /** userId or anonymousId */
  user?: string | undefined;
}

/** Where a page begins: behind this message of the page before it. */
export interface Cursor {
  acceptedAt: number;
  id: string;
}

export interface Found {
  head: MessageHeaders;
  message: Message;
}

export interface Search {
  found: Found[];
  /** times of acceptance, ms since 1970 */
  from: number;
  to: number;
  /** nothing older is in Kafka */
  complete: boolean;
  /** where the next page begins; undefined: nowhere */
  next: Cursor | undefined;
}

interface Deps {
  kafka: Pick<Kafka, 'read' | 'ranges'>;
  /** Returns whether the user of a message was deleted since. */
  isForgotten: (found: Found) => boolean;
  nowMs: number;
  /** ms, by a clock that never jumps */
  steadyMs: () => number;
}

/**
 * @param after the `next` of the page before
 * @throws AppError `kafka_unavailable`
 */
export async function findMessages(
  { kafka, isForgotten, nowMs, steadyMs }: Deps,
  sought: Sought,
  { limit, after }: { limit: number; after: Cursor | undefined },
): Promise<Search> {
  const begunAt = steadyMs();
  const to = after?.acceptedAt ?? nowMs;
  // A message is appended at most this long after it was accepted.
  let upperMs = to + LARGEST_DELAY_MS;
  let upper = after ? startsOf(await kafka.ranges(MESSAGES, upperMs)) : await endsOf(kafka);
  let sliceMs = FIRST_SLICE_MS + LARGEST_DELAY_MS;
  let found: Found[] = [];
  for (;;) {
    const sliceBegunAt = steadyMs();
    const lowerMs = upperMs - sliceMs;
    const lower = await kafka.ranges(MESSAGES, lowerMs);
    for await (const { records } of scanAll(kafka, sectionsBetween(lower, upper))) {
      found.push(
        ...records
          .flatMap((record) => matchOf(record, sought) ?? [])
          .filter((each) => isBehind(each, after) && !isForgotten(each)),
      );
      // A user may have a million events, of which the page needs the newest.
      if (found.length > MOST_HELD) found = newestOf(found, limit + 1);
    }
    const isEnd = isAtStart(lower, await kafka.ranges(MESSAGES));
    // An older slice may hold what was accepted before this one began, but nothing newer.
    const newest = newestOf(found, Infinity);
    const certain = isEnd ? newest : newest.filter(({ head }) => head.acceptedAt >= lowerMs);
    const page = certain.slice(0, limit);
    const last = page.at(-1);
    if (last && certain.length > limit) {
      return { found: page, from: last.head.acceptedAt, to, complete: false, next: cursorOf(last) };
    }
    const from = Math.min(lowerMs, to);
    if (isEnd) return { found: page, from, to, complete: true, next: undefined };
    // A message is seldom sent twice: the caller decides whether to search on for it.
    const isFound = sought.message !== undefined && page.length > 0;
    if (isFound || steadyMs() - begunAt > BUDGET_MS) {
      const next = { acceptedAt: lowerMs, id: BEFORE_IDS };
      return { found: page, from, to, complete: false, next };
    }
    upper = startsOf(lower);
    upperMs = lowerMs;
    if (steadyMs() - sliceBegunAt < SHORT_MS) sliceMs *= 2;
  }
}

/** Offsets by partition. */
type Offsets = ReadonlyMap<number, number>;

function startsOf(ranges: readonly Range[]): Offsets {
  return new Map(ranges.map(({ partition, low }) => [partition, low]));
}

async function endsOf(kafka: Deps['kafka']): Promise<Offsets> {
  const ranges = await kafka.ranges(MESSAGES);
  return new Map(ranges.map(({ partition, high }) => [partition, high]));
}

function sectionsBetween(lower: readonly Range[], upper: Offsets) {
  return lower.map(({ partition, low, high }) => ({
    topic: MESSAGES,
    partition,
    from: low,
    to: upper.get(partition) ?? high,
  }));
}

/** Returns whether nothing is retained before these ranges. */
function isAtStart(lower: readonly Range[], whole: readonly Range[]): boolean {
  const first = startsOf(whole);
  return lower.every(({ partition, low }) => low <= (first.get(partition) ?? 0));
}

/** @throws AppError `newer_format`: a newer control process must search */
function matchOf(record: InRecord, { message: id, user }: Sought): Found | undefined {
  requireKnownFormat(record, 'this control process');
  if (id !== undefined && record.headers.message !== id) return undefined;
  // Most messages need not be parsed.
  if (user !== undefined && !record.value?.includes(JSON.stringify(user))) return undefined;
  const head = readMessageHeaders(record.headers);
  const message = parseMessage(record.value);
  if (head.kind !== 'message' || typeof message === 'string') return undefined;
  const isOfUser = user === undefined || message.userId === user || message.anonymousId === user;
  return isOfUser ? { head, message } : undefined;
}

function cursorOf({ head }: Found): Cursor {
  return { acceptedAt: head.acceptedAt, id: `${head.messageId} ${head.sourceId}` };
}

function isBehind(each: Found, after: Cursor | undefined): boolean {
  if (!after) return true;
  const at = cursorOf(each);
  return at.acceptedAt === after.acceptedAt ? at.id < after.id : at.acceptedAt < after.acceptedAt;
}

/** @param most how many; Infinity: all */
function newestOf(found: readonly Found[], most: number): Found[] {
  const sorted = found.map((each) => ({ each, at: cursorOf(each) }));
  sorted.sort(({ at: a }, { at: b }) => b.acceptedAt - a.acceptedAt || (a.id < b.id ? 1 : -1));
  return sorted.slice(0, most).map(({ each }) => each);
}
