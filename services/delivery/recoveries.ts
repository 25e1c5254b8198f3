import { randomUUID } from 'node:crypto';
import { RecentMap } from '../../shared/collections/recent-map';
import { type BatchProducer } from '../../shared/kafka/port';
import { recallRecord } from '../../shared/kafka/topics';
import { callHash } from '../../shared/model/dedup-window';
import { shardKeys } from '../../shared/model/delivery';
import {
  type Predicate,
  type RecallRecord,
  RECOVERED_REASONS,
  type RecoveredReason,
} from '../../shared/model/recall';
import { type Clock } from './clock/clock';
import { type Endpoint, type Lookup } from './destinations/endpoint';
import { type DeliveryInHand, type Disposition } from './decisions/disposition';
import { type CircuitTransition, type LaneUrl } from './lanes/registry';

/**
 * Asks retry for deliveries that wait in tiers (shared/model/recall.ts):
 *
 * - for all that waited for something that is over: an endpoint, its token endpoint or its proxy
 *   has recovered; its URL, credentials or proxy were corrected; or a pause has ended
 * - while a circuit is open, for one that probes the endpoint from time to time: otherwise a quiet
 *   endpoint would be asked again only when a tier ends
 */

/**
 * Deliveries that were parked just before reach their tier within this time, ms, and belong to the
 * backlog.
 */
const PARKED_WITHIN_MS = 500;
/**
 * While a circuit closes and opens again and again, each close asks at most this often, ms; the
 * last one is not lost.
 */
const ASKS_EVERY_MS = 10_000;
/**
 * A parked delivery that is delivered without an outage that this process knows of asks at most
 * this often, ms.
 */
const ARRIVED_EVERY_MS = 60_000;
/**
 * Longer than retry works on a request, ms: afterwards there is nothing to stop. Retry returns two
 * thousand deliveries a second, so a backlog of millions takes many minutes.
 */
const KEPT_MS = 3_600_000;
/** Until then most circuits close by the calls that come anyway, ms. */
const PROBES_AFTER_MS = 20_000;
/** Retry probes for a day; an outage may last longer, ms. */
const PROBES_AGAIN_MS = 43_200_000;

/** Returns the wait from which a delivery came back by itself, if it was delivered then. */
export function shownRecovery(
  { delivery }: DeliveryInHand,
  { kind }: Disposition,
): RecoveredReason | undefined {
  const { recalled, reason } = delivery;
  if (kind !== 'delivered' || reason === undefined) return undefined;
  if (recalled !== undefined && recalled !== 'probe') return undefined;
  return RECOVERED_REASONS.find((each) => each === reason);
}

export interface RecoveriesOptions {
  producer: Pick<BatchProducer, 'send'>;
  /** Returns whether this process has the deliveries of this key. */
  owns: (key: string) => boolean;
  time: Pick<Clock, 'after' | 'steadyMs'>;
}

/** What waits for one thing. */
interface Backlog {
  where: Predicate & { destination: string; reason: RecoveredReason };
  shards: number;
}

interface LastRequest {
  /** undefined: its circuit opened again */
  recall: string | undefined;
  decidedAt: number;
  /** id of the last request in Kafka */
  sent: string | undefined;
  /** -Infinity: none was sent yet */
  sentAt: number;
}

interface OpenCircuit {
  /** id of its probes; undefined: not asked for yet */
  probes: string | undefined;
  /** Ends the wait until they are asked for. */
  cancel: () => void;
}

export class Recoveries {
  /** the last request for each backlog */
  readonly #last = new RecentMap<string, LastRequest>(KEPT_MS);
  /** by lane */
  readonly #open = new Map<string, OpenCircuit>();

  constructor(private readonly options: RecoveriesOptions) {}

  /** A circuit opened or closed. */
  turned({ endpoint, state }: CircuitTransition): void {
    if (state === 'closed') {
      this.stopProbes(endpoint.lane);
      this.#ask(behind(endpoint, 'circuit_open'));
      return;
    }
    this.#probe(endpoint);
    const last = this.#last.get(keyOf(behind(endpoint, 'circuit_open')));
    if (!last) return;
    if (last.sent !== undefined) this.#send({ kind: 'stop', recall: last.sent });
    last.recall = undefined;
    last.sent = undefined;
  }

  /**
   * A delivery that was parked has been delivered. If this process has just started, or another one
   * parked it, no circuit closes here.
   * @param urls ids of the webhooks that accepted it
   */
  arrived(lookup: Lookup, reason: RecoveredReason, urls: readonly string[]): void {
    const endpoint = endpointsOf(lookup).find(({ id }) => urls.includes(id));
    if (!endpoint) return;
    const backlog = behind(endpoint, reason);
    const last = this.#last.get(keyOf(backlog));
    const isAsked =
      last?.recall !== undefined &&
      this.options.time.steadyMs() - last.decidedAt <= ARRIVED_EVERY_MS;
    if (isAsked) return;
    // It was parked by the process that had the partition before.
    if (reason === 'circuit_open' && !this.#open.has(endpoint.lane)) {
      this.#send({ kind: 'stop', recall: this.#probesId(endpoint) });
    }
    this.#ask(backlog);
  }

