import { type Deletions } from '../../../shared/deletions/reader';
import { type Delivery } from '../../../shared/model/delivery';

/**
 * Decides what deletions of users mean for a delivery, before each attempt. Pure.
 *
 * Each process knows every deletion of `KNOWN_WITHIN_MS` ago, or begins no attempt of a call that
 * is older than that. So no attempt of an older call begins anywhere once that time is over, and
 * the `delete` waits for a little longer (docs/design/decisions/0054-deletions.md).
 */

const KNOWN_WITHIN_MS = 1_500;
/** `KNOWN_WITHIN_MS`, and the most by which the clocks of processes may differ. */
const DELETE_AFTER_MS = 2_000;

export type Standing =
  /** its user or visitor was deleted after the call */
  | 'deleted'
  /** its user or visitor may have been deleted: this process cannot know it now */
  | 'unknown'
  /** a `delete`, before other processes know of the deletion */
  | 'early'
  | 'free';

/** Returns the standing of a delivery that is not a `delete`. */
export function standingOf(
  delivery: Delivery,
  deletions: Pick<Deletions, 'covers' | 'ageMs'>,
  nowMs: number,
): Standing {
  const ageMs = nowMs - delivery.acceptedAt;
  if (deletions.covers(delivery)) return 'deleted';
  if (ageMs < KNOWN_WITHIN_MS || deletions.ageMs < KNOWN_WITHIN_MS) return 'free';
  return isOfSomebody(delivery) ? 'unknown' : 'free';
}

/**
 * Returns the standing of a `delete`. Kafka had the deletion before control accepted the `delete`,
 * and before it appended the delivery, so either age will do. By the first alone, it would hold its
 * partition for as long as a clock of control is ahead; by the second alone, it would wait again
 * after each retry.
 * @param acceptedAgoMs by the time on which processes agree
 * @param appendedAgoMs by the brokers' time
 */
export function standingOfDelete(acceptedAgoMs: number, appendedAgoMs: number): Standing {
  return Math.max(acceptedAgoMs, appendedAgoMs) < DELETE_AFTER_MS ? 'early' : 'free';
}

/** Returns whether a delivery is an older call of the user or visitor whom a `delete` names. */
export function isOlderCall(delivery: Delivery, ofDelete: Delivery): boolean {
  if (delivery.acceptedAt >= ofDelete.acceptedAt || !isOfSomebody(delivery)) return false;
  return delivery.userId === undefined
    ? delivery.anonymousId === ofDelete.anonymousId
    : delivery.userId === ofDelete.userId;
}

/** Alerts and tests are about nobody. */
function isOfSomebody({ userId, anonymousId }: Delivery): boolean {
  return userId !== undefined || anonymousId !== undefined;
}
