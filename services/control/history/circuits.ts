import { type CircuitEvent, type DeliveryEvent } from '../../../shared/model/attempt-events';
import { databaseJson, type Queries } from './database';

/** Changes are few. Without it two processes could lock rows in different orders. */
const ONE_WRITER = 'lock table waypost.circuits in share row exclusive mode';

/**
 * Stores the last change of each URL's circuit. Each delivery process has its own circuit; the
 * newest change counts, also if a process that stood still writes an older one behind it.
 */
export async function turnCircuits(
  { query }: Queries,
  events: readonly CircuitEvent[],
): Promise<void> {
  const last = new Map<string, Pick<CircuitRow, 'at'>>();
  for (const { destination, url, origin, state, why, at, destinationVersion: version } of events) {
    const row = { destination, url, origin, state, why, at: Date.parse(at), version };
    const key = `${destination}/${url}`;
    if (row.at >= (last.get(key)?.at ?? 0)) last.set(key, row);
  }
  if (last.size === 0) return;
  await query(ONE_WRITER);
  await query(
    `insert into waypost.circuits (destination, url, origin, state, why, at, version)
     select destination, url, origin, state, why, at, version from jsonb_to_recordset($1::jsonb)
       as given(destination text, url text, origin text, state text, why text, at bigint,
         version int)
     on conflict (destination, url) do update set origin = excluded.origin,
       state = excluded.state, why = excluded.why, at = excluded.at, version = excluded.version
     where waypost.circuits.at <= excluded.at`,
    [databaseJson([...last.values()])],
  );
}

/**
 * Closes open circuits whose URL accepted a request that began after they opened. The process that
 * opened a circuit may have ended without closing it. A request that began earlier says nothing.
 */
export async function closeAnswered(
  { query }: Queries,
  events: () => readonly DeliveryEvent[],
): Promise<void> {
  const open = await query<{ destination: string; url: string; at: number }>(
    `select destination, url, at from waypost.circuits where state = 'open'`,
  );
  if (open.length === 0) return;
  const openedAt = new Map(open.map(({ destination, url, at }) => [`${destination}/${url}`, at]));
  const answered = new Map<string, { destination: string; url: string; at: number }>();
  for (const event of events()) {
    if (event.kind !== 'attempt') continue;
    for (const { url, outcome, durationMs } of event.urls) {
      const key = `${event.destination}/${url}`;
      const at = Date.parse(event.at);
      if (outcome !== 'delivered' || at - durationMs <= (openedAt.get(key) ?? Infinity)) continue;
      answered.set(key, { destination: event.destination, url, at });
    }
  }
  if (answered.size === 0) return;
  await query(ONE_WRITER);
  await query(
    `update waypost.circuits c set state = 'closed', why = 'ok', at = given.at
     from jsonb_to_recordset($1::jsonb) as given(destination text, url text, at bigint)
     where c.destination = given.destination and c.url = given.url
       and c.state = 'open' and c.at < given.at`,
    [databaseJson([...answered.values()])],
  );
}

export interface CircuitRow {
  destination: string;
  url: string;
  origin: string;
  state: 'open' | 'closed';
  why: string;
  at: number;
  /** version of the destination; null: unknown */
  version: number | null;
}

export function openCircuits({ query }: Queries): Promise<CircuitRow[]> {
  return query<CircuitRow & Record<string, unknown>>(
    'select destination, url, origin, state, why, at, version from waypost.circuits where ' +
      "state = 'open'",
  );
}
