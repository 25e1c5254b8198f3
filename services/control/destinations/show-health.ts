import { type Query } from '../../../shared/api/operations';
import { healthOfSome } from '../health/store';
import { lastSetAt } from '../history/audit';
import { type ConfigEntries } from '../config/config-entries';
import { type Database } from '../history/database';
import { countsInSteps, lastAttemptMinute, openOf, troubledMinutes } from '../history/queries';
import { countableSpan, endOf, spanOf } from '../history/count-series';
import { oldestMinute } from '../history/stored-counts';
import { type CircuitDeps, currentCircuits } from './open-circuits';
import { healthOf, RECENT_MS } from './health';

/**
 * Reads the health of a destination from the history. @throws Problem `not_found`, `unavailable`
 */
export async function showHealth(
  deps: CircuitDeps & { entries: Pick<ConfigEntries, 'get'>; now: () => Date },
  id: string,
  { since, until }: Query<'GET /destinations/{id}/health'>,
) {
  const destination = deps.entries.get('destination', id).data;
  const nowMs = deps.now().getTime();
  const read = async (database: Database) => {
    const asked = spanOf(since, endOf(until, nowMs));
    const span = countableSpan(asked, await oldestMinute(database));
    const parts = await Promise.all([
      countsInSteps(database, { ...span, destination: id }),
      countsInSteps(database, {
        sinceMs: nowMs - RECENT_MS,
        untilMs: nowMs,
        stepMs: RECENT_MS,
        destination: id,
      }),
      openOf(database, id),
      healthOfSome(database, [id]),
      lastSetAt(database, id, destination.enabled ? ['paused', 'enabled'] : ['enabled']),
      lastAttemptMinute(database, id),
      troubledMinutes(database, id, span.sinceMs),
    ]);
    return { span, parts };
  };
  const { span, parts } = await deps.history.ask(read);
  const [steps, recent, open, health, setAt, lastAttemptAt, troubled] = parts;
  const circuits = (await currentCircuits(deps)).filter((circuit) => circuit.destination === id);
  return healthOf({
    destination,
    span,
    steps,
    recent,
    open,
    circuits,
    known: health.get(id),
    setAt,
    lastAttemptAt,
    troubledMinutes: troubled,
    nowMs,
  });
}
