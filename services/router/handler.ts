import { type Knowledge, DecisionGate } from '../../shared/config/decision-gate';
import { type ConfigReader, type Entry } from '../../shared/config/types';
import { type Source } from '../../shared/model/config';
import { type RejectedRecord } from '../../shared/model/rejected-calls';
import { createDedupWindow, messageRef, type MessageRef } from '../../shared/model/dedup-window';
import { type MessageHeaders, readMessageHeaders } from '../../shared/model/message-codec';
import { AppError, messageOf } from '../../shared/service/errors';
import {
  type BatchProducer,
  type InRecord,
  type OpenRecord,
  type OutRecord,
  type DispatchResult,
} from '../../shared/kafka/port';
import { newerFormat, rememberMessage } from '../../shared/kafka/dedup-warmup';
import { REJECTED } from '../../shared/kafka/topics';
import { type Log } from '../../shared/telemetry/log';
import { decide, type Decision } from './decide';
import { Deferrals, type Doubt } from './deferrals';
import { InFlightMessages } from './in-flight';
import { drops, watchFilters, watchRouting } from './telemetry';

/**
 * Turns messages into deliveries.
 *
 * Invariant: a record is done only when Kafka has acknowledged all that came of it: its deliveries, or the note of why
 * there can be none. What is in between is bounded; beyond it partitions wait.
 *
 * A message is a copy once the first one's output is acknowledged. One that is read before that waits for it, its record
 * open: dropped at once, both would be lost with this process; routed at once, both would be delivered.
 *
 * A message that goes nowhere is dropped only by a `config` that is known as of the time when the message was read. Until
 * then it is held with its record open, and others of its partition pass. What cannot be held is deferred (deferrals.ts).
 *
 * The memory of messages routed is filled again at start from `messages` itself (`recall`). What is recalled and was not
 * routed yet is no duplicate of itself: it stands at the same offset, and a copy behind it may go, since it will be routed.
 */
export interface RouterOptions {
  config: Pick<ConfigReader, 'source' | 'destinationsOf' | 'isUnreadable' | 'completeAt' | 'changes' | 'onComplete'>;
  producer: BatchProducer;
  windowMs: number;
  now: () => number;
  log: Log;
  /** partitions that were refused may be read again */
  onRoom: () => void;
  /** records that were deferred can be decided now: read them again */
  onDecidable: () => void;
  /** this process must not go on */
  onFatal: (error: unknown) => void;
}

/** Output not yet acknowledged: about a second's worth at full speed. */
const MAX_PENDING_BYTES = 16 * 1024 * 1024;
/** Copies that wait, and messages that are held for `config`: so many of each, about 1 KB each. */
const MAX_WAITING = 20_000;
/** A reader proves ten times a second that it knows all of `config`: a message that is held for longer may be held for minutes. */
const BEHIND_MS = 2_000;
/** Until then partitions wait where too many are held. */
const HELD_AGAIN_MS = 100;
/** Of a record that cannot be read the debugger needs the beginning only. */
const KEPT_TEXT_LENGTH = 4_096;
const UNREADABLE = 'unreadable_message';

/** A record and what it said while it was offered. */
interface Incoming {
  record: OpenRecord;
  head: MessageHeaders;
  value: Buffer | null;
  sighting: MessageRef;
  /** what it was decided to be last, while it is held */
  decision?: Decision;
}

export class Router {
  /** since the start of the process */
  readonly counts = { routed: 0, deliveries: 0, duplicates: 0, dropped: 0, rejected: 0 };
  readonly #seen = createDedupWindow();
  readonly #inFlight = new InFlightMessages<Incoming>();
  readonly #undecided: DecisionGate<Incoming>;
  readonly #deferrals: Deferrals;
  #refused = false;
  #failed = false;

