import { DecisionGate } from '../../shared/config/decision-gate';
import { type ConfigReader } from '../../shared/config/types';
import { decodeDelivery } from '../../shared/model/delivery';
import { createStepDedup } from '../../shared/model/step-dedup';
import { Backpressure } from '../../shared/service/backpressure';
import { AppError, messageOf } from '../../shared/service/errors';
import { type BatchProducer, type OpenRecord, type OutRecord, type DispatchResult } from '../../shared/kafka/port';
import { ATTEMPTS } from '../../shared/kafka/topics';
import { Attempt, AttemptContext, type AttemptOptions } from './attempt';
import { admit, handOver, isOwedOneTry, needsCurrentConfig } from './admission';
import { recordsOf, unreadableRecord, type DeliveryInHand, type StepOutcome } from './outcome';
import { finished, released, taken, unreadable } from './telemetry';

/**
 * Takes records, decides, and lets lanes perform.
 *
 * Invariants: a record is started, queued in a lane, or diverted before `onRecord` returns, which never waits. A record
 * is done only after Kafka has acknowledged its outcome: outcome first, offset afterwards.
 */

export interface Limits {
  /** limit for unfinished deliveries, bytes: their bodies and 4 KiB each */
  maxBytes: number;
  /** limit for outcomes that Kafka has not acknowledged, bytes */
  maxUnacknowledgedBytes: number;
}

export interface DelivererOptions extends AttemptOptions {
  config: Pick<ConfigReader, 'completeAt' | 'changes' | 'onComplete'>;
  producer: BatchProducer;
  /** for deliveries sent to tiers without an attempt, which are in no hurry; default: `producer` */
  parking?: BatchProducer;
  limits: Limits;
  /** called when there is room again after `busy` */
  onRoom: () => void;
  onFatal(error: unknown): void;
}

interface InHand {
  held: DeliveryInHand;
  record: OpenRecord;
}

export class Deliverer {
  readonly #attempts: AttemptContext;
  readonly #steps = createStepDedup();
  /** deliveries that `config` may decide differently once it is read further */
  readonly #undecided: DecisionGate<InHand>;
  #duplicatesDropped = 0;
  #bytes = 0;
  readonly #room: Backpressure;

