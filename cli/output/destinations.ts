import { type Destination } from '../../shared/api/operations';
import { type Session } from '../command';
import { paintOf } from './paint';
import { type Column } from './table';

/** Shows destinations in lists. */

export async function columnsWithHealth(session: Session): Promise<Column<Destination>[]> {
  return columnsOf(await healthOf(session));
}

const columnsOf = (health: ReadonlyMap<string, string>): Column<Destination>[] => [
  { title: 'ID', of: ({ id }) => id },
  { title: 'NAME', of: ({ name }) => name },
  { title: 'STATE', of: stateOf },
  { title: 'HEALTH', of: ({ id }) => health.get(id), paint: ({ id }) => paintOf(health.get(id) ?? '') },
  { title: 'SOURCES', of: ({ sources }) => sources.length, right: true },
  { title: 'SIGNED', of: ({ hasSharedSecret }) => (hasSharedSecret ? 'yes' : 'no') },
  { title: 'URLS', of: ({ webhooks }) => webhooks.map(({ url }) => url ?? 'lost').join(' ') },
];

/** Returns the health of each destination; empty while the history is away. */
async function healthOf({ api }: Session): Promise<Map<string, string>> {
  try {
    const { data } = await api().call('GET /overview', {});
    return new Map(data.data.map(({ destination, state }) => [destination, state]));
  } catch {
    return new Map();
  }
}

export function stateOf({ enabled, paused }: Destination): string {
  if (!enabled) return 'off';
  return paused ? 'paused' : 'on';
}
