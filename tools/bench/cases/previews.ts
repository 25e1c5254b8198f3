import { randomUUID } from 'node:crypto';
import { type Kafka, type OutRecord } from '../../../shared/kafka/port';
import { PROFILE_QUERIES, PROFILE_RESULTS } from '../../../shared/kafka/topics';
import {
  type PreviewQuery,
  type PreviewResult,
  readResult,
} from '../../../shared/model/profile-records';
import { clockMs, until } from '../../harness/timing';
import { sum } from '../arithmetic';

/** The time until a preview returns its first figure, and its last. It asks as control does. */

export interface PreviewFigure {
  what: string;
  /** from the query until any profile was counted, and until every partition was done */
  firstSeconds: number;
  seconds: number;
  /** profiles read: all, or a sample */
  looked: number;
}

/** Neither is among the definitions, so no result is known beforehand. */
const CONDITIONS = [
  { what: 'over traits', condition: 'user.traits.plan == "free" && user.traits.country == "FR"' },
  { what: 'over counters', condition: 'count("Order Completed", duration("240h")) >= 1' },
];
const POLL_MS = 20;
const WITHIN_MS = 300_000;

export async function measurePreviews(
  { kafka, append }: { kafka: Kafka; append: (records: Iterable<OutRecord>) => Promise<void> },
  partitions: number,
): Promise<PreviewFigure[]> {
  const figures: PreviewFigure[] = [];
  for (const { what, condition } of CONDITIONS) {
    const question: PreviewQuery = {
      id: randomUUID(),
      kind: 'preview',
      condition,
      expiresAt: Date.now() + WITHIN_MS,
    };
    const answers = new Map<number, PreviewResult>();
    let refused: string | undefined;
    const tail = await kafka.tail({
      name: 'bench-answers',
      topic: PROFILE_RESULTS,
      from: 'end',
      onRecord: ({ key, value }) => {
        const answer = key?.toString() === question.id ? readResult(value) : undefined;
        if (answer?.kind === 'preview') answers.set(answer.partition, answer);
        if (answer?.kind === 'refused') refused = answer.reason;
      },

      // Then no result comes, and the deadline reports that.
      onFatal: () => undefined,
    });
    const all = () => [...answers.values()];
    const isDone = () =>
      answers.size === partitions && all().every(({ state }) => state === 'done');
    const fromMs = clockMs();
    const seconds = async (there: () => boolean) => {
      await until(() => there() || refused !== undefined, POLL_MS, WITHIN_MS);
      if (!there()) {
        throw new Error(
          `the preview ${what} has no answer: ${refused ?? 'nobody gave one in time'}`,
        );
      }
      return (clockMs() - fromMs) / 1_000;
    };
    try {
      await append([{ topic: PROFILE_QUERIES, key: question.id, value: JSON.stringify(question) }]);
      const firstSeconds = await seconds(() => all().some(({ known }) => known > 0));
      const wholeSeconds = await seconds(isDone);
      figures.push({
        what,
        firstSeconds,
        seconds: wholeSeconds,
        looked: sum(all().map(({ looked }) => looked)),
      });
    } finally {
      await tail.stop();
    }
  }
  return figures;
}
