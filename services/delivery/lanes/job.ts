import { type EndpointWait } from '../../../shared/model/reasons';
import { type Delivery } from '../../../shared/model/delivery';
import { type Link } from '../../../shared/collections/linked-list';

/** First attempts and due retries wait apart. */
export type Kind = 'fresh' | 'due';
/** Due retries first: they are the first to leave a lane that is too full. */
export const KINDS: readonly Kind[] = ['due', 'fresh'];

/** While first attempts wait, a due retry gets every fourth free place. */
export const DUE_SHARE = 4;

export function kindOf({ due }: { due: boolean }): Kind {
  return due ? 'due' : 'fresh';
}

/**
 * The fields of a job that belong to its lane, so that the lane needs no further object for each
 * job.
 */
interface LaneFields extends Link<Job> {
  /** when it began, by the stall clock */
  begunAt?: number | undefined;
  /** stall time that the clock had left out by then, ms */
  stalledBefore?: number | undefined;
  /** queued although a `Retry-After` holds others back */
  passesHold?: boolean;
  /** of its circuit */
  period?: number | undefined;
}

/** A request that is offered to a lane, and the lane's calls to it. */
export interface Job extends LaneFields {
  /** the record it belongs to: if that is being revoked, the job need not wait */
  readonly record: { readonly isRevoking: boolean };
  /** counted against the memory for queued jobs */
  readonly bytes: number;
  /** a due retry rather than a first attempt */
  readonly due: boolean;
  /** its lane had sent it to a tier before */
  readonly cameBack?: boolean;
  /** a test send: never waits and is never refused while there is a socket for it */
  readonly urgent?: boolean;
  /** a part of a batch that was sent already: it goes ahead of the queue, however full */
  readonly isPart?: boolean;
  /**
   * A user sends it now: it may probe an open circuit, or ask during a `Retry-After`, before that
   * is due. `always`, or `sometimes`: at most once a second.
   */
  readonly insists?: 'always' | 'sometimes' | undefined;
  /**
   * Its window has no room for another wait: during a `Retry-After` it goes ahead of the queue.
   */
  readonly isLast?: boolean;
  /**
   * Sends it. It has a place of the lane: call `Lane.freePlace` to give it back. The lane calls
   * this if the job has waited; otherwise the one who offered it starts it.
   */
  start(): void;
  /** Returns whether it sends a delivery of this kind. */
  carries(is: (delivery: Delivery) => boolean): boolean;
  /**
   * Removes the queued job from its lane: with a refusal, or without one because its record is
   * being revoked. May offer other jobs.
   */
  refuse(refusal?: Refusal): void;
}

/** Why a lane does not accept a job, or returns it. */
export interface Refusal {
  /** `rate_limited`: the lane is full because of its `maxPerSecond` */
  reason: EndpointWait;
  /** expected wait, or for `circuit_open`, `token` and `proxy` the time since it began; ms */
  waitMs: number;
}

/** `placed`: the job has a place, and the caller starts it. */
export type Offer = 'placed' | 'queued' | Refusal;

/** The effect of a result on the lane. Lanes learn nothing else of a request. */
export type Signal =
  /** a complete response: a 404 rejects the delivery, but the endpoint works */
  | { kind: 'ok' }
  /** a response whose status counts, and whose rest was odd, too long or did not end */
  | { kind: 'irregular' }
  /** 5xx, no connection, no name, a bad certificate */
  | { kind: 'failed' }
  /** no complete response in time */
  | { kind: 'timeout' }
  /** 429, or a 503 with `Retry-After` */
  | { kind: 'throttled'; retryAfterMs?: number }
  /** nothing was sent, or the result concerns this process rather than the endpoint */
  | { kind: 'withdrawn' };
