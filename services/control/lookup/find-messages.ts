import { type InRecord, type Kafka, type Range } from '../../../shared/kafka/port';
import { scanAll } from '../../../shared/kafka/scan';
import { MESSAGES } from '../../../shared/kafka/topics';
import {
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
/** Of a slice: they are read in a second or two, unless they are very large. */
const MOST_RECORDS = 20_000;
/** Sorts before the id of every message. */
const BEFORE_IDS = '\u0001';

export interface Sought {
  message?: string | undefined;
  /** userId or anonymousId */
  user?: string | undefined;
}

/**
 * Where a page begins: behind this message of the page before it. The order is that of the times at
 * which Kafka appended messages, since the clocks of ingests differ.
 */
export interface Cursor {
  /** ms since 1970 */
  appendedAt: number;
  id: string;
}

export interface FoundMessage {
  head: MessageHeaders;
  message: Message;
  appendedAt: number;
}

export interface Search {
  found: FoundMessage[];
  /** times that were searched, ms since 1970 */
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
  isForgotten: (found: FoundMessage) => boolean;
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
  const to = after?.appendedAt ?? nowMs;
  let upperMs = after ? after.appendedAt + 1 : nowMs;
  let upper = after ? startsOf(await kafka.ranges(MESSAGES, upperMs)) : await endsOf(kafka);
  let sliceMs = FIRST_SLICE_MS;
  let found: FoundMessage[] = [];
  for (;;) {
    let lower = await kafka.ranges(MESSAGES, upperMs - sliceMs);
    while (sliceMs > 1 && recordsBetween(lower, upper) > MOST_RECORDS) {
      sliceMs = Math.ceil(sliceMs / 2);
      lower = await kafka.ranges(MESSAGES, upperMs - sliceMs);
    }
    const lowerMs = upperMs - sliceMs;
    for await (const { records } of scanAll(kafka, sectionsBetween(lower, upper))) {
      for (const record of records) {
        const match = matchOf(record, sought);
        if (match && isBehind(match, after) && !isForgotten(match)) found.push(match);
      }
      // A user may have a million events, of which the page needs the newest.
      if (found.length > 2 * limit) found = newestOf(found, limit + 1);
    }
    const isEnd = isAtStart(lower, await kafka.ranges(MESSAGES));
    found = newestOf(found, limit + 1);
    const page = found.slice(0, limit);
    const last = page.at(-1);
    if (last && found.length > limit) {
      return { found: page, from: last.appendedAt, to, complete: false, next: cursorOf(last) };
    }
    const from = Math.min(lowerMs, to);
    if (isEnd) return { found: page, from, to, complete: true, next: undefined };
    // A message is seldom sent twice: the caller decides whether to search on for it.
    const isFound = sought.message !== undefined && page.length > 0;
    if (isFound || steadyMs() - begunAt > BUDGET_MS) {
      const next = { appendedAt: lowerMs, id: BEFORE_IDS };
      return { found: page, from, to, complete: false, next };
    }
    upper = startsOf(lower);
    upperMs = lowerMs;
    sliceMs *= 2;
  }
}

/** Returns where a page begins that follows this message. */
export function cursorOf({ head, appendedAt }: FoundMessage): Cursor {
  return { appendedAt, id: `${head.messageId} ${head.sourceId}` };
}

type Offsets = ReadonlyMap<number, number>;

function startsOf(ranges: readonly Range[]): Offsets {
  return new Map(ranges.map(({ partition, low }) => [partition, low]));
}

async function endsOf(kafka: Deps['kafka']): Promise<Offsets> {
  const ranges = await kafka.ranges(MESSAGES);
  return new Map(ranges.map(({ partition, high }) => [partition, high]));
}

function recordsBetween(lower: readonly Range[], upper: Offsets): number {
  const counts = sectionsBetween(lower, upper).map(({ from, to }) => Math.max(0, to - from));
  return counts.reduce((sum, count) => sum + count, 0);
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
function matchOf(record: InRecord, { message: id, user }: Sought): FoundMessage | undefined {
  requireKnownFormat(record, 'this control process');
  if (id !== undefined && record.headers.message !== id) return undefined;
  // Most messages need not be parsed.
  if (user !== undefined && !record.value?.includes(JSON.stringify(user))) return undefined;
  const head = readMessageHeaders(record.headers);
  const message = parseMessage(record.value);
  if (head.kind !== 'message' || typeof message === 'string') return undefined;
  const isOfUser = user === undefined || message.userId === user || message.anonymousId === user;
  return isOfUser ? { head, message, appendedAt: record.timestampMs } : undefined;
}

function isBehind(each: FoundMessage, after: Cursor | undefined): boolean {
  if (!after) return true;
  const at = cursorOf(each);
  return at.appendedAt === after.appendedAt ? at.id < after.id : at.appendedAt < after.appendedAt;
}

function newestOf(found: readonly FoundMessage[], most: number): FoundMessage[] {
  const sorted = found.map((each) => ({ each, at: cursorOf(each) }));
  sorted.sort(({ at: a }, { at: b }) => b.appendedAt - a.appendedAt || (a.id < b.id ? 1 : -1));
  return sorted.slice(0, most).map(({ each }) => each);
}
