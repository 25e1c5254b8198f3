import { type UrlAttempt } from '../../shared/model/attempt-events';
import { type OpenRecord, type OutRecord } from '../../shared/kafka/port';
import { DUE } from '../../shared/kafka/topics';
import { type Log } from '../../shared/telemetry/log';
import { childTraceparent } from '../../shared/telemetry/trace';
import { judgeResponse, judgeUnusable, type JudgedResponse, ResponseBudget } from './http/judge-response';
import { admit, type Admission, divert, type Timing } from './admission';
import { type Job, type Refusal, type Signal } from './lanes/types';
import { type Lane } from './lanes/lane';
import { type LaneRegistry } from './lanes/registry';
import { concludeAttempt, lateEvent, type DeliveryInHand, type AttemptResult, type StepOutcome } from './outcome';
import { buildRequest } from './http/request';
import { type SendRequest, type SendResult } from './http/exchange';
import { type OpenDestination, type Target, type Endpoints } from './endpoints';
import { systemClock, type Clock } from './clock';
import { answered, attempted } from './telemetry';

export interface AttemptOptions {
  targets: Pick<Endpoints, 'lookup'>;
  lanes: LaneRegistry;
  sender: { send(request: SendRequest, done: (result: SendResult) => void): void };
  tiersMs: number[];
  /** for how long after its acceptance a delivery is attempted */
  windowMs: number;
  log: Log;
  /** default: the machine's */
  time?: Clock;
}

/** Receives the result of an attempt: exactly one call of `concluded` or `again` for each `start`. */
export interface AttemptListener {
  /** the step has ended: once its outcome is written, the delivery's own record is done */
  concluded(held: DeliveryInHand, record: OpenRecord, outcome: StepOutcome, nowMs: number): void;
  /** a request that ended after its delivery was settled */
  late(event: OutRecord): void;
  /** decide again: nothing was sent, and the configuration changed while it waited, or its record is being revoked */
  again(held: DeliveryInHand, record: OpenRecord): void;
}

/** State that all attempts of a process share. */
export class AttemptContext {
  readonly responses = new ResponseBudget();
  readonly time: Clock;

  constructor(
    readonly options: AttemptOptions,
    readonly on: AttemptListener,
  ) {
    this.time = options.time ?? systemClock;
  }

  timing(): Timing {
    const { tiersMs, windowMs } = this.options;
    return { nowMs: this.time.brokerMs(), tiersMs, windowMs };
  }
}

/**
 * One attempt of one delivery: one concurrent POST to each URL that is open to it. It offers each request to its URL's
 * lane, sends it when the lane starts it, and reports the outcome. Nothing here waits or writes to Kafka.
 *
 * Invariant: an attempt is settled once, by the first 2xx or, without one, by the last response. Responses after that
 * are late: they are recorded, but decide nothing.
 */
export class Attempt {
  readonly #startedAt: number;
  /** lanes and jobs of its requests, queued or open */
  readonly #placed = new Map<Target, { lane: Lane; job: Job }>();
  readonly #urls: UrlAttempt[] = [];
  readonly #rejected: string[] = [];
  /** why URLs were left out: the refusal of the lane, or undefined if a queued request may no longer be sent */
  readonly #skipped: (Refusal | undefined)[] = [];
  #retryAfterMs: number | undefined;
  /** requests that were begun or queued and have not ended */
  #pending = 0;
  /** true once any request has ended, with a response or without */
  #asked = false;
  #settled = false;

  constructor(
    private readonly context: AttemptContext,
    private readonly held: DeliveryInHand,
    private readonly record: OpenRecord,
  ) {
    this.#startedAt = context.time.steadyMs();
  }

  /** Posts to each of these URLs whose lane accepts it. If none does, the delivery goes to a tier. */
  start(open: Target[]): void {
    // Keeps the attempt open until all URLs have been offered, even if lanes refuse the first ones.
    this.#pending++;
    for (const target of open) {
      if (target.problem === undefined) this.#offer(target);
      else this.#note(target, judgeUnusable(target, target.problem));
    }
    this.#pending--;
    this.#concludeIfOver();
  }

