import { type Command } from 'commander';
import { type Source } from '../../shared/api/operations';
import { type Cli, group, leaf, type Session } from '../command';
import { findSource, allSources } from '../resolve-by-name';
import { type Column } from '../output/table';
import { addSourceEvents } from './source-events';

/** `waypost sources`: the senders of calls. */

const COLUMNS: Column<Source>[] = [
  { title: 'ID', of: ({ id }) => id },
  { title: 'NAME', of: ({ name }) => name },
  { title: 'ON', of: ({ enabled }) => (enabled ? 'yes' : 'no') },
  { title: 'WRITE KEY', of: ({ writeKey }) => writeKey ?? 'administrators only' },
];

export function addSources(cli: Cli, program: Command): void {
  const sources = group(program, 'sources', 'Sources: list, create, edit');
  leaf(cli, [sources, 'list'], { summary: 'List sources', example: 'sources list' }, async ({ api, print }) => {
    print.rows(COLUMNS, await allSources(api()), 'No sources yet. Run waypost sources create "My site"');
  });
  leaf(
    cli,
    [sources, 'show <source>'],
    { summary: 'Show one source', example: 'sources show "My site"' },
    async (session, _, id = '') => show(session, await findSource(session.api(), id)),
  );
  leaf(
    cli,
    [sources, 'create <name>'],
    { summary: 'Create a source', example: 'sources create "My site"' },
    async (session, _, name = '') =>
      show(session, (await session.api().call('POST /sources', { body: { name } })).data),
  );
  addSourceEvents(cli, sources);
  addChanges(cli, sources);
}

function addChanges(cli: Cli, sources: Command): void {
  leaf<{ name: string }>(
    cli,
    [sources, 'rename <source> <name>'],
    { summary: 'Rename a source', example: 'sources rename "My site" "My shop"' },
    (session, _, id = '', name = '') => change(session, id, { name }),
  );
  leaf(
    cli,
    [sources, 'enable <source>'],
    { summary: 'Enable a source', example: 'sources enable "My site"' },
    (session, _, id = '') => change(session, id, { enabled: true }),
  );
  leaf(
    cli,
    [sources, 'disable <source>'],
    { summary: 'Disable a source; ingest refuses its calls', example: 'sources disable "My site"' },
    (session, _, id = '') => change(session, id, { enabled: false }),
  );
  leaf<{ overlap?: string }>(
    cli,
    [sources, 'rotate-key <source>'],
    {
      summary: 'Rotate the write key',
      example: 'sources rotate-key "My site" --overlap 24h',
      options: [['--overlap <duration>', 'how long the old key stays valid, such as 0s or 24h (default 24h)']],
    },
    async (session, { overlap }, name = '') => {
      const { id } = await findSource(session.api(), name);
      const body = { ...(overlap !== undefined && { overlap }) };
      show(session, (await session.api().call('POST /sources/{id}/rotate-key', { id, body })).data);
    },
  );
  leaf(
    cli,
    [sources, 'delete <source>'],
    { summary: 'Delete a source; ingest refuses its calls', example: 'sources delete "My site"' },
    async ({ api, print }, _, name = '') => {
      const { id } = await findSource(api(), name);
      await api().call('DELETE /sources/{id}', { id });
      print.thing({ id, deleted: true }, [['deleted', id]]);
    },
  );
}

async function change(session: Session, name: string, body: { name?: string; enabled?: boolean }): Promise<void> {
  const { id } = await findSource(session.api(), name);
  show(session, (await session.api().call('PATCH /sources/{id}', { id, body })).data);
}

function show({ print }: Session, source: Source): void {
  const { id, name, enabled, writeKey, oldWriteKeys } = source;
  print.thing(source, [
    ['id', id],
    ['name', name],
    ['on', enabled ? 'yes' : 'no'],
    ['write key', writeKey ?? 'administrators only'],
    ...oldWriteKeys.map(({ key, until }): [string, string] => ['old key', `${key} until ${until}`]),
  ]);
}
