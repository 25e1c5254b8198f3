import { type NoticeEvent } from '../../../shared/model/attempt-events';
import { databaseJson, type Queries } from '../history/database';
import { holding, isTracked, type Signal } from './signals';

/** Stores the facts of signals.ts. */

/** Keeps the fact of each key that holds. */
export async function saveSignals(queries: Queries, signals: readonly Signal[]): Promise<void> {
  if (signals.length === 0) return;
  // A fact that is new to two processes at once must not replace the other one.
  await queries.query('lock table waypost.signals in share row exclusive mode');
  const known = await signalsOf(
    queries,
    signals.map(({ key }) => key),
  );
  const given = signals.flatMap((signal) => {
    const before = known.get(signal.key);
    if (!before && !isTracked(signal)) return [];
    const { key, at, event } = holding(before, signal);
    return [{ key, at, event: JSON.stringify(event) }];
  });
  await queries.query(
    `insert into waypost.signals (key, at, event)
     select key, at, event from jsonb_to_recordset($1::jsonb) as given(key text, at bigint, event text)
     on conflict (key) do update set at = excluded.at, event = excluded.event`,
    [databaseJson(given)],
  );
}

/** Returns the facts of these keys. */
async function signalsOf(
  { query }: Queries,
  keys: readonly string[],
): Promise<Map<string, Signal>> {
  const rows = await query<{ key: string; at: number; event: string }>(
    `select key, at, event from waypost.signals
     where key in (select jsonb_array_elements_text($1::jsonb))`,
    [databaseJson(keys)],
  );
  return new Map(
    rows.map(({ key, at, event }) => [key, { key, at, event: JSON.parse(event) as NoticeEvent }]),
  );
}

/** Returns the facts of one kind, with their keys. */
export async function readSignalsOf(
  { query }: Queries,
  kind: NoticeEvent['kind'],
): Promise<{ key: string; event: NoticeEvent }[]> {
  const rows = await query<{ key: string; event: string }>(
    `select key, event from waypost.signals where key like $1`,
    [`${kind}/%`],
  );
  return rows.map(({ key, event }) => ({ key, event: JSON.parse(event) as NoticeEvent }));
}

export async function dropSignals({ query }: Queries, keys: readonly string[]): Promise<void> {
  await query(
    'delete from waypost.signals where key in (select jsonb_array_elements_text($1::jsonb))',
    [databaseJson(keys)],
  );
}

export async function readSignals({ query }: Queries): Promise<NoticeEvent[]> {
  const rows = await query<{ event: string }>('select event from waypost.signals');
  return rows.map(({ event }) => JSON.parse(event) as NoticeEvent);
}
