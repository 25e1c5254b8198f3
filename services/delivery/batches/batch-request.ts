import { randomBytes } from 'node:crypto';
import { defined } from '../../../shared/collections/defined';
import {
  batchContentType,
  type BatchSettings,
  DELIVERIES_HEADER,
} from '../../../shared/model/batch';
import { type OpenRecord } from '../../../shared/kafka/port';
import { type Delivery } from '../../../shared/model/delivery';
import { type Clock } from '../clock/clock';
import { type Timing } from '../decisions/admission';
import { type UrlAttempt } from '../../../shared/model/attempt-events';
import { childTraceparent, isTraced } from '../../../shared/telemetry/trace';
import {
  buildRequest,
  isPermit,
  type Permit,
  type Rendered,
  sendRequest,
  type WebhookSender,
} from '../destinations/build-request';
import { type Endpoint } from '../destinations/endpoint';
import { type JudgedResponse, withheldBy } from '../http/judge-response';
import { type Lane } from '../lanes/lane';
import { type Job, type Refusal } from '../lanes/job';
import { type ResponseBudget } from '../http/response-budget';
import { requestEnded } from '../telemetry/metrics';
import { batchBytes, joinInPlace } from './join-bodies';
import { judgeBatch } from './judge-batch';

/**
 * The attempt of a member. Each member has one call of `onJudged`, `onWithheld` or `onLeftOut` in
 * the end.
 */
export interface MemberOwner {
  readonly inHand: { readonly delivery: Delivery; body: Buffer; readonly record: OpenRecord };
  /** true once another URL has settled its delivery */
  readonly isSettled: boolean;
  /** its window has no room for another wait */
  readonly isLast: boolean;
  /**
   * Returns the permit to send to this URL now; otherwise `overdue` if the window for sending is
   * over, or undefined if it must not be sent for another reason, or another process may send.
   * @param timing default: now
   */
  permitNow(endpoint: Endpoint, timing?: Timing): Permit | 'overdue' | undefined;
  /** The batch was rejected as a whole. Its halves follow. */
  onHalved(endpoint: Endpoint, attempt: UrlAttempt, traceparent: string): void;
  onJudged(endpoint: Endpoint, judged: JudgedResponse, traceparent: string): void;
  /** The batch was not sent, for lack of a token. */
  onWithheld(refusal: Refusal, attempt: UrlAttempt, endpoint: Endpoint): void;
  /**
   * It was not sent: its lane refused it, or (without a refusal) it must not be sent any more.
   */
  onLeftOut(refusal: Refusal | undefined, endpoint: Endpoint): void;
}

/** The place of a delivery in a batch. */
export interface Member {
  readonly owner: MemberOwner;
  readonly endpoint: Endpoint;
  /** the batch in which it waits */
  batch: BatchRequest | undefined;
}

export interface BatchContext {
  sender: WebhookSender;
  lanes: { now(): number };
  time: Pick<Clock, 'wallMs' | 'agreedMs'>;
  responses: ResponseBudget;
  /** as `AttemptContext.permission` */
  permission(isPermitted: (begun: Timing) => boolean): () => boolean;
}

/** The collection of the batches that wait. */
export interface BatchOwner {
  readonly context: BatchContext;
  /** The batch takes no more members, and waits no longer. */
  sealed(batch: BatchRequest): void;
  /** Sends the parts of a batch that was sent before. */
  resend(parts: BatchRequest[]): void;
}

/** Further members join the batch with their key until this time, by the stall clock. */
interface Gathering {
  key: string;
  until: number;
}

interface BatchKind {
  lane: Lane;
  due: boolean;
  cameBack?: boolean;
  urgent?: boolean;
  insists?: Job['insists'];
  isLast?: boolean;
  /** absent: a part of a batch that was sent already, which takes no further members */
  gathering?: Gathering;
  /** its members were sent before, and nobody could read the 2xx */
  isRepeat?: boolean;
}

/** The members revoke their records one by one. */
const NOT_REVOKING = { isRevoking: false };

interface Ready {
  member: Member;
  permit: Permit;
}

/**
 * Several deliveries to one URL as one request, from the first that waits until the response. It
 * gathers, then it is the job of its lane, and it takes further members until it begins.
 */
