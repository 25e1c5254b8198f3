import { createDedupWindow, messageRef } from './dedup-window';

/**
 * Drops the second of two records that hold the same step of the same delivery. A process that dies between writing
 * what became of a record and committing it leaves that record to be read again: what follows would be written twice,
 * and from there on a delivery would live two lives.
 *
 * The same step is the same (delivery, replay, attempt, hop) at a higher offset of the same partition. It may be
 * remembered when it is taken: until it is done, no commit passes it, so that after a crash both are read again.
 */
export interface StepDedup {
  /** @returns whether the record is to be dropped */
  isDuplicateStep(record: StepRecord, nowMs: number): boolean;
}

interface StepRecord {
  topic: string;
  partition: number;
  offset: number;
  headers: Readonly<Record<string, string | undefined>>;
}

/** About 8 MB; at 5,000 records a second that is 40 s, several times what a crash takes to be noticed and mended. */
const MOST_STEPS = 200_000;
/** No topic has as many partitions: it makes one number of topic and partition. */
const PARTITIONS = 100_000;

export function createStepDedup(maxSteps = MOST_STEPS): StepDedup {
  const seen = createDedupWindow({ maxIds: maxSteps });
  const topics = new Map<string, number>();
  return {
    isDuplicateStep({ topic, partition, offset, headers }, nowMs) {
      const id = headers.delivery;
      // What names no delivery is not ours to judge; a test send is one of a kind.
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
