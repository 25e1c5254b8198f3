import { type Operations, type Source } from '../../shared/api/operations';
import { compact, defined } from '../../shared/collections/defined';
import { TRUSTS } from '../../shared/model/config';
import { type Group, type Listed, type Session } from '../command';
import { find, type Patch, patchEntry } from '../entries';
import { choiceField, type Fields, optionsOf, readFields } from '../fields';
import { connectedTo } from '../consequences';
import { addDelete, addList, addShow, named } from '../resource';

/** `waypost sources`: the senders of calls, and their track events, which you can block. */

/** What a source may have from the start. */
const CREATE: Fields<Pick<Operations['POST /sources']['body'], 'trust'>> = {
  trust: choiceField(
    '--trust <sender>',
    TRUSTS,
    'who sends its calls: server (default), or browser for a page or an app, where everybody can ' +
      'read the write key',
  ),
};

export function addSources(program: Group, { syntax, summary }: Listed): void {
  const sources = program.group(syntax, summary);
  addList(sources, 'list', {
    from: 'GET /sources',
    summary: 'List sources',
    columns: [
      { title: 'ID', of: ({ id }) => id },
      { title: 'NAME', of: ({ name }) => name },
      { title: 'ON', of: ({ enabled }) => (enabled ? 'yes' : 'no') },
      // Sources of audiences and computed traits have none, and only administrators see the others.
      { title: 'WRITE KEY', of: ({ writeKey }) => writeKey },
    ],
    empty: 'No sources yet. Run waypost sources create "My site"',
  });
  addShow(sources, 'source', { summary: 'Show one source', show });
  sources.leaf(
    'create <name>',
    {
      summary: 'Create a source',
      example: 'sources create "My site" --trust browser',
      options: optionsOf(CREATE),
    },
    async (session, options, name = '') => {
      const body = { name, ...(await readFields(session, options, CREATE)) };
      show(session, (await session.api().call('POST /sources', { body })).data);
    },
  );
  addEvents(sources);
  addChanges(sources);
  addDelete(sources, 'source', {
    summary: 'Delete a source; ingest refuses its calls',
    consequence: refusal,
  });
}

function addChanges(sources: Group): void {
  sources.leaf(
    'rename <source> <name>',
    { summary: 'Rename a source', example: 'sources rename "My site" "My shop"' },
    async (session, _, source = '', name = '') =>
      show(session, await patch(session, source, () => ({ name }))),
  );
  sources.leaf('enable <source>', { summary: 'Enable a source' }, async (session, _, source = '') =>
    show(session, await patch(session, source, () => ({ enabled: true }))),
  );
  sources.leaf(
    'disable <source>',
    { summary: 'Disable a source; ingest refuses its calls', asks: 'always' },
    async (session, _, given = '') => {
      const before = await find(session.api(), 'source', given);
      await session.confirm(
        async () => `Disable ${named('source', before)}? ${await refusal(before, session)}`,
      );
      show(session, await patchEntry(session.api(), 'source', before, { enabled: false }));
    },
  );
  sources.leaf<{ overlap?: string }>(
    'rotate-key <source>',
    {
      summary: 'Rotate the write key',
      example: 'sources rotate-key "My site" --overlap 24h',
      asks: 'always',
      options: [
        [
          '--overlap <duration>',
          'how long the old key stays valid, such as 0s or 24h (default 24h)',
        ],
      ],
    },
    async (session, { overlap }, given = '') => {
      const source = await find(session.api(), 'source', given);
      const { id } = source;
      await session.confirm(
        async () =>
          `Rotate the write key of ${named('source', source)}? Its senders need the new one: ` +
          `ingest refuses the old one after ${overlap ?? '24h'}. ${await connectedTo(session, id)}`,
      );
      const body = defined({ overlap });
      show(session, (await session.api().call('POST /sources/{id}/rotate-key', { id, body })).data);
    },
  );
}

function addEvents(sources: Group): void {
  sources.leaf(
    'events <source>',
    { summary: 'List the track events of a source, most recent first' },
    async ({ api, print }, _, source = '') => {
      const { id } = await find(api(), 'source', source);
      const { data } = await api().call('GET /sources/{id}/events', { id });
      print.rows(
        [
          { title: 'EVENT', of: ({ name }) => name },
          { title: 'SEEN', of: ({ count }) => count, right: true },
          { title: 'LAST', of: ({ lastSeenAt }) => lastSeenAt },
          { title: 'BLOCKED', of: ({ blocked }) => (blocked ? 'yes' : 'no') },
        ],
        data.data,
        'No track events yet.',
      );
    },
  );
  sources.leaf(
    'block <source> <event>',
    {
      summary: 'Block a track event; it still counts as received',
      example: 'sources block "My site" Heartbeat',
    },
    (session, _, source = '', event = '') =>
      changeBlocked(session, source, (blocked) => [...new Set([...blocked, event])]),
  );
  sources.leaf(
    'unblock <source> <event>',
    { summary: 'Unblock a track event', example: 'sources unblock "My site" Heartbeat' },
    (session, _, source = '', event = '') =>
      changeBlocked(session, source, (blocked) => blocked.filter((each) => each !== event)),
  );
}

async function changeBlocked(
  session: Session,
  source: string,
  decide: (blocked: string[]) => string[],
): Promise<void> {
  const { id, blockedEvents } = await patch(session, source, (before) => ({
    blockedEvents: decide(before.blockedEvents),
  }));
  session.print.thing(
    { id, blockedEvents },
    compact([
      ['source', id],
      blockedEvents.length === 0 ? (['blocked', 'none'] as [string, string]) : undefined,
      ...blockedEvents.map((event): [string, string] => ['blocked', event]),
    ]),
  );
}

async function refusal({ id }: Source, session: Session): Promise<string> {
  return `Ingest then refuses its calls. ${await connectedTo(session, id)}`;
}

async function patch(
  { api }: Session,
  source: string,
  bodyOf: (before: Source) => Patch<'source'>,
): Promise<Source> {
  const before = await find(api(), 'source', source);
  return patchEntry(api(), 'source', before, bodyOf(before));
}

function show({ print }: Session, source: Source): void {
  const { id, name, enabled, trust, writeKey, oldWriteKeys } = source;
  print.thing(source, [
    ['id', id],
    ['name', name],
    ['on', enabled ? 'yes' : 'no'],
    ['trust', trust],
    ['write key', writeKey ?? 'administrators only'],
    ...oldWriteKeys.map(({ key, until }): [string, string] => ['old key', `${key} until ${until}`]),
  ]);
}
