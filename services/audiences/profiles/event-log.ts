import { type Kafka } from '../../../shared/kafka/port';
import { scan } from '../../../shared/kafka/scan';
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
    const section = { topic: PROFILE_EVENTS, partition: this.partition, from: offset, to: end, maxBytes: FETCH_BYTES };
    for await (const { records, next } of scan(this.kafka, section)) {
      if (records.length === 0) continue;
      const kept = wanted ? records.filter(({ key }) => key !== null && wanted(key.toString())) : records;
      return { records: kept.flatMap((record) => decodeEvent(record) ?? []), next, done: false };
    }
    return { records: [], next: end, done: true };
  }
}
