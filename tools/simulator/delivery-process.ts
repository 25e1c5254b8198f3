import { type AssembledDelivery, assemble } from '../../services/delivery/assemble';
import { type Deliverer, type Limits } from '../../services/delivery/deliverer';
import { type LaneOptions } from '../../services/delivery/lanes/lane-context';
import {
  type CircuitTransition,
  type LaneRegistry,
  type LaneUrl,
} from '../../services/delivery/lanes/registry';
import { StallClock } from '../../services/delivery/clock/stall-clock';
import { type SocketSharesOptions } from '../../services/delivery/lanes/socket-shares';
import { type Lookup } from '../../services/delivery/destinations/endpoint';
import { type OpenRecord, type OutRecord, type Restart } from '../../shared/kafka/port';
import { clockNote, DUE } from '../../shared/kafka/topics';
import { type DeletionRecord } from '../../shared/model/deletion';
import { readEvents } from '../../shared/model/attempt-rows';
import { createLog } from '../../shared/telemetry/log';
import { type Agenda } from './virtual-clock';
import { SimulatedAppender, type Store } from './batch-producer';
import { type Book } from './delivery-audit';
import { Crowd } from './lane-invariants';
import { ReadDeletions, type UserAudit } from './deletions';
import { type Figures } from './figures';
import { type PartitionLog } from './log';
import { ProcessTime } from './process-time';
import { Reader } from './reader';
import { type Ending, type Endpoint, SimulatedSender, type Request } from './sender';

/**
 * One delivery process: the production code from record to outcome, with simulated time, sockets
 * and Kafka.
 */

/** The interval at which a reader proves that it knows all of `config`. */
const CONFIG_EVERY_MS = 100;
/** The status by which a receiver switches its URL off. */
const GONE = 410;

export interface Settings {
  lane: LaneOptions;
  pool: SocketSharesOptions;
  limits: Limits;
  tiersMs: number[];
  windowMs: number;
  timeoutMs: number;
}

export interface Surroundings {
  /** of the process */
  name: string;
  agenda: Agenda;
  book: Book;
  figures: Figures;
  settings: Settings;
  store: Store;
  lookup: (destinationId: string) => Lookup;
  endpoint: (origin: string) => Endpoint;
  partitionOf: (key: string) => number;
  onCircuit: (change: CircuitTransition) => void;
  /** the log of deletions, and whether Kafka does not answer its readers */
  deletions: { log: readonly DeletionRecord[]; isAway: (nowMs: number) => boolean };
  users: UserAudit;
}

export class DeliveryProcess {
  readonly time: ProcessTime;
  readonly crowd: Crowd;
  readonly #deliverer: Deliverer;
  readonly #reader: Reader;
  readonly #lanes: LaneRegistry;
  readonly #assembled: AssembledDelivery;
  /** since when, by partition */
  readonly #owned = new Map<number, number>();
  readonly #waiting = new Map<string, Waiting>();

