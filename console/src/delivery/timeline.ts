import { type Delivery } from '../../../shared/api/operations';
import { compact } from '../../../shared/collections/defined';
import { isDelivered, isUnderWay } from '../../../shared/model/reasons';
import { goesOnInWords } from '../lib/goes-on';
import {
  absolute,
  answerInShort,
  capitalized,
  clock,
  latency,
  reasonInWords,
  spanOf,
  stateInWords,
} from '../lib/labels';
import { tookOf } from '../destination/last-attempts';
import { text } from '../texts';

const words = text.delivery.timeline;

/** The life of a delivery as a list of moments. Pure. */

export interface Moment {
  /** null: the time is unknown */
  at: string | null;
  kind: 'done' | 'failed' | 'dead' | 'cancelled' | 'wait' | 'next';
  text: string;
  /** of an attempt */
  attempt?: Delivery['attempts'][number];
}

/**
 * Returns the past moments in order, and then the coming ones. A time that has passed is not
 * announced as coming.
 */
export function momentsOf(delivery: Delivery, nowMs: number): Moment[] {
  const attempts = [...delivery.attempts].sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
  return [
    { at: delivery.acceptedAt, kind: 'done', text: words.accepted },
    ...attempts.flatMap((attempt, i) => {
      const before = attempts[i - 1];
      const replayed = attempt.replay > (before?.replay ?? 0);
      return compact([
        replayed
          ? ({ at: null, kind: 'wait', text: words.replay(attempt.replay) } as const)
          : undefined,
        attemptMoment(attempt),
      ]);
    }),
    ...ending(delivery, nowMs),
  ];
}

function attemptMoment(attempt: Delivery['attempts'][number]): Moment {
  const results = attempt.urls.map(({ status, error }) => answerInShort(status, error?.code));
  const ms = tookOf(attempt);
  const took = ms < 1_000 ? latency(ms) : spanOf(ms);
  return {
    at: attempt.at,
    kind: attempt.outcome === 'delivered' ? 'done' : 'failed',
    text: attempt.withheld
      ? words.withheld(results.join(', '))
      : words.attempt(attempt.n, results.join(', '), took),
    attempt,
  };
}

function ending({ status, reason, settledAt, goesOn }: Delivery, nowMs: number): Moment[] {
  if (!isUnderWay(status) || goesOn === null) {
    return [{ at: settledAt, kind: endKind(status), text: capitalized(stateInWords(status)) }];
  }
  const waits = reasonInWords(reason);
  const { at, givenUpAt } = goesOn;
  const isComing = at !== null && Date.parse(at) > nowMs;
  return compact([
    waits === '' || reason === 'backoff'
      ? undefined
      : ({ at: null, kind: 'wait', text: waits } as const),
    {
      at: isComing ? at : null,
      kind: 'next',
      text: goesOnInWords(goesOn, reason, nowMs),
    },
    Date.parse(givenUpAt) > nowMs
      ? { at: givenUpAt, kind: 'next', text: words.givesUp }
      : { at: givenUpAt, kind: 'wait', text: words.endWindow },
  ]);
}

function endKind(status: Delivery['status']): Moment['kind'] {
  if (isDelivered(status)) return 'done';
  return status === 'dead' ? 'dead' : 'cancelled';
}

/** Names a delivery by what happened and where it goes: "Order Completed → Acme Billing". */
export function titleOf({
  type,
  event,
  destinationName,
}: Pick<Delivery, 'type' | 'event' | 'destinationName'>): string {
  return words.title(event ?? type, destinationName ?? text.watch.deliveries.deleted);
}

/** Says in a sentence what became of a delivery, or what it waits for. */
export function sentenceOf(delivery: Delivery, nowMs: number): string {
  const { status, reason, settledAt, acceptedAt } = delivery;
  if (isUnderWay(status)) {
    const why = reasonInWords(reason);
    const budget = budgetInWords(delivery, nowMs);
    return why === '' ? budget : `${why}. ${budget}`;
  }
  const at = absolute(settledAt ?? acceptedAt, nowMs);
  if (isDelivered(status)) {
    const took = latency(Date.parse(settledAt ?? acceptedAt) - Date.parse(acceptedAt));
    const delivered = words.delivered(at, took, attemptsInWords(delivery));
    return status === 'delivered' ? delivered : `${delivered} ${words.notAllUrls}`;
  }
  const ended = words.ended(
    capitalized(stateInWords(status)),
    at,
    attemptsInWords(delivery),
    reasonInWords(reason),
  );
  return compact([ended, answerOf(delivery)]).join(' ');
}

/** Counts the attempts since it was sent or last replayed, and says which of the two. */
function attemptsInWords({ status, attemptsMade, replay }: Delivery): string {
  const isFirst = isDelivered(status) && attemptsMade <= 1;
  const attempts = isFirst ? words.atFirstAttempt : words.afterAttempts(attemptsMade);
  return replay === 0 ? attempts : words.ofReplay(attempts, replay);
}

/** Returns the last attempt; undefined: there was none. */
export function newestOf(attempts: Delivery['attempts']): Delivery['attempts'][number] | undefined {
  return attempts.toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at)).at(-1);
}

/** Longer answers are below. */
const MOST_OF_ANSWER = 80;

/** Returns the start of what the endpoint said last; undefined: it said nothing that is stored. */
function answerOf({ attempts }: Delivery): string | undefined {
  const failed = newestOf(attempts)?.urls.find(({ outcome }) => outcome !== 'delivered');
  const said = failed?.response?.body.replaceAll(/\s+/g, ' ').trim() ?? '';
  if (failed?.status === undefined || said === '') return undefined;
  const start = said.length > MOST_OF_ANSWER ? `${said.slice(0, MOST_OF_ANSWER)} …` : said;
  return words.answered(failed.status, start);
}

/** Says how many attempts were made, when the next one comes, and when Waypost gives up. */
export function budgetInWords(
  { attemptsMade: made, goesOn, reason }: Pick<Delivery, 'attemptsMade' | 'goesOn' | 'reason'>,
  nowMs: number,
): string {
  if (goesOn === null) return '';
  const { givenUpAt } = goesOn;
  const attempts = made === 0 ? words.noAttemptsYet : words.soFar(made);
  const end =
    Date.parse(givenUpAt) > nowMs ? words.givesUpAt(clock(givenUpAt, nowMs)) : words.windowEnded;
  return words.budget(attempts, goesOnInWords(goesOn, reason, nowMs), end);
}
