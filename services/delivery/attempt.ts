import { type OpenRecord } from '../../shared/kafka/port';
import { DUE } from '../../shared/kafka/topics';
import { type UrlAttempt } from '../../shared/model/attempt-events';
import { fitsInBatch } from '../../shared/model/batch';
import { type Delivery } from '../../shared/model/delivery';
import { childTraceparent } from '../../shared/telemetry/trace';
import { type AttemptContext, type OpenDelivery } from './attempt-context';
import { type MemberOwner } from './batches/batch-request';
import {
  type Admitted,
  comesBack,
  divert,
  insistenceOf,
  type NotTried,
  planned,
  readmit,
  type Timing,
} from './decisions/admission';
import { type AttemptResult, concludeAttempt } from './decisions/disposition';
import { halvedEvent, lateEvent } from './decisions/side-events';
import { buildRequest, isPermit, type Permit, sendRequest } from './destinations/build-request';
import { type Endpoint } from './destinations/endpoint';
import { type SendResult } from './http/exchange';
import {
  judgeResponse,
  type JudgedResponse,
  judgeUnusable,
  withheldBy,
} from './http/judge-response';
import { type Job, type Refusal, type Signal } from './lanes/job';
import { type Lane } from './lanes/lane';
import { requestEnded } from './telemetry/metrics';
import * as telemetry from './telemetry/telemetry';

/** A single request, or a place in a batch. */
type Request = Pick<UrlRequest, 'endpoint' | 'submit' | 'cancel'>;

/**
 * One attempt of one delivery: one concurrent POST to each URL that is open to it, alone or in a
 * batch. Nothing here waits or writes to Kafka.
 *
 * Invariant: an attempt ends once, with the first 2xx or, without one, with the last response.
 * Responses after that are late: they are recorded, but decide nothing.
 */
export class Attempt implements MemberOwner {
  readonly #startedAt: number;
  /** requests that were offered to a lane, ended or not */
  readonly #requests: Request[] = [];
  readonly #urls: UrlAttempt[] = [];
  /** requests that were not sent, each with the error that prevented it */
  readonly #withheld: UrlAttempt[] = [];
  readonly #rejected: string[] = [];
  /**
   * why URLs were left out: the refusal of the lane, or undefined if a request may no longer be
   * sent
   */
  readonly #leftOut: (Refusal | undefined)[] = [];
  /** ids of offered URLs that were not called; undefined: none */
  #notCalled: string[] | undefined;
  /** what each URL to retry asked for: ms, or undefined */
  readonly #waits: (number | undefined)[] = [];
  /** true if a receiver asked not to get this message again */
  #isAborted = false;
  /** requests that have not ended */
  #pending = 0;
  /** true once a request was sent and has ended, with a response or without */
  #wasSent = false;
  #isEnded = false;

  constructor(
    private readonly context: AttemptContext,
    readonly inHand: OpenDelivery,
    private readonly admitted: Admitted,
  ) {
    this.#startedAt = context.time.steadyMs();
  }

  /**
   * Posts to each admitted URL whose lane accepts it. If none does, the delivery goes to a tier.
   */
  post(): void {
    // Keeps the attempt open until all URLs have been offered, even if lanes refuse the first ones.
    this.#pending++;
    for (const endpoint of this.admitted.open) {
      if (endpoint.problem === undefined) this.#offer(endpoint);
      else this.#note(endpoint, judgeUnusable(endpoint, endpoint.problem));
    }
    this.#pending--;
    this.#endIfOver();
  }

