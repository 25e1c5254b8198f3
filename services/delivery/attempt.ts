import { type UrlAttempt } from '../../shared/model/attempt-events';
import {
  type Admitted,
  divert,
  type NotTried,
  planned,
  readmit,
  type Timing,
} from './decisions/admission';
import { type AttemptContext, type OpenDelivery } from './attempt-context';
import { fitsInBatch } from '../../shared/model/batch';
import { type MemberOwner } from './batches/batch-request';
import { type Endpoint } from './destinations/destinations';
import { judgeResponse, judgeUnusable, type JudgedResponse } from './http/judge-response';
import { type Refusal, type Signal } from './lanes/job';
import { type AttemptResult, concludeAttempt } from './decisions/disposition';
import { type EndedRequest, insistenceOf, type Permit, UrlRequest } from './request';
import { halvedEvent, lateEvent } from './decisions/side-events';
import { batchHalved, requestEnded, responded } from './telemetry/telemetry';

/** A single request, or a place in a batch. */
type Request = Pick<UrlRequest, 'endpoint' | 'offer' | 'cancel'>;

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
  #asked = false;
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
  start(): void {
    // Keeps the attempt open until all URLs have been offered, even if lanes refuse the first ones.
    this.#pending++;
    for (const endpoint of this.admitted.open) {
      if (endpoint.problem === undefined) this.#offer(endpoint);
      else this.#note(endpoint, judgeUnusable(endpoint, endpoint.problem));
    }
    this.#pending--;
    this.#endIfOver();
  }

  permitted(endpoint: Endpoint): Permit {
    return { destination: this.admitted.lookup.destination, endpoint };
  }

  permit(endpoint: Endpoint): Permit | NotTried | undefined {
    const { inHand, context } = this;
    if (inHand.record.isRevoking && !this.#isEnded) return undefined;
    const lookup = context.options.destinations.lookup(inHand.delivery.destinationId);
    const admission = readmit(
      this.admitted,
      inHand.delivery,
      lookup,
      context.timing(),
      context.disabledUrls.has,
    );
    if (admission.kind !== 'try') return admission;
    const { destination } = admission.lookup;
    if (admission === this.admitted) return { destination, endpoint };
    const current = admission.open.find(
      ({ id, hash }) => id === endpoint.id && hash === endpoint.hash,
    );
    return current && { destination, endpoint: current };
  }

  ended({ endpoint, traceparent, result }: EndedRequest): Signal {
    const { inHand, context } = this;
    const timing = this.#timing();
    const { destinationId, test = false } = inHand.delivery;
    const keep = context.responses.keepOf(destinationId, test, timing.nowMs);
    const judged = judgeResponse(endpoint, result, { nowMs: timing.nowMs, keep });
    const withheld = !result.ok && !inHand.delivery.test && result.withheld;
    if (withheld) this.withheld(withheld, judged.attempt, endpoint);
    else {
      requestEnded(judged.attempt);
      this.judged(endpoint, judged, traceparent, timing);
    }
    return judged.signal;
  }

  withheld(refusal: Refusal, attempt: UrlAttempt, endpoint: Endpoint): void {
    this.#withheld.push(attempt);
    this.leftOut(refusal, endpoint);
  }

  judged(
    endpoint: Endpoint,
    judged: JudgedResponse,
    traceparent: string,
    timing = this.#timing(),
  ): void {
    responded(this.inHand, endpoint, judged.attempt, traceparent);
    this.#pending--;
    this.#asked = true;
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

  halved(endpoint: Endpoint, attempt: UrlAttempt, traceparent: string): void {
    const { inHand, context } = this;
    responded(inHand, endpoint, attempt, traceparent);
    if (this.#isEnded) return;
    batchHalved();
    const tried = { urls: [attempt], rejected: [], skipped: false, durationMs: this.#elapsedMs() };
    context.on.event(halvedEvent(inHand, tried, context.time.brokerMs()));
    inHand.delivery.halved = (inHand.delivery.halved ?? 0) + 1;
  }

  leftOut(refusal: Refusal | undefined, { id }: Endpoint): void {
    this.#pending--;
    (this.#notCalled ??= []).push(id);
    this.#leftOut.push(refusal);
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
      this.leftOut(held, endpoint);
      return;
    }
    const { batches, lanes } = this.context;
    const request =
      endpoint.batch && fitsInBatch(delivery.contentType)
        ? batches.member(this, endpoint)
        : new UrlRequest(this.context, this, endpoint, lanes.of(endpoint));
    this.#requests.push(request);
    this.#pending++;
    request.offer();
  }

  /**
   * Stops sending to a URL whose receiver wants nothing more. The answer to a test says nothing
   * about real ones.
   */
  #obey(endpoint: Endpoint, { says }: JudgedResponse, nowMs: number): void {
    if (says?.disables === undefined || this.inHand.delivery.test) return;
    if (this.context.disabledUrls.add(endpoint)) {
      this.context.on.disabled(endpoint, says.disables, nowMs);
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
    const isAttempt = this.#asked || this.#leftOut.length === 0;
    const disposition = isAttempt
      ? concludeAttempt(inHand.delivery, this.#result(), timing)
      : this.#untried(timing);
    context.on.ended(inHand, disposition, timing.nowMs);
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
      open: this.#pending,
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
    const { closed } = this.inHand.delivery;
    const isWilling = ({ hash }: Endpoint) =>
      !closed.includes(hash) && !this.#rejected.includes(hash);
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
    const closed = endpoints.filter(
      (endpoint) => !open.includes(endpoint) && !this.context.disabledUrls.has(endpoint),
    );
    const ids = [...closed.map(({ id }) => id), ...(this.#notCalled ?? [])];
    return ids.length > 0 ? ids : undefined;
  }

  #elapsedMs(): number {
    return Math.round(this.context.time.steadyMs() - this.#startedAt);
  }
}
