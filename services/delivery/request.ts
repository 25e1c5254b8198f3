import { type OpenRecord } from '../../shared/kafka/port';
import { DUE } from '../../shared/kafka/topics';
import { type Delivery } from '../../shared/model/delivery';
import { signHeaders } from '../../shared/model/sign';
import { addOwnHeaders, CONTENT_ENCODING } from '../../shared/model/webhook-request';
import { childTraceparent } from '../../shared/telemetry/trace';
import { type NotTried } from './admission';
import { type Clock } from './clock';
import { type OpenDestination, type Endpoint } from './destinations';
import { compress } from './http/compress';
import { type SendRequest, type SendResult } from './http/exchange';
import { withBodyStart } from './endpoint-auth';
import { type Lane } from './lanes/lane';
import { type Job, type Refusal, type Signal } from './lanes/types';
import { type ClientCredentials } from './tokens/credentials';

/** A URL that may be sent to now, as the configuration says now. */
export interface Permit {
  destination: OpenDestination;
  endpoint: Endpoint;
}

/** A request that has ended, with a response or without. */
export interface EndedRequest {
  /** as it was sent: the configuration may have changed while the request waited in its lane */
  endpoint: Endpoint;
  traceparent: string;
  result: SendResult;
}

/**
 * The attempt of a request: exactly one call of `ended` or `leftOut` for each request that is not
 * cancelled.
 */
export interface RequestOwner {
  readonly inHand: {
    readonly delivery: Delivery;
    readonly body: Buffer;
    readonly record: OpenRecord;
  };
  /** Returns the permit to send to this URL that the attempt began with. */
  permitted(endpoint: Endpoint): Permit;
  /**
   * Returns the permit to send to this URL now; otherwise the decision against it, or undefined if
   * another process may send.
   */
  permit(endpoint: Endpoint): Permit | NotTried | undefined;
  /** @returns the signal for the lane of the request */
  ended(request: EndedRequest): Signal;
  /**
   * The request was not sent: its lane refused it, or (without a refusal) it must not be sent any
   * more.
   */
  leftOut(refusal: Refusal | undefined, endpoint: Endpoint): void;
}

/** State that all requests of a process share. */
export interface RequestContext {
  sender: {
    send(request: SendRequest, done: (result: SendResult) => void): void;
    /** Returns why a request with these credentials would not be sent now. */
    held?(credentials: ClientCredentials, insists?: Job['insists']): Refusal | undefined;
  };
  lanes: { now(): number };
  time: Pick<Clock, 'wallMs'>;
}

/** Returns how a delivery asks an endpoint that is away: a user sends it now, or all that wait. */
export function insistenceOf({ recalled }: Delivery): Job['insists'] {
  if (recalled === 'retry') return 'always';
  return recalled === 'retry_all' ? 'sometimes' : undefined;
}

/**
 * One request of an attempt, from its offer to the lane of its URL until its end. It is the job of
 * that lane.
 */
export class UrlRequest implements Job {
  before: Job | undefined = undefined;
  after: Job | undefined = undefined;
  list: object | undefined = undefined;
  begunAt = 0;
  stoodStillMs = 0;
  period = 0;
  readonly record: OpenRecord;
  readonly bytes: number;
  readonly due: boolean;
  readonly urgent: boolean;
  readonly insists: Job['insists'];
  /** true while the lane is asked: a job that it starts right away was admitted just now */
  #isOffered = false;

  constructor(
    private readonly context: RequestContext,
    private readonly owner: RequestOwner,
    readonly endpoint: Endpoint,
    private readonly lane: Lane,
  ) {
    const { delivery, body, record } = owner.inHand;
    this.record = record;
    this.bytes = body.length;
    this.due = record.topic === DUE;
    this.urgent = delivery.test === true;
    this.insists = insistenceOf(delivery);
  }

  /** Offers the request to its lane, which starts, queues or refuses it. */
  offer(): void {
    this.#isOffered = true;
    const offer = this.lane.offer(this, this.context.lanes.now());
    this.#isOffered = false;
    if (typeof offer === 'object') this.owner.leftOut(offer, this.endpoint);
  }

