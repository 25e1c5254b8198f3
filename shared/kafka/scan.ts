import { sleep } from '../runtime/async';
import { AppError, isRetriable } from '../runtime/errors';
import { type Log } from '../telemetry/log';
import { type InRecord, type Kafka, type Range } from './port';
import { isBehind, type Mark, nameOf } from './record-name';

/**
 * Reads a known part of a topic, for this process alone. `Kafka.read` never takes an empty response
 * for the end, so that a scan is complete also while a broker throttles this client, or a new
 * leader is behind.
 */

type Reads = Pick<Kafka, 'read' | 'ranges'>;

const FETCH_BYTES = 1024 * 1024;
const RETRY_PAUSE_MS = 500;

/** The records of a partition from an offset to before a known end. */
export interface Section {
  topic: string;
  partition: number;
  from: number;
  to: number;
  /** of one fetch (default 1 MiB) */
  maxBytes?: number;
}

/** The records of one fetch. */
export interface Piece {
  records: InRecord[];
  /** offset to read on from, at most the end of the section */
  next: number;
  /** true if records before `next` no longer exist */
  gone: boolean;
}

/**
 * Reads the first records of a section. Records that no longer exist are skipped. @throws AppError
 * `kafka_unavailable`
 */
export async function readPiece(kafka: Reads, section: Section): Promise<Piece> {
  const { topic, partition, from, to, maxBytes = FETCH_BYTES } = section;
  const { records, next, gone } = await kafka.read({
    topic,
    partition,
    offset: from,
    until: to,
    maxBytes,
  });
  if (gone) {
    const low = (await rangeOf(kafka, { topic, partition }))?.low ?? to;
    return { records: [], next: low > from ? Math.min(low, to) : to, gone };
  }
  return {
    records: next > to ? records.filter(({ offset }) => offset < to) : records,
    next: Math.min(next, to),
    gone,
  };
}

/** Reads a section to its end, fetch by fetch. @throws AppError `kafka_unavailable` */
export function scan(kafka: Reads, section: Section): AsyncGenerator<Piece, void> {
  return scanAll(kafka, [section]);
}

/** Where a record is sought that was appended about a known time. */
export interface Near {
  topic: string;
  /** ms since 1970 */
  fromMs: number;
  untilMs: number;
  /** records of each partition */
  mostRead: number;
}

/**
 * Returns the first record that is sought, partition by partition; undefined: there is none.
 * @throws AppError `kafka_unavailable`
 */
export async function findNear(
  kafka: Reads,
  { topic, fromMs, untilMs, mostRead }: Near,
  isSought: (record: InRecord) => boolean,
): Promise<InRecord | undefined> {
  for (const { partition, low, high } of await kafka.ranges(topic, fromMs)) {
    const to = Math.min(high, low + mostRead);
    for await (const { records } of scan(kafka, { topic, partition, from: low, to })) {
      const found = records.find(isSought);
      if (found) return found;
      const last = records.at(-1);
      if (last && last.timestampMs > untilMs) break;
    }
  }
  return undefined;
}

/** Sections of a round. More would fetch more than a response holds, and hold it all in memory. */
const AT_ONCE = 8;

/**
 * Reads sections of several partitions to their ends, some of them in each round. The fetches of a
 * round share a request to each broker, and 1 MiB.
 * @throws AppError `kafka_unavailable`
 */
export async function* scanAll(
  kafka: Reads,
  sections: readonly Section[],
): AsyncGenerator<Piece & Pick<Section, 'partition'>, void> {
  let left = sections.filter(({ from, to }) => from < to);
  while (left.length > 0) {
    const round = left.slice(0, AT_ONCE);
    const maxBytes = Math.ceil(FETCH_BYTES / round.length);
    const pieces = await Promise.all(
      round.map((section) => readOn(kafka, { maxBytes, ...section })),
    );
    for (const piece of pieces) yield piece;
    const readOnNext = round.map((section, i) => ({
      ...section,
      from: pieces[i]?.next ?? section.to,
    }));
    left = [...left.slice(AT_ONCE), ...readOnNext.filter(({ from, to }) => from < to)];
  }
}

async function readOn(kafka: Reads, section: Section): Promise<Piece & Pick<Section, 'partition'>> {
  const { topic, partition, from } = section;
  const piece = await readPiece(kafka, section);
  if (piece.next > from) return { partition, ...piece };
  throw new AppError(
    'kafka_unavailable',
    `Kafka returns no record of ${topic} at offset ${from}`,
    true,
  );
}

