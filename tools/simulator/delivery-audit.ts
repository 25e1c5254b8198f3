import { defined } from '../../shared/collections/defined';
import {
  type CircuitEvent,
  type DeliveryEvent,
  type UrlDisabledEvent,
} from '../../shared/model/attempt-events';
import { readEvents } from '../../shared/model/attempt-rows';
import { isEndpointWait } from '../../shared/model/reasons';
import { STANDS_MS } from '../../shared/model/recall';
import { LONGEST_ASKED_MS } from '../../shared/model/schedule';
import { type OutRecord } from '../../shared/kafka/port';
import { ATTEMPTS, DEAD, DUE, WEBHOOKS } from '../../shared/kafka/topics';
import { type DeliveryRequest, StandingInvariants } from '../harness/standing-invariants';
import { type Figures } from './figures';
import { type HistoryAudit } from './history-audit';
import { RecoveryAudit } from './recovery-audit';

/**
 * Tracks every delivery and checks each step: it is stored in one topic, held by one process, or
 * ended; its outcome is written before its record is done; it ends once; and the standing
 * invariants hold.
 */

type State = 'stored' | 'held' | 'delivered' | 'dead' | 'cancelled';

interface Entry {
  label: string;
  bornAt: number;
  expiresAt: number;
  state: State;
  /** where it is stored, or was before it was read */
  topic: string;
  /** start of its last wait */
  waitsSince: number;
  /** increases with every reading: a late `done` of an earlier reading does not concern this one */
  step: number;
  attempts: number;
  /** it was diverted within its window because of its endpoint: its rate, its lane, its circuit */
  waitedForEndpoint: boolean;
  /** number of these, or of the waits without one */
  waits: number;
  /** when its last request ended */
  answeredAt: number;
  /** when its next attempt may begin at the earliest */
  notBefore: number;
  /** when a user cancelled it; undefined: nobody did */
  cancelledAt: number | undefined;
}

/** Of the settings. */
export interface Plan {
  tiersMs: readonly number[];
  /** the last attempt may be earlier than planned by this, and by the shortest tier */
  marginMs: number;
}

/** A retry within this time before its time may come from clocks that differ. */
const CLOCKS_DIFFER_MS = 1_000;
/** A cancelled delivery that stays in a tier for so long is found there. */
const FOUND_WITHIN_MS = 3_000;

const MOST_LETTERS = 100;

export class Book {
  /** the open ones; ended ones are dropped, because runs have millions */
  readonly #open = new Map<string, Entry>();
  /** their records were cut off */
  readonly #cutOff = new Map<string, Entry>();
  #born = 0;
  /** violations by kind: none in a sound system */
  readonly violations = new Map<string, number>();

  /** dead letters, newest last; a few, for replays */
  readonly letters: OutRecord[] = [];
  readonly invariants = new StandingInvariants(({ what }) => this.violate(what));
  readonly recoveries = new RecoveryAudit((what) => this.violate(what));
  /** called when a process has switched a webhook off */
  onUrlDisabled: (event: UrlDisabledEvent) => void = () => undefined;
  /** when a process last resumed from a standstill */
  #awakeSince = -Infinity;

