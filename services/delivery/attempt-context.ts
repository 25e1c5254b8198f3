import { type Deletions } from '../../shared/deletions/reader';
import { type OpenRecord, type OutRecord } from '../../shared/kafka/port';
import { type Timing } from './decisions/admission';
import { standingOf, standingOfDelete, type Standing } from './decisions/deletion';
import { Batches } from './batches/batches';
import { type Clock, systemClock } from './clock/clock';
import { type Destinations } from './destinations/destinations';
import { type WebhookSender } from './destinations/build-request';
import { type Endpoint } from './destinations/endpoint';
import { DisabledUrls } from './destinations/disabled-urls';
import { type DeliveryInHand, type Disposition } from './decisions/disposition';
import { type LaneRegistry } from './lanes/registry';
import { ResponseBudget } from './http/response-budget';

/** The surroundings of an attempt. */

/** A delivery whose record is open. */
export interface OpenDelivery extends DeliveryInHand {
  record: OpenRecord;
  /** when Kafka appended the record, ms since 1970 */
  appendedMs: number;
}

export interface AttemptOptions {
  destinations: Pick<Destinations, 'lookup'>;
  deletions: Deletions;
  lanes: LaneRegistry;
  sender: WebhookSender;
  tiersMs: number[];
  /** for how long after its acceptance a delivery is attempted */
  windowMs: number;
  /** default: the machine's */
  time?: Clock;
}

export interface AttemptListener {
  /**
   * Called once for each attempt.
   * @param disposition undefined if the delivery must be decided again: nothing was sent, and the
   * configuration changed while it waited, or its record is being revoked
   */
  attempted(inHand: OpenDelivery, disposition: Disposition | undefined, nowMs: number): void;
  /** an additional event: a request that ended after its attempt, or a batch that is halved */
  event(event: OutRecord): void;
  /**
   * the receiver of a URL wants nothing more: `gone` if it answered 410, `asked` if it asked for it
   */
  disabled(endpoint: Endpoint, reason: 'gone' | 'asked', nowMs: number): void;
}

/**
 * Time for which a permission holds, ms: far shorter than that after which a deletion holds
 * everywhere (decisions/deletion.ts).
 */
const PERMITTED_MS = 100;
/**
 * Age at which a request is not sent any more, ms: receivers refuse a signature of five minutes
 * ago, and a refusal would end the delivery. A token and a connection take less.
 */
const STALE_MS = 240_000;

/** State that all attempts of a process share. */
export class AttemptContext {
  readonly responses = new ResponseBudget();
  readonly batches: Batches;
  readonly disabledUrls = new DisabledUrls();
  readonly time: Clock;
  readonly lanes: LaneRegistry;
  readonly sender: WebhookSender;

  constructor(
    readonly options: AttemptOptions,
    readonly on: AttemptListener,
  ) {
    this.time = options.time ?? systemClock;
    this.lanes = options.lanes;
    this.sender = options.sender;
    this.batches = new Batches(this);
  }

  /** Returns what deletions of users mean for a delivery now. */
  standingOf({ delivery, appendedMs }: OpenDelivery): Standing {
    const nowMs = this.time.agreedMs();
    return delivery.type === 'delete'
      ? standingOfDelete(nowMs - delivery.acceptedAt, this.time.brokersMs() - appendedMs)
      : standingOf(delivery, this.options.deletions, nowMs);
  }

  /**
   * Returns the permission of a request that was signed now. It holds for a moment, in which a
   * request over a kept connection is written. The clock of the machine also counts the time in
   * which the machine slept.
   * @param isPermitted asked again after that, with the time at which the request began: it began
   *   within its window, which may end while it waits for its connection
   */
  permission(isPermitted: (begun: Timing) => boolean): () => boolean {
    const signedAt = this.time.wallMs();
    const begun = this.timing();
    return () => {
      const ageMs = Math.abs(this.time.wallMs() - signedAt);
      return ageMs < PERMITTED_MS || (ageMs < STALE_MS && isPermitted(begun));
    };
  }

  timing(): Timing {
    const { tiersMs, windowMs } = this.options;
    return { nowMs: this.time.agreedMs(), tiersMs, windowMs };
  }
}

/** Memory of an unfinished delivery beside its body: headers, attempt, job and request. */
const IN_HAND_BYTES = 4 * 1024;

/** Returns the bytes that a delivery in hand occupies. */
export function sizeOf({ body }: DeliveryInHand): number {
  return IN_HAND_BYTES + body.length;
}
