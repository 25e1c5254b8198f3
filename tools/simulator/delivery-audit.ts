import { defined } from '../../shared/collections/defined';
import { type CircuitEvent, type DeliveryEvent } from '../../shared/model/attempt-events';
import { readEvents } from '../../shared/model/attempt-rows';
import { isEndpointWait } from '../../shared/model/reasons';
import { type OutRecord } from '../../shared/kafka/port';
import { ATTEMPTS, DEAD, DUE } from '../../shared/kafka/topics';
import { type Figures } from './figures';

/**
 * Tracks every delivery and checks each step: it is stored in one topic, held by one process, or
 * ended; its outcome is written before its record is done; it ends once.
 */

type State = 'stored' | 'held' | 'delivered' | 'dead' | 'cancelled';

interface Entry {
  label: string;
  bornAt: number;
  expiresAt: number;
  state: State;
  /** start of its last wait */
  waitsSince: number;
  /** increases with every reading: a late `done` of an earlier reading does not concern this one */
  step: number;
  attempts: number;
  /** it was diverted within its window because of its endpoint: its rate, its lane, its circuit */
  waitedForEndpoint: boolean;
  /** number of these, or of the waits without one */
  waits: number;
}

export class Book {
  /** the open ones; ended ones are dropped, because runs have millions */
  readonly #open = new Map<string, Entry>();
  #born = 0;
  /** violations by kind: none in a sound system */
  readonly violations = new Map<string, number>();

  /** when a process last resumed from a standstill */
  #awakeSince = -Infinity;

  constructor(private readonly figures: Figures) {}

  /** A process was frozen until now: deliveries that it held may be late, once. */
  stoodStill(nowMs: number): void {
    this.#awakeSince = nowMs;
  }

  /** Number of open deliveries. */
  get open(): number {
    return this.#open.size;
  }

  get born(): number {
    return this.#born;
  }

  violate(what: string): void {
    this.violations.set(what, (this.violations.get(what) ?? 0) + 1);
  }

  /** @returns its id */
  bear(label: string, nowMs: number, expiresAt: number): string {
    const id = `dlv_${String(this.#born++)}`;
    this.#open.set(id, {
      label,
      bornAt: nowMs,
      expiresAt,
      state: 'stored',
      waitsSince: nowMs,
      step: 0,
      attempts: 0,
      waits: 0,
      waitedForEndpoint: false,
    });
    this.figures.count(`${label}: born`);
    return id;
  }

  /**
   * A process has read it.
   * @returns a function to call when its record is done
   */
  taken(id: string): () => void {
    const entry = this.#open.get(id);
    if (entry?.state !== 'stored') {
      this.violate('read what was not stored');
      return () => undefined;
    }
    entry.state = 'held';
    const step = ++entry.step;
    let done = false;
    return () => {
      if (done) this.violate('done twice');
      done = true;
      if (entry.step === step && entry.state === 'held') {
        this.violate('done before its outcome was written');
      }
    };
  }

  /**
   * A request begins.
   * @returns its label, and the wait before its first request
   */
  sent(id: string, nowMs: number): { label: string; waitedMs?: number } {
    const entry = this.#open.get(id);
    if (entry?.state !== 'held') {
      this.violate('sent what was not held');
      return { label: '' };
    }
    // A delivery that waited only for Waypost, and was never tried, gets a try after its window.
    if (nowMs > entry.expiresAt && (entry.attempts > 0 || entry.waitedForEndpoint)) {
      this.violate('sent after its window');
    }
    return {
      label: entry.label,
      ...defined({ waitedMs: entry.attempts === 0 ? nowMs - entry.bornAt : undefined }),
    };
  }

  #stoodStillFor({ bornAt }: Entry): boolean {
    return this.#awakeSince >= bornAt;
  }

  /** A record is written and acknowledged. */
  written({ topic, value, headers }: OutRecord, nowMs: number): void {
    if (topic === ATTEMPTS) {
      for (const event of readEvents(String(value))) this.#event(event, nowMs);
    } else if (topic === DEAD) this.#end(headers?.delivery ?? '', 'dead', nowMs);
    else {
      const entry = this.#held(headers?.delivery ?? '', 'written again');
      if (!entry) return;
      entry.state = 'stored';
      if (topic === DUE) {
        this.#returns(entry, nowMs);
        return;
      }
      entry.waits++;
      entry.waitsSince = nowMs;
      const reason = headers?.reason ?? '';
      if (nowMs <= entry.expiresAt && isEndpointWait(reason)) entry.waitedForEndpoint = true;
      this.figures.count(`${entry.label}: waits, ${reason}`);
      this.figures.course(`waits, ${reason}`).add(nowMs);
    }
  }

  /**
   * It returns from a tier. No wait that begins within the window may be planned to end after it.
   */
  #returns(entry: Entry, nowMs: number): void {
    const planned = entry.waitsSince <= entry.expiresAt;
    if (planned && nowMs > entry.expiresAt && !this.#stoodStillFor(entry)) {
      this.violate('a wait beyond its window');
    }
  }

  #event(event: DeliveryEvent | CircuitEvent, nowMs: number): void {
    if (event.kind === 'circuit') return;
    const { delivery: id } = event;
    if (event.kind === 'cancelled') this.#end(id, 'cancelled', nowMs);
    if (event.kind !== 'attempt' || event.late) return;
    const entry = this.#held(id, 'attempted');
    if (entry) entry.attempts++;
    if (event.outcome === 'delivered') this.#end(id, 'delivered', nowMs);
  }

  #held(id: string, what: string): Entry | undefined {
    const entry = this.#open.get(id);
    if (entry?.state === 'held') return entry;
    this.violate(`${what}, and not held`);
    return undefined;
  }

  #end(id: string, how: 'delivered' | 'dead' | 'cancelled', nowMs: number): void {
    const entry = this.#held(id, `ended (${how})`);
    if (!entry) return;
    entry.state = how;
    this.#open.delete(id);
    const { label, waits, attempts, bornAt } = entry;
    this.figures.count(`${label}: ${how}`);
    this.figures.of(`${label}: hops`).add(waits);
    this.figures.most(`${label}: most hops`, waits);
    this.figures.of(`${label}: attempts`).add(attempts);
    this.figures.of(`${label}: until the end`).add(nowMs - bornAt);
    this.figures.most(`${label}: last ended at`, nowMs);
    this.figures.course(how).add(nowMs);
  }
}
