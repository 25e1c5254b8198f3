import { admit } from '../../services/delivery/decisions/admission';
import {
  concludeAttempt,
  type Disposition,
  recordsOf,
} from '../../services/delivery/decisions/disposition';
import { type OpenLookup } from '../../services/delivery/destinations/endpoint';
import { Requeuer } from '../../services/retry/requeuer';
import { TierPositions } from '../../services/retry/tier-positions';
import { BrokerClock } from '../../shared/kafka/broker-clock';
import { type OpenRecord, type OutRecord } from '../../shared/kafka/port';
import { DUE } from '../../shared/kafka/topics';
import { decodeDelivery, type Delivery } from '../../shared/model/delivery';
import { SteadyClock } from '../../shared/runtime/steady-clock';
import { createLog } from '../../shared/telemetry/log';

/**
 * One retry of a minute, with clocks that are wrong: the real decisions of delivery, the real
 * requeuer and the real clocks, on machines whose clocks are set, that sleep or that stop a
 * process.
 */

const START = 1_700_000_000_000;
const WAIT_MS = 60_000;
const WINDOW_MS = 14_400_000;
const TICK_MS = 100;
const WRITE_EVERY_MS = 500;
const TIMING = { tiersMs: [10_000, 60_000, 300_000], windowMs: WINDOW_MS };
/** The first attempt has failed, and the delivery waits. */
const FAILED_AT_MS = 60_000;
/**
 * A timer stands still with its machine. Retry looks at the head of a partition every five seconds,
 * and may then ask for the time.
 */
const RESUMED_WITHIN_MS = 5_500;
/** A delivery that has not come by then is lost. */
const GIVEN_UP_MS = 3_600_000;

/** A machine with one process. Times are true ones unless they are by its clocks. */
class Machine {
  /** until when it sleeps, or its process stands still */
  awayUntil = 0;
  /** by when it must have done what fell due meanwhile */
  resumedBy = 0;
  #sleptMs = 0;
  #stoppedMs = 0;
  readonly steady: SteadyClock;
  readonly clock: BrokerClock;

  /** @param wrongMs how far its clock is set wrong */
  constructor(
    private readonly world: World,
    public wrongMs = 0,
  ) {
    const upMs = () => world.now - START - this.#stoppedMs;
    const wallMs = () => world.now + this.wrongMs;
    this.steady = new SteadyClock(() => this.timersMs(), upMs, wallMs);
    this.clock = new BrokerClock(() => this.steady.now(), wallMs);
  }

  /** Its timers stand still while it sleeps or is stopped. */
  timersMs(): number {
    return this.world.now - START - this.#stoppedMs - this.#sleptMs;
  }

  get isAway(): boolean {
    return this.world.now < this.awayUntil;
  }

  /** Its monotonic clock stands still. */
  sleep(ms: number): void {
    this.#sleptMs += ms;
    this.awayUntil = this.world.now + ms;
    this.resumedBy = this.awayUntil + RESUMED_WITHIN_MS;
  }

  /** Its hypervisor stops it, and then sets its clock. */
  stop(ms: number): void {
    this.#stoppedMs += ms;
    this.awayUntil = this.world.now + ms;
    this.resumedBy = this.awayUntil + RESUMED_WITHIN_MS;
  }

  /** Its process does not run, and its clocks do. */
  freeze(ms: number): void {
    this.resumedBy = this.awayUntil = this.world.now + ms;
  }

  /** Writes a record, whose timestamp corrects its clock. */
  write(): void {
    this.clock.wrote(this.world.now + this.world.brokerWrongMs, this.clock.mark());
  }
}

class World {
  now = START;
  brokerWrongMs = 0;
  delivery = new Machine(this);
  retry = new Machine(this);
  #requeuer = this.#newRequeuer();
  #record: OpenRecord | undefined;
  /** by the timers of retry's machine */
  #againAt = -Infinity;
  #returned = false;
  #appended: Delivery | undefined;
  /** timestamp of the returned record */
  #returnedAt = 0;

  /** @param isBusy whether retry returns other deliveries all the time */
  constructor(private readonly isBusy: boolean) {
    this.retry.write();
  }

  /** A new process, on a machine whose clock is wrong. It writes a record at its start. */
  restart(service: 'delivery' | 'retry', wrongMs: number): void {
    this[service] = new Machine(this, wrongMs);
    this[service].write();
    if (service === 'retry') this.#requeuer = this.#newRequeuer();
  }

  /**
   * Runs until this time after the start.
   * @param everyTick returns true to end
   * @returns whether that ended it
   */
  runUntil(ms: number, everyTick: () => boolean = () => false): boolean {
    while (this.now < START + ms) {
      this.now += TICK_MS;
      if (this.now % WRITE_EVERY_MS === 0) {
        if (!this.delivery.isAway) this.delivery.write();
        if (!this.retry.isAway && this.isBusy) this.retry.write();
      }
      if (everyTick()) return true;
    }
    return false;
  }