  constructor(private readonly options: RouterOptions) {
    const decide = (met: Incoming, knowledge: Knowledge) => this.#route(met, knowledge);
    this.#undecided = new DecisionGate(options.config, decide, options.onFatal);
    // It looks after #undecided has looked, which may have let go of what it held.
    this.#deferrals = new Deferrals(options, () => this.#undecided.size < MAX_WAITING / 2);
  }

  /** Remembers a record that was read back, routed or not. */
  warm(record: InRecord): void {
    rememberMessage(this.#seen, record);
  }

  onRecord(record: OpenRecord): DispatchResult {
    if (this.#failed) return 'busy';
    if (this.options.producer.pendingBytes >= MAX_PENDING_BYTES || this.#inFlight.waiting >= MAX_WAITING) {
      this.#refused = true;
      return 'busy';
    }
    if (this.#undecided.size >= MAX_WAITING && this.#undecided.oldestMs < BEHIND_MS)
      return { againInMs: HELD_AGAIN_MS };
    const head = readMessageHeaders(record.headers);
    switch (head.kind) {
      case 'newer':
        return this.#stop(record, head.format);
      case 'rejected':
        this.#reject(record, { source: record.headers.source ?? '', value: record.value }, head.reason);
        return 'accepted';
      case 'message':
        this.#undecided.offer(this.#meet(record, head));
        return 'accepted';
    }
  }

  /** How many messages are held in memory until `config` is known, and how long the oldest is. */
  get held(): { count: number; oldestMs: number } {
    return { count: this.#undecided.size, oldestMs: this.#undecided.oldestMs };
  }

  /** Some records are leaving: of those, what waits for `config` is given back. */
  onRevoking(): void {
    this.#undecided.release(({ record }) => {
      if (!record.isRevoking) return false;
      // A few records that are routed twice, where the commit has no room to name them, cost less than a partition that
      // cannot move until `config` is read.
      if (!record.handBack()) record.defer();
      return true;
    });
  }

  #meet(record: OpenRecord, head: MessageHeaders): Incoming {
    head.appendedAt = record.timestampMs;
    const seenAs = messageRef(head.sourceId, head.messageId, record.partition, record.offset);
    return { record, head, value: record.value, sighting: seenAs };
  }

  /** @returns false where it is held: it goes nowhere by a `config` that may be behind */
  #route(met: Incoming, { current, changed }: Knowledge): boolean {
    if (changed || !met.decision) {
      if (this.#seen.isDuplicate(met.sighting, this.options.now())) {
        this.#dropCopy(met);
        return true;
      }
      if (this.#inFlight.waits(met.sighting, met)) return true;
      met.decision = this.#decide(met);
    }
    const { decision } = met;
    const doubt = this.#doubt(met.head, decision, current);
    if (doubt === undefined) {
      this.#perform(met, decision);
    } else if (doubt === 'source_unreadable' || this.#undecided.size >= MAX_WAITING) {
      this.#deferrals.defer(met.record, met.head.sourceId, doubt);
    } else {
      // A slice would keep the whole fetch in memory.
      if (changed) met.value &&= Buffer.from(met.value);
      return false;
    }
    return true;
  }

  /** Returns why a message that goes nowhere by what is known must not be dropped yet. */
  #doubt({ sourceId }: MessageHeaders, decision: Decision, current: boolean): Doubt | undefined {
    if (decision.kind !== 'unknown_source' && decision.kind !== 'dropped') return undefined;
    const { config } = this.options;
    // A newer router can read the source: its messages wait for that one.
    if (config.isUnreadable('source', sourceId) && isOfSource(decision, config.source(sourceId))) {
      return 'source_unreadable';
    }
    return current ? undefined : 'config_behind';
  }

