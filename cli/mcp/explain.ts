import { type Delivery } from '../../shared/api/operations';
import { isUnderWay } from '../../shared/model/reasons';

/** Explains in sentences why a delivery waits or how it ended. Pure. */

export function explain(delivery: Delivery, nowMs: number): string {
  const { status, reason, acceptedAt, settledAt, budget, attempts } = delivery;
  const why = reason === null ? '' : `, because of ${reason}`;
  const made =
    `It was accepted at ${acceptedAt}; ${count(budget.attemptsMade, 'attempt')} so ` +
    `far${delivery.replay > 0 ? ` since replay ${String(delivery.replay)}` : ''}.`;
  const sentences = [
    `Delivery ${delivery.id} is ${status}${why}.`,
    made,
    ...attempts.slice(-1).flatMap(lastAttempt),
  ];
  if (!isUnderWay(status)) {
    return [...sentences, settledAt === null ? '' : `It ended at ${settledAt}.`].join(' ').trim();
  }
  const next = budget.nextAttemptAt;
  const coming = next !== null && Date.parse(next) > nowMs;
  return [
    ...sentences,
    coming ? `The next attempt is at ${next}.` : 'The next attempt follows as soon as possible.',
    `Waypost gives up at ${budget.expiresAt}.`,
  ].join(' ');
}

function lastAttempt(attempt: Delivery['attempts'][number]): string[] {
  return attempt.urls.map(({ origin, status, error, outcome }) => {
    if (attempt.withheld) {
      return `At ${attempt.at} nothing was sent to ${origin}: ${error?.message ?? outcome}.`;
    }
    const result =
      status === undefined
        ? error
          ? `failed: ${error.message} (${error.code})`
          : outcome
        : `answered ${String(status)}`;
    return `At the last attempt (${attempt.at}) ${origin} ${result}.`;
  });
}

function count(n: number, what: string): string {
  return `${String(n)} ${what}${n === 1 ? '' : 's'}`;
}
