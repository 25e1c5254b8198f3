import { defined } from '../../shared/collections/defined';
import { type CircuitTransition } from '../../services/delivery/lanes/registry';
import { laneOptions, LIMITS, SOCKETS } from '../../services/delivery/tuning';
import {
  type Lookup,
  type Endpoint as DeliveryEndpoint,
  type OpenDestination,
} from '../../services/delivery/destinations/endpoint';
import { DEFAULT_SHARDS } from '../../shared/model/config';
import { type UrlDisabledEvent } from '../../shared/model/attempt-events';
import { encodeDelivery, shardKeys, urlHash } from '../../shared/model/delivery';
import { lastReturnAt } from '../../shared/model/schedule';
import { type OutRecord } from '../../shared/kafka/port';
import { assignCopartitions } from '../../shared/kafka/consumer/cooperative-assignor';
import { WEBHOOKS } from '../../shared/kafka/topics';
import { type DeletionRecord } from '../../shared/model/deletion';
import { newTraceparent } from '../../shared/telemetry/trace';
import { randomOf, type Random } from '../harness/random';
import { type Act, recallOf, replayOf, type TimedAct } from './acts';
import { Agenda } from './virtual-clock';
import { Book } from './delivery-audit';
import { Cluster } from './cluster';
import { DeliveryProcess, type Settings } from './delivery-process';
import { UserAudit } from './deletions';
import { type Behaviour } from './endpoint';
import { Figures } from './figures';
import { HistoryAudit } from './history-audit';
import { partitioner } from './log';
import { EPOCH_MS } from './process-time';
import { BACK_WITHIN_MS } from './recovery-audit';
import { type Endpoint } from './sender';

/** Endpoints, traffic, and the processes that serve it, in virtual time. */

export interface DestinationSpec {
  id: string;
  /** the label that counts its deliveries, by the time at which they came */
  label: string | ((nowMs: number) => string);
  urls: Behaviour[];
  /** on average, at random times; over all its shards */
  perSecond?: number;
  bursts?: { atMs: number; count: number }[];
}

export interface WorldSpec {
  seed: number;
  destinations: DestinationSpec[];
  /** duration of the traffic, ms */
  trafficMs: number;
  /** end of the run, even with open deliveries; default: when each delivery has ended */
  untilMs?: number;
  /** limit after two windows, by which all must have ended, ms */
  latestMs?: number;
  /** `simulated`: number of processes that run, with their whole load */
  processes?: { count: number; simulated: number };
  partitions?: number;
  settings?: Partial<Settings>;
  /** slice of the time series, ms */
  sliceMs?: number;
  freezes?: { process: number; atMs: number; ms: number }[];
  /** what happens to the deliveries from outside */
  acts?: TimedAct[];
  /** number of retry processes; default: 1 */
  retries?: number;
  /** number of users whose calls these are; default: calls of nobody */
  users?: number;
  /** `user` is less than `users`; `atMs` is the time of the answer */
  deletions?: { user: number; atMs: number }[];
  /** Kafka does not answer the readers of deletions */
  deletionsAway?: { fromMs: number; toMs: number };
  /** whether the history is compared with the deliveries: it keeps a row of each */
  history?: boolean;
  /** receives the virtual time once a virtual minute */
  onMinute?: (nowMs: number, figures: Figures) => void;
}

export interface Ended {
  figures: Figures;
  /** violations and their number */
  violations: Record<string, number>;
  born: number;
  /** neither delivered nor dead nor cancelled */
  left: number;
  virtualMs: number;
  /** circuits that opened or closed, in order of time */
  circuitChanges: { atMs: number; label: string; state: 'open' | 'closed' }[];
}

const TIERS_MS = [10_000, 60_000, 300_000, 900_000, 1_800_000];
const WINDOW_MS = 14_400_000;
/** An untried delivery is tried after its window too; if that takes longer, it is lost. */
const LATEST_MS = 3_600_000;
/** From a receiver's 410 until control has switched its URL off for all processes. */
const SWITCHED_OFF_MS = 500;
/** From the record of a deletion until the answer. */
const ANSWERED_AFTER_MS = 200;

export function settingsOf(change: Partial<Settings> = {}): Settings {
  const tiersMs = change.tiersMs ?? TIERS_MS;
  const basis = {
    lane: laneOptions(tiersMs),
    pool: SOCKETS,
    limits: LIMITS,
    tiersMs,
    windowMs: WINDOW_MS,
  };
  return { ...basis, timeoutMs: 5_000, ...change };
}

