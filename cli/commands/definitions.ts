import { type Command } from 'commander';
import { type Audience, type ComputedTrait, type Members, type Syncs } from '../../shared/api/operations';
import { type Cli, leaf, type Session, whole } from '../command';
import { all, type Api } from '../connect/api';
import { allAudiences, allTraits, findAudience, findTrait } from '../resolve-by-name';
import { type Column } from '../output/table';
import { FAILED } from '../process-context';
import { phaseOf, showDefinition } from './definition-fields';

/** The subcommands that `waypost audiences` and `waypost traits` share: list, show, members, syncs, delete. */

type Definition = Audience | ComputedTrait;

/** Audience or computed trait. */
interface Kind {
  /** the word of its commands, and its singular */
  word: 'audiences' | 'traits';
  one: 'audience' | 'trait';
  path: 'audiences' | 'computed-traits';
  all: (api: Api) => Promise<Definition[]>;
  find: (api: Api, name: string) => Promise<Definition>;
}

export const AUDIENCES: Kind = {
  ...{ word: 'audiences', one: 'audience', path: 'audiences' },
  all: allAudiences,
  find: findAudience,
};
export const TRAITS: Kind = {
  ...{ word: 'traits', one: 'trait', path: 'computed-traits' },
  all: allTraits,
  find: findTrait,
};

const COLUMNS: Column<Definition>[] = [
  { title: 'ID', of: ({ id }) => id },
  { title: 'NAME', of: ({ name }) => name },
  { title: 'TRAIT', of: ({ key }) => key },
  { title: 'STATE', of: phaseOf },
  { title: 'USERS', of: ({ status }) => status.members, right: true },
  { title: 'LAST SYNC', of: ({ status }) => status.lastSync?.at },
];

const LIMIT: [string, string] = ['--limit <n>', 'maximum number (default 50)'];

export function addReads(cli: Cli, parent: Command, kind: Kind): void {
  const { word, one } = kind;
  leaf(cli, [parent, 'list'], { summary: `List ${word}`, example: `${word} list` }, async ({ api, print }) =>
    print.rows(COLUMNS, await kind.all(api()), `No ${word} yet. See waypost ${word} create --help`),
  );
  leaf(
    cli,
    [parent, `show <${one}>`],
    { summary: `Show one ${one} and its status`, example: `${word} show "My ${one}"` },
    async (session, _, name = '') => showDefinition(session, await kind.find(session.api(), name)),
  );
  leaf<{ limit?: string; user?: string }>(
    cli,
    [parent, `members <${one}>`],
    {
      summary: 'List members, as sent to receivers',
      example: `${word} members "My ${one}" --user ann`,
      options: [LIMIT, ['--user <id>', 'check one user; exit code 1 if not a member']],
    },
    (session, options, name = '') => members(session, kind, name, options),
  );
  leaf<{ limit?: string }>(
    cli,
    [parent, `syncs <${one}>`],
    { summary: 'List syncs, newest first', example: `${word} syncs "My ${one}"`, options: [LIMIT] },
    async ({ api, print }, options, name = '') => {
      const { id } = await kind.find(api(), name);
      const limit = whole(options.limit ?? '50', '--limit', [1, 100_000]);
      const found = await all((query) => api().call(`GET /${kind.path}/{id}/syncs`, { id, query }), limit);
      print.rows(SYNCS, found, 'No syncs yet.');
    },
  );
}

export function addDelete(cli: Cli, parent: Command, kind: Kind): void {
  const { word, one } = kind;
  leaf(
    cli,
    [parent, `delete <${one}>`],
    {
      summary: `Delete the ${one}; receivers get no further updates, not even for removed members`,
      example: `${word} delete "My ${one}"`,
    },
    async ({ api, print }, _, name = '') => {
      const { id, version } = await kind.find(api(), name);
      await api().call(`DELETE /${kind.path}/{id}`, { id, ifMatch: `"${String(version)}"` });
      print.thing({ id, deleted: true }, [['deleted', id]]);
    },
  );
}

const MEMBERS: Column<Members['data'][number]>[] = [
  { title: 'USER', of: ({ userId }) => userId },
  { title: 'VALUE', of: ({ value }) => (typeof value === 'string' ? value : JSON.stringify(value)) },
  { title: 'SINCE', of: ({ since }) => since },
];

const SYNCS: Column<Syncs['data'][number]>[] = [
  { title: 'AT', of: ({ at }) => at },
  { title: 'USERS', of: ({ members: users }) => users, right: true },
  { title: 'CHECKED', of: ({ looked }) => looked, right: true },
  { title: 'CHANGED', of: ({ changed }) => changed, right: true },
  { title: 'SENT', of: ({ sent }) => sent, right: true },
  { title: 'WAITING', of: ({ waiting }) => waiting, right: true },
];

async function members(
  { api, print }: Session,
  kind: Kind,
  name: string,
  { limit: text = '50', user }: { limit?: string; user?: string },
): Promise<number> {
  const limit = whole(text, '--limit', [1, 100_000]);
  const { id } = await kind.find(api(), name);
  const found = await all(
    (page) =>
      api().call(`GET /${kind.path}/{id}/members`, { id, query: { ...page, ...(user !== undefined && { user }) } }),
    limit,
  );
  print.rows(MEMBERS, found, user === undefined ? 'No members.' : `${user} is not in it.`);
  return user !== undefined && found.length === 0 ? FAILED : 0;
}
