import {
  createDedupWindow,
  DEDUP_IDS,
  DEDUP_MS,
  type DedupWindow,
} from '../../../shared/model/dedup-window';
import { type InRecord, type Kafka } from '../../../shared/kafka/port';
import { rangeOf, recordAt, scan } from '../../../shared/kafka/scan';
import { PROFILE_EVENTS } from '../../../shared/kafka/topics';
import { type Log } from '../../../shared/telemetry/log';
import { callOf, type Incoming } from '../repartition/event';
import { type PartitionState } from './partition-state';

/**
 * Recognises duplicate calls in one partition of `profiles.events`. A client repeats a call that
 * got no response, and the duplicate may be in another partition of `messages`, where the reader of
 * one partition cannot recognise it (docs/design/decisions/0028-blocked-partitions.md). Here all
 * calls of a user come together.
 *
 * Invariant: a call is a duplicate only if the same call has a lower offset. Records that are read
 * again after a crash are therefore not duplicates of themselves, and this window can be rebuilt
 * from the log.
 */

/**
 * Limit for all partitions of a process, once for the live reading and once for a second reading.
 */
const IDS = DEDUP_IDS / 2;

export class CountedCalls {
  /** created for the first call, since a second reading is rare */
  #made: DedupWindow | undefined;
  readonly #most: number;

  /** @param partitions number of partitions of the topic; their windows share the memory */
  constructor(partitions = 1) {
    this.#most = Math.ceil(IDS / partitions);
  }

  get #seen(): DedupWindow {
    return (this.#made ??= createDedupWindow({ maxIds: this.#most }));
  }

  /** Removes the duplicates, and remembers the other calls. */
  withoutCopies(records: readonly Incoming[]): Incoming[] {
    return records.filter(({ call }) => {
      if (!call) return true;
      if (this.#seen.isDuplicate(call.ref, call.atMs)) return false;
      this.#seen.remember(call.ref, call.atMs);
      return true;
    });
  }

  /**
   * Remembers the calls before an offset, within the hour before its record. Stops when the
   * partition is lost.
   * @returns the number of records read
   */
  async recall(
    kafka: Pick<Kafka, 'read' | 'ranges'>,
    {
      partition,
      before,
      nowMs,
      isLost,
    }: { partition: number; before: number; nowMs: number; isLost: () => boolean },
  ): Promise<number> {
    const place = { topic: PROFILE_EVENTS, partition };
    const range = await rangeOf(kafka, place);
    if (!range || before <= range.low) return 0;
    const to = Math.min(before, range.high);
    const next = to < range.high ? await recordAt(kafka, { ...place, offset: to }) : undefined;
    const since = await rangeOf(kafka, place, (next?.timestampMs ?? nowMs) - DEDUP_MS);
    const from = Math.max(since?.low ?? 0, to - this.#most);
    let records = 0;
    for await (const piece of scan(kafka, { ...place, from, to })) {
      for (const record of piece.records) this.#remember(record);
      records += piece.records.length;
      if (isLost()) break;
    }
    return records;
  }

  #remember(record: InRecord): void {
    const call = callOf(record);
    if (call) this.#seen.remember(call.ref, call.atMs);
  }
}

/** Reads back the calls that were counted before this process owned the partition. */
export async function recallCalls(
  kafka: Pick<Kafka, 'read' | 'ranges'>,
  engine: { calls: { live: CountedCalls; fill: CountedCalls }; meta: PartitionState },
  {
    partition,
    now,
    isLost,
    log,
  }: { partition: number; now: () => number; isLost: () => boolean; log: Log },
): Promise<void> {
  const { calls, meta } = engine;
  const at = { partition, nowMs: now(), isLost };
  let records = await calls.live.recall(kafka, { ...at, before: meta.live.next });
  if (meta.fill && !isLost()) {
    records += await calls.fill.recall(kafka, { ...at, before: meta.fill.cursor.next });
  }
  if (!isLost()) log.info({ partition, records, durationMs: now() - at.nowMs }, 'dedup.warmed');
}
