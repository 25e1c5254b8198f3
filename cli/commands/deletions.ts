import { type Deletion } from '../../shared/api/operations';
import { compact, defined } from '../../shared/collections/defined';
import { printable } from '../../shared/runtime/printable';
import { type Group, type Listed, type Session } from '../command';
import { counted } from '../confirm';
import { idsOf } from '../entries';
import { usage } from '../process-context';
import { addList, addShow, MOST_ROWS } from '../resource';
import { readInput } from '../secret-input';

/** `waypost deletions`: users whose data Waypost deletes. */

interface CreateOptions {
  user?: string[];
  usersFile?: string;
  anonymous?: string[];
  source?: string[];
}

export function addDeletions(program: Group, { syntax, summary }: Listed): void {
  const deletions = program.group(syntax, summary);
  addList(deletions, 'list', {
    from: 'GET /deletions',
    summary: 'List deletions, newest first',
    columns: [
      { title: 'ID', of: ({ id }) => id },
      { title: 'AT', of: ({ at }) => at },
      { title: 'USERS', of: ({ users }) => users, right: true },
      { title: 'VISITORS', of: ({ visitors }) => visitors, right: true },
      { title: 'MESSAGES', of: ({ messages }) => messages, right: true },
      { title: 'SOURCES', of: ({ sources }) => sources?.join(' ') ?? 'all' },
    ],
    limited: { most: MOST_ROWS, one: 'deletion', many: 'deletions' },
    empty: 'No deletions yet.',
  });
  addShow(deletions, 'deletion', { summary: 'Show one deletion with its users', show });
  deletions.leaf<CreateOptions>(
    'create',
    {
      summary:
        'Delete users permanently: sends a delete message for each affected source, cancels ' +
        'what waits, and removes them from the profiles and the history',
      example: 'deletions create --users-file users.txt --source "My site"',
      asks: 'sometimes',
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

async function create(
  session: Session,
  { user, usersFile, anonymous = [], source }: CreateOptions,
): Promise<void> {
  const fromFile =
    usersFile === undefined ? [] : (await readInput(session.world, usersFile)).split(/\r?\n/);
  const userIds = [...(user ?? []), ...fromFile.filter((line) => line.trim() !== '')];
  if (userIds.length + anonymous.length === 0) {
    throw usage('Give --user, --users-file or --anonymous.');
  }
  const body = defined({
    userIds: userIds.length > 0 ? userIds : undefined,
    anonymousIds: anonymous.length > 0 ? anonymous : undefined,
    sources: source ? await idsOf(session.api(), 'source', source) : undefined,
  });
  await session.confirm(() => {
    const where =
      source === undefined ? 'in all sources' : `in ${source.map(printable).join(', ')}`;
    return (
      `Delete ${compact([peopleOf(userIds, 'user'), peopleOf(anonymous, 'visitor')]).join(' and ')} ` +
      `permanently, ${where}? It cannot be undone.`
    );
  });
  const { data } = await session.api().call('POST /deletions', { body });
  show(session, data);
  if (data.messages === 0) {
    session.print.note(
      'No message was sent. None of these sources is enabled with an enabled destination.',
    );
  }
}

/** Names them, if they are few. @returns undefined for nobody */
function peopleOf(ids: readonly string[], what: string): string | undefined {
  if (ids.length === 0) return undefined;
  const names = ids.length <= 5 ? ` (${ids.map(printable).join(', ')})` : '';
  return counted(ids.length, what) + names;
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
