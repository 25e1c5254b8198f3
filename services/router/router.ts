import {
  AT_FIRST,
  DecisionGate,
  type GateConfig,
  type Knowledge,
} from '../../shared/config/decision-gate';
import { type OnCostly } from '../../shared/cel/compile';
import { type ConfigReader } from '../../shared/config/types';
import { type DedupWindow, messageRef, type MessageRef } from '../../shared/model/dedup-window';
import { type MessageHeaders, readMessageHeaders } from '../../shared/model/message-codec';
import { Backpressure } from '../../shared/runtime/load-limits';
import { isRefused, isRetriable, messageOf, newerFormat } from '../../shared/runtime/errors';
import {
  type BatchProducer,
  type OpenRecord,
  type OutRecord,
  type Restart,
  type DispatchResult,
} from '../../shared/kafka/port';
import { allSent, sendFirst } from '../../shared/kafka/send-each';
import { type Log } from '../../shared/telemetry/log';
import {
  decide,
  type Decision,
  type Deliver,
  type Doubt,
  doubtOf,
  outputOf,
  refusedRecords,
  rejectedRecord,
  type SetAside,
} from './decide';
import { Deferrals } from './deferrals';
import { type EarlierMessages } from './earlier-messages';
import { LaterConfig } from './later-config';
import { HeldMessages } from './held-messages';
import { InFlightMessages } from './in-flight-messages';
import { drops, watchFilters, watchRouting, watchUnrendered } from './telemetry';

/**
 * Turns messages into deliveries.
 *
 * Invariant: a record is done only when Kafka has acknowledged all its output: its deliveries, or
 * the record of why there can be none. Unacknowledged output is bounded; at the bound, partitions
 * wait.
 *
 * A message counts as a duplicate once the output of the first copy is acknowledged. A copy that is
 * read before that waits with its record open. A copy dropped earlier could be lost together with
 * the first by a crash; a copy routed earlier would be delivered twice. A copy of a message that no
 * destination took is a duplicate, too: the next owner, which reads the message back, cannot tell.
 *
 * The router decides on at least the `config` that ingest knew (`later-config.ts`), and drops a
 * message without a destination only by a `config` that is complete up to the time when the message
 * was read. Until then it holds the message with its record open, and others of the partition pass.
 * Messages that it cannot hold are deferred (`deferrals.ts`).
 *
 * The deduplication window also holds messages that were read back (`earlier-messages.ts`). One of
 * them that was not routed yet is not taken for a duplicate, because it has the same offset. A
 * later copy may be dropped, because the first will be routed.
 */
export interface RouterOptions {
  config: GateConfig &
    Pick<
      ConfigReader,
      'position' | 'source' | 'destinationsOf' | 'isUnreadable' | 'unreadableDestinationsOf'
    >;
  producer: BatchProducer;
  /** the messages routed in the last hour */
  dedupWindow: DedupWindow;
  earlier: Pick<EarlierMessages, 'before' | 'forget'>;
  windowMs: number;
  now: () => number;
  log: Log;
  /** called when refused partitions may be read again */
  onRoom: () => void;
  /** called when deferred records can be decided and should be read again */
  onDecidable: () => void;
  /** called when this process must not continue */
  onFatal: (error: unknown) => void;
  /** called for each filter that takes much work */
  onCostlyFilter?: OnCostly;
}

/** Unacknowledged output: about one second at full speed. */
const MAX_PENDING_BYTES = 16 * 1024 * 1024;
/** Limit of waiting copies, and of messages held for `config`. */
const MAX_WAITING_BYTES = 32 * 1024 * 1024;
/** What each takes beside its value. */
const OVERHEAD_BYTES = 1_024;
/**
 * A reader confirms ten times a second that it has read all of `config`; a message held for longer
 * than this may be held for minutes.
 */
const BEHIND_MS = 2_000;
/** Pause of a partition while too many messages are held. */
const HELD_AGAIN_MS = 100;
/** Pause of a partition until the last minute before its first message was read back. */
const UNREAD_AGAIN_MS = 10;

/** A record with its parsed headers, its key and its value. */
interface Incoming {
  record: OpenRecord;
  head: MessageHeaders;
  key: Buffer | null;
  value: Buffer | null;
  ref: MessageRef;
  /** that it takes while it waits */
  bytes: number;
  /** the latest decision, while the message is held */
  decision?: Decision | undefined;
}

export class Router {
  /** since the start of the process */
  readonly counts = {
    routed: 0,
    deliveries: 0,
    duplicates: 0,
    dropped: 0,
    rejected: 0,
    unchecked: 0,
  };
  readonly #inFlight = new InFlightMessages<Incoming>();
  readonly #undecided: DecisionGate<Incoming>;
  readonly #held = new HeldMessages<Incoming>();
  readonly #deferrals: Deferrals;
  readonly #later: LaterConfig;
  readonly #room: Backpressure;
  #failed = false;

