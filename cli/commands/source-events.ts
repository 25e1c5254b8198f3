import { type Command } from 'commander';
import { type Source, type SourceEvents } from '../../shared/api/operations';
import { type Cli, leaf, type Session } from '../command';
import { findSource } from '../resolve-by-name';
import { type Column } from '../output/table';

/** `waypost sources events`, `block` and `unblock`: the track events of a source. You can block each. */

const COLUMNS: Column<SourceEvents['data'][number]>[] = [
  { title: 'EVENT', of: ({ name }) => name },
  { title: 'SEEN', of: ({ count }) => count, right: true },
  { title: 'LAST', of: ({ lastSeenAt }) => lastSeenAt },
  { title: 'BLOCKED', of: ({ blocked }) => (blocked ? 'yes' : 'no') },
];

export function addSourceEvents(cli: Cli, sources: Command): void {
  leaf(
    cli,
    [sources, 'events <source>'],
    { summary: 'List the track events of a source, most recent first', example: 'sources events "My site"' },
    async ({ api, print }, _, name = '') => {
      const { id } = await findSource(api(), name);
      const { data } = await api().call('GET /sources/{id}/events', { id });
      print.rows(COLUMNS, data.data, 'No track events yet.');
    },
  );
  leaf(
    cli,
    [sources, 'block <source> <event>'],
    {
      summary: 'Block a track event; it still counts as received',
      example: 'sources block "My site" Heartbeat',
    },
    (session, _, name = '', event = '') =>
      change(session, name, (blocked) => (blocked.includes(event) ? blocked : [...blocked, event])),
  );
  leaf(
    cli,
    [sources, 'unblock <source> <event>'],
    { summary: 'Unblock a track event', example: 'sources unblock "My site" Heartbeat' },
    (session, _, name = '', event = '') => change(session, name, (blocked) => blocked.filter((each) => each !== event)),
  );
}

async function change(
  { api, print }: Session,
  name: string,
  decide: (blocked: Source['blockedEvents']) => string[],
): Promise<void> {
  const { id, version, blockedEvents } = await findSource(api(), name);
  const body = { blockedEvents: decide(blockedEvents) };
  const { data } = await api().call('PATCH /sources/{id}', { id, body, ifMatch: `"${String(version)}"` });
  print.thing({ id, blockedEvents: data.blockedEvents }, [
    ['source', id],
    ...(data.blockedEvents.length === 0 ? [['blocked', 'none'] as [string, string]] : []),
    ...data.blockedEvents.map((event): [string, string] => ['blocked', event]),
  ]);
}
