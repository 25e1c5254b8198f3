import { type DeliveryEvent, type WaitingEvent } from '../../../shared/model/attempt-events';
import { REPLAYED, RETRY_REQUESTED } from '../../../shared/model/reasons';

/**
 * Names the job that sent a delivery last, a replay or a retry of many, so that its results can be
 * counted. Pure.
 *
 * A character behind the job's id says what became of it: `!` an attempt of the job failed, and
 * none follows that succeeded; `~` a delivery that was delivered before, and so stays delivered, is
 * not tried yet. Without it, the status of the row says it. A cancelled replay leaves no job.
 */

/** The fields of the row of a delivery that count here. */
interface Sent {
  job: string | null;
  replay: number;
}

export const UNTRIED = '~';
export const FAILED = '!';

/** Returns the id of a job with each mark that it may have in a row. */
export function markedJobs(id: string): string[] {
  return ['', UNTRIED, FAILED].map((mark) => id + mark);
}

/** Returns whether a user sent the delivery again. */
export function isSentAgain(event: DeliveryEvent): event is WaitingEvent {
  return (
    event.kind === 'waiting' && (event.reason === REPLAYED || event.reason === RETRY_REQUESTED)
  );
}

/** Returns the job of an undelivered delivery after an event. */
export function jobAfter({ job }: Pick<Sent, 'job'>, event: DeliveryEvent): string | null {
  if (isSentAgain(event)) return event.job ?? null;
  if (job === null || event.kind !== 'attempt') return job;
  return event.outcome === 'delivered' ? idOf(job) : `${idOf(job)}${FAILED}`;
}

/** Returns the job of a delivered delivery after an event. */
export function jobOfDelivered({ job, replay }: Sent, event: DeliveryEvent) {
  if (event.replay <= replay) return job;
  // Kafka may have the event of the replay behind its first attempt, or twice.
  if (isSentAgain(event)) {
    return idOf(job) === event.job || event.job === undefined ? job : `${event.job}${UNTRIED}`;
  }
  if (job === null || job === idOf(job)) return job;
  const failed = `${idOf(job)}${FAILED}`;
  switch (event.kind) {
    case 'attempt':
      if (event.late) return job;
      return event.outcome === 'delivered' ? idOf(job) : failed;
    case 'dead':
      return failed;
    case 'cancelled':
      return null;
    default:
      return job;
  }
}

function idOf(job: string | null): string {
  return job?.replace(/[~!]$/, '') ?? '';
}