  constructor(private readonly options: RouterOptions) {
    const fill = () =>
      Math.max(
        options.producer.pendingBytes / MAX_PENDING_BYTES,
        this.#inFlight.waitingBytes / MAX_WAITING_BYTES,
      );
    this.#room = new Backpressure(fill, options.onRoom);
    this.#later = new LaterConfig(options.config);
    const route = (incoming: Incoming, knowledge: Knowledge) => this.#route(incoming, knowledge);
    this.#undecided = new DecisionGate(options.config, route, options.onFatal);
    // Registered after #undecided, which may release messages and so make room first.
    this.#deferrals = new Deferrals(options, () => this.#held.bytes < MAX_WAITING_BYTES / 2);
  }

  onRecord(record: OpenRecord): DispatchResult {
    if (this.#failed || !this.#room.accepts()) return 'busy';
    if (this.#isFull && this.#undecided.oldestMs < BEHIND_MS) {
      return { againInMs: HELD_AGAIN_MS };
    }
    const earlier = this.options.earlier.before(record);
    if (earlier === 'unread') return { againInMs: UNREAD_AGAIN_MS };
    const head = readMessageHeaders(record.headers);
    switch (head.kind) {
      case 'newer':
        this.#failed = true;
        this.options.onFatal(newerFormat(record, head.format, 'this router'));
        return 'busy';
      case 'rejected':
        this.#reject(
          record,
          { source: record.headers.source ?? '', value: record.value },
          head.reason,
        );
        return 'accepted';
      case 'message':
        if (earlier !== 'all') this.counts.unchecked++;
        this.#take(incomingOf(record, head));
        return 'accepted';
    }
  }