export class World {
  readonly #agenda = new Agenda();
  readonly #figures: Figures;
  readonly #book: Book;
  readonly #cluster: Cluster;
  readonly #settings: Settings;
  readonly #processes: DeliveryProcess[];
  readonly #lookups = new Map<string, Lookup>();
  readonly #endpoints = new Map<string, Endpoint>();
  readonly #labels = new Map<string, DestinationSpec['label']>();
  readonly #circuitChanges: Ended['circuitChanges'] = [];
  readonly #deletions: DeletionRecord[] = [];
  readonly #users: UserAudit;
  readonly #history: HistoryAudit | undefined;
  readonly #random: Random;

  constructor(private readonly spec: WorldSpec) {
    const { seed, partitions = 12, processes = { count: 1, simulated: 1 } } = spec;
    this.#random = randomOf(seed);
    this.#figures = new Figures(spec.sliceMs ?? 1_000);
    const settings = (this.#settings = settingsOf(spec.settings));
    const { tiersMs, windowMs } = settings;
    this.#history = spec.history ? new HistoryAudit() : undefined;
    const plan = { tiersMs, marginMs: windowMs - lastReturnAt(windowMs, windowMs) };
    this.#book = new Book(this.#figures, plan, this.#history);
    this.#book.onUrlDisabled = (event) => this.#switchOff(event);
    this.#users = new UserAudit(this.#book);
    const { fromMs, toMs } = spec.deletionsAway ?? { fromMs: 0, toMs: 0 };
    const isAway = (nowMs: number) => nowMs >= fromMs && nowMs < toMs;
    for (const destination of spec.destinations) this.#add(destination);
    const owned = stripesOf(partitions, processes);
    const around = { agenda: this.#agenda, book: this.#book, figures: this.#figures, settings };
    const partitionOf = partitioner(partitions);
    const cluster = new Cluster(around, owned.flat(), partitionOf, spec.retries ?? 1);
    this.#cluster = cluster;
    this.#processes = owned.map((stripes, i) => {
      const process: DeliveryProcess = new DeliveryProcess({
        ...around,
        name: `delivery-${String(i)}`,
        store: (records: OutRecord[]) => cluster.store(records),
        lookup: (id) => this.#lookups.get(id) ?? { kind: 'deleted' },
        endpoint: (origin) => this.#endpoints.get(origin) as Endpoint,
        partitionOf,
        onCircuit: (change) => this.#onCircuitChange(change, process),
        deletions: { log: this.#deletions, isAway },
        users: this.#users,
      });
      for (const number of stripes) cluster.assign('delivery', number, process);
      return process;
    });
    for (const act of spec.acts ?? []) this.#agenda.at(act.atMs, () => this.#act(act));
    for (const each of spec.destinations) this.#arrange(each);
    for (const { user, atMs } of spec.deletions ?? []) this.#delete(user, atMs);
    for (const { process, atMs, ms } of spec.freezes ?? []) {
      this.#agenda.at(atMs, () => {
        this.#processes[process]?.time.freeze(ms);
        this.#agenda.in(ms, () => this.#book.stoodStill(this.#agenda.now));
      });
    }
  }

  /** Runs until no more messages come and each has ended. */
  async run(): Promise<Ended> {
    const { trafficMs, onMinute } = this.spec;
    const over = () => {
      const { now } = this.#agenda;
      if (now % 60_000 === 0) onMinute?.(now, this.#figures);
      return now >= trafficMs && this.#book.open === 0;
    };
    const { latestMs = LATEST_MS } = this.spec;
    const untilMs = this.spec.untilMs ?? trafficMs + 2 * this.#settings.windowMs + latestMs;
    await this.#agenda.run(untilMs, over);
    for (const problem of this.#history?.problems() ?? []) this.#book.violate(problem);
    const { born, open: left, violations } = this.#book;
    if (left > 0 && this.spec.untilMs === undefined) {
      violations.set('neither ended nor gone on', left);
    }
    return {
      figures: this.#figures,
      violations: Object.fromEntries(violations),
      born,
      left,
      virtualMs: this.#agenda.now,
      circuitChanges: this.#circuitChanges,
    };
  }

  #add({ id, label, urls }: DestinationSpec): void {
    const endpoints = urls.map((behaviour, i): DeliveryEndpoint => {
      const origin = `https://${id}-${String(i)}.example`;
      const random = randomOf(this.#random.between(0, 2 ** 31));
      this.#endpoints.set(origin, { behaviour, random, open: 0 });
      const webhookId = `${id}-${String(i)}`;
      const hash = urlHash(webhookId, origin);
      const names = {
        id: webhookId,
        hash,
        lane: `${id}/${hash}`,
        destinationId: id,
        destinationVersion: 1,
      };
      return {
        ...names,
        shards: DEFAULT_SHARDS,
        origin,
        path: '/',
        staticHeaders: [],
        secrets: [],
      };
    });
    const destination = { enabled: true, paused: false, secrets: undefined, endpoints };
    this.#lookups.set(id, { kind: 'open', version: 1, destination });
    this.#labels.set(id, label);
  }

  /** Schedules its messages, for those shards whose partition is read here. */
  #arrange(destination: DestinationSpec): void {
    const keys = shardKeys(destination.id, DEFAULT_SHARDS);
    const perMs = (destination.perSecond ?? 0) / 1_000 / keys.length;
    keys.forEach((key, shard) => {
      if (perMs > 0) this.#stream(destination, { key, shard }, perMs);
    });
    for (const { atMs, count } of destination.bursts ?? []) {
      this.#agenda.at(atMs, () => {
        for (let i = 0; i < count; i++) {
          const shard = i % keys.length;
          this.#bear(destination, { key: keys[shard] ?? '', shard });
        }
      });
    }
  }

  /** Schedules messages at random times, with this mean rate. */
  #stream(destination: DestinationSpec, place: Place, perMs: number): void {
    const random = randomOf(this.#random.between(0, 2 ** 31));
    if (!this.#cluster.has(this.#cluster.partitionOf(place.key))) return;
    let at = 0;
    const next = () => {
      at += -Math.log(1 - random.next()) / perMs;
      if (at >= this.spec.trafficMs) return;
      this.#agenda.at(at, () => {
        this.#bear(destination, place);
        next();
      });
    };
    next();
  }

  /** Control deletes a user: delivery learns of it, and each destination gets a `delete`. */
  #delete(user: number, atMs: number): void {
    const deletion = { userId: nameOf(user), at: EPOCH_MS + atMs, sources: null };
    this.#agenda.at(atMs - ANSWERED_AFTER_MS, () => {
      this.#deletions.push(deletion);
      this.#users.deleted(deletion);
    });
    const shard = user % DEFAULT_SHARDS;
    this.#agenda.at(atMs, () => {
      for (const destination of this.spec.destinations) {
        const key = shardKeys(destination.id, DEFAULT_SHARDS)[shard] ?? '';
        this.#bear(destination, { key, shard }, user);
      }
    });
  }

  /** @param deleted the user of a `delete`; absent: a call of any user of the shard */
  #bear(
    { id: destinationId, label }: DestinationSpec,
    { key, shard }: Place,
    deleted?: number,
  ): void {
    const partition = this.#cluster.partitionOf(key);
    if (!this.#cluster.has(partition)) return;
    const { now } = this.#agenda;
    const id = this.#book.bear(
      typeof label === 'string' ? label : label(now),
      now,
      now + this.#settings.windowMs,
    );
    const user = deleted ?? this.#userOf(shard);
    const userId = user === undefined ? undefined : nameOf(user);
    const isDelete = deleted !== undefined;
    if (userId !== undefined) this.#users.born(id, { user: userId, acceptedAt: now, isDelete });
    const headers = encodeDelivery({
      ...defined({ userId }),
      id,
      messageId: id,
      sourceId: 'src',
      destinationId,
      type: isDelete ? 'delete' : 'track',
      excludedUrls: [],
      acceptedAt: EPOCH_MS + now,
      expiresAt: EPOCH_MS + now + this.#settings.windowMs,
      attempt: 0,
      hop: 0,
      replay: 0,
      traceparent: newTraceparent(),
    });
    this.#cluster.append(WEBHOOKS, partition, { key, headers });
  }

  #act(act: Act): void {
    const { now } = this.#agenda;
    this.#figures.count(`acts: ${act.kind}`);
    switch (act.kind) {
      case 'pause':
      case 'resume':
        this.#change(act.destination, { paused: act.kind === 'pause' });
        return;
      case 'send_now':
      case 'cancel': {
        const waiting = this.#cluster.waiting(act.destination);
        const meant = act.all ? waiting : waiting.slice(0, 1);
        if (!meant[0]) return;
        if (act.kind === 'cancel') {
          for (const { headers } of meant) this.#book.cancelled(headers.delivery ?? '', now);
        }
        const id = `rcl_${String(now)}_${act.destination}_${act.kind}`;
        const expiresBy = EPOCH_MS + now + this.#settings.windowMs;
        this.#cluster.store([recallOf(act, meant[0], id, expiresBy)]);
        return;
      }
      case 'replay':
        for (const letter of this.#book.letters.splice(0, act.most)) this.#replay(letter);
        return;
      case 'move': {
        const group = act.group === 'delivery' ? this.#processes : this.#cluster.retries;
        this.#cluster.move(act.group, act.partition, group);
        return;
      }
      case 'cut':
        this.#cluster.cut(act.topic, act.partition, act.most);
        return;
      case 'clock':
        if (act.of === 'brokers') this.#cluster.step(act.byMs);
        else {
          const group = act.of === 'delivery' ? this.#processes : this.#cluster.retries;
          group[0]?.time.step(act.byMs);
        }
        return;
    }
  }

  #replay(letter: OutRecord): void {
    const { now } = this.#agenda;
    const expiresAt = now + this.#settings.windowMs;
    const replay = replayOf(letter, EPOCH_MS + expiresAt);
    if (!replay) return;
    const { id, destination, key, headers } = replay;
    const label = this.#labels.get(destination) ?? '';
    this.#book.replayed(id, typeof label === 'string' ? label : label(now), now, expiresAt);
    this.#cluster.append(WEBHOOKS, this.#cluster.partitionOf(key), { key, headers });
  }

  /** Control writes to the configuration what a receiver has said. */
  #switchOff({ destination, webhook, enables }: UrlDisabledEvent): void {
    this.#agenda.in(SWITCHED_OFF_MS, () => {
      const before = this.#lookups.get(destination);
      if (before?.kind !== 'open') return;
      const isMeant = (each: DeliveryEndpoint) =>
        each.id === webhook && (each.enables ?? 0) === enables;
      const endpoints = before.destination.endpoints.map((each): DeliveryEndpoint => {
        if (!isMeant(each)) return each;
        this.#book.invariants.switchedOff(each.origin);
        return { ...each, disabled: true };
      });
      this.#change(destination, { endpoints });
    });
  }

  /** All processes read the change at once. */
  #change(id: string, change: Partial<OpenDestination>): void {
    const before = this.#lookups.get(id);
    if (before?.kind !== 'open') return;
    const { destination, version } = before;
    const after: Lookup = {
      kind: 'open',
      version: version + 1,
      destination: { ...destination, ...change },
    };
    this.#lookups.set(id, after);
    for (const process of this.#processes) process.changed(before, after);
  }

  /** Calls of a user have one shard, as the router chooses it. */
  #userOf(shard: number): number | undefined {
    const { users = 0 } = this.spec;
    const ofShard = Math.floor((users - shard - 1) / DEFAULT_SHARDS);
    return ofShard < 0 ? undefined : shard + DEFAULT_SHARDS * this.#random.between(0, ofShard);
  }

  #onCircuitChange(change: CircuitTransition, process: DeliveryProcess): void {
    const { endpoint, state } = change;
    const { now } = this.#agenda;
    const check = this.#book.recoveries.circuitChanged(change, process, now);
    if (check) this.#agenda.in(BACK_WITHIN_MS, check);
    const label = this.#labels.get(endpoint.destinationId) ?? '';
    const name = typeof label === 'string' ? label : label(now);
    this.#figures.count(`${name}: circuit ${state}`);
    this.#circuitChanges.push({ atMs: now, label: name, state });
  }
}

/** Where calls of a shard of a destination are stored. */
interface Place {
  key: string;
  shard: number;
}

function nameOf(user: number): string {
  return `user-${String(user)}`;
}

/**
 * Returns the copartitions of the simulated processes, by the assignment in a group of this size.
 */
function stripesOf(
  partitions: number,
  { count, simulated }: { count: number; simulated: number },
): number[][] {
  const claims = Array.from({ length: count }, (_, i) => ({
    memberId: `process-${String(i).padStart(4, '0')}`,
    owned: [],
    at: 0,
    leaving: false,
  }));
  return [...assignCopartitions(partitions, claims).values()].slice(0, simulated);
}