export class BatchRequest implements Job {
  before: Job | undefined = undefined;
  after: Job | undefined = undefined;
  list: object | undefined = undefined;
  begunAt = 0;
  stalledBefore = 0;
  period = 0;
  passesHold = false;
  readonly record = NOT_REVOKING;
  /** counted with each member */
  readonly bytes = 0;
  readonly members: Member[] = [];
  /** true while it waits, for further members or in the queue of its lane */
  isOpen = true;
  /** true once it was offered to its lane */
  isOffered = false;
  #bodyBytes = 0;

  readonly lane: Lane;
  readonly due: boolean;
  readonly cameBack: boolean;
  readonly urgent: boolean;
  readonly insists: Job['insists'];
  readonly isLast: boolean;
  readonly gathering: Gathering | undefined;
  readonly isPart: boolean;
  readonly isRepeat: boolean;

  constructor(
    private readonly owner: BatchOwner,
    {
      lane,
      due,
      cameBack = false,
      urgent = false,
      insists,
      isLast = false,
      gathering,
      isRepeat = false,
    }: BatchKind,
  ) {
    this.lane = lane;
    this.due = due;
    this.cameBack = cameBack;
    this.urgent = urgent;
    this.insists = insists;
    this.isLast = isLast;
    this.gathering = gathering;
    this.isPart = gathering === undefined;
    this.isRepeat = isRepeat;
  }

  /** Adds a delivery whose bytes were counted for the lane. */
  add(member: Member): void {
    member.batch = this;
    this.members.push(member);
    this.#bodyBytes += member.owner.inHand.body.length;
  }

