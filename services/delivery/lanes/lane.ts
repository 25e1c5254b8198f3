import { CompactingMap } from '../../../shared/service/compacting-map';
import { Circuit, type CircuitOptions, type Period } from './circuit';
import { type Job, type Offer, type Refusal } from './types';
import { kindOf, LaneQueue, type Queued } from './queue';
import { ConcurrencyLimit, type ConcurrencyOptions } from './concurrency-limit';
import { type Kind, type SocketShares, type Share } from './socket-shares';
import { RateLimit } from './rate-limit';
import { type Signal } from './signal';

/**
 * One lane per URL: what waits for it, and when it may start. Lanes are the only queue there is, and they hold no clock,
 * socket or timer: `now` is the loop clock's.
 *
 * Invariants: a job that was offered is started once, refused once, removed, or still queued. Never are more open than
 * pace, circuit, rate and pool allow (test sends aside, which an operator makes one by one).
 *
 * Full means slow. What a lane may hold is what it drains within `maxWaitMs` at the pace it shows (a batch outruns any
 * lane: diverting whatever meets a busy one sent away three quarters of a healthy backlog); beyond that the caller
 * diverts to a tier.
 */

export interface LaneOptions extends ConcurrencyOptions {
  circuit: CircuitOptions;
  /** the longest that a job is expected to wait in the queue: the shortest tier */
  maxWaitMs: number;
  /** the memory for the waiting bodies of all lanes */
  maxQueuedBytes: number;
}

/** What lanes have in common. */
export interface LaneContext {
  sockets: SocketShares;
  queued: Queued;
  /** Whether this process has nothing to spare: more at once then only makes each slower. */
  saturated(): boolean;
  /** how much time the clock of all lanes has left out so far, ms */
  stoodStillMs(): number;
  /** How many more may be turned away in this tick: where many circuits open at once, the others must not wait for it. */
  shedBudget: { left: number };
  /** lanes that wait for a moment, not for an answer: to be ticked */
  timed: Set<{ tick(now: number): void }>;
}

export class Lane {
  readonly concurrency: ConcurrencyLimit;
  readonly circuit: Circuit;
  readonly rateLimit = new RateLimit();
  readonly #queue: LaneQueue<Job>;
  readonly #share: Share = { held: 0, waits: 0, begin: (kind, now) => this.#given(kind, now) };
  /** what is open, oldest first */
  readonly #open = new CompactingMap<Job, { at: number; stoodStillMs: number; period: Period }>();
  /** sent away since it was last empty, and not come back: they are in the way of whoever is sent away next */
  #diverted = 0;
  /** when it was last used, by the loop clock */
  usedAt = 0;

  constructor(
    private readonly options: LaneOptions,
    private readonly around: LaneContext,
    /** its circuit opened, or closed again; may not offer jobs */
    private readonly onCircuit: (change: 'opened' | 'answering', why: Signal['kind']) => void = () => undefined,
  ) {
    this.concurrency = new ConcurrencyLimit(options);
    this.circuit = new Circuit(options.circuit);
    this.#queue = new LaneQueue(around.queued, options.maxQueuedBytes);
  }

  get active(): number {
    return this.#open.size;
  }

  get queued(): number {
    return this.#queue.size;
  }

  /** How many it may have open now. */
  get limit(): number {
    return Math.min(this.concurrency.limit, this.circuit.limit);
  }

  /** How many wait here for this process, not for an endpoint that is slow, silent or away, nor for its rate. */
  backlog(now: number): number {
    const elsewhere =
      this.concurrency.slow || this.#isSilent(now) || !this.rateLimit.has(now) || this.circuit.refusal(now);
    return elsewhere ? 0 : this.queued;
  }