  constructor(private readonly options: DelivererOptions) {
    // A process that cannot keep up reads no more, however much memory is free.
    this.#room = new Backpressure(() => (options.lanes.overloaded ? 1 : this.load), options.onRoom);
    this.#attempts = new AttemptContext(options, {
      concluded: (held, record, outcome, nowMs) => this.#finish({ held, record }, outcome, nowMs),
      late: (event) => void this.#append([event]).catch(() => undefined),
      again: (held, record) =>
        record.isRevoking ? this.#handBack({ held, record }) : this.#undecided.offer({ held, record }),
    });
    this.#undecided = new DecisionGate(
      options.config,
      (taken, { current }) => this.#admit(taken, current),
      (error) => options.onFatal(error),
    );
  }

  /** Number of records dropped because their delivery's step was already taken. */
  get duplicatesDropped(): number {
    return this.#duplicatesDropped;
  }

  /** Fill of each limit: 0 to 1, and a little more. */
  get fill(): { bodies: number; outcomes: number } {
    const { limits, producer, parking } = this.options;
    const pendingBytes = producer.pendingBytes + (parking?.pendingBytes ?? 0);
    return {
      bodies: this.#bytes / limits.maxBytes,
      outcomes: pendingBytes / limits.maxUnacknowledgedBytes,
    };
  }

  /** Highest fill of the limits: 0 to 1, and a little more. */
  get load(): number {
    const { bodies, outcomes } = this.fill;
    return Math.max(bodies, outcomes);
  }

  onRecord(record: OpenRecord): DispatchResult {
    if (!this.#room.accepts()) return 'busy';
    const decoded = decodeDelivery(record.headers);
    if (decoded.kind === 'newer') {
      const { format } = decoded;
      this.options.onFatal(
        new AppError(
          'newer_format',
          `a delivery has format ${format}, which this version does not know: upgrade it first`,
        ),
      );
      return 'busy';
    }
    if (decoded.kind === 'unreadable') {
      this.#setAside(record, decoded.why);
      return 'accepted';
    }
    const nowMs = this.#nowMs();
    if (this.#steps.isDuplicateStep(record, nowMs)) {
      const { id, attempt, hop } = decoded.delivery;
      this.options.log.debug({ delivery: id, attempt, hop, offset: record.offset }, 'delivery.duplicate_step_dropped');
      this.#duplicatesDropped++;
      record.done();
      return 'accepted';
    }
    // Copy the body: the value is a slice of a whole fetch, which a delivery could keep in memory for seconds.
    const body = Buffer.from(record.value ?? '');
    const { delivery } = decoded;
    if (isOwedOneTry(delivery, nowMs)) delivery.final = true;
    const held: DeliveryInHand = {
      delivery,
      key: record.key?.toString() ?? null,
      body,
      record: { topic: record.topic, partition: record.partition, offset: record.offset },
    };
    this.#bytes += sizeOf(held);
    taken(held);
    this.#undecided.offer({ held, record });
    return 'accepted';
  }

  /** Hands back the deliveries of revoked records that wait in lanes and have not begun. */
  onRevoking(): void {
    this.options.lanes.clear();
    this.#undecided.release((taken) => {
      const { isRevoking } = taken.record;
      if (isRevoking) this.#handBack(taken);
      return isRevoking;
    });
  }

  /**
   * @param current true if `config` is read up to the time of the record. @returns false if the delivery must wait for
   * that
   */
  #admit({ held, record }: InHand, current: boolean): boolean {
    const timing = this.#attempts.timing();
    const lookup = this.options.targets.lookup(held.delivery.destinationId);
    const admission = admit(held.delivery, lookup, timing);
    if (!current && needsCurrentConfig(held.delivery, lookup, admission)) return false;
    if (admission.kind === 'try') new Attempt(this.#attempts, held, record).start(admission.open);
    else this.#finish({ held, record }, admission, timing.nowMs);
    return true;
  }

  /**
   * Hands the record back to its next owner. If that is not possible any more, sends the delivery through the shortest
   * tier.
   */
  #handBack({ held, record }: InHand): void {
    if (record.handBack()) {
      released(held);
      this.#bytes -= sizeOf(held);
      return;
    }
    const timing = this.#attempts.timing();
    this.#finish({ held, record }, handOver(timing), timing.nowMs);
  }

  #finish(taken: InHand, outcome: StepOutcome, nowMs: number): void {
    const { held } = taken;
    if (held.traced) held.traced.concludedAt = performance.now();
    this.#write(taken, outcome, recordsOf(held, outcome, nowMs));
  }

  #write(taken: InHand, outcome: StepOutcome, records: OutRecord[]): void {
    const { held, record } = taken;
    const { producer, parking = producer } = this.options;
    this.#append(records, outcome.kind === 'diverted' ? parking : producer).then(
      () => {
        finished(this.options.log, held, outcome, this.#nowMs());
        this.#bytes -= sizeOf(held);
        record.done();
        this.makeRoom();
      },
      (error: unknown) => {
        // A stopping process refuses writes for the moment: the record stays open, and its next owner reads it again.
        if (!(error instanceof AppError) || error.retriable) return;
        // Kafka refuses a record for good if an event is too large. The delivery continues without its events.
        const rest = records.filter(({ topic }) => topic !== ATTEMPTS);
        if (rest.length < records.length) this.#write(taken, outcome, rest);
      },
    );
  }

  #append(records: OutRecord[], producer = this.options.producer): Promise<void> {
    const appended = producer.send(records);
    appended.catch((error: unknown) => {
      this.options.log.error({ reason: messageOf(error) }, 'outcome.not_recorded');
    });
    return appended;
  }

  #setAside(record: OpenRecord, why: string): void {
    const { topic, partition, offset } = record;
    this.options.log.error({ topic, partition, offset, reason: why }, 'delivery.unreadable');
    unreadable();
    this.#append([unreadableRecord(record, why)]).then(
      () => record.done(),
      () => undefined,
    );
  }

  /**
   * Resumes refused partitions once there is room. A timer calls it too, because no event marks the end of an overload.
   */
  makeRoom(): void {
    this.#room.resumeAtHalf();
  }

  #nowMs(): number {
    return this.#attempts.time.brokerMs();
  }
}

/** Memory of an unfinished delivery beside its body: headers, attempt, job and request. */
const IN_HAND_BYTES = 4 * 1024;

function sizeOf({ body }: DeliveryInHand): number {
  return IN_HAND_BYTES + body.length;
}