  hasRoom(body: Buffer, { maxEvents, maxBytes }: BatchSettings): boolean {
    const { length } = this.members;
    return length < maxEvents && batchBytes(length + 1, this.#bodyBytes + body.length) <= maxBytes;
  }

  /** Takes out a delivery. @returns false if the request has begun */
  remove(member: Member): boolean {
    const at = this.members.indexOf(member);
    if (!this.isOpen || at < 0) return false;
    this.members.splice(at, 1);
    member.batch = undefined;
    const { length } = member.owner.inHand.body;
    this.#bodyBytes -= length;
    this.lane.bytes.add(-length);
    if (this.members.length > 0) return true;
    this.#close();
    if (this.isOffered) this.lane.remove(this);
    return true;
  }

  /** Offers the batch to its lane, and sends it if it need not wait there. */
  submit(now: number): void {
    if (this.isOffered) return;
    this.isOffered = true;
    const offer = this.lane.offer(this, now);
    if (offer === 'placed') this.start();
    else if (offer !== 'queued') this.refuse(offer);
  }

  refuse(refusal?: Refusal): void {
    this.#close();
    for (const { owner, endpoint } of this.members) owner.onLeftOut(refusal, endpoint);
  }

  /** Sends the members that may still be sent, as `UrlRequest.start` does. */
  start(): void {
    this.#close();
    const ready: Ready[] = [];
    for (const member of this.members) {
      const permit = member.owner.permitNow(member.endpoint);
      if (!isPermit(permit)) this.#withdraw(member, permit === 'overdue');
      else if (fits(ready, permit, member)) ready.push({ member, permit });
      else this.#withdraw(member, false);
    }
    const [first] = ready;
    if (first) this.#send(first.permit, ready);
    else queueMicrotask(() => this.lane.freePlace(this, this.#now(), { kind: 'withdrawn' }));
  }

  carries(is: (delivery: Delivery) => boolean): boolean {
    return this.members.some(({ owner }) => is(owner.inHand.delivery));
  }

  #close(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.lane.bytes.add(-this.#bodyBytes);
    this.owner.sealed(this);
  }

  #withdraw({ owner, endpoint }: Member, isOverdue: boolean): void {
    const refusal = isOverdue ? this.lane.overdue(this, this.#now()) : undefined;
    queueMicrotask(() => owner.onLeftOut(refusal, endpoint));
  }

  #send(permit: Permit, ready: Ready[]): void {
    const { destination, endpoint } = permit;
    const { context } = this.owner;
    const { sender, responses, time } = context;
    const members = ready.map(({ member }) => member);
    const id = `bat_${randomBytes(20).toString('base64url')}`;
    const first = members[0]?.owner.inHand.delivery.id ?? '';
    const body = joinInPlace(members.map(({ owner }) => owner.inHand));
    const traces = members.map(({ owner }) => childTraceparent(owner.inHand.delivery.traceparent));
    const traceparent = traces.find(isTraced) ?? traces[0] ?? '';
    const rendered = renderedOf(members);
    const request = buildRequest({
      id,
      rendered,
      body,
      destination,
      endpoint,
      nowMs: time.wallMs(),
      traceparent,
    });
    request.headers.push(
      DELIVERIES_HEADER,
      members.map(({ owner }) => owner.inHand.delivery.id).join(','),
    );
    request.isPermitted = context.permission((begun) =>
      members.every(({ owner }) => isPermit(owner.permitNow(endpoint, begun))),
    );
    sendRequest(sender, destination, request, (result) => {
      if (!result.ok && result.excuse === 'unpermitted') {
        this.lane.freePlace(this, this.#now(), { kind: 'withdrawn' });
        for (const { owner } of members) owner.onLeftOut(undefined, endpoint);
        return;
      }
      const size = members.length;
      const batch = judgeBatch(endpoint, result, {
        size,
        nowMs: time.agreedMs(),
        budget: responses,
        isTest: this.urgent,
      });
      const refusal = !this.urgent && withheldBy(result);
      if (!refusal) requestEnded(batch.whole.attempt);
      if (batch.isUnreadable && !this.isRepeat) {
        this.#sendAgain([members], true);
        this.lane.freePlace(this, this.#now(), batch.signal);
        return;
      }
      members.forEach(({ owner }, index) => {
        const judged = batch.ofMember(index);
        const attempt: UrlAttempt = { ...judged.attempt, batch: { id, size, index, first } };
        const traceparent = traces[index] ?? '';
        if (refusal) owner.onWithheld(refusal, attempt, endpoint);
        else if (batch.isHalved) owner.onHalved(endpoint, attempt, traceparent);
        else owner.onJudged(endpoint, { ...judged, attempt }, traceparent);
      });
      // The halves come before others for the place that this request leaves.
      if (batch.isHalved) {
        const middle = Math.ceil(size / 2);
        this.#sendAgain([members.slice(0, middle), members.slice(middle)], false);
      }
      this.lane.freePlace(this, this.#now(), batch.signal);
    });
  }

  /** Offers the members to the lane once more. The limits of their URL hold as for any batch. */
  #sendAgain(groups: Member[][], isRepeat: boolean): void {
    const { lane, due, urgent, insists, isLast } = this;
    const parts: BatchRequest[] = [];
    for (const group of groups) {
      const part = new BatchRequest(this.owner, { lane, due, urgent, insists, isLast, isRepeat });
      for (const member of group) {
        const { owner, endpoint } = member;
        // Its record goes back at once, and must not wait for the rate of the URL.
        const isLeaving = owner.inHand.record.isRevoking && !owner.isSettled;
        if (isLeaving) queueMicrotask(() => owner.onLeftOut(undefined, endpoint));
        else part.add(member);
      }
      if (part.members.length === 0) continue;
      lane.bytes.add(part.#bodyBytes);
      parts.push(part);
    }
    this.owner.resend(parts);
  }

  #now(): number {
    return this.owner.context.lanes.now();
  }
}

/**
 * Returns whether the member may be sent with these, by the present limits. Others are decided
 * again.
 */
function fits(
  ready: readonly Ready[],
  { endpoint: { id, batch } }: Permit,
  { owner }: Member,
): boolean {
  if (!batch) return false;
  if (ready.length === 0) return true;
  const bytes = ready.reduce(
    (sum, { member }) => sum + member.owner.inHand.body.length,
    owner.inHand.body.length,
  );
  const isWithin =
    ready.length < batch.maxEvents && batchBytes(ready.length + 1, bytes) <= batch.maxBytes;
  return isWithin && ready[0]?.permit.endpoint.id === id;
}

/** Returns how the members were rendered, which is the same for all of them. */
function renderedOf([first]: readonly Member[]): Rendered {
  const { method, contentType, headers } = first?.owner.inHand.delivery ?? {};
  const type = batchContentType(contentType);
  return defined({
    method,
    contentType: type || undefined,
    headers,
  });
}
