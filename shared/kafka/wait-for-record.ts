import { sleep } from '../service/async';
import { messageOf } from '../service/errors';
import { type InRecord, type Kafka } from './port';
import { type Log } from '../telemetry/log';

/**
 * Reads a topic from its end while callers wait for records of a key, and not otherwise: a permanent consumer for a few
 * test deliveries a day would cost as much as the history's consumer.
 */

/** Short for a waiting caller; each look costs one request to each partition. */
const LOOK_EVERY_MS = 100;
const MAX_BYTES = 1024 * 1024;

export class RecordWaiter {
  readonly #byKey = new Map<string, (value: Buffer) => void>();
  /** next offset of each partition; undefined while no caller waits */
  #positions: Promise<Map<number, number>> | undefined;
  #reading: Promise<void> = Promise.resolve();
  #trouble = false;

  constructor(
    private readonly topic: string,
    private readonly kafka: Pick<Kafka, 'ranges' | 'read'>,
    private readonly log: Log,
  ) {}

  get size(): number {
    return this.#byKey.size;
  }

  /**
   * Passes records of a key to `hear` that are appended after this has resolved, until `end` is called.
   * @throws AppError `kafka_unavailable`
   */
  async begin(key: string, hear: (value: Buffer) => void): Promise<void> {
    this.#byKey.set(key, hear);
    const first = this.#positions === undefined;
    this.#positions ??= this.#ends();
    try {
      const positions = await this.#positions;
      if (first) this.#reading = this.#read(positions);
    } catch (error) {
      this.#positions = undefined;
      this.end(key);
      throw error;
    }
  }

  end(key: string): void {
    this.#byKey.delete(key);
  }

  /** Ends all waits. */
  async stop(): Promise<void> {
    this.#byKey.clear();
    await this.#reading;
  }

  async #ends(): Promise<Map<number, number>> {
    const ranges = await this.kafka.ranges(this.topic);
    return new Map(ranges.map(({ partition, high }) => [partition, high]));
  }

  async #read(positions: Map<number, number>): Promise<void> {
    while (this.#byKey.size > 0) {
      await Promise.all([...positions.keys()].map((partition) => this.#readOn(positions, partition)));
      await sleep(LOOK_EVERY_MS);
    }
    this.#positions = undefined;
  }

  async #readOn(positions: Map<number, number>, partition: number): Promise<void> {
    try {
      for (let more = true; more && this.#byKey.size > 0;) {
        const offset = positions.get(partition) ?? 0;
        const at = { topic: this.topic, partition, offset, maxBytes: MAX_BYTES };
        const { records, next, end } = await this.kafka.read(at);
        for (const record of records) this.#pass(record);
        positions.set(partition, next);
        more = next > offset && next < end;
      }
      this.#trouble = false;
    } catch (error) {
      // The read is retried, and callers have their own time limits.
      if (!this.#trouble) this.log.warn({ topic: this.topic, reason: messageOf(error) }, 'listening.failed');
      this.#trouble = true;
    }
  }

  #pass({ key, value }: InRecord): void {
    // Records of other keys are not decoded.
    if (key && value) this.#byKey.get(key.toString())?.(value);
  }
}
