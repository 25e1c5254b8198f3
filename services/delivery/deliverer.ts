import { bothKnown, DecisionGate, type GateConfig } from '../../shared/config/decision-gate';
import { decodeDelivery, type Delivery } from '../../shared/model/delivery';
import { TOO_LARGE } from '../../shared/model/reasons';
import { type RecoveredReason } from '../../shared/model/recall';
import { createStepDedup } from '../../shared/model/dedup-window';
import { sendFirst } from '../../shared/kafka/send-each';
import { unreadableLetter } from '../../shared/render/unreadable';
import { isRefused, isWithdrawn, messageOf, newerFormat } from '../../shared/runtime/errors';
import { Backpressure } from '../../shared/runtime/load-limits';
import {
  type BatchProducer,
  type OpenRecord,
  type Restart,
  type OutRecord,
  type DispatchResult,
} from '../../shared/kafka/port';
import { ATTEMPTS } from '../../shared/kafka/topics';
import { type Log } from '../../shared/telemetry/log';
import {
  type Admission,
  admit,
  handOver,
  isOwedOneTry,
  isRequested,
  needsCurrentConfig,
  waitForConfig,
} from './decisions/admission';
import { isOlderCall } from './decisions/deletion';
import { AttemptLog } from './telemetry/attempt-log';
import { Attempt } from './attempt';
import { AttemptContext, type AttemptOptions, type OpenDelivery, sizeOf } from './attempt-context';
import { nextTopic, recordsOf, refusedRecords, type Disposition } from './decisions/disposition';
import { shownRecovery } from './recoveries';
import { urlDisabledRecord } from './decisions/side-events';
import { isPlainSuccess, SuccessRows } from './success-rows';
import * as telemetry from './telemetry/telemetry';

/**
 * A delivery's step, from the record that holds it to the records that follow, read downwards:
 *
 * - taken (`onRecord`, `#take`): the record is read, and the delivery is in hand
 * - admitted (`#admit`): it may be tried, or its step ends here
 * - attempted (attempt.ts): its requests are sent at once, or started by their lanes after a wait;
 *   `#attempted` receives the result
 * - concluded (`#conclude`): its disposition is known
 * - recorded (`#record`, `#recorded`): Kafka has acknowledged its records
 *
 * Invariants: a record is started, queued in a lane, or diverted before `onRecord` returns, which
 * never waits. A record is done only after Kafka has acknowledged the records of its step: records
 * first, offset afterwards.
 */

export interface Limits {
  /** limit for unfinished deliveries, bytes: their bodies and 4 KiB each */
  maxBytes: number;
  /** limit for records that Kafka has not acknowledged, bytes */
  maxUnacknowledgedBytes: number;
}

export interface DelivererOptions extends AttemptOptions {
  config: GateConfig;
  producer: BatchProducer;
  /** for deliveries sent to tiers without an attempt, which are in no hurry; default: `producer` */
  divertProducer?: BatchProducer;
  limits: Limits;
  log: Log;
  /** called when there is room again after `busy` */
  onRoom: () => void;
  /** called when a delivery that was parked is delivered, with the ids of its webhooks */
  onRecovered?: (destinationId: string, reason: RecoveredReason, urls: readonly string[]) => void;
  onFatal(error: unknown): void;
}

/** Part of the memory for deliveries that those of one destination may take while undecided. */
const UNDECIDED_PART = 1 / 16;

const ROOM_EVERY_MS = 50;
/**
 * An idle reader of deletions proves only every few seconds that it knows them all. While
 * deliveries are in hand it proves it more often: else one that waited in a lane would leave its
 * place there, until the next proof.
 */
const PROVE_EVERY_MS = 1_000;

export class Deliverer {
  readonly #attempts: AttemptContext;
  readonly #steps = createStepDedup();
  readonly #rows: SuccessRows;
  /** deliveries that `config` or deletions may decide differently once they are read further */
  readonly #undecided: DecisionGate<OpenDelivery>;
  readonly #room: Backpressure;
  readonly #attemptLog: AttemptLog;
  #stopsPolling: (() => void) | undefined;
  #stopsProving: (() => void) | undefined;
  #duplicatesDropped = 0;
  #bytes = 0;

