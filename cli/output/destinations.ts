import { MOST_OVERVIEW_ROWS } from '../../shared/api/operation';
import { type Destination } from '../../shared/api/operations';
import { type Session } from '../command';
import { paintOf } from './paint';
import { type Column } from './table';

/** Shows destinations in lists. */

export async function columnsWithHealth(
  session: Session,
  rows: Destination[],
): Promise<Column<Destination>[]> {
  return columnsOf(await healthOf(session, rows));
}

const columnsOf = (health: ReadonlyMap<string, string>): Column<Destination>[] => [
  { title: 'ID', of: ({ id }) => id },
  { title: 'NAME', of: ({ name }) => name },
  { title: 'STATE', of: stateOf },
  {
    title: 'HEALTH',
    of: ({ id }) => health.get(id),
    paint: ({ id }) => paintOf(health.get(id) ?? ''),
  },
  { title: 'SOURCES', of: ({ sources }) => sources.length, right: true },
  { title: 'SIGNED', of: ({ hasSharedSecret }) => (hasSharedSecret ? 'yes' : 'no') },
  { title: 'URLS', of: ({ webhooks }) => webhooks.map(({ url }) => url ?? 'lost').join(' ') },
];

/**
 * Returns the health of each destination, as far as the history tells it: none while it is away.
 */
async function healthOf(
  { api }: Session,
  rows: readonly Destination[],
): Promise<Map<string, string>> {
  const health = new Map<string, string>();
  try {
    for (let i = 0; i < rows.length; i += MOST_OVERVIEW_ROWS) {
      const ids = rows.slice(i, i + MOST_OVERVIEW_ROWS).map(({ id }) => id);
      const { data } = await api().call('GET /overview', { query: { ids: ids.join(',') } });
      for (const { destination, state } of data.data) health.set(destination, state);
    }
  } catch {
    // The list has no health then.
  }
  return health;
}

export function stateOf({ enabled, paused }: Destination): string {
  if (!enabled) return 'off';
  return paused ? 'paused' : 'on';
}
