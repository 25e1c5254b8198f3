import { defined } from '../../shared/collections/defined';
import { stringifyJson } from '../../shared/json/json';
import {
  type Audience,
  type ComputedTrait,
  type Members,
  type Syncs,
} from '../../shared/api/operations';
import { type CommandOption, type Group, type Session } from '../command';
import { counted } from '../confirm';
import { readList } from '../connect/api';
import { find, idsOf } from '../entries';
import { type Column } from '../output/table';
import { FAILED, usage } from '../process-context';
import { addDelete, addList, addShow, LIMIT, type Limited, limitOf } from '../resource';
import { readInput } from '../secret-input';

/** The subcommands and the options that `waypost audiences` and `waypost traits` share. */

const PATHS = { audience: '/audiences', trait: '/computed-traits' } as const;
type Kind = keyof typeof PATHS;

export function addReads(group: Group, kind: Kind): void {
  addList(group, 'list', {
    from: `GET ${PATHS[kind]}`,
    summary: `List ${kind}s`,
    columns: [
      { title: 'ID', of: ({ id }) => id },
      { title: 'NAME', of: ({ name }) => name },
      { title: 'TRAIT', of: ({ key }) => key },
      { title: 'STATE', of: phaseOf },
      { title: 'USERS', of: ({ status }) => status.members, right: true },
      { title: 'LAST SYNC', of: ({ status }) => status.lastSync?.at },
    ],
    empty: `No ${kind}s yet. See waypost ${kind}s create --help`,
  });
  addShow(group, kind, { summary: `Show one ${kind} and its status`, show: showDefinition });
  group.leaf<Limited & { user?: string }>(
    `members <${kind}>`,
    {
      summary: 'List members, as sent to receivers',
      example: `${kind}s members "My ${kind}" --user ann`,
      options: [LIMIT, ['--user <id>', 'check one user; exit code 1 if not a member']],
    },
    (session, options, name = '') => members(session, kind, name, options),
  );
  group.leaf<Limited>(
    `syncs <${kind}>`,
    { summary: 'List syncs, newest first', options: [LIMIT] },
    async ({ api, print }, options, name = '') => {
      const { id } = await find(api(), kind, name);
      print.rows(
        SYNCS,
        await readList(api(), `GET ${PATHS[kind]}/{id}/syncs`, { id }, limitOf(options)),
        'No syncs yet.',
      );
    },
  );
}

export function addDeletion(group: Group, kind: Kind): void {
  addDelete(group, kind, {
    summary: `Delete the ${kind}; receivers get no further updates, not even for removed members`,
    consequence: ({ status, destinations }) =>
      `${counted(destinations.length, 'destination gets', 'destinations get')} no further ` +
      `updates of its ${counted(status.members, 'user')}.`,
  });
}

const MEMBERS: Column<Members['data'][number]>[] = [
  { title: 'USER', of: ({ userId }) => userId },
  { title: 'VALUE', of: ({ value }) => (typeof value === 'string' ? value : stringifyJson(value)) },
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
  options: Limited & { user?: string },
): Promise<number> {
  const limit = limitOf(options);
  const { user } = options;
  const { id } = await find(api(), kind, name);
  const query = defined({ user });
  const found = await readList(api(), `GET ${PATHS[kind]}/{id}/members`, { id, query }, limit);
  print.rows(MEMBERS, found, user === undefined ? 'No members.' : `${user} is not in it.`);
  return user !== undefined && found.length === 0 ? FAILED : 0;
}

export interface CommonOptions {
  source?: string[];
  allSources?: boolean;
  destination?: string[];
  nobody?: boolean;
  syncEvery?: string;
}

export const COMMON_OPTIONS: CommandOption[] = [
  ['--source <source...>', 'sources whose messages count, by id or name (default all)'],
  ['--all-sources', 'count messages of all sources'],
  ['--destination <destination...>', 'destinations that receive updates, by id or name'],
  ['--nobody', 'send updates to no destination'],
  ['--sync-every <duration>', 'interval for sending changes, from 1s to 24h (default 1m)'],
];

interface CommonFields {
  sources?: string[] | null;
  destinations?: string[];
  syncEvery?: string;
}

/** @throws CliError */
export async function commonFields(
  session: Session,
  options: CommonOptions,
): Promise<CommonFields> {
  const { source, allSources = false, destination, nobody = false, syncEvery } = options;
  if (source && allSources) throw usage('--source and --all-sources exclude each other.');
  if (destination && nobody) throw usage('--destination and --nobody exclude each other.');
  return {
    ...defined({ sources: allSources ? null : undefined }),
    ...defined({
      sources: source ? await idsOf(session.api(), 'source', source) : undefined,
      destinations: nobody ? [] : undefined,
    }),
    ...defined({
      destinations: destination
        ? await idsOf(session.api(), 'destination', destination)
        : undefined,
      syncEvery,
    }),
  };
}

export interface ConditionOptions {
  condition?: string;
  conditionFile?: string;
}

export const CONDITION_OPTIONS: CommandOption[] = [
  ['--condition <cel>', 'condition in CEL: docs/guide/audiences.md'],
  ['--condition-file <file>', 'read the condition from a file; - for standard input'],
];

/** @throws CliError if both are given, or the file cannot be read */
export async function conditionOf(
  session: Session,
  options: ConditionOptions,
): Promise<string | undefined> {
  const { condition, conditionFile } = options;
  if (condition !== undefined && conditionFile !== undefined) {
    throw usage('--condition and --condition-file exclude each other.');
  }
  return conditionFile === undefined
    ? condition
    : (await readInput(session.world, conditionFile)).trim();
}

type Definition = Audience | ComputedTrait;

function phaseOf({ status: { phase, counted, of } }: Definition): string {
  if (phase === 'first_sync') {
    return `first_sync ${of === 0 ? 0 : Math.floor((counted / of) * 100)} %`;
  }
  return phase;
}

export function showDefinition({ print }: Session, entry: Definition): void {
  const { status } = entry;
  const own: [string, string | null | undefined][] =
    'compute' in entry
      ? [
          ['value', `${entry.compute} of ${entry.event}`],
          ['property', entry.property ?? undefined],
          ['window', entry.window ?? 'all time'],
        ]
      : [['condition', entry.condition ?? 'none, members are uploaded']];
  print.thing(entry, [
    ['id', entry.id],
    ['name', entry.name],
    ['trait', entry.key],
    ...own,
    ['sources', entry.sources?.join(' ') ?? 'all'],
    ['destinations', entry.destinations.join(' ')],
    ['synced every', entry.syncEvery],
    ['state', phaseOf(entry)],
    ['users', status.members],
    ['sent', status.sent],
    ['waiting', status.waiting],
    ['last sync', status.lastSync?.at],
  ]);
}