export interface RecordPlace {
  topic: string;
  partition: number;
  offset: number;
}

/**
 * Returns the record at an offset that exists, or the first one behind it. @throws AppError
 * `kafka_unavailable`
 */
export async function recordAt(
  kafka: Pick<Kafka, 'read'>,
  at: RecordPlace,
): Promise<InRecord | undefined> {
  const { records } = await kafka.read({ ...at, maxBytes: 1, until: at.offset + 1 });
  return records[0];
}

/**
 * Returns where a reader without a group goes on: behind the last record that it read or, if the
 * log was cut, at the first record that was appended since.
 * @returns `cut`: number of offsets that were read and cut off
 * @throws AppError `kafka_unavailable`
 */
export async function goOnBehind(
  kafka: Reads,
  place: { topic: string; partition: number },
  mark: Mark,
): Promise<{ next: number; cut: number }> {
  const [last] = mark;
  const isRead = (record: InRecord) => !isBehind(nameOf(record), mark);
  if (last >= 0) {
    // As a rule the record is there.
    const [found] = (await kafka.read({ ...place, offset: last, maxBytes: 1 })).records;
    if (found && isRead(found)) return { next: last + 1, cut: 0 };
  }
  const { low, high } = (await rangeOf(kafka, place)) ?? { low: 0, high: 0 };
  if (last < low) return { next: low, cut: 0 };
  /** Returns whether no record that was read is at an offset of the log, or behind it. */
  const isPast = async (offset: number) => {
    const { records, gone } = await kafka.read({
      ...place,
      offset,
      maxBytes: 1,
      until: offset + 1,
    });
    const [first] = records;
    // Retention has deleted it in this moment.
    if (gone) return false;
    return first === undefined || !isRead(first);
  };
  let [from, to] = [low, Math.min(last + 1, high)];
  while (from < to) {
    const middle = Math.floor((from + to) / 2);
    if (await isPast(middle)) to = middle;
    else from = middle + 1;
  }
  const first = to < high ? await recordAt(kafka, { ...place, offset: to }) : undefined;
  // Compaction has removed the last record, and what is left of those behind it is new.
  const next = first ? Math.min(first.offset, last + 1) : Math.min(high, last + 1);
  return { next, cut: last + 1 - next };
}

/**
 * Returns the range of one partition, as `Kafka.ranges` does; undefined if the topic has no such
 * partition.
 */
export async function rangeOf(
  kafka: Pick<Kafka, 'ranges'>,
  { topic, partition }: { topic: string; partition: number },
  sinceMs?: number,
): Promise<Range | undefined> {
  return (await kafka.ranges(topic, sinceMs)).find((range) => range.partition === partition);
}

/** Returns the end of each partition of a topic, in order. @throws AppError `kafka_unavailable` */
export async function endsOf(kafka: Pick<Kafka, 'ranges'>, topic: string): Promise<number[]> {
  const ranges = await kafka.ranges(topic);
  return [...ranges].sort((a, b) => a.partition - b.partition).map(({ high }) => high);
}

/**
 * Retries reads until Kafka is back, for code without a caller to report to, so that an unreachable
 * broker ends no process. Errors that are not retriable are rethrown.
 * @param givesUp asked after each failure; true: it is rethrown
 */
export function retryingReads(
  kafka: Pick<Kafka, 'read' | 'ranges' | 'committed'>,
  log: Log,
  pauseMs = RETRY_PAUSE_MS,
  givesUp: () => boolean = () => false,
): Pick<Kafka, 'read' | 'ranges' | 'committed'> {
  const retry = async <T>(read: () => Promise<T>): Promise<T> => {
    for (let tries = 1; ; tries++) {
      try {
        return await read();
      } catch (error) {
        if (!isRetriable(error) || givesUp()) throw error;
        if (tries === 1) log.warn({ reason: error.message }, 'kafka.unavailable');
      }
      await sleep(pauseMs);
    }
  };
  return {
    read: (at) => retry(() => kafka.read(at)),
    ranges: (topic, sinceMs) => retry(() => kafka.ranges(topic, sinceMs)),
    committed: (group, topic) => retry(() => kafka.committed(group, topic)),
  };
}