  constructor(private readonly options: DelivererOptions) {
    this.#attemptLog = new AttemptLog(options.log);
    // A process that cannot keep up reads no more, however much memory is free.
    this.#room = new Backpressure(() => (options.lanes.overloaded ? 1 : this.load), options.onRoom);
    this.#attempts = new AttemptContext(options, {
      attempted: (inHand, disposition, nowMs) => this.#attempted(inHand, disposition, nowMs),
      event: (event) => void this.#append([event]).catch(() => undefined),
      disabled: (endpoint, reason, nowMs) => {
        telemetry.urlDisabled(options.log, endpoint, reason);
        this.#append([urlDisabledRecord(endpoint, reason, nowMs)]).catch(() => undefined);
      },
    });
    this.#rows = new SuccessRows(this.#attempts.time, {
      send: (records) => this.#append(records),
      written: ({ inHand, disposition }) => this.#recorded(inHand, disposition),
      refused: ({ inHand, disposition, atMs }) =>
        this.#record(inHand, disposition, recordsOf(inHand, disposition, atMs)),
    });
    this.#undecided = new DecisionGate<OpenDelivery>(
      bothKnown(options.config, options.deletions),
      (inHand, { current }) => this.#admit(inHand, current),
      (error) => options.onFatal(error),
      {
        kindOf: ({ delivery }) => delivery.destinationId,
        sizeOf,
        most: options.limits.maxBytes * UNDECIDED_PART,
      },
    );
  }

  onRecord(record: OpenRecord): DispatchResult {
    if (!this.#room.accepts()) {
      this.#pollRoom();
      this.#attempts.batches.hurry();
      return 'busy';
    }
    const decoded = decodeDelivery(record.headers);
    switch (decoded.kind) {
      case 'newer':
        this.options.onFatal(newerFormat(record, decoded.format, 'this delivery process'));
        return 'busy';
      case 'unreadable':
        this.#setAside(record, decoded.why);
        return 'accepted';
      case 'delivery':
        this.#take(record, decoded.delivery);
        return 'accepted';
    }
  }

  #take(record: OpenRecord, delivery: Delivery): void {
    if (this.#steps.isDuplicateStep(record, this.#attempts.time.steadyMs())) {
      const { id, attempt, hop } = delivery;
      this.options.log.debug(
        { delivery: id, attempt, hop, offset: record.offset },
        'delivery.duplicate_step_dropped',
      );
      this.#duplicatesDropped++;
      record.done();
      return;
    }
    // A user sends it before the time that its last wait was for.
    if (isRequested(delivery)) delete delivery.notBefore;
    // Copy the body: the value is a slice of a whole fetch, which a delivery could keep in memory
    // for seconds.
    const body = Buffer.from(record.value ?? '');
    const inHand: OpenDelivery = {
      delivery,
      key: record.key?.toString() ?? null,
      body,
      record,
      appendedMs: record.timestampMs,
    };
    this.#bytes += sizeOf(inHand);
    this.#proveDeletions();
    telemetry.deliveryTaken(inHand);
    this.#decide(inHand);
  }

  /**
   * Admits the delivery, or holds it until `config` and deletions are known, or a `delete` until it
   * may be sent. If too many of a destination are held, the others wait in tiers: they must leave
   * memory to other destinations.
   */
  #decide(inHand: OpenDelivery): void {
    if (this.#admit(inHand, false) || this.#undecided.hold(inHand)) return;
    const { delivery } = inHand;
    const timing = this.#attempts.timing();
    const waitsForUser = delivery.type === 'delete' || this.#attempts.standingOf(inHand) !== 'free';
    const wait = waitsForUser ? handOver(timing) : waitForConfig(delivery, timing);
    this.#conclude(inHand, wait, timing.nowMs);
  }

  /**
   * @param current true if `config` is read up to the time of the record
   * @returns false if the delivery must wait for that, or because of a deletion
   */
  #admit(inHand: OpenDelivery, current: boolean): boolean {
    const { delivery } = inHand;
    const timing = this.#attempts.timing();
    const standing = this.#attempts.standingOf(inHand);
    if (standing === 'deleted') {
      this.#conclude(inHand, { kind: 'cancelled', reason: 'user_deleted' }, timing.nowMs);
      return true;
    }
    // Its window may have ended while it was held here.
    if (isOwedOneTry(delivery, timing.nowMs)) delivery.final = true;
    const lookup = this.options.destinations.lookup(delivery.destinationId);
    const admission = admit(delivery, lookup, timing, this.#attempts.disabledUrls.has);
    if (!current && needsCurrentConfig(delivery, lookup, admission)) return false;
    if (admission.kind === 'try' && standing !== 'free') return false;
    if (delivery.type === 'delete' && this.#isSendingOlderCall(delivery, admission)) return false;
    if (admission.kind === 'try') new Attempt(this.#attempts, inHand, admission).post();
    else this.#conclude(inHand, admission, timing.nowMs);
    return true;
  }

  /** Returns whether a request for an older call of a deleted user is open to a URL. */
  #isSendingOlderCall(ofDelete: Delivery, admission: Admission): boolean {
    if (admission.kind !== 'try') return false;
    const isOlder = (delivery: Delivery) => isOlderCall(delivery, ofDelete);
    return admission.open.some((endpoint) => this.options.lanes.of(endpoint).isSending(isOlder));
  }

  /** @param disposition undefined if nothing was sent, and the delivery must be decided again */
  #attempted(inHand: OpenDelivery, disposition: Disposition | undefined, nowMs: number): void {
    if (disposition) this.#conclude(inHand, disposition, nowMs);
    else if (inHand.record.isRevoking) this.#handBack(inHand);
    else this.#decide(inHand);
  }

  #conclude(inHand: OpenDelivery, disposition: Disposition, nowMs: number): void {
    // The next owner of the record may have delivered it, and decides what follows.
    if (inHand.record.isInDoubt && nextTopic(disposition) !== undefined) {
      this.#handBack(inHand);
      return;
    }
    telemetry.deliveryConcluded(this.#attemptLog, inHand, disposition, nowMs);
    const recovered = shownRecovery(inHand, disposition);
    if (recovered) {
      const urls = disposition.attempt?.urls.filter(({ outcome }) => outcome === 'delivered') ?? [];
      const ids = urls.map(({ url }) => url);
      this.options.onRecovered?.(inHand.delivery.destinationId, recovered, ids);
    }
    if (isPlainSuccess(inHand, disposition)) {
      this.#rows.add({ inHand, disposition, atMs: nowMs });
    } else this.#record(inHand, disposition, recordsOf(inHand, disposition, nowMs));
  }

  /**
   * Writes the records of a step. If the delivery goes on or dies here, none is written once
   * another process may own it, which then takes this step again, and may end it otherwise: this
   * process may have stood still.
   */
  #record(inHand: OpenDelivery, disposition: Disposition, records: OutRecord[]): void {
    const { producer, divertProducer = producer } = this.options;
    const next = records.find(({ topic }) => topic === nextTopic(disposition));
    if (next) {
      // Once one is withdrawn, so are the others. Once the next record may be written, none is: the
      // step must not be taken again.
      let isStepVoid = false;
      let mayBeWritten = false;
      const ask = () => (isStepVoid ||= inHand.record.isInDoubt);
      for (const record of records) record.isVoid = () => !mayBeWritten && ask();
      next.isVoid = () => {
        mayBeWritten = !ask();
        return !mayBeWritten;
      };
    }
    this.#append(records, disposition.kind === 'diverted' ? divertProducer : producer).then(
      () => this.#recorded(inHand, disposition),
      (error: unknown) => {
        if (isWithdrawn(error)) {
          this.#handBack(inHand);
          return;
        }
        if (!isRefused(error)) return;
        // Kafka refuses a record for good if an event is too large. The delivery continues without
        // its events.
        const rest = records.filter(({ topic }) => topic !== ATTEMPTS);
        if (rest.length < records.length) this.#record(inHand, disposition, rest);
        else this.#endRefused(inHand, disposition);
      },
    );
  }

  /** Ends a delivery whose next record Kafka refuses for good, so that it holds up no commit. */
  #endRefused(inHand: OpenDelivery, refused: Disposition): void {
    const dead: Disposition = { kind: 'dead', reason: TOO_LARGE };
    const { record, delivery } = inHand;
    const records = refusedRecords(inHand, refused, this.#nowMs());
    const withoutEvent = records.filter(({ topic }) => topic !== ATTEMPTS);
    this.#appendEnd(record, delivery.id, [records, withoutEvent]).then(
      () => this.#recorded(inHand, dead),
      // The producer stops: the record stays open.
      () => undefined,
    );
  }

  /**
   * Writes the end of a delivery in the first form that Kafka takes. If it refuses all of them,
   * only the log tells of it: the record would hold up its partition for ever.
   * @throws if the producer stops
   */
  async #appendEnd(
    { topic, partition, offset }: OpenRecord,
    delivery: string | undefined,
    forms: readonly OutRecord[][],
  ): Promise<void> {
    if (await sendFirst({ send: (records) => this.#append(records) }, forms)) return;
    this.options.log.error({ topic, partition, offset, delivery }, 'delivery.lost');
  }

  /** Kafka has acknowledged the records of a step. */
  #recorded(inHand: OpenDelivery, disposition: Disposition): void {
    telemetry.deliveryRecorded(this.options.log, inHand, disposition, this.#nowMs());
    this.#bytes -= sizeOf(inHand);
    inHand.record.done();
    this.#makeRoom();
  }

  #append(records: OutRecord[], producer = this.options.producer): Promise<void> {
    const appended = producer.send(records);
    appended.catch((error: unknown) => {
      if (isWithdrawn(error)) return;
      this.options.log.error({ reason: messageOf(error) }, 'outcome.not_recorded');
    });
    return appended;
  }

  #setAside(record: OpenRecord, why: string): void {
    const { topic, partition, offset } = record;
    this.options.log.error({ topic, partition, offset, reason: why }, 'delivery.unreadable');
    telemetry.recordUnreadable();
    const headers = record.headers as Record<string, string>;
    const copy = {
      key: record.key?.toString() ?? null,
      value: Buffer.from(record.value ?? ''),
      headers,
    };
    const letter = unreadableLetter(copy, why);
    const withoutBody = { ...letter, value: '' };
    this.#appendEnd(record, headers.delivery, [[letter], [withoutBody]]).then(
      () => record.done(),
      // The producer stops: the record stays open.
      () => undefined,
    );
  }

  /** Forgets the steps from an offset on, so that they are taken if they come again. */
  onRestart(restart: Restart): void {
    this.#steps.forget(restart);
  }

  /** Hands back the deliveries of revoked records that wait in lanes and have not begun. */
  onRevoking(): void {
    this.options.lanes.clear();
    this.#attempts.batches.release();
    this.#rows.flush();
    this.#undecided.release((inHand) => {
      const { isRevoking } = inHand.record;
      if (isRevoking) this.#handBack(inHand);
      return isRevoking;
    });
  }

  /** Resumes refused partitions once there is room. */
  #makeRoom(): void {
    this.#room.resumeAtHalf();
  }

  /** Polls for room while partitions are refused: no event marks the end of an overload. */
  #pollRoom(): void {
    this.#stopsPolling ??= this.#attempts.time.every(ROOM_EVERY_MS, () => {
      this.#makeRoom();
      if (!this.#room.hasRefused) this.#stopPolling();
    });
  }

  #stopPolling(): void {
    this.#stopsPolling?.();
    this.#stopsPolling = undefined;
  }

  #proveDeletions(): void {
    this.#stopsProving ??= this.#attempts.time.every(PROVE_EVERY_MS, () => {
      if (this.#bytes > 0) this.options.deletions.expectSoon();
      else this.#stopProving();
    });
  }

  #stopProving(): void {
    this.#stopsProving?.();
    this.#stopsProving = undefined;
  }

  /**
   * Hands the record back to its next owner. If that is not possible any more, sends the delivery
   * through the shortest tier.
   */
  #handBack(inHand: OpenDelivery): void {
    if (inHand.record.handBack()) {
      telemetry.deliveryHandedBack(inHand);
      this.#bytes -= sizeOf(inHand);
      return;
    }
    const timing = this.#attempts.timing();
    this.#conclude(inHand, handOver(timing), timing.nowMs);
  }

  /** Number of records dropped because their delivery's step was already taken. */
  get duplicatesDropped(): number {
    return this.#duplicatesDropped;
  }

  /** Fill of each limit: 0 to 1, and a little more. */
  get fill(): { bodies: number; outcomes: number } {
    return { bodies: this.#bodiesFill, outcomes: this.#outcomesFill };
  }

  /** Highest fill of the limits: 0 to 1, and a little more. */
  get load(): number {
    return Math.max(this.#bodiesFill, this.#outcomesFill);
  }

  get #bodiesFill(): number {
    return this.#bytes / this.options.limits.maxBytes;
  }

  get #outcomesFill(): number {
    const { limits, producer, divertProducer } = this.options;
    return (
      (producer.pendingBytes + (divertProducer?.pendingBytes ?? 0)) / limits.maxUnacknowledgedBytes
    );
  }

  /** Ends its timers and its log. */
  stop(): void {
    this.#stopPolling();
    this.#stopProving();
    this.#attemptLog.summarize();
  }

  #nowMs(): number {
    return this.#attempts.time.agreedMs();
  }
}