  constructor(
    private readonly figures: Figures,
    private readonly plan: Plan = { tiersMs: [], marginMs: 0 },
    /** absent: the run has too many deliveries to keep a row of each */
    private readonly history?: HistoryAudit,
  ) {}

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
    const id = `dlv_${String(this.#born)}`;
    this.#add(id, label, nowMs, expiresAt);
    return id;
  }

  /** A dead delivery begins anew, and counts as born again. */
  replayed(id: string, label: string, nowMs: number, expiresAt: number): void {
    this.invariants.replayed(id);
    this.history?.begunAnew(id);
    this.#add(id, label, nowMs, expiresAt);
  }

  #add(id: string, label: string, nowMs: number, expiresAt: number): void {
    this.#born++;
    this.#open.set(id, {
      label,
      bornAt: nowMs,
      expiresAt,
      state: 'stored',
      topic: WEBHOOKS,
      waitsSince: nowMs,
      step: 0,
      attempts: 0,
      waits: 0,
      waitedForEndpoint: false,
      answeredAt: -Infinity,
      notBefore: -Infinity,
      cancelledAt: undefined,
    });
    this.figures.count(`${label}: born`);
  }

  /** A user cancels a delivery that waits. */
  cancelled(id: string, nowMs: number): void {
    const entry = this.#open.get(id);
    if (entry) entry.cancelledAt ??= nowMs;
  }

  /** Its record was cut off: it is lost, unless it was read early, to be recalled. */
  cutOff(id: string, topic: string): void {
    const entry = this.#open.get(id);
    if (entry?.state !== 'stored' || entry.topic !== topic) return;
    this.recoveries.left(id);
    this.#open.delete(id);
    this.#cutOff.set(id, entry);
    this.figures.count(`${entry.label}: cut off`);
  }

  #readBeforeTheCut(id: string): Entry | undefined {
    const entry = this.#cutOff.get(id);
    if (!entry) return undefined;
    this.#cutOff.delete(id);
    this.#open.set(id, entry);
    this.figures.count(`${entry.label}: cut off`, -1);
    return entry;
  }

  /** Its record was handed back unstarted. */
  handedBack(id: string): void {
    const entry = this.#held(id, 'handed back');
    if (entry) entry.state = 'stored';
  }

  /**
   * A process has read it.
   * @returns a function to call when its record is done
   */
  taken(id: string): () => void {
    const entry = this.#open.get(id) ?? this.#readBeforeTheCut(id);
    if (entry?.state !== 'stored') {
      this.violate('read what was not stored');
      return () => undefined;
    }
    entry.state = 'held';
    this.recoveries.left(id);
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
  sent(request: DeliveryRequest, nowMs: number): { label: string; waitedMs?: number } {
    const { delivery: id } = request;
    this.invariants.began(request, nowMs);
    const entry = this.#open.get(id);
    if (entry?.state !== 'held') {
      this.violate('sent what was not held');
      return { label: '' };
    }
    // A delivery that waited only for Waypost, and was never tried, gets a try after its window.
    if (nowMs > entry.expiresAt && (entry.attempts > 0 || entry.waitedForEndpoint)) {
      this.violate('sent after its window');
    }
    if (nowMs + CLOCKS_DIFFER_MS < entry.notBefore) this.violate('attempted before its time');
    return {
      label: entry.label,
      ...defined({ waitedMs: entry.attempts === 0 ? nowMs - entry.bornAt : undefined }),
    };
  }

  /**
   * A request has ended.
   * @param askedMs in its `Retry-After`, if the URL is the only one: of several, the one that asks
   *   for the least decides; 0: it has none
   */
  answered(id: string, url: string, askedMs: number, nowMs: number): void {
    const entry = this.#open.get(id);
    if (!entry) {
      this.invariants.ended({ delivery: id, url });
      this.invariants.forget(id);
      return;
    }
    entry.answeredAt = nowMs;
    const asked = Math.min(askedMs, LONGEST_ASKED_MS);
    const notBefore = asked > 0 ? this.#cutAtEnd(nowMs + asked, entry) : undefined;
    this.invariants.ended({ delivery: id, url }, notBefore);
  }

  /** The last attempt stands at the end of the window. */
  #cutAtEnd(atMs: number, { expiresAt }: Entry): number {
    const { tiersMs, marginMs } = this.plan;
    return Math.min(atMs, expiresAt - marginMs - Math.min(...tiersMs));
  }

  #stoodStillFor({ bornAt }: Entry): boolean {
    return this.#awakeSince >= bornAt;
  }

  /** A record is written and acknowledged. */
  written({ topic, key, value, headers = {} }: OutRecord, nowMs: number): void {
    if (topic === ATTEMPTS) {
      const text = String(value);
      for (const event of readEvents(text)) this.#event(event, nowMs);
      if (text.startsWith('{"kind":"url_disabled"')) {
        this.onUrlDisabled(JSON.parse(text) as UrlDisabledEvent);
      }
    } else if (topic === DEAD) {
      this.letters.push({ topic, key, value: null, headers });
      if (this.letters.length > MOST_LETTERS) this.letters.shift();
      this.#end(headers.delivery ?? '', 'dead', nowMs);
    } else {
      const id = headers.delivery ?? '';
      const entry = this.#held(id, 'written again');
      if (!entry) return;
      entry.state = 'stored';
      entry.topic = topic;
      if (topic === DUE) {
        this.#returns(id, entry, headers.recalled, nowMs);
        return;
      }
      entry.waits++;
      entry.waitsSince = nowMs;
      const reason = headers.reason ?? '';
      if (nowMs <= entry.expiresAt && isEndpointWait(reason)) entry.waitedForEndpoint = true;
      if (reason === 'circuit_open') {
        this.recoveries.parked(id, {
          destination: headers.destination ?? '',
          key: key ?? '',
          refusedBy: headers.closed?.split(',') ?? [],
          sinceMs: nowMs,
        });
      }
      this.figures.count(`${entry.label}: waits, ${reason}`);
      this.figures.course(`waits, ${reason}`).add(nowMs);
    }
  }

  /**
   * It returns from a tier. No wait that begins within the window may be planned to end after it.
   */
  #returns(id: string, entry: Entry, recalled: string | undefined, nowMs: number): void {
    if (recalled === 'retry' || recalled === 'retry_all') {
      entry.notBefore = -Infinity;
      this.invariants.released(id);
    }
    const { waitsSince, cancelledAt } = entry;
    const wasFound =
      cancelledAt !== undefined &&
      waitsSince <= cancelledAt + STANDS_MS &&
      nowMs > Math.max(waitsSince, cancelledAt) + FOUND_WITHIN_MS;
    if (wasFound || recalled === 'cancel') this.invariants.cancelled(id);
    const planned = entry.waitsSince <= entry.expiresAt;
    if (planned && nowMs > entry.expiresAt && !this.#stoodStillFor(entry)) {
      this.violate('a wait beyond its window');
    }
  }

  #event(event: DeliveryEvent | CircuitEvent, nowMs: number): void {
    if (event.kind === 'circuit') return;
    const { delivery: id } = event;
    this.history?.event(event);
    if (event.kind === 'cancelled') this.#end(id, 'cancelled', nowMs);
    if (event.kind !== 'attempt' || event.late) return;
    const entry = this.#held(id, 'attempted');
    if (entry) {
      const { tiersMs } = this.plan;
      const plannedMs = tiersMs[Math.min(entry.attempts, tiersMs.length - 1)] ?? 0;
      entry.notBefore = this.#cutAtEnd(entry.answeredAt + plannedMs, entry);
      entry.attempts++;
    }
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
    this.history?.ended(id, how);
    this.#open.delete(id);
    this.invariants.forget(id);
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
