import { type Delivery } from '../../shared/model/delivery';
import { type OpenRecord, type OutRecord } from '../../shared/kafka/port';
import { DUE } from '../../shared/kafka/topics';
import { type Log } from '../../shared/telemetry/log';
import { childTraceparent } from '../../shared/telemetry/trace';
import { judgeResponse, type JudgedResponse, ResponseBudget } from './http/judge-response';
import { admit, type Admission, divert, type Timing } from './admission';
import { type Job, type Refusal, type Signal } from './lanes/types';
import { type Lane } from './lanes/lane';
import { type LaneRegistry } from './lanes/registry';
import { concludeAttempt, lateEvent, type DeliveryInHand, type AttemptResult, type StepOutcome } from './outcome';
import { buildRequest } from './http/request';
import { Attempt } from './attempt';
import { type SendRequest, type SendResult } from './http/client';
import { type OpenDestination, type Target, type Endpoints } from './endpoints';
import { systemClock, type Clock } from './clock';
import { answered, attempted } from './telemetry';

/**
 * Makes attempts: offers each URL's request to its lane, sends it when the lane starts it, and reports the outcome.
 * Nothing here waits or writes to Kafka.
 */

export interface AttemptsOptions {
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

/** Receives the result of an attempt: exactly one call of `concluded` or `again` for each `try`. */
interface Listener {
  /** the step has ended: once its outcome is written, the delivery's own record is done */
  concluded(held: DeliveryInHand, record: OpenRecord, outcome: StepOutcome, nowMs: number): void;
  /** a request that ended after its delivery was settled */
  late(event: OutRecord): void;
  /** decide again: nothing was sent, and the configuration changed while it waited, or its record is being revoked */
  again(held: DeliveryInHand, record: OpenRecord): void;
}

export class Attempts {
  readonly #responses = new ResponseBudget();
  readonly #time: Clock;

  constructor(
    private readonly options: AttemptsOptions,
    private readonly on: Listener,
  ) {
    this.#time = options.time ?? systemClock;
  }

  /** Posts to each of these URLs whose lane accepts it. If none does, the delivery goes to a tier. */
  try(held: DeliveryInHand, record: OpenRecord, open: Target[]): void {
    const run = new Attempt(held, this.#time.steadyMs());
    const attempt: AttemptInFlight = { run, record, placed: new Map() };
    // Keeps the attempt open until all URLs have been offered, even if lanes refuse the first ones.
    run.begin();
    for (const target of open) {
      if (target.problem === undefined) this.#offer(attempt, target);
      else run.note(target, unusable(target, target.problem));
    }
    run.withdraw();
    this.#concludeIfOver(attempt);
  }

  #offer(attempt: AttemptInFlight, target: Target): void {
    const { held } = attempt.run;
    const lane = this.options.lanes.of(target);
    const job: Job = {
      record: attempt.record,
      bytes: held.body.length,
      due: held.record.topic === DUE,
      ...(held.delivery.test ? { urgent: true } : {}),
      start: () => this.#post(attempt, target),
      refuse: (refusal) => this.#skip(attempt, target, refusal),
    };
    attempt.placed.set(target, { lane, job });
    attempt.run.begin();
    const offer = lane.offer(job, this.options.lanes.now());
    if (typeof offer === 'object') this.#skip(attempt, target, offer);
  }

