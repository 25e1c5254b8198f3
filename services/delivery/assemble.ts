import { defined } from '../../shared/collections/defined';
import { type GateConfig } from '../../shared/config/decision-gate';
import { type Deletions, NO_DELETIONS } from '../../shared/deletions/reader';
import { type BatchProducer } from '../../shared/kafka/port';
import { shardKeys } from '../../shared/model/delivery';
import { type Log } from '../../shared/telemetry/log';
import { type Clock, systemClock } from './clock/clock';
import { circuitRecord } from './decisions/side-events';
import { Deliverer, type Limits } from './deliverer';
import { type WebhookSender } from './destinations/build-request';
import { type Destinations } from './destinations/destinations';
import { type Lookup } from './destinations/endpoint';
import { type SendRequest, type SendResult } from './http/exchange';
import { MailSender } from './http/mail';
import { type LaneOptions } from './lanes/lane-context';
import { type CircuitTransition, LaneRegistry, type LaneRegistryOptions } from './lanes/registry';
import { type SocketSharesOptions } from './lanes/socket-shares';
import { Recoveries } from './recoveries';
import * as telemetry from './telemetry/telemetry';
import { AuthorizingSender } from './tokens/authorizing-sender';
import { keepLaneMs, laneOptions, LIMITS, SOCKETS } from './tuning';

/**
 * Wires the parts of delivery, for its process and for everything else that runs it: the warm-up,
 * the simulator and the tests.
 */

export interface DeliveryAdapters {
  config: GateConfig;
  destinations: Pick<Destinations, 'lookup'>;
  /** default: nobody was deleted */
  deletions?: Deletions;
  /** sends a request over HTTP */
  sender: { send(request: SendRequest, done: (result: SendResult) => void): void };
  /** sends to mailboxes; absent: `sender` gets these requests too */
  mail?: MailSender | undefined;
  producer: BatchProducer;
  /** for deliveries sent to tiers without an attempt, which are in no hurry; default: `producer` */
  divertProducer?: BatchProducer;
  /** stopped by the caller */
  clock: LaneRegistryOptions['clock'];
  /** default: the machine's */
  time?: Clock;
  log: Log;
  tiersMs: number[];
  /** for how long after its acceptance a delivery is attempted, ms */
  windowMs: number;
  /** default: by the tiers */
  lane?: LaneOptions;
  /** default: as of every process */
  pool?: SocketSharesOptions;
  /** default: as of every process */
  limits?: Limits;
  /** Returns whether this process has the deliveries of this key; default: it has all. */
  owns?: (key: string) => boolean;
  /** receives each circuit that opened or closed, before it is recorded */
  onCircuit?: (transition: CircuitTransition) => void;
  /** called when there is room again after `busy` */
  onRoom: () => void;
  onFatal: (error: unknown) => void;
}

export interface AssembledDelivery {
  deliverer: Deliverer;
  lanes: LaneRegistry;
  /** A destination has changed. @param before undefined: it was not looked up */
  changed(before: Lookup | undefined, after: Lookup): void;
  /** Ends its timers. */
  stop(): void;
}

export function assemble(adapters: DeliveryAdapters): AssembledDelivery {
  const { destinations, producer, log, tiersMs, owns = () => true, time = systemClock } = adapters;
  const recoveries = new Recoveries({ producer, owns, time });
  const lanes = new LaneRegistry({
    lane: adapters.lane ?? laneOptions(tiersMs),
    pool: adapters.pool ?? SOCKETS,
    keepMs: keepLaneMs(tiersMs),
    clock: adapters.clock,
    time,
    // A process may use the part of a rate that corresponds to its part of the destination's
    // shards.
    rateShare: (id, shards) => ownedPart(shardKeys(id, shards), owns),
    onCircuit: (transition) => {
      adapters.onCircuit?.(transition);
      recoveries.turned(transition);
      telemetry.circuitChanged(log, transition);
      producer.send([circuitRecord(transition, time.agreedMs())]).catch(() => undefined);
    },
    onDropped: (lane) => recoveries.stopProbes(lane),
  });
  const authorizing = new AuthorizingSender(adapters.sender, log, {
    now: () => time.steadyMs(),
    onRecovered: (id) => recoveries.recovered(destinations.lookup(id), 'token'),
    usesCredential: (id, key) => usesCredential(destinations.lookup(id), key),
  });
  const { mail } = adapters;
  const deliverer = new Deliverer({
    config: adapters.config,
    destinations,
    deletions: adapters.deletions ?? NO_DELETIONS,
    lanes,
    sender: mail ? withMail(authorizing, mail) : authorizing,
    producer,
    ...defined({ divertProducer: adapters.divertProducer }),
    tiersMs,
    windowMs: adapters.windowMs,
    time,
    limits: adapters.limits ?? LIMITS,
    log,
    onRoom: adapters.onRoom,
    onFatal: adapters.onFatal,
    onRecovered: (id, reason, urls) => recoveries.arrived(destinations.lookup(id), reason, urls),
  });
  return {
    deliverer,
    lanes,
    changed: (before, after) => recoveries.changed(before, after),
    stop: () => {
      deliverer.stop();
      lanes.stop();
      authorizing.stop();
      recoveries.stop();
    },
  };
}

/** Sends to mailboxes by SMTP, and to URLs by HTTP. */
function withMail(sender: AuthorizingSender, mail: MailSender): WebhookSender {
  return {
    send: (request, done) => (MailSender.takes(request) ? mail : sender).send(request, done),
    held: (credentials, insists) => sender.held(credentials, insists),
  };
}

/** Returns whether a webhook of a destination has the credential with this key. */
function usesCredential(lookup: Lookup, key: string): boolean {
  return (
    lookup.kind === 'open' &&
    lookup.destination.endpoints.some(({ auth }) => auth?.credentials?.key === key)
  );
}

/**
 * Returns the owned part of these shards, at least one: records read before their partition moved
 * are still sent.
 */
function ownedPart(keys: string[], owns: (key: string) => boolean): number {
  return Math.max(1, keys.filter((key) => owns(key)).length) / keys.length;
}
