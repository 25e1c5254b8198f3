import { createDedupWindow, messageRef } from './dedup-window';

/**
 * Drops the second of two records with the same step of the same delivery. If a process dies after it wrote the result
 * of a record and before it committed the record, the record is read again: its result would be written twice, and from
 * there on the delivery would exist twice.
 *
 * The same step is the same (delivery, replay, attempt, hop) at a higher offset of the same partition. A step may be
 * remembered as soon as its record is accepted: until the record is done, no commit passes it, so that after a crash
 * both are read again.
 */
export interface StepDedup {
  /** @returns whether to drop the record */
  isDuplicateStep(record: StepRecord, nowMs: number): boolean;
}

interface StepRecord {
  topic: string;
  partition: number;
  offset: number;
  headers: Readonly<Record<string, string | undefined>>;
}

/**
 * About 8 MB. At 5,000 records a second that is 40 s, several times what detecting and recovering from a crash takes.
 */
const MOST_STEPS = 200_000;
/** More than any topic has. Combines topic and partition into one number. */
const PARTITIONS = 100_000;

export function createStepDedup(maxSteps = MOST_STEPS): StepDedup {
  const seen = createDedupWindow({ maxIds: maxSteps });
  const topics = new Map<string, number>();
  return {
    isDuplicateStep({ topic, partition, offset, headers }, nowMs) {
      const id = headers.delivery;
      // A record without a delivery id is not checked. A test is sent only once.
      if (!id || headers.test) return false;
      const step = `${headers.replay ?? '0'}.${headers.attempt ?? '0'}.${headers.hop ?? '0'}`;
      let number = topics.get(topic);
      if (number === undefined) topics.set(topic, (number = topics.size));
      const place = messageRef(id, step, number * PARTITIONS + partition, offset);
      if (seen.isDuplicate(place, nowMs)) return true;
      seen.remember(place, nowMs);
      return false;
    },
  };
}