  #offer(target: Target): void {
    const { lanes } = this.context.options;
    const { delivery, body, record } = this.held;
    const lane = lanes.of(target);
    const job: Job = {
      record: this.record,
      bytes: body.length,
      due: record.topic === DUE,
      ...(delivery.test ? { urgent: true } : {}),
      start: () => this.#post(target),
      refuse: (refusal) => this.#skip(target, refusal),
    };
    this.#placed.set(target, { lane, job });
    this.#pending++;
    const offer = lane.offer(job, lanes.now());
    if (typeof offer === 'object') this.#skip(target, offer);
  }

  #post(target: Target): void {
    const { options, time } = this.context;
    const { delivery, body } = this.held;
    // The request may have waited in its lane, so a secret rotation, correction, pause or switch-off since then must
    // apply. If the record is being revoked, another process may send it.
    const fresh = this.record.isRevoking ? undefined : this.#fresh(target);
    if (!fresh || !('target' in fresh)) {
      const place = this.#placed.get(target);
      const isOverdue = fresh?.kind === 'dead' && fresh.reason === 'window_closed';
      const overdue = isOverdue ? place?.lane.overdue(place.job, options.lanes.now()) : undefined;
      queueMicrotask(() => {
        this.#free(target, { kind: 'withdrawn' });
        this.#skip(target, overdue);
      });
      return;
    }
    const traceparent = childTraceparent(delivery.traceparent);
    const request = buildRequest({ delivery, body, ...fresh, nowMs: time.wallMs(), traceparent });
    options.sender.send(request, (result) => this.#ended(target, { result, traceparent, sentTo: fresh.target }));
  }

  /** @returns what to send now, or why this URL must not be sent to any more */
  #fresh({ hash }: Target): { destination: OpenDestination; target: Target } | Admission {
    const { delivery } = this.held;
    const lookup = this.context.options.targets.lookup(delivery.destinationId);
    const admission = admit(delivery, lookup, this.context.timing());
    if (admission.kind !== 'try' || lookup.kind !== 'open') return admission;
    const target = admission.open.find((candidate) => candidate.hash === hash);
    return target ? { destination: lookup.destination, target } : admission;
  }

  #ended(target: Target, { result, traceparent, sentTo }: EndedRequest): void {
    const { held, context } = this;
    const timing = context.timing();
    const keep = (bytes: number) => context.responses.take(held.delivery.destinationId, bytes, timing.nowMs);
    const judged = judgeResponse(sentTo, result, { nowMs: timing.nowMs, keep });
    answered(held, target, judged.attempt, traceparent);
    this.#pending--;
    this.#asked = true;
    if (this.#settled) {
      const late = { urls: [judged.attempt], rejected: [], skipped: false, durationMs: this.#elapsedMs() };
      context.on.late(lateEvent(held, late, timing.nowMs));
    } else {
      this.#note(target, judged);
      if (judged.outcome === 'delivered' || this.#pending === 0) this.#conclude(timing);
    }
    this.#free(target, judged.signal);
  }

  /** Adds a result without settling the attempt (alone, for a URL that can never be sent to). */
  #note(target: Target, { attempt, outcome, retryAfterMs }: JudgedResponse): void {
    this.#urls.push(attempt);
    if (outcome === 'rejected') this.#rejected.push(target.hash);
    if (retryAfterMs !== undefined) this.#retryAfterMs = Math.max(retryAfterMs, this.#retryAfterMs ?? 0);
  }

  /** Gives the request's place in its lane back. */
  #free(target: Target, signal: Signal): void {
    const place = this.#placed.get(target);
    if (place) place.lane.ended(place.job, this.context.options.lanes.now(), signal);
  }

  /**
   * Leaves this URL out: its lane refused it, the configuration changed while it was queued, or its record is being
   * revoked.
   */
  #skip(target: Target, refusal?: Refusal): void {
    this.#placed.delete(target);
    this.#pending--;
    this.#skipped.push(refusal);
    this.#concludeIfOver();
  }

  /**
   * Concludes when no request is open or pending: as an attempt if any URL was asked, and otherwise by diverting the
   * delivery to a tier.
   */
  #concludeIfOver(): void {
    if (this.#pending > 0 || this.#settled) return;
    const { held, record, context } = this;
    const timing = context.timing();
    if (this.#asked || this.#skipped.length === 0) {
      this.#conclude(timing);
      return;
    }
    this.#settled = true;
    const refusals = this.#refusals();
    if (refusals) context.on.concluded(held, record, divert(held.delivery, refusals, timing), timing.nowMs);
    else context.on.again(held, record);
  }

  /** Returns the refusals if lanes refused every URL that was left out, and undefined otherwise. */
  #refusals(): readonly [Refusal, ...Refusal[]] | undefined {
    const known = this.#skipped.filter((refusal) => refusal !== undefined);
    const [first, ...others] = known;
    return first && known.length === this.#skipped.length ? [first, ...others] : undefined;
  }

  #conclude(timing: Timing): void {
    const { held, record, context } = this;
    this.#settled = true;
    // The first 2xx settles the delivery: requests still queued in a lane are not sent.
    for (const { lane, job } of this.#placed.values()) if (lane.remove(job)) this.#pending--;
    const outcome = concludeAttempt(held, this.#result(), timing);
    attempted(context.options.log, held, outcome, timing.nowMs);
    context.on.concluded(held, record, outcome, timing.nowMs);
  }

  #result(): AttemptResult {
    return {
      urls: this.#urls,
      rejected: this.#rejected,
      skipped: this.#skipped.length > 0,
      durationMs: this.#elapsedMs(),
      ...(this.#retryAfterMs === undefined ? {} : { retryAfterMs: this.#retryAfterMs }),
    };
  }

  #elapsedMs(): number {
    return Math.round(this.context.time.steadyMs() - this.#startedAt);
  }
}

interface EndedRequest {
  result: SendResult;
  /** of the request */
  traceparent: string;
  /** the URL as of building the request: it may have been corrected since it was offered to its lane */
  sentTo: Target;
}