  /** No more messages can be held. */
  get #isFull(): boolean {
    return this.#held.bytes >= MAX_WAITING_BYTES;
  }

  /** Number of messages held in memory until `config` is known, and the wait of the oldest, ms. */
  get held(): { count: number; oldestMs: number } {
    return { count: this.#undecided.size, oldestMs: this.#undecided.oldestMs };
  }

  /**
   * Forgets the messages that the log may no longer hold: a client that got no answer sends them
   * again, and they must be routed.
   */
  onRestart({ partition, from }: Restart): void {
    this.options.dedupWindow.forget(partition, from);
    this.options.earlier.forget(partition);
  }

  /** Hands back the messages of revoked partitions that wait for `config`. */
  onRevoking(): void {
    this.#undecided.release((incoming) => {
      const { record } = incoming;
      if (!record.isRevoking) return false;
      this.#held.end(incoming);
      // If the commit metadata has no room for them, a few records are routed twice. That costs
      // less than a partition that cannot move until `config` is read.
      if (!record.handBack()) record.defer();
      return true;
    });
  }

  /** Routes a message, or holds it until `config` is known. */
  #take(incoming: Incoming): void {
    if (!this.#route(incoming, AT_FIRST)) this.#undecided.hold(incoming);
  }

  /**
   * @returns false if the message is held because `config` is behind: ingest knew more, or the
   *   message has no destination yet
   */
  #route(incoming: Incoming, knowledge: Knowledge): boolean {
    const isSettled = this.#settle(incoming, knowledge);
    if (isSettled) this.#held.end(incoming);
    else this.#held.add(incoming);
    return isSettled;
  }

  /** @returns false if the message must be held */
  #settle(incoming: Incoming, knowledge: Knowledge): boolean {
    const { head, ref } = incoming;
    if (this.options.dedupWindow.isDuplicate(ref, this.options.now())) {
      this.#dropCopy(incoming);
      return true;
    }
    if (this.#inFlight.holdCopy(ref, incoming)) return true;
    const isCopyOfDeferred = this.#deferrals.hasEarlier(ref);
    const decided =
      isCopyOfDeferred || this.#held.hasEarlier(incoming)
        ? 'config_behind'
        : this.#decideNow(incoming, knowledge);
    if (typeof decided !== 'string') {
      this.#perform(incoming, decided);
      return true;
    }
    const isBeyondBound = this.#isFull && !this.#held.has(incoming);
    if (decided !== 'config_behind' || isCopyOfDeferred || isBeyondBound) {
      this.#deferrals.defer(incoming, head.sourceId, decided);
      return true;
    }
    // Copied, because slices would keep the whole fetch in memory.
    if (knowledge.changed) {
      incoming.key &&= Buffer.from(incoming.key);
      incoming.value &&= Buffer.from(incoming.value);
    }
    return false;
  }

  /** @returns the decision, or the reason why there can be none yet */
  #decideNow(incoming: Incoming, { current, changed }: Knowledge): Decision | Doubt {
    const { head } = incoming;
    if (this.#later.isAwaited(head.configPosition, current)) {
      incoming.decision = undefined;
      return 'config_behind';
    }
    if (changed || !incoming.decision) incoming.decision = this.#decide(incoming);
    const { decision } = incoming;
    const { config } = this.options;
    return doubtOf(decision, head.sourceId, { config, current }) ?? decision;
  }

  #perform(incoming: Incoming, decision: Decision): void {
    switch (decision.kind) {
      // It is in doubt, so that `#route` defers it.
      case 'destination_unreadable':
        return;
      case 'unknown_source':
        return this.#drop(incoming, 'unknown_source');
      case 'dropped':
        watchFilters(decision.filters);
        return this.#drop(incoming, decision.reason);
      case 'rejected':
        return this.#reject(incoming.record, setAside(incoming), decision.reason);
      case 'deliver':
        watchFilters(decision.filters);
        return this.#deliver(incoming, decision);
    }
  }

  /** Rejects a record that makes routing throw, so that its partition continues. */
  #decide({ head, key, value }: Incoming): Decision {
    try {
      return decide(head, { key, value }, this.options);
    } catch (error) {
      return { kind: 'rejected', reason: `routing it failed: ${messageOf(error)}` };
    }
  }

  #deliver(incoming: Incoming, deliver: Deliver): void {
    const { records, unrendered } = deliver;
    this.#inFlight.add(incoming.ref);
    const routed = watchRouting(incoming.record, incoming.head, records.length);
    const ended = watchUnrendered(unrendered, this.options.log);
    this.#write(incoming.record, outputOf(incoming.record, deliver, this.options.now())).then(
      () => {
        this.counts.routed++;
        this.counts.deliveries += records.length;
        routed?.();
        ended?.();
        this.options.dedupWindow.remember(incoming.ref, this.options.now());
        for (const copy of this.#inFlight.end(incoming.ref)) this.#dropCopy(copy);
        this.#finish(incoming.record);
      },
      (error: unknown) => {
        const copies = this.#inFlight.end(incoming.ref);
        // The producer of a stopping process refuses: the records stay open, and the next process
        // reads them again.
        if (isRetriable(error)) return;
        this.#reject(incoming.record, setAside(incoming), messageOf(error));
        // The next copy becomes the first.
        for (const copy of copies) this.#take(copy);
      },
    );
  }

  /**
   * Writes each record by itself, so that Kafka refuses none for its neighbour. Those of one turn
   * of the event loop share a request anyway.
   */
  #write(record: OpenRecord, output: readonly OutRecord[]): Promise<void> {
    const [first, ...others] = output;
    return first && others.length === 0
      ? this.#writeOne(record, first)
      : allSent(output.map((each) => this.#writeOne(record, each)));
  }

  /** Ends a delivery that Kafka refuses for good. */
  async #writeOne(record: OpenRecord, out: OutRecord): Promise<void> {
    try {
      await this.options.producer.send([out]);
    } catch (error) {
      const ended = isRefused(error) && refusedRecords(record, out, this.options.now());
      if (!ended) throw error;
      await this.#write(record, ended);
    }
  }

  #dropCopy({ record, head }: Incoming): void {
    this.counts.duplicates++;
    this.options.log.debug({ source: head.sourceId, message: head.messageId }, 'message.duplicate');
    record.done();
  }

  #drop({ record, head, ref }: Incoming, reason: keyof typeof drops): void {
    this.options.dedupWindow.remember(ref, this.options.now());
    this.counts.dropped++;
    drops[reason].value++;
    this.options.log.debug(
      { source: head.sourceId, message: head.messageId, reason },
      'message.dropped',
    );
    record.done();
  }

  #reject(record: OpenRecord, what: SetAside, reason: string): void {
    const { partition, offset } = record;
    this.counts.rejected++;
    this.options.log.warn({ partition, offset, reason }, 'message.rejected');
    this.#writeRejection(record, what, reason).then(
      () => this.#finish(record),
      (error: unknown) => {
        // A stopping producer takes no record: this one stays open for the next process.
        this.options.log.warn({ partition, offset, reason: messageOf(error) }, 'message.left_open');
      },
    );
  }

  /** Writes it without its text if Kafka refuses that, and not at all if it refuses both. */
  async #writeRejection(record: OpenRecord, what: SetAside, reason: string): Promise<void> {
    const { producer, now, log } = this.options;
    const forms = [what, { ...what, value: null }].map((part) => [
      rejectedRecord(record, part, { reason, nowMs: now() }),
    ]);
    if (await sendFirst(producer, forms)) return;
    const { partition, offset } = record;
    log.error({ partition, offset, reason }, 'message.not_listed');
  }

  #finish(record: OpenRecord): void {
    record.done();
    this.#room.resumeAtHalf();
  }
}

function incomingOf(record: OpenRecord, head: MessageHeaders): Incoming {
  head.appendedAt = record.timestampMs;
  const ref = messageRef(head.sourceId, head.messageId, record.partition, record.offset);
  const { key, value } = record;
  return { record, head, key, value, ref, bytes: OVERHEAD_BYTES + (value?.length ?? 0) };
}

function setAside({ head, value }: Incoming): SetAside {
  return { source: head.sourceId, value };
}
