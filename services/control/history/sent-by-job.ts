import { type DeliveryEvent, type WaitingEvent } from '../../../shared/model/attempt-events';
import { REPLAYED, RETRY_REQUESTED } from '../../../shared/model/reasons';

/**
 * Names the job that sent a delivery last, a replay or a retry of many, so that its results can be
 * counted. Pure.
 *
 * `jobResult` says what the status of the row does not. A cancelled replay leaves no job.
 */

/** The fields of the row of a delivery that count here. */
export interface SentByJob {
  job: string | null;
  /**
   * failed: an attempt of the job failed, and none follows that succeeded; untried: the delivery
   * was delivered before, and so stays delivered, and is not tried yet; null: the status says it
   */
  jobResult: 'untried' | 'failed' | null;
}

export function isSentAgain(event: DeliveryEvent): event is WaitingEvent {
  return (
    event.kind === 'waiting' && (event.reason === REPLAYED || event.reason === RETRY_REQUESTED)
  );
}

export function jobAfter({ job, jobResult }: SentByJob, event: DeliveryEvent): SentByJob {
  if (isSentAgain(event)) return { job: event.job ?? null, jobResult: null };
  if (job === null || event.kind !== 'attempt') return { job, jobResult };
  return { job, jobResult: event.outcome === 'delivered' ? null : 'failed' };
}

/** Returns the job of a delivered delivery after an event; the same object if nothing changes. */
export function jobOfDelivered(
  row: SentByJob & { replay: number },
  event: DeliveryEvent,
): SentByJob {
  const { job } = row;
  if (event.replay <= row.replay) return row;
  // Kafka may have the event of the replay behind its first attempt, or twice.
  if (isSentAgain(event)) {
    return event.job === undefined || event.job === job
      ? row
      : { job: event.job, jobResult: 'untried' };
  }
  if (row.jobResult === null) return row;
  switch (event.kind) {
    case 'attempt':
      if (event.late) return row;
      return { job, jobResult: event.outcome === 'delivered' ? null : 'failed' };
    case 'dead':
      return { job, jobResult: 'failed' };
    case 'cancelled':
      return { job: null, jobResult: null };
    default:
      return row;
  }
}