  #offer(endpoint: Endpoint): void {
    const credentials = endpoint.auth?.credentials;
    const { delivery } = this.inHand;
    const held =
      credentials &&
      !delivery.test &&
      this.context.sender.held?.(credentials, insistenceOf(delivery));
    if (held) {
      this.#pending++;
      this.onLeftOut(held, endpoint);
      return;
    }
    const { batches, lanes } = this.context;
    const request =
      endpoint.batch && fitsInBatch(delivery.contentType)
        ? batches.member(this, endpoint)
        : new UrlRequest(this.context, this, endpoint, lanes.of(endpoint));
    this.#requests.push(request);
    this.#pending++;
    request.submit();
  }

  /** Whether its window has no room for another wait. */
  get isLast(): boolean {
    return this.admitted.isLast;
  }

  /** Returns the permit to send to this URL that the attempt began with. */
  permitAsAdmitted(endpoint: Endpoint): Permit {
    return { destination: this.admitted.lookup.destination, endpoint };
  }

  permitNow(endpoint: Endpoint, timing = this.context.timing()): Permit | 'overdue' | undefined {
    const { inHand, context } = this;
    if (inHand.record.isRevoking && !this.#isEnded) return undefined;
    if (context.standingOf(inHand) !== 'free') return undefined;
    const lookup = context.options.destinations.lookup(inHand.delivery.destinationId);
    const admission = readmit(
      this.admitted,
      inHand.delivery,
      lookup,
      timing,
      context.disabledUrls.has,
    );
    if (admission.kind !== 'try') {
      const isOverdue = admission.kind === 'dead' && admission.reason === 'window_closed';
      return isOverdue ? 'overdue' : undefined;
    }
    const { destination } = admission.lookup;
    if (admission === this.admitted) return { destination, endpoint };
    const current = admission.open.find(
      ({ id, hash }) => id === endpoint.id && hash === endpoint.hash,
    );
    return current && { destination, endpoint: current };
  }

  /**
   * Receives the result of a request of this delivery alone.
   * @param endpoint as it was sent: the configuration may have changed while it waited in its lane
   * @returns the signal for the lane of the request
   */
  onResult(endpoint: Endpoint, traceparent: string, result: SendResult): Signal {
    const { inHand, context } = this;
    const timing = this.#timing();
    const isTest = inHand.delivery.test === true;
    const judged = judgeResponse(endpoint, result, {
      nowMs: timing.nowMs,
      budget: context.responses,
      isTest,
    });
    const refusal = !isTest && withheldBy(result);
    if (refusal) this.onWithheld(refusal, judged.attempt, endpoint);
    else {
      requestEnded(judged.attempt);
      this.onJudged(endpoint, judged, traceparent, timing);
    }
    return judged.signal;
  }

  onWithheld(refusal: Refusal, attempt: UrlAttempt, endpoint: Endpoint): void {
    this.#withheld.push(attempt);
    this.onLeftOut(refusal, endpoint);
  }

  onJudged(
    endpoint: Endpoint,
    judged: JudgedResponse,
    traceparent: string,
    timing = this.#timing(),
  ): void {
    telemetry.responseReceived(this.inHand, endpoint, judged.attempt, traceparent);
    this.#pending--;
    this.#wasSent = true;
    this.#obey(endpoint, judged, timing.nowMs);
    if (this.#isEnded) this.#reportLate(judged.attempt, timing.nowMs);
    else {
      this.#note(endpoint, judged);
      if (judged.classification === 'delivered' || this.#pending === 0) this.#end(timing);
    }
  }

  get isSettled(): boolean {
    return this.#isEnded;
  }

  onHalved(endpoint: Endpoint, attempt: UrlAttempt, traceparent: string): void {
    const { inHand, context } = this;
    telemetry.responseReceived(inHand, endpoint, attempt, traceparent);
    if (this.#isEnded) return;
    telemetry.batchHalved();
    const tried = { urls: [attempt], rejected: [], skipped: false, durationMs: this.#elapsedMs() };
    context.on.event(halvedEvent(inHand, tried, context.time.agreedMs()));
    inHand.delivery.halved = (inHand.delivery.halved ?? 0) + 1;
  }

  onLeftOut(refusal: Refusal | undefined, { id }: Endpoint): void {
    this.#pending--;
    (this.#notCalled ??= []).push(id);
    this.#leftOut.push(refusal);
    this.#endIfOver();
  }

  /**
   * Stops sending to a URL whose receiver wants nothing more. The answer to a test says nothing
   * about real ones.
   */
  #obey(endpoint: Endpoint, { says }: JudgedResponse, nowMs: number): void {
    const disables = says?.disables;
    if (disables === undefined || this.inHand.delivery.test) return;
    const { disabledUrls, on, time } = this.context;
    const { endpoints } = this.admitted.lookup.destination;
    // What is gone is gone for every webhook with this URL, whatever else it sends.
    const others =
      disables === 'gone' ? endpoints.filter((each) => hasSameUrl(each, endpoint)) : [];
    for (const each of [endpoint, ...others]) {
      if (disabledUrls.add(each, time.steadyMs())) on.disabled(each, disables, nowMs);
    }
  }

  /** Adds a result without ending the attempt (alone, for a URL that can never be sent to). */
  #note(endpoint: Endpoint, { attempt, classification, retryAfterMs, says }: JudgedResponse): void {
    this.#urls.push(attempt);
    // A URL that is switched off has not rejected this message: once it is on again, it may take
    // it.
    if (classification === 'rejected' && says?.disables === undefined) {
      this.#rejected.push(endpoint.hash);
    }
    if (classification === 'rejected' && says?.asked === 'abort-message') this.#isAborted = true;
    if (classification === 'retry') this.#waits.push(retryAfterMs);
  }

  #endIfOver(): void {
    if (this.#pending === 0 && !this.#isEnded) this.#end(this.#timing());
  }

  #timing(): Timing {
    return planned(this.context.timing(), this.admitted.lookup.destination.plan);
  }

  #end(timing: Timing): void {
    const { inHand, context } = this;
    this.#isEnded = true;
    // The first 2xx ends the attempt: requests still queued in a lane are not sent.
    if (this.#pending > 0) {
      for (const request of this.#requests) {
        if (!request.cancel()) continue;
        this.#pending--;
        (this.#notCalled ??= []).push(request.endpoint.id);
      }
    }
    const isAttempt = this.#wasSent || this.#leftOut.length === 0;
    const disposition = isAttempt
      ? concludeAttempt(inHand.delivery, this.#result(), timing)
      : this.#untried(timing);
    context.on.attempted(inHand, disposition, timing.nowMs);
  }

  /** Diverts the delivery to a tier if lanes refused every URL that was left out. */
  #untried(timing: Timing): NotTried | undefined {
    const refusals = this.#leftOut.filter((refusal) => refusal !== undefined);
    if (refusals.length < this.#leftOut.length) return undefined;
    const decision = divert(this.inHand.delivery, refusals, timing);
    return decision.kind === 'diverted' && this.#withheld.length > 0
      ? { ...decision, urls: this.#withheld }
      : decision;
  }

  #reportLate(attempt: UrlAttempt, nowMs: number): void {
    const durationMs = this.#elapsedMs();
    const late = { urls: [attempt], rejected: [], skipped: false, durationMs };
    this.context.on.event(lateEvent(this.inHand, late, nowMs));
  }

  #result(): AttemptResult {
    return {
      urls: this.#withheld.length > 0 ? [...this.#urls, ...this.#withheld] : this.#urls,
      rejected: this.#rejected,
      skipped: this.#leftOut.length > 0,
      disabled: this.#lacksDisabledUrl(),
      aborted: this.#isAborted,
      durationMs: this.#elapsedMs(),
      retryAfterMs: this.#retryAfterMs(),
      pending: this.#pending,
      notCalled: this.#allNotCalled(),
    };
  }

  /**
   * Returns the shortest wait that lets a URL be asked again; undefined: one of them asked for
   * none. The lane of a URL that asked for longer holds its requests back.
   */
  #retryAfterMs(): number | undefined {
    const waits = this.#waits.filter((wait) => wait !== undefined);
    const isOneFree = this.#leftOut.length > 0 || waits.length < this.#waits.length;
    return waits.length === 0 || isOneFree ? undefined : Math.min(...waits);
  }

  /** Returns whether a URL would get the delivery if it were switched on. */
  #lacksDisabledUrl(): boolean {
    const { excludedUrls } = this.inHand.delivery;
    const isWilling = ({ hash }: Endpoint) =>
      !excludedUrls.includes(hash) && !this.#rejected.includes(hash);
    const { disabledUrls } = this.context;
    return this.admitted.lookup.destination.endpoints.some(
      (each) => disabledUrls.has(each) && isWilling(each),
    );
  }

  /** Nobody expects a URL that is switched off to be called. */
  #allNotCalled(): string[] | undefined {
    const { open, lookup } = this.admitted;
    const { endpoints } = lookup.destination;
    if (open.length === endpoints.length) return this.#notCalled;
    const excluded = endpoints.filter(
      (endpoint) => !open.includes(endpoint) && !this.context.disabledUrls.has(endpoint),
    );
    const ids = [...excluded.map(({ id }) => id), ...(this.#notCalled ?? [])];
    return ids.length > 0 ? ids : undefined;
  }

  #elapsedMs(): number {
    return Math.round(this.context.time.steadyMs() - this.#startedAt);
  }
}

function hasSameUrl(a: Endpoint, b: Endpoint): boolean {
  return a.origin === b.origin && a.path === b.path;
}

/**
 * One request of an attempt to one URL, from its offer to the lane of the URL until its end. It is
 * the job of that lane. Each request that is not cancelled ends with one call of `onResult` or
 * `onLeftOut`.
 */
class UrlRequest implements Job {
  before: Job | undefined = undefined;
  after: Job | undefined = undefined;
  list: object | undefined = undefined;
  begunAt = 0;
  stalledBefore = 0;
  period = 0;
  passesHold = false;
  readonly record: OpenRecord;
  readonly bytes: number;
  readonly due: boolean;
  readonly cameBack: boolean;
  readonly urgent: boolean;
  readonly insists: Job['insists'];
  readonly isLast: boolean;

  constructor(
    private readonly context: AttemptContext,
    private readonly attempt: Attempt,
    readonly endpoint: Endpoint,
    private readonly lane: Lane,
  ) {
    const { delivery, body, record } = attempt.inHand;
    this.record = record;
    this.bytes = body.length;
    this.due = record.topic === DUE;
    this.cameBack = comesBack(delivery);
    this.urgent = delivery.test === true;
    this.insists = insistenceOf(delivery);
    this.isLast = attempt.isLast;
  }

  /**
   * Offers the request to its lane, and sends it if it need not wait there: it was admitted just
   * now, so the permit of the attempt still holds, unless its record is being revoked.
   */
  submit(): void {
    const { attempt, endpoint } = this;
    const offer = this.lane.offer(this, this.context.lanes.now());
    if (offer === 'placed') {
      const permit = this.record.isRevoking
        ? attempt.permitNow(endpoint)
        : attempt.permitAsAdmitted(endpoint);
      this.#send(permit);
    } else if (offer !== 'queued') attempt.onLeftOut(offer, endpoint);
  }

  /**
   * Sends the request after its wait in the lane, if it still may be sent: a secret rotation,
   * correction, pause or switch-off since then must apply.
   */
  start(): void {
    this.#send(this.attempt.permitNow(this.endpoint));
  }

  /** Sends the request, or gives its place back if there is no permit. */
  #send(permit: Permit | 'overdue' | undefined): void {
    if (!isPermit(permit)) {
      this.#withdraw(permit === 'overdue');
      return;
    }
    const { endpoint, destination } = permit;
    const { delivery, body } = this.attempt.inHand;
    const traceparent = childTraceparent(delivery.traceparent);
    const request = buildRequest({
      id: delivery.id,
      rendered: delivery,
      body,
      destination,
      endpoint,
      nowMs: this.context.time.wallMs(),
      traceparent,
    });
    request.isPermitted = this.context.permission((begun) =>
      isPermit(this.attempt.permitNow(endpoint, begun)),
    );
    sendRequest(this.context.sender, destination, request, (result) => {
      if (!result.ok && result.excuse === 'unpermitted') {
        this.#withdraw(false);
        return;
      }
      const signal = this.attempt.onResult(endpoint, traceparent, result);
      this.#freePlace(signal);
    });
  }

  refuse(refusal?: Refusal): void {
    this.attempt.onLeftOut(refusal, this.endpoint);
  }

  /** Takes the request out of its lane's queue. @returns false if it was not queued */
  cancel(): boolean {
    return this.lane.remove(this);
  }

  carries(is: (delivery: Delivery) => boolean): boolean {
    return is(this.attempt.inHand.delivery);
  }

  /**
   * Gives the place back later, since the lane or the attempt that called may be in the middle of a
   * loop. If the window ended during the wait, the lane is the reason.
   */
  #withdraw(isOverdue: boolean): void {
    const refusal = isOverdue ? this.lane.overdue(this, this.context.lanes.now()) : undefined;
    queueMicrotask(() => {
      this.#freePlace({ kind: 'withdrawn' });
      this.attempt.onLeftOut(refusal, this.endpoint);
    });
  }

  #freePlace(signal: Signal): void {
    this.lane.freePlace(this, this.context.lanes.now(), signal);
  }
}
