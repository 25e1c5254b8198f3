import {
  type ProfileResult,
  type ProfileQuery,
  readResult,
} from '../../../shared/model/profile-records';
import { Problem } from '../http/problem';
import { type BatchProducer, type Kafka } from '../../../shared/kafka/port';
import { PROFILE_RESULTS, PROFILE_EVENTS, PROFILE_QUERIES } from '../../../shared/kafka/topics';
import { type Log } from '../../../shared/telemetry/log';
import { withDeadline } from '../../../shared/runtime/async';
import { RecordWaiter } from '../../../shared/kafka/wait-for-record';

/** Longest wait for Kafka before a query is sent. People wait for the result. */
const KAFKA_WITHIN_MS = 3_000;

/**
 * Sends queries to the audiences service, and passes their results on until the caller ends the
 * query.
 */
export class QueryClient {
  readonly #answers: RecordWaiter;

  constructor(
    private readonly kafka: Pick<Kafka, 'ranges' | 'tail'>,
    private readonly producer: Pick<BatchProducer, 'send'>,
    log: Log,
  ) {
    this.#answers = new RecordWaiter(PROFILE_RESULTS, kafka, log, KAFKA_WITHIN_MS);
  }

  get open(): number {
    return this.#answers.size;
  }

  /**
   * Returns the number of partitions of profiles: a complete result has an answer from each.
   * @throws AppError `kafka_unavailable`
   */
  async partitions(): Promise<number> {
    return (await withDeadline(KAFKA_WITHIN_MS, this.kafka.ranges(PROFILE_EVENTS))).length;
  }

  /**
   * Sends a query. `hear` gets every result until `end`.
   * @throws AppError `kafka_unavailable`, `overloaded`
   */
  async ask(question: ProfileQuery, hear: (answer: ProfileResult) => void): Promise<void> {
    const { id } = question;
    await this.#answers.begin(id, (value) => {
      const answer = readResult(value);
      if (answer) hear(answer);
    });
    try {
      await this.#append(question);
    } catch (error) {
      this.#answers.end(id);
      throw error;
    }
  }

  /** Stops listening. @param withdraw also tells the audiences service that no answer is needed */
  end(id: string, { withdraw, nowMs }: { withdraw: boolean; nowMs: number }): void {
    this.#answers.end(id);
    // If the cancel does not arrive, the query expires.
    if (withdraw) {
      void this.#append({ kind: 'cancel', id, expiresAt: nowMs }).catch(() => undefined);
    }
  }

  stop(): Promise<void> {
    return this.#answers.stop();
  }

  #append(question: ProfileQuery): Promise<void> {
    return this.producer.send([
      { topic: PROFILE_QUERIES, key: question.id, value: JSON.stringify(question) },
    ]);
  }
}

export function nobodyThere(): Problem {
  const detail =
    'No audiences process responds. Start the service audiences or check its /readyz, then ' +
    'try again';
  return new Problem('unavailable', detail, { headers: { 'Retry-After': '5' } });
}