  #post(attempt: AttemptInFlight, target: Target): void {
    const { delivery, body } = attempt.run.held;
    // The request may have waited in its lane, so a secret rotation, correction, pause or switch-off since then must
    // apply. If the record is being revoked, another process may send it.
    const fresh = attempt.record.isRevoking ? undefined : this.#fresh(delivery, target);
    if (!fresh || !('target' in fresh)) {
      const place = attempt.placed.get(target);
      const late = place && fresh && isOverdue(fresh);
      const overdue = late ? place.lane.overdue(place.job, this.options.lanes.now()) : undefined;
      queueMicrotask(() => {
        this.#free(attempt, target, { kind: 'withdrawn' });
        this.#skip(attempt, target, overdue);
      });
      return;
    }
    const traceparent = childTraceparent(delivery.traceparent);
    const request = buildRequest({ delivery, body, ...fresh, nowMs: this.#time.wallMs(), traceparent });
    this.options.sender.send(request, (result) =>
      this.#answered(attempt, target, { result, traceparent, sentTo: fresh.target }),
    );
  }

  /** @returns what to send now, or why this URL must not be sent to any more */
  #fresh(delivery: Delivery, { hash }: Target): { destination: OpenDestination; target: Target } | Admission {
    const lookup = this.options.targets.lookup(delivery.destinationId);
    const admission = admit(delivery, lookup, this.#context());
    if (admission.kind !== 'try' || lookup.kind !== 'open') return admission;
    const target = admission.open.find((candidate) => candidate.hash === hash);
    return target ? { destination: lookup.destination, target } : admission;
  }

  /**
   * Leaves this URL out: its lane refused it, the configuration changed while it was queued, or its record is being
   * revoked.
   */
  #skip(attempt: AttemptInFlight, target: Target, refusal?: Refusal): void {
    attempt.placed.delete(target);
    attempt.run.skip(refusal);
    this.#concludeIfOver(attempt);
  }

  /** Gives the request's place in its lane back. */
  #free({ placed }: AttemptInFlight, target: Target, signal: Signal): void {
    const place = placed.get(target);
    if (place) place.lane.ended(place.job, this.options.lanes.now(), signal);
  }

  /**
   * Concludes when no request is open or pending: as an attempt if any URL was asked, and otherwise by diverting the
   * delivery to a tier.
   */
  #concludeIfOver({ run, record }: AttemptInFlight): void {
    if (run.pending > 0 || run.settled) return;
    const { held, asked, refusals } = run;
    const context = this.#context();
    const tried = run.settle(this.#time.steadyMs());
    if (asked || !tried.skipped) this.#conclude(held, record, tried, context);
    else if (refusals) this.on.concluded(held, record, divert(held.delivery, refusals, context), context.nowMs);
    else this.on.again(held, record);
  }

  #answered(attempt: AttemptInFlight, target: Target, { result, traceparent, sentTo }: Answered): void {
    const { run, record, placed } = attempt;
    const { held } = run;
    const context = this.#context();
    const keep = (bytes: number) => this.#responses.take(held.delivery.destinationId, bytes, context.nowMs);
    const judged = judgeResponse(sentTo, result, { nowMs: context.nowMs, keep });
    answered(held, target, judged.attempt, traceparent);
    const progress = run.ended(target, judged, this.#time.steadyMs());
    if (progress.kind === 'late') this.on.late(lateEvent(held, progress.tried, context.nowMs));
    if (progress.kind === 'settled') {
      // The first 2xx settles the delivery: requests still queued in a lane are not sent.
      for (const { lane, job } of placed.values()) if (lane.remove(job)) run.withdraw();
      this.#conclude(held, record, progress.tried, context);
    }
    this.#free(attempt, target, judged.signal);
  }

  #context(): Timing {
    const { tiersMs, windowMs } = this.options;
    return { nowMs: this.#time.brokerMs(), tiersMs, windowMs };
  }

  #conclude(held: DeliveryInHand, record: OpenRecord, tried: AttemptResult, context: Timing): void {
    const outcome = concludeAttempt(held, tried, context);
    attempted(this.options.log, held, outcome, context.nowMs);
    this.on.concluded(held, record, outcome, context.nowMs);
  }
}

interface Answered {
  result: SendResult;
  /** of the request */
  traceparent: string;
  /** the URL as of building the request: it may have been corrected since it was offered to its lane */
  sentTo: Target;
}

interface AttemptInFlight {
  run: Attempt;
  record: OpenRecord;
  /** lanes and jobs of its requests, queued or open */
  placed: Map<Target, { lane: Lane; job: Job }>;
}

/** Returns whether the delivery's window ended while it waited in its lane. */
function isOverdue(admission: Admission): boolean {
  return admission.kind === 'dead' && admission.reason === 'window_closed';
}

function unusable(target: Target, problem: string): JudgedResponse {
  const error = { code: 'invalid_url' as const, message: problem };
  const attempt = { url: target.id, origin: target.origin, outcome: 'rejected' as const, durationMs: 0, error };
  return { attempt, outcome: 'rejected', retryAfterMs: undefined, signal: { kind: 'withdrawn' } };
}
