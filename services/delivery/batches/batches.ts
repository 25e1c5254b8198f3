import { type Endpoint } from '../destinations/endpoint';
import { type Lane } from '../lanes/lane';
import { kindOf } from '../lanes/job';
import { DUE } from '../../../shared/kafka/topics';
import { type Clock } from '../clock/clock';
import { comesBack, insistenceOf } from '../decisions/admission';
import {
  type BatchContext,
  type BatchOwner,
  BatchRequest,
  type Member,
  type MemberOwner,
} from './batch-request';

/** The batches that wait: for further deliveries, or in the lanes of their URLs. */

/** Far shorter than the shortest wait of a batch. */
const SWEEP_MS = 20;

interface BatchesContext extends BatchContext {
  time: BatchContext['time'] & Pick<Clock, 'after'>;
  lanes: BatchContext['lanes'] & { of(endpoint: Endpoint): Lane };
}

export class Batches implements BatchOwner {
  /** batches that have not begun */
  readonly #waiting = new Set<BatchRequest>();
  /** waiting batches that take further members */
  readonly #joinable = new Map<string, BatchRequest>();
  #isSweeping = false;

  constructor(readonly context: BatchesContext) {}

  /** Returns a member of the next batch to this URL, with the calls of a single request. */
  member(owner: MemberOwner, endpoint: Endpoint) {
    const member: Member = { owner, endpoint, batch: undefined };
    return {
      endpoint,
      submit: () => this.#join(member),
      // A first batch is sent whole, even to a URL whose delivery another one settles.
      cancel: () => owner.inHand.delivery.attempt > 0 && member.batch?.remove(member) === true,
    };
  }

  sealed(batch: BatchRequest): void {
    this.#waiting.delete(batch);
    this.#seal(batch);
  }

  resend(parts: BatchRequest[]): void {
    const now = this.#now();
    for (const part of parts) this.#waiting.add(part);
    // The last one offered is the first in the queue.
    for (const part of parts.reverse()) part.submit(now);
  }

  /**
   * Sends all batches without waiting for more deliveries, since this process has no room for
   * these.
   */
  hurry(): void {
    const now = this.#now();
    for (const batch of [...this.#waiting]) batch.submit(now);
  }

  /**
   * Takes out the deliveries of revoked records. A batch with a settled one, which has no open
   * record, is sent immediately.
   */
  release(): void {
    const now = this.#now();
    for (const batch of [...this.#waiting]) {
      const leaving = batch.members.filter(({ owner }) => owner.inHand.record.isRevoking);
      const unsettled = leaving.filter(({ owner }) => !owner.isSettled);
      for (const member of unsettled) {
        if (batch.remove(member)) member.owner.onLeftOut(undefined, member.endpoint);
      }
      if (unsettled.length < leaving.length && batch.isOpen) batch.submit(now);
    }
  }

  #join(member: Member): void {
    const { owner, endpoint } = member;
    const { delivery, body, record } = owner.inHand;
    const settings = endpoint.batch;
    const now = this.#now();
    const lane = this.context.lanes.of(endpoint);
    const due = record.topic === DUE;
    const urgent = delivery.test === true;
    const insists = insistenceOf(delivery);
    const { isLast } = owner;
    const away = urgent ? undefined : lane.away(now, isLast);
    if (!settings || record.isRevoking || (away && !insists)) {
      owner.onLeftOut(away, endpoint);
      return;
    }
    // A delivery that a user sends now is sent alone if its endpoint is away; the lane may refuse
    // it. A last attempt has no time to wait for others.
    const alone = urgent || away !== undefined || isLast;
    const { method, contentType, headers } = delivery;
    // One request has one method and one set of headers.
    const rendered =
      method || contentType || headers ? JSON.stringify([method, contentType, headers]) : '';
    const key = `${endpoint.lane}/${endpoint.id}/${kindOf({ due })}${rendered}`;
    const known = alone ? undefined : this.#joinable.get(key);
    const joined = known?.hasRoom(body, settings) ? known : undefined;
    if (known && !joined) this.#seal(known, now);
    if (alone) lane.bytes.add(body.length);
    else if (!lane.bytes.take({ bytes: body.length, due })) {
      if (joined) this.#seal(joined, now);
      owner.onLeftOut(lane.full(kindOf({ due }), now), endpoint);
      return;
    }
    const until = now + settings.maxWaitMs;
    const kind = {
      lane,
      due,
      cameBack: comesBack(delivery),
      urgent,
      insists: away && insists,
      isLast,
      gathering: { key, until },
    };
    const batch = joined ?? this.#open(new BatchRequest(this, kind), alone);
    batch.add(member);
    if (batch.members.length >= settings.maxEvents) this.#seal(batch, now);
    else if (alone || insists === 'always' || lane.circuit.mayProbe(now)) batch.submit(now);
  }

  #open(batch: BatchRequest, alone: boolean): BatchRequest {
    this.#waiting.add(batch);
    if (batch.gathering && !alone) this.#joinable.set(batch.gathering.key, batch);
    this.#sweepSoon();
    return batch;
  }

  /** Takes no further members. @param offerAt offers it to its lane too */
  #seal(batch: BatchRequest, offerAt?: number): void {
    const key = batch.gathering?.key ?? '';
    if (this.#joinable.get(key) === batch) this.#joinable.delete(key);
    if (offerAt !== undefined) batch.submit(offerAt);
  }

  #sweepSoon(): void {
    if (this.#isSweeping) return;
    this.#isSweeping = true;
    this.context.time.after(SWEEP_MS, () => this.#sweep());
  }

  /** Offers the batches whose wait is over, or whose endpoint went away. */
  #sweep(): void {
    this.#isSweeping = false;
    const now = this.#now();
    for (const batch of [...this.#waiting]) {
      if (batch.isOffered) continue;
      if (now >= (batch.gathering?.until ?? 0) || batch.lane.away(now)) batch.submit(now);
      else this.#sweepSoon();
    }
  }

  #now(): number {
    return this.context.lanes.now();
  }
}
