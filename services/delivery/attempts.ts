import { type Delivery } from '../../shared/domain/delivery';
import { type OpenRecord, type OutRecord } from '../../shared/kafka/port';
import { DUE } from '../../shared/kafka/topics';
import { type Log } from '../../shared/telemetry/log';
import { judge, ResponseBudget } from './answer';
import { admit, divert } from './decide';
import { type Job } from './lane';
import { type Lanes } from './lanes';
import { concludeAttempt, lateEvent, outcomeOf, type Context, type Held } from './report';
import { buildRequest } from './request';
import { Run } from './run';
import { type SendRequest, type SendResult } from './send';
import { type OpenDestination, type Target, type Targets } from './targets';

/**
 * Makes attempts: offers each URL's request to its lane, sends it when its moment comes, and says what came of it all.
 * Nothing here waits, and nothing here speaks to Kafka.
 */

export interface AttemptsOptions {
  targets: Targets;
  lanes: Lanes;
  sender: { send(request: SendRequest, done: (result: SendResult) => void): void; readonly inFlight: number };
  tiersMs: number[];
  log: Log;
}

/** What comes of an attempt: exactly one of `concluded` and `again` for each `try`. */
interface Listener {
  /** what is to be written of it; then its record is done */
  concluded(held: Held, record: OpenRecord, outcome: OutRecord[]): void;
  /** a request that ended after its delivery was settled */
  late(event: OutRecord): void;
  /** nothing was sent, and what it was decided upon has changed: to be decided anew */
  again(held: Held, record: OpenRecord): void;
}

export class Attempts {
  readonly #responses = new ResponseBudget();

  constructor(
    private readonly options: AttemptsOptions,
    private readonly on: Listener,
  ) {}

  /** A POST to each of these URLs, or to those whose lanes have room; without any, to a tier. */
  try(held: Held, record: OpenRecord, open: Target[]): void {
    const run = new Run(held, performance.now());
    const jobs = new Map<Target, Job>();
    let shortestWaitMs = Infinity;
    for (const target of open) {
      if (target.problem !== undefined) {
        run.note(target, unusable(target, target.problem));
        continue;
      }
      const job: Job = {
        bytes: held.body.length,
        due: held.record.topic === DUE,
        start: () => this.#post({ run, record, target, jobs }),
      };
      jobs.set(target, job);
      run.begin();
      const offer = this.options.lanes.of(target.lane).offer(job, this.options.lanes.now());
      if (typeof offer === 'object') {
        jobs.delete(target);
        run.withdraw();
        run.skipped = true;
        shortestWaitMs = Math.min(shortestWaitMs, offer.expectedWaitMs);
      }
    }
    if (run.pending > 0) return;
    const context = this.#context();
    if (run.skipped) {
      const diverted = divert(held.delivery, shortestWaitMs, context);
      if (diverted.kind !== 'try') this.on.concluded(held, record, outcomeOf(held, diverted, context));
    } else {
      this.on.concluded(held, record, concludeAttempt(held, run.settle(performance.now()), context));
    }
  }

  #post(attempt: Attempt): void {
    const { run, jobs } = attempt;
    const { delivery, body } = run.held;
    // It may have waited in its lane: what was rotated, corrected, paused or switched off meanwhile holds for it too.
    const fresh = this.#fresh(delivery, attempt.target);
    if (!fresh) {
      queueMicrotask(() => this.#withdraw(attempt));
      return;
    }
    const request = buildRequest({ delivery, body, ...fresh, nowMs: Date.now() });
    this.options.sender.send(request, (result) => {
      const job = jobs.get(attempt.target);
      const timedOut = !result.ok && result.error.code === 'timeout';
      if (job) this.options.lanes.ended(attempt.target.lane, job, timedOut);
      this.#answered(attempt, result);
    });
  }

  #fresh(delivery: Delivery, { hash }: Target): { destination: OpenDestination; target: Target } | undefined {
    const lookup = this.options.targets.lookup(delivery.destinationId);
    const admission = admit(delivery, lookup, this.#context());
    if (admission.kind !== 'try' || lookup.kind !== 'open') return undefined;
    const target = admission.open.find((candidate) => candidate.hash === hash);
    return target && { destination: lookup.destination, target };
  }

  /** A queued request that may not go now: decided anew once nothing else of its attempt is open. */
  #withdraw({ run, record, target, jobs }: Attempt): void {
    const job = jobs.get(target);
    if (job) this.options.lanes.ended(target.lane, job, false);
    jobs.delete(target);
    run.withdraw();
    run.skipped = true;
    if (run.pending > 0 || run.settled) return;
    const tried = run.settle(performance.now());
    if (tried.urls.length === 0) this.on.again(run.held, record);
    else this.on.concluded(run.held, record, concludeAttempt(run.held, tried, this.#context()));
  }

  #answered({ run, record, target, jobs }: Attempt, result: SendResult): void {
    const { held } = run;
    const context = this.#context();
    const keep = (bytes: number) => this.#responses.take(held.delivery.destinationId, bytes, context.nowMs);
    const judged = judge(target, result, { nowMs: context.nowMs, keep });
    const progress = run.ended(target, judged, performance.now());
    if (progress.kind === 'open') return;
    if (progress.kind === 'late') {
      this.on.late(lateEvent(held, progress.tried, context));
      return;
    }
    // The first 2xx settles it: what still waits in a lane is not tried at all.
    for (const [other, job] of jobs) {
      if (this.options.lanes.of(other.lane).remove(job)) run.withdraw();
    }
    this.#log(held.delivery, judged.outcome, progress.tried.durationMs);
    this.on.concluded(held, record, concludeAttempt(held, progress.tried, context));
  }

  #context(): Context {
    return { nowMs: Date.now(), tiersMs: this.options.tiersMs };
  }

  #log(delivery: Delivery, outcome: string, durationMs: number): void {
    const level = outcome === 'delivered' ? 'debug' : 'info';
    const { id, destinationId, messageId, attempt, traceparent } = delivery;
    this.options.log[level](
      {
        delivery: id,
        destination: destinationId,
        message: messageId,
        n: attempt + 1,
        outcome,
        durationMs,
        traceparent,
      },
      'delivery.attempted',
    );
  }
}

interface Attempt {
  run: Run;
  record: OpenRecord;
  target: Target;
  jobs: Map<Target, Job>;
}

function unusable(target: Target, problem: string) {
  const error = { code: 'invalid_url' as const, message: problem };
  const attempt = { url: target.id, origin: target.origin, outcome: 'rejected' as const, durationMs: 0, error };
  return { attempt, outcome: 'rejected' as const, retryAfterMs: undefined };
}