  /** Starts the job, queues it, or says why not and how long it would wait. */
  offer(job: Job, now: number): Offer {
    this.usedAt = now;
    const first = job.urgent === true || (this.queued === 0 && this.#mayBegin(now));
    if (first && this.around.sockets.take(this.#share)) {
      this.#start(job, now);
      return 'started';
    }
    if (job.due && this.#diverted > 0) this.#diverted--;
    const refusal = this.#refusal(kindOf(job), now, this.options.maxWaitMs);
    if (refusal) return refusal;
    if (!this.#queue.hasRoom(job)) return this.#full(kindOf(job), now);
    this.#queue.push(job);
    this.#await(now);
    return 'queued';
  }

  /** How long a job offered now would wait, judged by completions and by the age of the oldest open request. */
  expectedWaitMs(kind: Kind, now: number): number {
    return this.#expect(kind, now).waitMs;
  }

  /** Why a job that is queued here has not been started yet, where nothing but time is missing. */
  overdue(job: Job, now: number): Refusal {
    return { reason: this.#expect(kindOf(job), now, 1).reason, waitMs: 0 };
  }

  /** @param before so many come first that are not in the queue */
  #expect(kind: Kind, now: number, before = 0): { waitMs: number; reason: 'lane_full' | 'rate_limited' } {
    const [oldest] = this.#open.values();
    const { concurrency, circuit, rateLimit } = this;
    const oneMs = Math.max(concurrency.meanMs, oldest === undefined ? 0 : now - oldest.at);
    const jobs = this.#queue.through(kind) + before;
    const width = this.around.sockets.contended
      ? Math.max(1, Math.min(this.active, concurrency.limit))
      : concurrency.limit;
    // A recovering one doubles its width with each round.
    const recoveryMs = Math.log2(concurrency.limit / this.limit) * oneMs;
    const paceMs = recoveryMs + concurrency.drainMs(jobs, oneMs, width);
    const rateMs = recoveryMs + rateLimit.waitMs(jobs, now);
    const waitMs = (circuit.refusal(now)?.waitMs ?? 0) + Math.max(paceMs, rateMs);
    return { waitMs, reason: rateMs > paceMs ? 'rate_limited' : 'lane_full' };
  }

  /** A job gave its place back. */
  ended(job: Job, now: number, signal: Signal): void {
    const begun = this.#open.get(job);
    if (begun === undefined) return;
    const inFullUse = this.active >= this.concurrency.limit && !this.around.saturated();
    this.#open.delete(job);
    this.usedAt = now;
    const change = this.circuit.ended(begun.period, signal, now, begun.at);
    const stoodStillMs = this.around.stoodStillMs() - begun.stoodStillMs;
    this.concurrency.ended(signal, { startedAt: begun.at, now, stoodStillMs, inFullUse });
    if (change === 'opened' && signal.kind === 'failed') this.concurrency.broke();
    if (change === 'answering') this.concurrency.restart(now - begun.at);
    if (change === 'opened' || change === 'answering') this.onCircuit(change, signal.kind);
    this.around.sockets.release(this.#share, now);
    // Twice what is let in, so that one slow answer turns nobody away who has just been let in.
    const late = signal.kind === 'timeout' || signal.kind === 'throttled';
    if (late) this.#shed(2 * this.options.maxWaitMs, now);
    this.tick(now);
  }

  /** Time has passed, or a place has come free: starts what may start. */
  tick(now: number): void {
    this.around.timed.delete(this);
    while (this.queued > 0 && this.#mayBegin(now) && this.around.sockets.take(this.#share)) {
      this.#startNext(this.#queue.turn(), now);
    }
    if (this.circuit.refusal(now)) this.#shed(Infinity, now);
    this.#await(now);
  }

  /** Takes a queued job out again: its delivery was settled elsewhere. */
  remove(job: Job): boolean {
    const removed = this.#queue.remove(job);
    if (this.queued === 0) this.around.sockets.leave(this.#share);
    return removed;
  }

  /** Jobs that wait for records that are leaving go. */
  clear(): void {
    const leaving = this.#queue.waiting().filter(({ record }) => record.isRevoking);
    for (const job of leaving) if (this.remove(job)) job.refuse();
  }

  #mayStart(now: number): boolean {
    return this.#hasPlace(now) && this.circuit.refusal(now) === undefined && this.rateLimit.has(now);
  }

  /** What is sent to an endpoint that has fallen silent is likely to hang with the rest: it waits here as well as there. */
  #hasPlace(now: number): boolean {
    return this.active < this.limit && (this.active < this.circuit.silentLimit || !this.#isSilent(now));
  }

  #isSilent(now: number): boolean {
    const [oldest] = this.#open.values();
    return oldest !== undefined && now - oldest.at > this.concurrency.silenceMs && this.circuit.silentSince(oldest.at);
  }

  /**
   * A probe is whoever's turn it is: where an outage has left some in the queue, one of them, since a due retry that is offered then
   * must not go before their first attempts.
   */
  #mayBegin(now: number): boolean {
    return (this.circuit.mayProbe(now) && this.rateLimit.has(now)) || this.#mayStart(now);
  }

  /** Sees to it that it hears when more may start: from the pool, from the clock, or with the end of what is open. */
  #await(now: number): void {
    const { sockets, timed } = this.around;
    if (this.queued === 0) {
      sockets.leave(this.#share);
      this.#diverted = 0;
    } else if (this.#mayStart(now)) {
      for (const kind of ['fresh', 'due'] as const) if (this.#queue.count(kind) > 0) sockets.wait(this.#share, kind);
    } else if (this.#hasPlace(now) || this.circuit.state === 'open') timed.add(this);
  }

  /** The pool gives it a place. */
  #given(kind: Kind, now: number): boolean {
    const used = this.queued > 0 && this.#mayStart(now);
    if (used) this.#startNext(kind, now);
    this.#await(now);
    return used;
  }

  #startNext(kind: Kind, now: number): void {
    const job = this.#queue.shift(kind);
    if (job) this.#start(job, now);
  }

  #start(job: Job, now: number): void {
    this.rateLimit.take(now);
    this.#open.set(job, { at: now, stoodStillMs: this.around.stoodStillMs(), period: this.circuit.began() });
    job.start();
  }

  /**
   * Of an open circuit, everything leaves, some with each tick; and after a timeout or 429 what cannot be started in good
   * time any more, the newest first. (After a mere failure not: the pace of one moment would send away the backlog of an
   * endpoint that fails now and then.)
   */
  #shed(mostMs: number, now: number): void {
    const { shedBudget } = this.around;
    const refused: { job: Job; refusal: Refusal }[] = [];
    for (const kind of ['due', 'fresh'] as const) {
      while (shedBudget.left > 0 && this.#queue.count(kind) > 0) {
        const refusal = this.#refusal(kind, now, mostMs);
        const job = refusal && this.#queue.pop(kind);
        if (!job) break;
        shedBudget.left--;
        refused.push({ job, refusal });
      }
    }
    for (const { job, refusal } of refused) job.refuse(refusal);
  }

  /** Why a job of this kind can neither start nor wait here. */
  #refusal(kind: Kind, now: number, maxWaitMs: number): Refusal | undefined {
    const refusal = this.circuit.refusal(now);
    if (refusal && (refusal.reason === 'circuit_open' || refusal.waitMs > this.options.maxWaitMs)) return refusal;
    return this.expectedWaitMs(kind, now) > maxWaitMs ? this.#full(kind, now) : undefined;
  }

  /** Each that is sent away is told to wait for those before it too: else all would come back at once, and most in vain. */
  #full(kind: Kind, now: number): Refusal {
    return this.#expect(kind, now, this.#diverted++);
  }
}