  /** A first attempt fails, and its delivery waits. */
  fail(): void {
    const timing = { ...TIMING, nowMs: this.delivery.clock.now() };
    const tried = { urls: [FAILED], rejected: [], skipped: false, durationMs: 1 };
    this.#append(DELIVERY, concludeAttempt(DELIVERY, tried, timing), timing.nowMs);
  }

  /** @returns whether the next attempt begins now */
  step(): boolean {
    if (this.#record && !this.retry.isAway && this.retry.timersMs() >= this.#againAt) {
      this.retry.clock.read(this.#record.timestampMs);
      const result = this.#requeuer.onRecord(this.#record);
      if (typeof result === 'object') this.#againAt = this.retry.timersMs() + result.againInMs;
    }
    if (!this.#returned || !this.#appended || this.delivery.isAway) return false;
    this.delivery.clock.read(this.#returnedAt);
    const timing = { ...TIMING, nowMs: this.delivery.clock.now() };
    const admission = admit(this.#appended, LOOKUP, timing);
    if (admission.kind === 'try') return true;
    if (admission.kind !== 'diverted') throw new Error('the delivery is lost');
    this.#append(this.#appended, admission, timing.nowMs);
    return false;
  }

  #newRequeuer(): Requeuer {
    const send = ([record]: readonly OutRecord[]) => {
      if (record?.topic === DUE) {
        this.#returned = true;
        this.#returnedAt = this.now + this.brokerWrongMs;
      }
      this.retry.write();
      return Promise.resolve();
    };
    const positions = new TierPositions({
      steadyMs: () => 0,
      isTaking: () => false,
      onAssigned: () => undefined,
    });
    return new Requeuer({
      producer: {
        pendingBytes: 0,
        oldestPendingAt: undefined,
        send,
        close: () => Promise.resolve(),
      },
      clock: this.retry.clock,
      steadyMs: () => this.retry.steady.now(),
      onRoom: () => undefined,
      recalls: {
        check: () => 'return',
        positions,
        onRestart: () => undefined,
      },
      log: createLog('docs', 'silent'),
    });
  }

  #append(delivery: Delivery, disposition: Disposition, nowMs: number): void {
    const record = { topic: 'webhooks', partition: 0, offset: 0 };
    const inHand = { delivery, key: null, body: Buffer.alloc(0), record };
    const written = recordsOf(inHand, disposition, nowMs).find(({ topic }) => topic !== 'attempts');
    if (!written) throw new Error('the delivery is lost');
    const headers = written.headers ?? {};
    const decoded = decodeDelivery(headers);
    this.#appended = decoded.kind === 'delivery' ? decoded.delivery : undefined;
    this.#record = {
      topic: written.topic,
      partition: 0,
      offset: (this.#record?.offset ?? 0) + 1,
      epoch: 0,
      timestampMs: this.now + this.brokerWrongMs,
      key: null,
      value: null,
      headers,
      isRevoking: false,
      isInDoubt: false,
      done: () => undefined,
      handBack: () => false,
      defer: () => undefined,
    };
    this.#returned = false;
    this.#againAt = -Infinity;
  }
}

const DELIVERY: Delivery = {
  id: 'dlv_1',
  messageId: 'msg-1',
  sourceId: 'src_1',
  destinationId: 'dst_1',
  type: 'track',
  acceptedAt: START,
  expiresAt: START + WINDOW_MS,
  attempt: 1,
  hop: 0,
  replay: 0,
  excludedUrls: [],
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
};
const FAILED = {
  url: 'whk',
  origin: 'https://a.example',
  destinationVersion: 1,
  outcome: 'retry' as const,
  durationMs: 1,
};
const LOOKUP = {
  kind: 'open',
  version: 1,
  destination: { enabled: true, paused: false, endpoints: [{ hash: 'h' }] },
} as unknown as OpenLookup;

export type Fault = (world: World) => void;

/**
 * Returns how late the attempt begins, ms: after the minute, or after the time to go on after a
 * sleep, a standstill or a stop, if that is later. Negative: early. Infinity: never.
 * @param atMs when the fault happens: the delivery waits from one minute to two
 */
export function lateness(fault: Fault, atMs: number, isBusy: boolean): number {
  const world = new World(isBusy);
  let done = false;
  const happen = () => {
    if (done || world.now < START + atMs) return;
    done = true;
    fault(world);
  };
  world.runUntil(FAILED_AT_MS, () => {
    happen();
    return false;
  });
  while (world.delivery.isAway) world.runUntil(world.now - START + TICK_MS);
  const failedAt = world.now;
  world.fail();
  const isAttempted = world.runUntil(GIVEN_UP_MS, () => {
    happen();
    return world.step();
  });
  const { delivery, retry, now } = world;
  if (!isAttempted) return Infinity;
  const dueAt = failedAt + WAIT_MS;
  const by = Math.max(dueAt, delivery.resumedBy, retry.resumedBy);
  return now < dueAt ? now - dueAt : Math.max(0, now - by);
}
