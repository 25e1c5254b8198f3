import { type z } from 'zod';
import { trialBody } from '../../../shared/api/events';
import { messageVariables } from '../../../shared/cel/json-values';
import { type Message } from '../../../shared/model/message';
import { parseMessage } from '../../../shared/model/message-codec';
import { isoTime } from '../../../shared/model/time';
import { type Actor } from '../http/identity';
import { RequestExpressions } from '../expressions/request-expressions';
import { type ExpressionWork, type RequestWork } from '../expressions/work';
import { parseBody } from '../http/validate';
import { type Entry, type EventBuffer } from './buffer';
import { type Events } from './events';

/**
 * Checks filters and conditions, and tries them on recent events before anything depends on them.
 */

/** Further reasons are counted as other reasons. */
const MAX_REASONS = 20;

export interface TrialDeps {
  events: Pick<Events, 'ring'>;
  /** bounds the expressions of requests */
  work: Pick<ExpressionWork, 'inTurn'>;
}

/** A filter and the events to try it on. */
interface Trial {
  filter: string;
  /** the newest first, also hidden ones and rejected ones */
  entries: readonly Entry[];
  limit: number;
}

/** @throws Problem `invalid_fields`; a mistake in the filter is part of the result */
export function readTrial(body: unknown): z.output<typeof trialBody> {
  return parseBody(trialBody, body);
}

/**
 * Returns the result of the filter for each event, or the position of its mistake. Once the budget
 * is spent, the remaining events are not tried.
 */
async function tryFilter({ filter, entries, limit }: Trial, ring: EventBuffer, work: RequestWork) {
  const expression = new RequestExpressions(work).filter(filter);
  if (expression.kind === 'mistake') {
    const { message, position } = expression;
    return {
      mistake: { message, ...position },
      tried: 0,
      matched: 0,
      failed: 0,
      failures: [],
      results: [],
    };
  }
  const results: Result[] = [];
  const reasons = new Map<string, number>();
  let found = 0;
  const tryOn = (entry: Entry) => {
    if (!ring.shows(entry, { accepted: true })) return;
    found++;
    const message = parseMessage(entry.value);
    // A deletion passes every filter, so it does not test this one.
    if (typeof message === 'string' || message.type === 'delete') return;
    const result = expression.evaluate(messageVariables(message));
    if (typeof result === 'boolean') {
      results.push(resultOf(entry, message, result ? 'match' : 'no_match', null));
      return;
    }
    const reason =
      reasons.has(result.message) || reasons.size < MAX_REASONS ? result.message : 'other reasons';
    reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
    results.push(resultOf(entry, message, 'failed', result.message));
  };
  for (const entry of entries) {
    if (found === limit || work.isSpent) break;
    work.measure(() => tryOn(entry));
    await work.pause();
  }
  const count = (outcome: MatchOutcome) =>
    results.filter((result) => result.outcome === outcome).length;
  return {
    mistake: null,
    tried: results.length,
    matched: count('match'),
    failed: count('failed'),
    failures: Array.from(reasons, ([reason, of]) => ({ reason, count: of })).sort(
      (a, b) => b.count - a.count,
    ),
    results,
  };
}

type MatchOutcome = 'match' | 'no_match' | 'failed';
type Result = ReturnType<typeof resultOf>;

function resultOf(entry: Entry, message: Message, outcome: MatchOutcome, reason: string | null) {
  return {
    event: entry.id,
    at: isoTime(entry.atMs),
    source: entry.source,
    type: message.type,
    name: message.event ?? message.name ?? null,
    outcome,
    reason,
  };
}

/**
 * Tries a filter on the newest accepted events of these sources, or of all.
 * @throws Problem `rate_limited`
 */
export function tryOnEvents(
  { events, work }: TrialDeps,
  { id }: Pick<Actor, 'id'>,
  {
    filter,
    sources,
    limit,
  }: { filter: string; sources?: readonly string[] | undefined; limit: number },
) {
  return work.inTurn(id, (budget) => {
    const entries = events.ring.newestFirst(sources);
    return tryFilter({ filter, entries, limit }, events.ring, budget);
  });
}