  /**
   * Sends the request, if it still may be sent: it may have waited in its lane, so a secret
   * rotation, correction, pause or switch-off since then must apply.
   */
  start(): void {
    const isFresh = this.#isOffered && !this.record.isRevoking;
    const permit = isFresh ? this.owner.permitted(this.endpoint) : this.owner.permit(this.endpoint);
    if (!permit || !('endpoint' in permit)) {
      this.#withdraw(permit);
      return;
    }
    const { endpoint, destination } = permit;
    const { delivery, body } = this.owner.inHand;
    const traceparent = childTraceparent(delivery.traceparent);
    const nowMs = this.context.time.wallMs();
    const request = buildRequest({
      id: delivery.id,
      rendered: delivery,
      body,
      ...permit,
      nowMs,
      traceparent,
    });
    sendRequest(this.context.sender, destination, request, (result) => {
      this.#free(this.owner.ended({ endpoint, traceparent, result }));
    });
  }

  refuse(refusal?: Refusal): void {
    this.owner.leftOut(refusal, this.endpoint);
  }

  /** Takes the request out of its lane's queue. @returns false if it was not queued */
  cancel(): boolean {
    return this.lane.remove(this);
  }

  /**
   * Gives the place back after the lane's call. If the window ended during the wait, the lane is
   * the reason.
   */
  #withdraw(decision: NotTried | undefined): void {
    const isOverdue = decision?.kind === 'dead' && decision.reason === 'window_closed';
    const refusal = isOverdue ? this.lane.overdue(this, this.context.lanes.now()) : undefined;
    queueMicrotask(() => {
      this.#free({ kind: 'withdrawn' });
      this.owner.leftOut(refusal, this.endpoint);
    });
  }

  #free(signal: Signal): void {
    this.lane.ended(this, this.context.lanes.now(), signal);
  }
}

const NO_AUTH: NonNullable<Endpoint['auth']> = {};

/** The differences of a delivery's request from the default POST. */
export type Rendered = Pick<Delivery, 'method' | 'contentType' | 'headers'>;

/**
 * Builds and signs the request. The signature of a request that waited after this would be stale.
 */
export function buildRequest(input: {
  /** the `webhook-id`: of the delivery, or of a batch */
  id: string;
  /** the request as the router rendered it */
  rendered: Rendered;
  body: Buffer;
  destination: OpenDestination;
  endpoint: Endpoint;
  nowMs: number;
  traceparent: string;
}): SendRequest {
  const { id, rendered, destination, endpoint, nowMs } = input;
  const { secrets, signatures } = destination;
  const { bodyStart, tls, credentials } = endpoint.auth ?? NO_AUTH;
  const body = bodyStart ? withBodyStart(input.body, bodyStart) : input.body;
  const timestampS = Math.floor(nowMs / 1000);
  const headers = signHeaders({ id, timestampS, body, secrets, signatures, nowMs });
  addOwnHeaders(headers, input);
  headers.push(...endpoint.staticHeaders);
  if (rendered.headers) addRendered(headers, rendered.headers);
  const request: SendRequest = { origin: endpoint.origin, path: endpoint.path, headers, body };
  if (rendered.method) request.method = rendered.method;
  if (endpoint.timeoutMs !== undefined) request.timeoutMs = endpoint.timeoutMs;
  if (endpoint.proxy) request.proxy = endpoint.proxy;
  if (tls) request.tls = tls;
  if (credentials) request.credentials = credentials;
  return request;
}

/** Sends the request, with its signed body compressed if the destination wants that. */
export function sendRequest(
  sender: RequestContext['sender'],
  { gzipAbove }: Pick<OpenDestination, 'gzipAbove'>,
  request: SendRequest,
  done: (result: SendResult) => void,
): void {
  if (gzipAbove === undefined || request.body.length <= gzipAbove) {
    sender.send(request, done);
    return;
  }
  compress(request.body, (compressed) => {
    if (!compressed) {
      sender.send(request, done);
      return;
    }
    request.body = compressed;
    request.headers.push(CONTENT_ENCODING, 'gzip');
    sender.send(request, (result) => done({ ...result, gzip: true }));
  });
}

/** Adds the rendered headers. A header that was set since the delivery was rendered wins. */
function addRendered(headers: string[], rendered: readonly string[]): void {
  const set = new Set(headers.filter((_, i) => i % 2 === 0).map((name) => name.toLowerCase()));
  for (let i = 0; i + 1 < rendered.length; i += 2) {
    const [name = '', value = ''] = rendered.slice(i, i + 2);
    if (!set.has(name.toLowerCase())) headers.push(name, value);
  }
}
