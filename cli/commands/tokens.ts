import { type NewToken, type Operations, type Token } from '../../shared/api/operations';
import { ROLES } from '../../shared/model/config';
import { messageOf } from '../../shared/runtime/errors';
import { type Group, type Listed, listOf, type Session } from '../command';
import { writeOut } from '../connect/files';
import { deleteEntry, find, type Patch, patchEntry } from '../entries';
import { choiceField, type Fields, optionsOf, readFields, textField } from '../fields';
import { CliError, usage } from '../process-context';
import { addDelete, addList, addShow } from '../resource';

/** `waypost tokens`: the tokens for the control API, with their roles and rights. */

type Right = NonNullable<Token['rights']>[number];
const RIGHTS = 'restrict the role, such as events:read,deliveries:read';
const ROLE = `admin: everything; operator: operations, no secrets; read_only: read access`;

const SETTINGS: Fields<Operations['POST /tokens']['body']> = {
  role: choiceField('--role <role>', ROLES, ROLE),
  expiresAt: textField('--expires <time>', 'expiry, such as 2027-01-31T00:00:00Z'),
  rights: { flags: '--rights <list>', help: RIGHTS, read: rightsOf },
};
const EDITS: Fields<Patch<'token'>> = {
  role: choiceField('--role <role>', ROLES, ROLE),
  name: textField('--name <name>', 'new name'),
  expiresAt: {
    flags: '--expires <time>',
    help: 'expiry, or never',
    read: (text: string) => (text === 'never' ? null : text),
  },
  rights: {
    flags: '--rights <list>',
    help: `${RIGHTS}; all: every right of the role`,
    read: (text: string) => (text === 'all' ? null : rightsOf(text)),
  },
};

export function addTokens(program: Group, { syntax, summary }: Listed): void {
  const tokens = program.group(syntax, summary);
  addList(tokens, 'list', {
    from: 'GET /tokens',
    summary: 'List tokens, without their secrets',
    columns: [
      { title: 'ID', of: ({ id }) => id },
      { title: 'NAME', of: ({ name }) => name },
      { title: 'ROLE', of: ({ role }) => role },
      { title: 'RIGHTS', of: ({ rights }) => rightsText(rights) },
      { title: 'EXPIRES', of: ({ expiresAt }) => expiresAt ?? 'never' },
      { title: 'LAST USED', of: ({ lastUsedAt }) => lastUsedAt ?? '-' },
      { title: 'CREATED', of: ({ createdAt }) => createdAt },
    ],
    empty: 'No tokens except WAYPOST_ADMIN_TOKEN, which always exists.',
  });
  addShow(tokens, 'token', { summary: 'Show one token, without its secret', show });
  tokens.leaf<{ out?: string }>(
    'create <name>',
    {
      summary: 'Create a token; its secret is shown once',
      example: 'tokens create "A dashboard" --role read_only --out dashboard-token',
      options: [
        ...optionsOf(SETTINGS),
        [
          '--out <file>',
          'write the secret to this file, readable only by you (default standard output)',
        ],
      ],
    },
    create,
  );
  tokens.leaf(
    'edit <token>',
    {
      summary: 'Change the name, role, expiry or rights, from the next request on',
      example: 'tokens edit "A dashboard" --role operator',
      options: optionsOf(EDITS),
    },
    edit,
  );
  addDelete(tokens, 'token', {
    verb: 'revoke',
    summary: 'Revoke a token immediately',
    consequence: ({ role, lastUsedAt }) =>
      `Its next request is refused. It is ${role}, and was ` +
      `${lastUsedAt === null ? 'never used' : `last used at ${lastUsedAt}`}.`,
  });
}

async function create(session: Session, options: { out?: string }, name = ''): Promise<void> {
  const { world, print } = session;
  const { role, ...rest } = await readFields(session, options, SETTINGS);
  if (role === undefined) throw usage(`--role is required. ${ROLE}.`);
  const { data } = await session.api().call('POST /tokens', { body: { name, role, ...rest } });
  if (options.out !== undefined) {
    try {
      writeOut(world, options.out, `${data.token}\n`);
    } catch (error) {
      // Nobody will ever know its secret.
      await deleteEntry(session.api(), 'token', data).catch((second: unknown) => {
        throw new CliError(
          `${messageOf(error)} The token ${data.id} could not be deleted (${messageOf(second)}): delete it.`,
        );
      });
      throw error;
    }
    show(session, withoutSecret(data));
  } else if (print.json) {
    print.thing(data, []);
  } else {
    // The only line on standard output, so that it can be piped.
    world.out(`${data.token}\n`);
    print.note(`${data.id} is ${data.role}. Its secret is not stored and cannot be shown again.`);
  }
}

async function edit(session: Session, options: object, given = ''): Promise<void> {
  const body = await readFields(session, options, EDITS);
  if (Object.keys(body).length === 0) {
    throw usage('Nothing to change. Give --role, --name, --expires or --rights.');
  }
  const before = await find(session.api(), 'token', given);
  show(session, await patchEntry(session.api(), 'token', before, body));
}

/** Unchecked: the server has the list of rights. */
function rightsOf(text: string): Right[] {
  return listOf(text) as Right[];
}

export function rightsText(rights: readonly string[] | null): string {
  return rights === null ? 'all rights of the role' : rights.join(', ');
}

function withoutSecret({ token: _, ...rest }: NewToken): Token {
  return rest;
}

function show({ print }: Session, token: Token): void {
  const { id, name, role, rights, expiresAt, lastUsedAt, createdAt, updatedAt } = token;
  print.thing(token, [
    ['id', id],
    ['name', name],
    ['role', role],
    ['rights', rightsText(rights)],
    ['expires', expiresAt ?? 'never'],
    ['last used', lastUsedAt ?? '-'],
    ['created', createdAt],
    ['changed', updatedAt],
  ]);
}
