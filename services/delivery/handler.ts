import { decodeDelivery, type Delivery } from '../../shared/domain/delivery';
import { AppError, messageOf } from '../../shared/errors';
import { type Appender, type OpenRecord, type OutRecord, type Verdict } from '../../shared/kafka/port';
import { DUE } from '../../shared/kafka/topics';
import { type Log } from '../../shared/telemetry/log';
import { judge, ResponseBudget } from './answer';
import { admit, divert, type Admission } from './decide';
import { type Job } from './lane';
import { type Lanes } from './lanes';
import { buildRequest } from './request';
import { bury, cancel, concludeAttempt, holdBack, lateEvent, setAside, type Context, type Held } from './report';
import { Run } from './run';
import { type SendRequest, type SendResult } from './send';
import { type OpenDestination, type Target, type Targets } from './targets';

/**
 * Takes records, decides, and lets lanes perform.
 *
 * Invariants: a record is started, queued in a lane, or diverted before `onRecord` returns, which never waits. A record
 * is done only when Kafka has acknowledged what became of it: outcome first, offset afterwards.
 */

export interface Limits {
  /** bodies held, bytes */
  maxBytes: number;
  /** requests open at once */
  maxSockets: number;
  /** outcomes not yet acknowledged, bytes */
  maxUnacknowledgedBytes: number;
}

export interface DelivererOptions {
  targets: Targets;
  lanes: Lanes;
  sender: { send(request: SendRequest, done: (result: SendResult) => void): void; readonly inFlight: number };
  appender: Appender;
  tiersMs: number[];
  limits: Limits;
  log: Log;
  /** there is room again after `full` */
  onRoom(): void;
  onFatal(error: unknown): void;
}

export class Deliverer {
  readonly #responses = new ResponseBudget();
  #bytes = 0;
  #refused = false;

  constructor(private readonly options: DelivererOptions) {}

  /** How much of the limits is used, 0 to 1 and a little more. */
  get load(): number {
    const { limits, sender, appender } = this.options;
    return Math.max(
      this.#bytes / limits.maxBytes,
      sender.inFlight / limits.maxSockets,
      appender.pendingBytes / limits.maxUnacknowledgedBytes,
    );
  }

  onRecord(record: OpenRecord): Verdict {
    if (this.load >= 1 || this.options.lanes.overloaded) {
      this.#refused = true;
      return 'full';
    }
    const decoded = decodeDelivery(record.headers);
    if (decoded.kind === 'newer') {
      const { format } = decoded;
      this.options.onFatal(
        new AppError(
          'newer_format',
          `a delivery has format ${format}, which this version does not know: upgrade it first`,
        ),
      );
      return 'full';
    }
    if (decoded.kind === 'unreadable') {
      this.#setAside(record, decoded.why);
      return 'taken';
    }
    // A copy: the value is a slice of a whole fetch, and a delivery may hold it for seconds.
    const body = Buffer.from(record.value ?? '');
    this.#bytes += body.length;
    const held: Held = {
      delivery: decoded.delivery,
      key: record.key?.toString() ?? null,
      body,
      record: { topic: record.topic, partition: record.partition, offset: record.offset },
    };
    this.#admit(held, record);
    return 'taken';
  }

  #admit(held: Held, record: OpenRecord): void {
    const context = this.#context();
    const lookup = this.options.targets.lookup(held.delivery.destinationId);
    const admission = admit(held.delivery, lookup, context);
    if (admission.kind === 'try') this.#try(held, record, admission.open);
    else this.#finish(held, record, this.#outcomeOf(held, admission, context));
  }

  #outcomeOf(held: Held, admission: Exclude<Admission, { kind: 'try' }>, context: Context): OutRecord[] {
    switch (admission.kind) {
      case 'cancel':
        return cancel(held, admission.reason, context);
      case 'bury':
        return bury(held, admission.reason, context);
      case 'hold':
        return holdBack(held, admission.reason, admission.wait, context);
    }
  }

  #try(held: Held, record: OpenRecord, open: Target[]): void {
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
      if (diverted.kind !== 'try') this.#finish(held, record, this.#outcomeOf(held, diverted, context));
    } else {
      this.#finish(held, record, concludeAttempt(held, run.settle(performance.now()), context));
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
    if (tried.urls.length === 0) this.#admit(run.held, record);
    else this.#finish(run.held, record, concludeAttempt(run.held, tried, this.#context()));
  }

  #answered({ run, record, target, jobs }: Attempt, result: SendResult): void {
    const { held } = run;
    const context = this.#context();
    const keep = (bytes: number) => this.#responses.take(held.delivery.destinationId, bytes, context.nowMs);
    const judged = judge(target, result, { nowMs: context.nowMs, keep });
    const progress = run.ended(target, judged, performance.now());
    if (progress.kind === 'open') return;
    if (progress.kind === 'late') {
      this.#append([lateEvent(held, progress.tried, context)]).catch(() => undefined);
      return;
    }
    // The first 2xx settles it: what still waits in a lane is not tried at all.
    for (const [other, job] of jobs) {
      if (this.options.lanes.of(other.lane).remove(job)) run.withdraw();
    }
    this.#log(held.delivery, judged.outcome, progress.tried.durationMs);
    this.#finish(held, record, concludeAttempt(held, progress.tried, context));
  }

  #finish(held: Held, record: OpenRecord, outcome: OutRecord[]): void {
    this.#append(outcome).then(
      () => {
        this.#bytes -= held.body.length;
        record.done();
        this.makeRoom();
      },
      // Only a stopping process refuses: the record stays open, and is read again by the next one.
      () => undefined,
    );
  }

  #append(records: OutRecord[]): Promise<void> {
    const appended = this.options.appender.append(records);
    appended.catch((error: unknown) => {
      this.options.log.error({ reason: messageOf(error) }, 'outcome.not_recorded');
    });
    return appended;
  }

  #setAside(record: OpenRecord, why: string): void {
    const { topic, partition, offset } = record;
    this.options.log.error({ topic, partition, offset, reason: why }, 'delivery.unreadable');
    this.#append([setAside(record, why)]).then(
      () => record.done(),
      () => undefined,
    );
  }

  /** Lets refused partitions be read again where there is room. Also called by a clock: an overload ends unseen. */
  makeRoom(): void {
    if (!this.#refused || this.load > 0.5 || this.options.lanes.overloaded) return;
    this.#refused = false;
    this.options.onRoom();
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
