import { type ProfileResult, type ProfileQuery, readResult } from '../../../shared/model/profile-queries';
import { Problem } from '../http/problem';
import { type BatchProducer, type Kafka } from '../../../shared/kafka/port';
import { PROFILE_ANSWERS, PROFILE_EVENTS, PROFILE_QUESTIONS } from '../../../shared/kafka/topics';
import { type Log } from '../../../shared/telemetry/log';
import { RecordWaiter } from '../../../shared/kafka/wait-for-record';

/** Asks those who keep profiles, and listens to what they answer, for as long as somebody waits. */
export class QueryClient {
  readonly #answers: RecordWaiter;

  constructor(
    private readonly kafka: Pick<Kafka, 'ranges' | 'read'>,
    private readonly producer: Pick<BatchProducer, 'send'>,
    log: Log,
  ) {
    this.#answers = new RecordWaiter(PROFILE_ANSWERS, kafka, log);
  }

  /** Questions that somebody waits for. */
  get open(): number {
    return this.#answers.size;
  }

  /** How many partitions of profiles there are: as many answers make a whole. */
  async partitions(): Promise<number> {
    return (await this.kafka.ranges(PROFILE_EVENTS)).length;
  }

  /**
   * Whatever is answered is heard, until `end`.
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

  /** Nobody listens any more. @param withdraw: and nobody need answer */
  end(id: string, { withdraw, nowMs }: { withdraw: boolean; nowMs: number }): void {
    this.#answers.end(id);
    // Where it does not arrive, the question expires.
    if (withdraw) void this.#append({ kind: 'cancel', id, expiresAt: nowMs }).catch(() => undefined);
  }

  stop(): Promise<void> {
    return this.#answers.stop();
  }

  #append(question: ProfileQuery): Promise<void> {
    return this.producer.send([{ topic: PROFILE_QUESTIONS, key: question.id, value: JSON.stringify(question) }]);
  }
}

/** The answer where nobody answers. */
export function nobodyThere(): Problem {
  const detail = 'No audiences process responds. Start the service audiences or check its /readyz, then try again';
  return new Problem('unavailable', detail, { headers: { 'Retry-After': '5' } });
}
