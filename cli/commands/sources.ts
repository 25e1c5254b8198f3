import { type Command } from 'commander';
import { type Source } from '../../shared/api/operations';
import { type Cli, group, leaf, type Session } from '../command';
import { findSource, allSources } from '../find';
import { type Column } from '../output/table';
import { addSourceEvents } from './source-events';

/** `waypost sources`: where calls come from. */

const COLUMNS: Column<Source>[] = [
  { title: 'ID', of: ({ id }) => id },
  { title: 'NAME', of: ({ name }) => name },
  { title: 'ON', of: ({ enabled }) => (enabled ? 'yes' : 'no') },
  { title: 'WRITE KEY', of: ({ writeKey }) => writeKey ?? 'administrators only' },
];

export function addSources(cli: Cli, program: Command): void {
  const sources = group(program, 'sources', 'Manage sources of calls: list, create, change');
  leaf(cli, [sources, 'list'], { summary: 'All sources', example: 'sources list' }, async ({ api, print }) => {
    print.rows(COLUMNS, await allSources(api()), 'There is no source yet: waypost sources create "My site"');
  });
  leaf(
    cli,
    [sources, 'show <source>'],
    { summary: 'One source', example: 'sources show "My site"' },
    async (session, _, id = '') => show(session, await findSource(session.api(), id)),
  );
  leaf(
    cli,
    [sources, 'create <name>'],
    { summary: 'Make a source', example: 'sources create "My site"' },
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
    { summary: 'Give it another name', example: 'sources rename "My site" "My shop"' },
    (session, _, id = '', name = '') => change(session, id, { name }),
  );
  leaf(
    cli,
    [sources, 'enable <source>'],
    { summary: 'Take its calls', example: 'sources enable "My site"' },
    (session, _, id = '') => change(session, id, { enabled: true }),
  );
  leaf(
    cli,
    [sources, 'disable <source>'],
    { summary: 'Refuse its calls', example: 'sources disable "My site"' },
    (session, _, id = '') => change(session, id, { enabled: false }),
  );
  leaf<{ overlap?: string }>(
    cli,
    [sources, 'rotate-key <source>'],
    {
      summary: 'Give it a new write key',
      example: 'sources rotate-key "My site" --overlap 24h',
      options: [['--overlap <duration>', 'how long the old key still holds, such as 0s or 24h (default 24h)']],
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
    { summary: 'Delete it: its calls are refused', example: 'sources delete "My site"' },
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
