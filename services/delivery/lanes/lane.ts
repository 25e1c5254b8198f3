import { LinkedList } from '../../../shared/collections/linked-list';
import { type Delivery } from '../../../shared/model/delivery';
import { Circuit } from './circuit';
import { type Job, type Kind, kindOf, KINDS, type Offer, type Refusal, type Signal } from './job';
import { expectedWait } from './expected-wait';
import { LaneQueue } from './queue';
import { QueuedBytes } from './queued-bytes';
import { ConcurrencyLimit } from './concurrency-limit';
import { type LaneContext, type LaneOptions } from './lane-context';
import { type Share } from './socket-shares';
import { RateLimit } from './rate-limit';

/**
 * The queue of one URL: it decides which jobs wait and when they start. Lanes are the only queues
 * of delivery. They hold no socket or timer. `now` is the stall clock's; of the clock itself they
 * ask only how long it stood still, and whether the process is at its limit.
 *
 * Invariants: a job that was offered is started once, refused once, removed, or still queued. No
 * more jobs are open than the concurrency limit, circuit, rate limit and socket shares allow
 * (except test sends, which an operator makes one by one).
 *
 * Full means slow: a lane holds what it drains within `maxWaitMs` at its present pace, and beyond
 * that the caller diverts to a tier. (A batch outruns any lane: diverting every job that met a busy
 * lane diverted three quarters of a healthy backlog.)
 */

export class Lane {
  readonly concurrency: ConcurrencyLimit;
  readonly circuit: Circuit;
  readonly rateLimit = new RateLimit();
  readonly bytes: QueuedBytes;
  readonly #queue: LaneQueue<Job>;
  readonly #share: Share = { held: 0, waits: 0, onPlace: (kind, now) => this.#onPlace(kind, now) };
  /** open jobs, oldest first */
  readonly #open = new LinkedList<Job>();
  /**
   * Jobs diverted since the queue was last empty and not yet back. The next diverted job waits
   * behind them. If deliveries that retry recalls counted too, the lane would forget those that are
   * still away, and send each to the shortest tier again and again.
   */
  #diverted = 0;
  /** when it was last used, by the stall clock */
  usedAt = 0;
  /** A user sent it while the probe was not answered yet: it is the next request. */
  #asked: Job | undefined;

  constructor(
    private readonly options: LaneOptions,
    private readonly shared: LaneContext,
    /** reports that the circuit opened or closed again; must not offer jobs */
    private readonly onCircuit: (
      change: 'opened' | 'responded',
      why: Signal['kind'],
    ) => void = () => undefined,
    /** of the URL */
    origin?: string,
  ) {
    this.concurrency = new ConcurrencyLimit(options);
    this.circuit = new Circuit(options.circuit, origin);
    this.bytes = new QueuedBytes(shared.queued, options.maxQueuedBytes);
    this.#queue = new LaneQueue(this.bytes);
  }

  get active(): number {
    return this.#open.size;
  }

  get queued(): number {
    return this.#queue.size;
  }

  /** Number of queued first attempts. */
  get queuedFirst(): number {
    return this.#queue.count('fresh');
  }

  /** The most jobs that may be open now. */
  get limit(): number {
    return Math.min(this.concurrency.limit, this.circuit.limit);
  }

  /**
   * Returns how many jobs wait for this process rather than for a slow, silent or absent endpoint
   * or for its rate.
   */
  backlog(now: number): number {
    const elsewhere =
      this.concurrency.slow ||
      this.#isSilent(now) ||
      !this.rateLimit.has(now) ||
      this.circuit.refusal(now);
    return elsewhere ? 0 : this.queued;
  }

