import { type z } from 'zod';
import { trialBody } from '../../../shared/api/events';
import { compileExpression } from '../../../shared/cel/compile';
import { messageVariables } from '../../../shared/cel/json-values';
import { type Message } from '../../../shared/model/message';
import { parseMessage } from '../../../shared/model/message-codec';
import { type ControlContext } from '../context';
import { parseBody } from '../http/validate';
import { type Entry } from './buffer';

/**
 * Checks filters and conditions, and tries them on recent events before anything depends on them.
 */

/**
 * A person waits for the result, and other requests for control. The remaining events are not
 * tried.
 */
const TRY_MS = 250;
/** Further reasons are counted as other reasons. */
const MAX_REASONS = 20;

/** A filter and the events to try it on. */
interface Trial {
  filter: string;
  entries: readonly Entry[];
  /** ms, by any clock */
  clock: () => number;
}

/** @throws Problem `invalid_fields`; a mistake in the filter is part of the result */
export function readTrial(body: unknown): z.output<typeof trialBody> {
  return parseBody(trialBody, body);
}

/** Returns the result of the filter for each event, or the place of its mistake. */
function tryFilter({ filter, entries, clock }: Trial) {
  const expression = compileExpression(filter, 'filter');
  if (expression.kind === 'mistake') {
    const { message, place } = expression;
    return {
      mistake: { message, ...place },
      tried: 0,
      matched: 0,
      failed: 0,
      failures: [],
      results: [],
    };
  }
  const results: Result[] = [];
  const reasons = new Map<string, number>();
  const startedAt = clock();
  for (const entry of entries) {
    if (clock() - startedAt > TRY_MS) break;
    const message = entry.accepted ? parseMessage(entry.value) : 'rejected';
    // A deletion passes every filter, so it does not test this one.
    if (typeof message === 'string' || message.type === 'delete') continue;
    const result = expression.evaluate(messageVariables(message));
    if (typeof result === 'boolean') {
      results.push(resultOf(entry, message, result ? 'match' : 'no_match', null));
      continue;
    }
    const reason =
      reasons.has(result.message) || reasons.size < MAX_REASONS ? result.message : 'other reasons';
    reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
    results.push(resultOf(entry, message, 'failed', result.message));
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
    at: new Date(entry.atMs).toISOString(),
    source: entry.source,
    type: message.type,
    name: message.event ?? message.name ?? null,
    outcome,
    reason,
  };
}

/** Tries a filter on the newest events of these sources, or of all. */
export function tryOnEvents(
  { events }: Pick<ControlContext, 'events'>,
  {
    filter,
    sources,
    limit,
  }: { filter: string; sources?: readonly string[] | undefined; limit: number },
) {
  const found = (sources ?? [undefined]).flatMap((source) =>
    events.ring.newest({ source, accepted: true }, { limit }),
  );
  const entries = found.sort((a, b) => b.order - a.order).slice(0, limit);
  return tryFilter({ filter, entries, clock: () => performance.now() });
}
