import { withDeadline, withTimeout } from '../runtime/async';
import { messageOf } from '../runtime/errors';
import { type Log } from '../telemetry/log';
import { type InRecord, type Kafka, type Tail } from './port';
import { unavailable } from './reader';

/**
 * A tail that stays open for the next caller saves its connections, and one without callers costs
 * fetches.
 */
const IDLE_MS = 10_000;
/**
 * A tail that stops says goodbye to its brokers for a second. It does not wait for one that is
 * still starting.
 */
const STOP_WITHIN_MS = 2_000;

/**
 * Reads a topic from its end while callers wait for records of a key: a permanent reader for a few
 * test deliveries a day would cost as much as the history's consumer.
 */
export class RecordWaiter {
  readonly #byKey = new Map<string, (value: Buffer) => void>();
  #tail: Promise<Tail> | undefined;
  #idle: NodeJS.Timeout | undefined;

  /**
   * @param beginWithinMs longest wait for the tail: it needs a leader of every partition, which can
   *   take a minute
   */
  constructor(
    private readonly topic: string,
    private readonly kafka: Pick<Kafka, 'tail'>,
    private readonly log: Log,
    private readonly beginWithinMs: number,
  ) {}

  get size(): number {
    return this.#byKey.size;
  }

  /**
   * Passes records of a key to `hear` that are appended after this has resolved, until `end` is
   * called. A tail that takes longer than `beginWithinMs` keeps starting for the next caller.
   * @throws AppError `kafka_unavailable`
   */
  async begin(key: string, hear: (value: Buffer) => void): Promise<void> {
    clearTimeout(this.#idle);
    this.#byKey.set(key, hear);
    try {
      await withDeadline(this.beginWithinMs, (this.#tail ??= this.#open()));
    } catch (error) {
      this.end(key);
      throw unavailable(error);
    }
  }

  end(key: string): void {
    this.#byKey.delete(key);
    clearTimeout(this.#idle);
    if (this.#byKey.size === 0) this.#idle = setTimeout(() => void this.stop(), IDLE_MS).unref();
  }

  /** Ends all waits. */
  async stop(): Promise<void> {
    clearTimeout(this.#idle);
    this.#byKey.clear();
    const tail = this.#tail;
    this.#tail = undefined;
    // A tail that cannot start fails in `begin`.
    const stopped = tail?.then(
      (started) => started.stop(),
      () => undefined,
    );
    if (stopped) await withTimeout(STOP_WITHIN_MS, stopped);
  }

  #open(): Promise<Tail> {
    const { topic, log } = this;
    const onFatal = (error: unknown) =>
      log.error({ topic, reason: messageOf(error) }, 'listening.failed');
    const onRecord = (record: InRecord) => this.#pass(record);
    const tail = this.kafka.tail({ name: `wait-${topic}`, topic, from: 'end', onRecord, onFatal });
    tail.catch(() => {
      if (this.#tail === tail) this.#tail = undefined;
    });
    return tail;
  }

  #pass({ key, value }: InRecord): void {
    // Records of other keys are not decoded.
    if (key && value) this.#byKey.get(key.toString())?.(value);
  }
}