  /** The deliveries of a destination that wait for this reason can be sent again. */
  recovered(lookup: Lookup, reason: Exclude<RecoveredReason, 'circuit_open'>): void {
    const [endpoint] = endpointsOf(lookup);
    if (endpoint) this.#ask(behind(endpoint, reason));
  }

  /**
   * A destination has changed: what waited for the end of its pause, or for something that it has
   * in another form now, can be sent.
   * @param before undefined: this process had not used it
   */
  changed(before: Lookup | undefined, after: Lookup): void {
    const isOn = after.kind === 'open' && after.destination.enabled;
    const had = endpointsOf(before);
    const has = isOn ? after.destination.endpoints : [];
    for (const endpoint of had) {
      if (!has.some(({ hash }) => hash === endpoint.hash)) this.stopProbes(endpoint.lane);
    }
    if (before?.kind !== 'open' || !isOn) return;
    const { paused } = after.destination;
    if (before.destination.paused && !paused) this.recovered(after, 'paused');
    // Also during a pause: what comes back then waits for the end of the pause.
    const isNew = (part: (endpoint: Endpoint) => string | undefined) => (endpoint: Endpoint) =>
      !had.some((each) => part(each) === part(endpoint));
    for (const endpoint of has.filter(isNew(({ hash }) => hash))) {
      this.#ask(behind(endpoint, 'circuit_open'));
    }
    if (has.some(isNew(({ auth }) => auth?.credentials?.key))) this.recovered(after, 'token');
    if (has.some(isNew(({ proxy }) => proxy?.key))) this.recovered(after, 'proxy');
  }

  /** Ends its timers. Probes that were asked for go on. */
  stop(): void {
    for (const { cancel } of this.#open.values()) cancel();
  }

  #ask(backlog: Backlog): void {
    const { time } = this.options;
    const recall = `rcv_${randomUUID()}`;
    const key = keyOf(backlog);
    const decidedAt = time.steadyMs();
    const { sent, sentAt = -Infinity } = this.#last.get(key) ?? {};
    const last: LastRequest = { recall, decidedAt, sent, sentAt };
    this.#last.set(key, last, decidedAt);
    time.after(Math.max(PARKED_WITHIN_MS, last.sentAt + ASKS_EVERY_MS - decidedAt), () => {
      // The circuit may have opened again, or another may have closed.
      if (this.#last.get(key)?.recall !== recall) return;
      last.sent = recall;
      last.sentAt = time.steadyMs();
      this.#request(recall, 'recovered', backlog);
    });
  }

  #probe(endpoint: LaneUrl, afterMs = PROBES_AFTER_MS): void {
    const before = this.#open.get(endpoint.lane);
    before?.cancel();
    const opened: OpenCircuit = {
      probes: before?.probes,
      cancel: this.options.time.after(afterMs, () => {
        const id = this.#probesId(endpoint);
        // Its partitions have changed.
        if (opened.probes !== undefined && opened.probes !== id) {
          this.#send({ kind: 'stop', recall: opened.probes });
        }
        this.#request(id, 'probe', behind(endpoint, 'circuit_open'));
        opened.probes = id;
        this.#probe(endpoint, PROBES_AGAIN_MS);
      }),
    };
    this.#open.set(endpoint.lane, opened);
  }

  /**
   * Nothing waits for the circuit of this lane any more: it has closed, its URL is gone or off, or
   * nobody has used the lane for long.
   */
  stopProbes(lane: string): void {
    const opened = this.#open.get(lane);
    if (!opened) return;
    opened.cancel();
    this.#open.delete(lane);
    if (opened.probes !== undefined) this.#send({ kind: 'stop', recall: opened.probes });
  }

  /** The same in a process that takes over the same partitions, so that it can stop them. */
  #probesId(endpoint: LaneUrl): string {
    const keys = this.#keys(behind(endpoint, 'circuit_open'));
    return `prb_${callHash(endpoint.lane, keys.join(' '))}`;
  }

  #request(id: string, action: 'recovered' | 'probe', backlog: Backlog): void {
    const keys = this.#keys(backlog);
    // Without keys it would mean the deliveries of all processes.
    if (keys.length === 0) return;
    this.#send({ kind: 'recall', id, action, where: backlog.where, keys });
  }

  #keys({ where, shards }: Backlog): string[] {
    return shardKeys(where.destination, shards).filter(this.options.owns);
  }

  #send(record: RecallRecord): void {
    this.options.producer.send([recallRecord(record)]).catch(() => undefined);
  }
}

function endpointsOf(lookup: Lookup | undefined): readonly Endpoint[] {
  return lookup?.kind === 'open' ? lookup.destination.endpoints : [];
}

/**
 * Returns what waits at a URL; what does not wait for its circuit waits at the whole destination.
 */
function behind({ destinationId, hash, shards }: LaneUrl, reason: RecoveredReason): Backlog {
  const destination = destinationId;
  const where =
    reason === 'circuit_open' ? { destination, reason, url: hash } : { destination, reason };
  return { where, shards };
}

function keyOf({ where: { destination, reason, url = '' } }: Backlog): string {
  return `${destination}/${reason}/${url}`;
}
