import { type Kafka } from '../../../shared/kafka/port';
import { PROFILE_EVENTS } from '../../../shared/kafka/topics';
import { decodeEvent, type Incoming } from '../repartition/event';

/** Reads one partition of `profiles.events` at any offset, independent of the consumer group. */

const FETCH_BYTES = 256 * 1024;

export class EventLog {
  constructor(
    private readonly kafka: Pick<Kafka, 'read' | 'ranges'>,
    private readonly partition: number,
  ) {}

  /**
   * Reads records from an offset (or the first retained one) up to an end; `done`: no more follow.
   * @param wanted selects users; records of other users are not even decoded
   */
  async read(
    offset: number,
    end: number,
    wanted?: (user: string) => boolean,
  ): Promise<{ records: Incoming[]; next: number; done: boolean }> {
    const at = { topic: PROFILE_EVENTS, partition: this.partition, maxBytes: FETCH_BYTES, until: end };
    for (let from = offset; from < end;) {
      const fetched = await this.kafka.read({ ...at, offset: from });
      if (fetched.gone) {
        const low = await this.#low();
        if (low === undefined || low <= from) break;
        from = low;
        continue;
      }
      const records = fetched.records.filter((record) => record.offset < end);
      const last = records.at(-1);
      if (last) {
        const kept = wanted ? records.filter(({ key }) => key !== null && wanted(key.toString())) : records;
        return { records: kept.flatMap((record) => decodeEvent(record) ?? []), next: last.offset + 1, done: false };
      }
      from = fetched.next;
    }
    return { records: [], next: end, done: true };
  }

  /** Returns the first retained offset. */
  async #low(): Promise<number | undefined> {
    return (await this.kafka.ranges(PROFILE_EVENTS)).find(({ partition }) => partition === this.partition)?.low;
  }
}
