import { type Command } from 'commander';
import { type Deletion } from '../../shared/api/operations';
import { type Cli, group, leaf, type Session, whole } from '../command';
import { all } from '../connect/api';
import { findSource, idsOf } from '../resolve-by-name';
import { type Column } from '../output/table';
import { readInput } from '../secret-input';
import { usage } from '../process-context';

/** `waypost deletions`: users whose data Waypost deletes. */

const COLUMNS: Column<Deletion>[] = [
  { title: 'ID', of: ({ id }) => id },
  { title: 'AT', of: ({ at }) => at },
  { title: 'USERS', of: ({ users }) => users, right: true },
  { title: 'VISITORS', of: ({ visitors }) => visitors, right: true },
  { title: 'MESSAGES', of: ({ messages }) => messages, right: true },
  { title: 'SOURCES', of: ({ sources }) => sources?.join(' ') ?? 'all' },
];

interface CreateOptions {
  user?: string[];
  usersFile?: string;
  anonymous?: string[];
  source?: string[];
}

export function addDeletions(cli: Cli, program: Command): void {
  const deletions = group(program, 'deletions', 'Deletions of users: list, show, create');
  leaf<{ limit?: string }>(
    cli,
    [deletions, 'list'],
    {
      summary: 'List deletions, newest first',
      example: 'deletions list',
      options: [['--limit <n>', 'maximum number (default 50)']],
    },
    async ({ api, print }, options) => {
      const limit = whole(options.limit ?? '50', '--limit', [1, 100_000]);
      const found = await all((query) => api().call('GET /deletions', { query }), limit);
      print.rows(COLUMNS, found, 'No deletions yet.');
    },
  );
  leaf(
    cli,
    [deletions, 'show <deletion>'],
    { summary: 'Show one deletion with its users', example: 'deletions show del_…' },
    async (session, _, id = '') => show(session, (await session.api().call('GET /deletions/{id}', { id })).data),
  );
  leaf<CreateOptions>(
    cli,
    [deletions, 'create'],
    {
      summary:
        'Delete users permanently: sends a delete message for each affected source and removes them from the history',
      example: 'deletions create --users-file users.txt --source "My site"',
      options: [
        ['--user <id...>', "the user's id"],
        ['--users-file <file>', 'user ids, one per line; - for standard input'],
        ['--anonymous <id...>', 'the `anonymousId` of a visitor'],
        ['--source <source...>', 'only these sources, by id or name (default all)'],
      ],
    },
    create,
  );
}

async function create(session: Session, { user, usersFile, anonymous = [], source }: CreateOptions): Promise<void> {
  const fromFile = usersFile === undefined ? [] : (await readInput(session.world, usersFile)).split(/\r?\n/);
  const userIds = [...(user ?? []), ...fromFile.filter((line) => line.trim() !== '')];
  if (userIds.length + anonymous.length === 0) throw usage('Give --user, --users-file or --anonymous.');
  const body = {
    ...(userIds.length > 0 && { userIds }),
    ...(anonymous.length > 0 && { anonymousIds: anonymous }),
    ...(source && { sources: await idsOf(findSource, session.api(), source) }),
  };
  const { data } = await session.api().call('POST /deletions', { body });
  show(session, data);
  if (data.messages === 0) {
    session.print.note('No message was sent. None of these sources is enabled with an enabled destination.');
  }
}

function show({ print }: Session, deletion: Deletion): void {
  const { id, at, users, visitors, userIds, anonymousIds, sources, affected, messages } = deletion;
  print.thing(deletion, [
    ['id', id],
    ['at', at],
    ['users', users],
    ['visitors', visitors],
    ['sources', sources?.join(' ') ?? 'all'],
    ['affected', affected.join(' ')],
    ['messages', messages],
    ...userIds.map((userId): [string, string] => ['user', userId]),
    ...anonymousIds.map((anonymousId): [string, string] => ['visitor', anonymousId]),
  ]);
}