  constructor(private readonly around: Surroundings) {
    const { agenda, book, settings } = around;
    const { lane, pool, tiersMs, windowMs } = settings;
    const time = (this.time = new ProcessTime(agenda));
    const recoveredAt = lane.circuit.recoveredAt;
    this.crowd = new Crowd(book, { pool, ceiling: lane.ceiling, recoveredAt });
    const producer = new SimulatedAppender(time, agenda, around.store);
    // A process that has never written follows the brokers' clock, also if it alone is wrong.
    void producer.send([clockNote()]);
    const clock = new StallClock(time);
    const sender = new SimulatedSender({
      time,
      clock,
      timeoutMs: settings.timeoutMs,
      endpoint: around.endpoint,
      began: (request) => this.#began(request),
      ended: (request, ending) => {
        around.users.ended(request, around.name);
        this.#answered(request, ending);
      },
    });
    const assembled = assemble({
      config: {
        completeAt: Infinity,
        changes: 0,
        expectSoon: () => undefined,
        onComplete: (listener) => time.every(CONFIG_EVERY_MS, listener),
      },
      destinations: { lookup: around.lookup },
      deletions: new ReadDeletions(time, around.deletions.log, around.deletions.isAway),
      sender,
      producer: producer.hearing((records) => this.#concluded(records)),
      clock,
      time,
      log: createLog('simulator', 'silent'),
      tiersMs,
      windowMs,
      lane,
      pool,
      limits: settings.limits,
      owns: (key) => this.#owned.has(around.partitionOf(key)),
      onCircuit: (transition) => {
        this.crowd.circuit(transition.endpoint.origin, transition.state);
        around.onCircuit(transition);
      },
      onRoom: () => this.#reader.resume(),
      onFatal: (error) => {
        throw error;
      },
    });
    this.#assembled = assembled;
    this.#deliverer = assembled.deliverer;
    this.#lanes = assembled.lanes;
    this.#reader = new Reader(time, (record) => this.#take(record));
  }

  /** Owns a partition of its topics from now on. */
  take(partition: number, logs: readonly PartitionLog[]): void {
    this.#owned.set(partition, this.around.agenda.now);
    this.#reader.take(logs);
  }

  /** Gives a partition up: it is released when no record of these logs is open. */
  leave(partition: number, logs: readonly PartitionLog[]): void {
    this.#owned.delete(partition);
    this.#reader.leave(logs);
    this.#deliverer.onRevoking();
  }

  isDraining(): boolean {
    return false;
  }

  get name(): string {
    return this.around.name;
  }

  /** Returns since when it has had the deliveries of a key; Infinity: it has not. */
  ownsSince(key: string): number {
    return this.#owned.get(this.around.partitionOf(key)) ?? Infinity;
  }

  awakeSince(): number {
    return this.time.awakeSince;
  }

  restarted(restart: Restart): void {
    this.#deliverer.onRestart(restart);
  }

  /** The configuration of a destination has changed. */
  changed(before: Lookup, after: Lookup): void {
    this.#assembled.changed(before, after);
  }

  #take(record: OpenRecord) {
    const { book } = this.around;
    const id = record.headers.delivery ?? '';
    if (this.#deliverer.load >= 1 || this.#lanes.overloaded) {
      return this.#deliverer.onRecord(record);
    }
    const kind = record.topic === DUE ? 'due' : 'fresh';
    const done = book.taken(id);
    const lookup = this.around.lookup(record.headers.destination ?? '');
    const endpoints = lookup.kind === 'open' ? lookup.destination.endpoints : [];
    const origins = new Set(endpoints.map(({ origin }) => origin));
    // With several URLs one may be skipped, which shows only when the others have ended. A `delete`
    // does not wait for its lane alone.
    const isOnly = endpoints.length === 1 && record.headers.type !== 'delete';
    this.#waiting.set(id, { kind, origins, endpoints, isOnly });
    const [finish, giveBack] = [record.done.bind(record), record.handBack.bind(record)];
    record.done = () => {
      done();
      finish();
    };
    record.handBack = () => {
      book.handedBack(id);
      this.#ended(id);
      return giveBack();
    };
    const verdict = this.#deliverer.onRecord(record);
    if (verdict !== 'accepted') book.violate('full, with room');
    return verdict;
  }

  #began(request: Request): void {
    const { agenda, book, figures, settings } = this.around;
    const { now } = agenda;
    const waiting = this.#waiting.get(request.deliveryId);
    if (!waiting?.origins.delete(request.origin)) {
      book.violate('sent twice to one URL');
      return;
    }
    // What the process holds before it gives it to a lane waits for no turn there.
    const endpoint = waiting.endpoints.find(({ origin }) => origin === request.origin);
    const firstWaiting = endpoint ? this.#lanes.of(endpoint).queuedFirst : 0;
    const { sharesSockets } = this.#lanes;
    const queued = { firstWaiting, sharesSockets };
    const openThere = this.crowd.began(request.origin, waiting.kind, request, queued);
    const { deliveryId: delivery, origin: url } = request;
    const { label, waitedMs } = book.sent({ delivery, url, process: this.around.name }, now);
    this.around.users.began(request, this.around.name, now);
    figures.count(`${label}: requests`);
    figures.most(`${label}: most open`, openThere);
    figures.course(`requests, ${label}`).add(now);
    figures.course('open').peak(now, this.crowd.open);
    figures.most('most open', this.crowd.open);
    figures.most('most bytes held', this.#deliverer.load * settings.limits.maxBytes);
    if (waitedMs !== undefined) figures.of(`${label}: first wait`).add(waitedMs);
  }

  #answered(request: Request, { ok, status, retryAfterS = 0 }: Ending): void {
    const { agenda, book, name } = this.around;
    const { deliveryId, origin } = request;
    const isOnly = this.#waiting.get(deliveryId)?.isOnly;
    book.answered(deliveryId, origin, isOnly ? retryAfterS * 1_000 : 0, agenda.now);
    if (status === GONE) book.invariants.switchedOff(origin, name);
    this.crowd.ended(origin, request, ok);
  }

  /** The records of a step are for one delivery, and a record of rows is for many. */
  #concluded([record]: OutRecord[]): void {
    if (!record) return;
    const { key, value, headers } = record;
    if (key !== null) this.#ended(headers?.delivery ?? key);
    else {
      for (const event of readEvents(String(value))) {
        if ('delivery' in event) this.#ended(event.delivery);
      }
    }
  }

  /** The delivery's unsent requests to other URLs will not be sent any more. */
  #ended(id: string): void {
    this.#waiting.delete(id);
  }
}

/** A delivery that was read. */
interface Waiting {
  kind: 'fresh' | 'due';
  /** origins without a request yet */
  origins: Set<string>;
  endpoints: readonly LaneUrl[];
  /** it waits for one lane alone */
  isOnly: boolean;
}