  #perform(met: Incoming, decision: Decision): void {
    switch (decision.kind) {
      case 'unknown_source':
        return this.#drop(met, 'unknown_source');
      case 'dropped':
        watchFilters(decision.filters);
        return this.#drop(met, decision.reason);
      case 'rejected':
        return this.#reject(met.record, whatOf(met), decision.reason);
      case 'deliver':
        watchFilters(decision.filters);
        return this.#deliver(met, decision.records);
    }
  }

  /** Whatever a record makes throw is its own fault: the partition goes on without it. */
  #decide({ head, value }: Incoming): Decision {
    try {
      return decide(head, value, this.options);
    } catch (error) {
      return { kind: 'rejected', reason: `routing it failed: ${messageOf(error)}` };
    }
  }

  #deliver(met: Incoming, records: OutRecord[]): void {
    this.#inFlight.begin(met.sighting);
    const routed = watchRouting(met.record, met.head, records.length);
    this.options.producer.send(records).then(
      () => {
        this.counts.routed++;
        this.counts.deliveries += records.length;
        routed?.();
        this.#seen.remember(met.sighting, this.options.now());
        for (const copy of this.#inFlight.end(met.sighting)) this.#dropCopy(copy);
        this.#finish(met.record);
      },
      (error: unknown) => {
        const copies = this.#inFlight.end(met.sighting);
        // A stopping process refuses for the moment: the records stay open, and the next process reads them again.
        if (error instanceof AppError && error.retriable) return;
        this.#reject(met.record, whatOf(met), messageOf(error));
        // The next of them is the first now.
        for (const copy of copies) this.#undecided.offer(copy);
      },
    );
  }

  #dropCopy({ record, head }: Incoming): void {
    this.counts.duplicates++;
    this.options.log.debug({ source: head.sourceId, message: head.messageId }, 'message.duplicate');
    record.done();
  }

  #drop({ record, head }: Incoming, reason: keyof typeof drops): void {
    this.counts.dropped++;
    drops[reason].value++;
    this.options.log.debug({ source: head.sourceId, message: head.messageId, reason }, 'message.dropped');
    record.done();
  }

  #reject(record: OpenRecord, what: What, reason: string): void {
    const { partition, offset } = record;
    this.counts.rejected++;
    this.options.log.warn({ partition, offset, reason }, 'message.rejected');
    const append = this.options.producer.send([rejectedRecord(record, what, reason, this.options.now())]);
    // Refused by a stopping process, or for good by Kafka: the record stays open.
    append
      .then(() => this.#finish(record))
      .catch((error: unknown) => {
        this.options.log.warn({ partition, offset, reason: messageOf(error) }, 'message.left_open');
      });
  }

  #finish(record: OpenRecord): void {
    record.done();
    this.#makeRoom();
  }

  #makeRoom(): void {
    if (this.#inFlight.waiting >= MAX_WAITING) return;
    if (this.#refused && this.options.producer.pendingBytes < MAX_PENDING_BYTES / 2) {
      this.#refused = false;
      this.options.onRoom();
    }
  }

  #stop(record: OpenRecord, format: string): DispatchResult {
    this.#failed = true;
    this.options.onFatal(newerFormat(record, format, 'this router'));
    return 'busy';
  }
}

/** Whether it is the source that keeps a message from going anywhere. */
function isOfSource(decision: Decision, source: Entry<Source> | undefined): boolean {
  return !source?.data.enabled || (decision.kind === 'dropped' && decision.reason === 'blocked');
}

/** What is kept of a record that goes aside. */
interface What {
  source: string;
  value: Buffer | null;
}

function whatOf({ head, value }: Incoming): What {
  return { source: head.sourceId, value };
}

function rejectedRecord(record: OpenRecord, { source, value: kept }: What, reason: string, nowMs: number): OutRecord {
  const text = kept?.toString() ?? '';
  const value: RejectedRecord = {
    at: new Date(nowMs).toISOString(),
    source,
    code: UNREADABLE,
    message: `A record of the topic messages (partition ${record.partition}, offset ${record.offset}) was set aside: ${reason}.`,
    call: text.slice(0, KEPT_TEXT_LENGTH),
    ...(text.length > KEPT_TEXT_LENGTH ? { truncated: true } : {}),
  };
  return { topic: REJECTED, key: source, value: JSON.stringify(value), headers: { format: '1', source } };
}