  /**
   * Gives the job a place, queues it, or refuses it with the reason and the expected wait.
   *
   * If it returns `placed`, the job has its place, and the caller must call `job.start` or send it
   * at once. A caller that forgets this leaks the place: nobody frees it.
   */
  offer(job: Job, now: number): Offer {
    this.usedAt = now;
    const insists =
      job.insists &&
      this.active === 0 &&
      this.rateLimit.has(now) &&
      this.circuit.insist(job.insists, now);
    const passesHold = job.isLast === true && this.circuit.refusal(now)?.reason === 'retry_after';
    const goesAhead = job.isPart === true || passesHold;
    const isNext = this.queued === 0 || goesAhead;
    const first = job.urgent === true || insists || (isNext && this.#mayBegin(now, passesHold));
    if (first && this.shared.sockets.take(this.#share)) {
      this.#begin(job, now);
      return 'placed';
    }
    if (job.cameBack && this.#diverted > 0) this.#diverted--;
    if (job.insists === 'always' && this.#waitsForProbe()) {
      this.#asked = job;
      return 'queued';
    }
    const mostMs = goesAhead ? Infinity : this.options.maxWaitMs;
    const refusal = this.#refusal(kindOf(job), now, mostMs, passesHold);
    if (refusal) return refusal;
    if (!this.#queue.hasRoom(job)) return this.full(kindOf(job), now);
    job.passesHold = passesHold;
    this.#queue.push(job, goesAhead);
    this.#await(now);
    return 'queued';
  }

  /**
   * Returns why a batch need not gather for this endpoint; undefined also if its next request would
   * be a probe.
   */
  away(now: number, passesHold = false): Refusal | undefined {
    this.usedAt = now;
    return this.circuit.mayProbe(now) ? undefined : this.#hindrance(now, passesHold);
  }

  /**
   * Returns the refusal of a job that has no room. Its wait includes the jobs diverted before it:
   * otherwise all would return together, most in vain.
   */
  full(kind: Kind, now: number): Refusal {
    return this.#expect(kind, now, this.#diverted++);
  }

  /** Returns why a queued job has not started yet, if it lacks nothing but time. */
  overdue(job: Job, now: number): Refusal {
    return { reason: this.#expect(kindOf(job), now, 1).reason, waitMs: 0 };
  }

  /**
   * Estimates the wait of a job offered now. @param before number of jobs ahead that are not in the
   * queue
   */
  #expect(kind: Kind, now: number, before = 0) {
    const oldestMs = now - (this.#open.first?.begunAt ?? now);
    const jobs = this.#queue.through(kind) + before;
    return expectedWait(this, { jobs, oldestMs, contended: this.shared.sockets.contended }, now);
  }

  /** Frees the place of a job. */
  freePlace(job: Job, now: number, signal: Signal): void {
    const inFullUse = this.active >= this.concurrency.limit && !this.shared.clock.usesWholeCore;
    if (!this.#open.delete(job)) return;
    this.usedAt = now;
    const { begunAt: startedAt = now, stalledBefore = 0, period = 0 } = job;
    const change = this.circuit.observe(period, signal, now, startedAt);
    const stalledMs = this.shared.clock.stalledMs - stalledBefore;
    this.concurrency.adjust(signal, { startedAt, now, stalledMs, inFullUse });
    if (change === 'opened' && signal.kind === 'failed') this.concurrency.broke();
    if (change === 'responded') this.concurrency.restart(now - startedAt);
    if (change === 'opened' || change === 'responded') this.onCircuit(change, signal.kind);
    this.shared.sockets.release(this.#share, now);
    // Twice the wait that `offer` allows, so that a single slow response diverts no job that was
    // just queued.
    const late = signal.kind === 'timeout' || signal.kind === 'throttled';
    if (late) this.#shed(2 * this.options.maxWaitMs, now);
    if (this.#asked) this.#startAsked(this.#asked, now);
    this.tick(now);
  }

  /** Starts the jobs that may start, after time has passed or a place was freed. */
  tick(now: number): void {
    this.shared.timed.delete(this);
    this.#startLast(now);
    while (this.queued > 0 && this.#mayBegin(now) && this.shared.sockets.take(this.#share)) {
      this.#start(this.#queue.shift(this.#queue.turn()), now);
    }
    if (this.circuit.refusal(now)) this.#shed(Infinity, now);
    this.#await(now);
  }

  /** Removes a queued job whose delivery was settled elsewhere. */
  remove(job: Job): boolean {
    if (this.#asked === job) {
      this.#asked = undefined;
      return true;
    }
    const removed = this.#queue.remove(job);
    if (this.queued === 0) this.shared.sockets.leave(this.#share);
    return removed;
  }

  /** Returns whether an open request sends a delivery of this kind. */
  isSending(is: (delivery: Delivery) => boolean): boolean {
    return this.#open.entries().some((job) => job.carries(is));
  }

  /** Refuses the queued jobs of revoked records. */
  clear(): void {
    const leaving = this.#queue.waiting().filter(({ record }) => record.isRevoking);
    if (this.#asked?.record.isRevoking) leaving.push(this.#asked);
    for (const job of leaving) if (this.remove(job)) job.refuse();
  }

  /** Returns whether the endpoint is away, and a request to it has not been answered yet. */
  #waitsForProbe(): boolean {
    return this.active > 0 && this.#asked === undefined && this.circuit.state === 'open';
  }

  /** Starts the request that a user asked for, now that the probe has ended. */
  #startAsked(job: Job, now: number): void {
    if (this.active > 0 && this.circuit.state === 'open') return;
    this.#asked = undefined;
    const may = this.rateLimit.has(now) && this.circuit.insist('always', now);
    if ((may || this.#mayStart(now)) && this.shared.sockets.take(this.#share)) {
      this.#start(job, now);
    } else job.refuse(this.#hindrance(now, false) ?? this.full(kindOf(job), now));
  }

  #mayStart(now: number, passesHold = false): boolean {
    return (
      this.#hasPlace(now) &&
      this.circuit.refusal(now, passesHold) === undefined &&
      this.rateLimit.has(now)
    );
  }

  /**
   * Starts the last attempts at the head of the queue, which a `Retry-After` does not hold back.
   */
  #startLast(now: number): void {
    for (const kind of KINDS) {
      while (
        this.#queue.first(kind)?.passesHold &&
        this.#mayStart(now, true) &&
        this.shared.sockets.take(this.#share)
      ) {
        this.#start(this.#queue.shift(kind), now);
      }
    }
  }

  /** A request to a silent endpoint is likely to hang with the others, so it waits here instead. */
  #hasPlace(now: number): boolean {
    return (
      this.active < this.limit && (this.active < this.circuit.silentLimit || !this.#isSilent(now))
    );
  }

  #isSilent(now: number): boolean {
    const begunAt = this.#open.first?.begunAt;
    return (
      begunAt !== undefined &&
      now - begunAt > this.concurrency.silenceMs &&
      this.circuit.silentSince(begunAt)
    );
  }

  /**
   * The next queued job becomes the probe, so that a due retry cannot overtake first attempts that
   * an outage left in the queue.
   */
  #mayBegin(now: number, passesHold = false): boolean {
    return (
      (this.circuit.mayProbe(now) && this.rateLimit.has(now)) || this.#mayStart(now, passesHold)
    );
  }

  /**
   * Registers for the next chance to start jobs: a free socket, a tick, or the end of an open
   * request.
   */
  #await(now: number): void {
    const { sockets, timed } = this.shared;
    if (this.queued === 0) {
      sockets.leave(this.#share);
      this.#diverted = 0;
    } else if (this.#mayStart(now)) {
      for (const kind of ['fresh', 'due'] as const) {
        if (this.#queue.count(kind) > 0) sockets.wait(this.#share, kind);
      }
    } else if (this.#hasPlace(now) || this.circuit.state === 'open') timed.add(this);
  }

  /** Receives a place from the socket shares. */
  #onPlace(kind: Kind, now: number): boolean {
    const used = this.queued > 0 && this.#mayStart(now);
    if (used) this.#start(this.#queue.shift(kind), now);
    this.#await(now);
    return used;
  }

  /** Starts a job that has waited. */
  #start(job: Job | undefined, now: number): void {
    if (!job) return;
    this.#begin(job, now);
    job.start();
  }

  /** Counts the job as open, with the place that it has taken. */
  #begin(job: Job, now: number): void {
    this.rateLimit.take(now);
    job.begunAt = now;
    job.stalledBefore = this.shared.clock.stalledMs;
    job.period = this.circuit.began();
    this.#open.push(job);
  }

  /**
   * Diverts queued jobs: with an open circuit all of them, some each tick; after a timeout or 429
   * the jobs that cannot start in good time, the newest first. (Not after a mere failure: a
   * momentary pace would divert the backlog of an endpoint that fails now and then.)
   */
  #shed(mostMs: number, now: number): void {
    const { shedBudget } = this.shared;
    const refused: { job: Job; refusal: Refusal }[] = [];
    for (const kind of KINDS) {
      while (shedBudget.left > 0) {
        const job = this.#queue.newest(kind);
        const refusal =
          job && this.#refusal(kind, now, job.passesHold ? Infinity : mostMs, job.passesHold);
        if (!refusal) break;
        this.#queue.remove(job);
        shedBudget.left--;
        refused.push({ job, refusal });
      }
    }
    for (const { job, refusal } of refused) job.refuse(refusal);
  }

  /** Returns why a job of this kind can neither start nor wait here. */
  #refusal(kind: Kind, now: number, maxWaitMs: number, passesHold = false): Refusal | undefined {
    return (
      this.#hindrance(now, passesHold) ??
      (this.#expect(kind, now).waitMs > maxWaitMs ? this.full(kind, now) : undefined)
    );
  }

  /** Returns why no job can wait here, because the endpoint is away for long. */
  #hindrance(now: number, passesHold = false): Refusal | undefined {
    const refusal = this.circuit.refusal(now, passesHold);
    const isLong =
      refusal && (refusal.reason !== 'retry_after' || refusal.waitMs > this.options.maxWaitMs);
    return isLong ? refusal : undefined;
  }
}
