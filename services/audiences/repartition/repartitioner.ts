import { type ConfigReader } from '../../../shared/config/types';
import { parseMessage, readMessageHeaders } from '../../../shared/model/message-codec';
import { callHash } from '../../../shared/model/dedup-window';
import { Backpressure } from '../../../shared/runtime/load-limits';
import { isRetriable, messageOf, newerFormat } from '../../../shared/runtime/errors';
import {
  type BatchProducer,
  type Kafka,
  type OpenRecord,
  type DispatchResult,
} from '../../../shared/kafka/port';
import { nameOf } from '../../../shared/kafka/record-name';
import { endsOf } from '../../../shared/kafka/scan';
import { MESSAGES, PROFILE_EVENTS } from '../../../shared/kafka/topics';
import { type Log } from '../../../shared/telemetry/log';
import { isUser } from '../../../shared/model/profile-user';
import { DEFINITION_HEADER, messagesOrigin, encodeEvent, eventOf } from './event';

/**
 * Copies each message to the partition of its user. `messages` are keyed by source and user, and a
 * user has several sources. Calls that a client repeated are copied too: the reader of the user's
 * partition, where all of them come together, counts the first (`counted-calls.ts`).
 *
 * Invariant: a record is done only when Kafka has acknowledged the records made of it, and the
 * records made of one partition are appended in its order. Readers can therefore recognise
 * repetitions (`admit`).
 */
export interface RepartitionerOptions {
  config: Pick<ConfigReader, 'source'>;
  producer: BatchProducer;
  log: Log;
  /** refused partitions may be read again */
  onRoom: () => void;
  /** this process must stop */
  onFatal: (error: unknown) => void;
}

/** The consumer group that copies messages to their users' partitions. */
export const REPARTITION_GROUP = 'audiences';

/** Limit of unacknowledged bytes: about one second at full speed. */
const MAX_PENDING_BYTES = 8 * 1024 * 1024;

export class Repartitioner {
  /** since the start of the process */
  readonly counts = { copied: 0, skipped: 0, rejected: 0 };
  readonly #room: Backpressure;
  #failed = false;

  constructor(private readonly options: RepartitionerOptions) {
    this.#room = new Backpressure(
      () => options.producer.pendingBytes / MAX_PENDING_BYTES,
      options.onRoom,
    );
  }

  onRecord(record: OpenRecord): DispatchResult {
    const { config } = this.options;
    if (this.#failed || !this.#room.accepts()) return 'busy';
    const headers = readMessageHeaders(record.headers);
    if (headers.kind === 'newer') return this.#stop(record, headers.format);
    if (headers.kind === 'rejected') return this.#skip(record, 'rejected');
    // Messages that this service wrote itself; their definition may have been deleted since.
    if (record.headers[DEFINITION_HEADER] !== undefined) return this.#skip(record, 'skipped');
    const message = parseMessage(record.value);
    // The router rejects it.
    if (typeof message === 'string') return this.#skip(record, 'rejected');
    const found = eventOf(message, headers.sourceId);
    // Anybody with the public write key could take over any profile.
    if (
      found?.event.kind === 'alias' &&
      config.source(headers.sourceId)?.data.trust === 'browser'
    ) {
      return this.#skip(record, 'skipped');
    }
    if (!found || !isUser(found.user)) return this.#skip(record, 'skipped');
    if (found.event.kind === 'alias' && !isUser(found.event.to)) {
      return this.#skip(record, 'skipped');
    }
    const call = callHash(headers.sourceId, headers.messageId);
    this.#copy(record, found, { call, acceptedAt: headers.acceptedAt });
    return 'accepted';
  }

  #copy(
    record: OpenRecord,
    { user, event }: NonNullable<ReturnType<typeof eventOf>>,
    from: { call: string; acceptedAt: number },
  ): void {
    const { producer, log } = this.options;
    const { partition, offset } = record;
    const origin = { name: messagesOrigin(partition), ...nameOf(record) };
    const encoded = encodeEvent(event, { origin, ...from });
    producer.send([{ topic: PROFILE_EVENTS, key: user, ...encoded }]).then(
      () => {
        this.counts.copied++;
        record.done();
        this.#room.resumeAtHalf();
      },
      (error: unknown) => {
        // A stopping process refuses temporarily. The record stays open, and the next process reads
        // it again.
        if (isRetriable(error)) return;
        log.warn({ partition, offset, reason: messageOf(error) }, 'profile_event.rejected');
        this.#skip(record, 'rejected');
      },
    );
  }

  #skip(record: OpenRecord, why: 'skipped' | 'rejected'): DispatchResult {
    this.counts[why]++;
    record.done();
    return 'accepted';
  }

  #stop(record: OpenRecord, format: string): DispatchResult {
    this.#failed = true;
    this.options.onFatal(newerFormat(record, format, 'this service'));
    return 'busy';
  }
}

const READ_EVERY_MS = 500;

/**
 * Tracks how far messages have been copied to the profiles, with one look at the offsets for all
 * partitions of this process. A committed message has been acknowledged in `profiles.events`. A
 * reader that reaches the ends that this topic had afterwards has therefore counted it.
 */
export class RepartitionProgress {
  #committed: readonly number[] = [];
  #ends: readonly number[] = [];
  #messagesEnds: readonly number[] = [];
  #reading: Promise<void> | undefined;
  #readAt = -Infinity;

  constructor(
    private readonly kafka: Pick<Kafka, 'committed' | 'ranges'>,
    private readonly now: () => number,
  ) {}

  /**
   * Returns whether a partition that was read up to `next` contains everything before these ends of
   * `messages`.
   */
  covers(ends: readonly number[], partition: number, next: number): boolean {
    const end = this.#ends[partition];
    if (end === undefined || next < end) return false;
    // What is behind the present end was cut off, and is never copied.
    const isCopied = (messagesEnd: number, i: number) =>
      (this.#committed[i] ?? 0) >= Math.min(messagesEnd, this.#messagesEnds[i] ?? 0);
    return ends.every(isCopied);
  }

  /** Reads the offsets again, unless the last read was moments ago. @throws errors of Kafka */
  refresh(): Promise<void> {
    if (this.now() - this.#readAt < READ_EVERY_MS) return Promise.resolve();
    this.#reading ??= this.#read().finally(() => (this.#reading = undefined));
    return this.#reading;
  }

  messagesEnds(): Promise<number[]> {
    return endsOf(this.kafka, MESSAGES);
  }

  async #read(): Promise<void> {
    const committed = await this.kafka.committed(REPARTITION_GROUP, MESSAGES);
    // Read after the commits: everything that was committed is then below these ends.
    this.#ends = await endsOf(this.kafka, PROFILE_EVENTS);
    this.#messagesEnds = await this.messagesEnds();
    this.#committed = committed;
    this.#readAt = this.now();
  }
}
