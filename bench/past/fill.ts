import { type Database } from '../../services/control/history/database';
import { type Part } from '../../services/control/history/parts';
import { readParts, recordEvents } from '../../services/control/history/record-events';
import { cleanUp } from '../../services/control/history/retention';
import { clockMs } from '../clock';
import { eventsOf, type Past } from './events';

/** Writes a past into a database as control would: by the same code, in batches of the same size. */

const BATCH = 2_000;
const EVERY = 100_000;

export interface Filled {
  deliveries: number;
  events: number;
  ms: number;
}

/**
 * @param from deliveries that are there already
 * @param forMs ends after so long: another run goes on
 */
export async function fill(
  database: Database,
  past: Past,
  { from, forMs, note }: { from: number; forMs: number; note: (text: string) => void },
): Promise<Filled> {
  const parts = await readParts(database);
  const written = new Map<string, number>();
  const startedAt = clockMs();
  let events = 0;
  let i = from;
  for (; i < past.count && clockMs() - startedAt < forMs; i += BATCH) {
    const batch = range(i, Math.min(past.count, i + BATCH)).flatMap((each) => eventsOf(past, each));
    await recordEvents(database, batch, parts);
    events += batch.length;
    if ((i - from) % EVERY === 0) note(`${String(i)} of ${String(past.count)} deliveries`);
    // The part that grows, as control does each minute.
    const last = parts.at(-1);
    if (last) written.set(last.name, (written.get(last.name) ?? 0) + batch.length);
    if ((i / BATCH) % 50 === 49) await cleanUp(database, parts, written);
  }
  const ms = clockMs() - startedAt;
  await tidy(database, parts);
  return { deliveries: Math.min(i, past.count) - from, events, ms };
}

/** A server does this by itself a little later; the embedded database is told to by control. */
async function tidy(database: Database, parts: readonly Part[]): Promise<void> {
  for (const { name } of parts) await database.query(`vacuum analyze waypost.${name}`);
  await database.query('vacuum analyze waypost.counts');
  await database.query('checkpoint');
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, i) => from + i);
}
