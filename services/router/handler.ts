import { type ConfigReader } from '../../shared/config/view';
import { type RejectedRecord } from '../../shared/domain/rejected';
import { createSeen, sighting, type Sighting } from '../../shared/domain/seen';
import { type Head, readHead } from '../../shared/domain/message-record';
import { AppError, messageOf } from '../../shared/errors';
import { type Appender, type InRecord, type OpenRecord, type OutRecord, type Verdict } from '../../shared/kafka/port';
import { newerFormat, remember } from '../../shared/kafka/recall';
import { REJECTED } from '../../shared/kafka/topics';
import { type Log } from '../../shared/telemetry/log';
import { decide, type Decision } from './decide';
import { Pending } from './pending';
import { Sources } from './sources';
import { drops, watchFilters, watchRouting } from './watch';

/**
 * Turns messages into deliveries.
 *
 * Invariant: a record is done only when Kafka has acknowledged all that came of it: its deliveries, or the note of why
 * there can be none. What is in between is bounded; beyond it partitions wait.
 *
 * A message is a copy once the first one's output is acknowledged. One that is read before that waits for it, its record
 * open: dropped at once, both would be lost with this process; routed at once, both would be delivered.
 *
 * The memory of messages routed is filled again at start from `messages` itself (`recall`). What is recalled and was not
 * routed yet is no duplicate of itself: it stands at the same offset, and a copy behind it may go, since it will be routed.
 */
export interface RouterOptions {
  config: Pick<ConfigReader, 'source' | 'destinationsOf' | 'refresh'>;
  appender: Appender;
  windowMs: number;
  now: () => number;
  log: Log;
  /** partitions that were refused may be read again */
  onRoom: () => void;
  /** this process must not go on */
  onFatal: (error: unknown) => void;
}

/** Output not yet acknowledged: about a second's worth at full speed. */
const MAX_PENDING_BYTES = 16 * 1024 * 1024;
/** Copies that wait, about 1 KB each. */
const MAX_COPIES = 20_000;
/** Of a record that cannot be read the debugger needs the beginning only. */
const KEPT_TEXT_LENGTH = 4_096;
const UNREADABLE = 'unreadable_message';

/** A record and what it said while it was offered. */
interface Met {
  record: OpenRecord;
  head: Head;
  value: Buffer | null;
  sighting: Sighting;
}

export class Router {
  /** since the start of the process */
  readonly counts = { routed: 0, deliveries: 0, duplicates: 0, dropped: 0, rejected: 0 };
  readonly #seen = createSeen();
  readonly #pending = new Pending<Met>();
  readonly #sources: Sources;
  #refused = false;
  #failed = false;

  constructor(private readonly options: RouterOptions) {
    this.#sources = new Sources(options.config);
  }

  /** Remembers a record that was read back, routed or not. */
  recall(record: InRecord): void {
    remember(this.#seen, record);
  }

  onRecord(record: OpenRecord): Verdict {
    if (this.#failed) return 'full';
    if (this.options.appender.pendingBytes >= MAX_PENDING_BYTES || this.#pending.waiting >= MAX_COPIES) {
      this.#refused = true;
      return 'full';
    }
    const head = readHead(record.headers);
    switch (head.kind) {
      case 'newer':
        return this.#stop(record, head.format);
      case 'rejected':
        this.#reject(record, { source: record.headers.source ?? '', value: record.value }, head.reason);
        return 'taken';
      case 'message':
        return this.#route(record, head);
    }
  }

  #route(record: OpenRecord, head: Head): Verdict {
    const { now } = this.options;
    const seenAs = sighting(head.sourceId, head.messageId, record.partition, record.offset);
    const met: Met = { record, head, value: record.value, sighting: seenAs };
    if (this.#seen.isDuplicate(met.sighting, now())) {
      this.#dropCopy(met);
      return 'taken';
    }
    if (this.#pending.waits(met.sighting, met)) return 'taken';
    const decision = this.#decide(met);
    if (decision.kind === 'unknown_source' && !this.#sources.isGone(head.sourceId)) {
      return { againAtMs: now() + Sources.LOOK_AGAIN_MS };
    }
    this.#perform(met, decision);
    return 'taken';
  }

  #perform(met: Met, decision: Decision): void {
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
  #decide({ head, value }: Met): Decision {
    try {
      return decide(head, value, this.options);
    } catch (error) {
      return { kind: 'rejected', reason: `routing it failed: ${messageOf(error)}` };
    }
  }

  #deliver(met: Met, records: OutRecord[]): void {
    this.#pending.begin(met.sighting);
    const routed = watchRouting(met.record, met.head, records.length);
    this.options.appender.append(records).then(
      () => {
        this.counts.routed++;
        this.counts.deliveries += records.length;
        routed?.();
        this.#seen.remember(met.sighting, this.options.now());
        for (const copy of this.#pending.end(met.sighting)) this.#dropCopy(copy);
        this.#finish(met.record);
      },
      (error: unknown) => {
        const copies = this.#pending.end(met.sighting);
        // A stopping process refuses for the moment: the records stay open, and the next process reads them again.
        if (error instanceof AppError && error.retriable) return;
        this.#reject(met.record, whatOf(met), messageOf(error));
        // The next of them is the first now. (Their source was known a moment ago: where it is not any more, it is gone.)
        for (const copy of copies) {
          if (!this.#pending.waits(copy.sighting, copy)) this.#perform(copy, this.#decide(copy));
        }
      },
    );
  }

  #dropCopy({ record, head }: Met): void {
    this.counts.duplicates++;
    this.options.log.debug({ source: head.sourceId, message: head.messageId }, 'message.duplicate');
    record.done();
  }

  #drop({ record, head }: Met, reason: keyof typeof drops): void {
    this.counts.dropped++;
    drops[reason].value++;
    this.options.log.debug({ source: head.sourceId, message: head.messageId, reason }, 'message.dropped');
    record.done();
  }

  #reject(record: OpenRecord, what: What, reason: string): void {
    const { partition, offset } = record;
    this.counts.rejected++;
    this.options.log.warn({ partition, offset, reason }, 'message.rejected');
    const append = this.options.appender.append([rejectedRecord(record, what, reason, this.options.now())]);
    // Refused only by a stopping process: the record stays open.
    append
      .then(() => this.#finish(record))
      .catch((error: unknown) => {
        this.options.log.warn({ partition, offset, reason: messageOf(error) }, 'message.left_open');
      });
  }

  #finish(record: OpenRecord): void {
    record.done();
    if (this.#refused && this.options.appender.pendingBytes < MAX_PENDING_BYTES / 2) {
      this.#refused = false;
      this.options.onRoom();
    }
  }

  #stop(record: OpenRecord, format: string): Verdict {
    this.#failed = true;
    this.options.onFatal(newerFormat(record, format, 'this router'));
    return 'full';
  }
}

/** What is kept of a record that goes aside. */
interface What {
  source: string;
  value: Buffer | null;
}

function whatOf({ head, value }: Met): What {
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
