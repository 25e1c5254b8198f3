import { resolve } from 'node:path';
import { type Command } from 'commander';
import { type NewToken, type Operations, type Token } from '../../shared/api/operations';
import { type Cli, group, leaf, listOf, oneOf, type Session } from '../command';
import { writePrivately } from '../connect/files';
import { allTokens, findToken } from '../resolve-by-name';
import { type Column } from '../output/table';
import { usage } from '../process-context';

/** `waypost tokens`: the tokens for the control API, with their roles and rights. */

type Right = NonNullable<Token['rights']>[number];
const RIGHTS = 'restrict the role, such as events:read,deliveries:read';
const ROLES = ['admin', 'operator', 'read_only'] as const;
const ROLE = `admin: everything; operator: operations, no secrets; read_only: read access`;

interface Fields {
  role?: string;
  name?: string;
  expires?: string;
  rights?: string;
}

const COLUMNS: Column<Token>[] = [
  { title: 'ID', of: ({ id }) => id },
  { title: 'NAME', of: ({ name }) => name },
  { title: 'ROLE', of: ({ role }) => role },
  { title: 'RIGHTS', of: ({ rights }) => rightsText(rights) },
  { title: 'EXPIRES', of: ({ expiresAt }) => expiresAt ?? 'never' },
  { title: 'LAST USED', of: ({ lastUsedAt }) => lastUsedAt ?? '-' },
  { title: 'CREATED', of: ({ createdAt }) => createdAt },
];

export function addTokens(cli: Cli, program: Command): void {
  const tokens = group(program, 'tokens', 'Tokens of the control API: list, create, edit, revoke');
  leaf(
    cli,
    [tokens, 'list'],
    { summary: 'List tokens, without their secrets', example: 'tokens list' },
    async ({ api, print }) =>
      print.rows(COLUMNS, await allTokens(api()), 'No tokens except WAYPOST_ADMIN_TOKEN, which always exists.'),
  );
  leaf(
    cli,
    [tokens, 'show <token>'],
    { summary: 'Show one token, without its secret', example: 'tokens show "A dashboard"' },
    async (session, _, name = '') => show(session, await findToken(session.api(), name)),
  );
  leaf<Fields & { out?: string }>(
    cli,
    [tokens, 'create <name>'],
    {
      summary: 'Create a token; its secret is shown once',
      example: 'tokens create "A dashboard" --role read_only --out dashboard-token',
      options: [
        ['--role <role>', ROLE],
        ['--expires <time>', 'expiry, such as 2027-01-31T00:00:00Z'],
        ['--rights <list>', RIGHTS],
        ['--out <file>', 'write the secret to this file, readable only by you (default standard output)'],
      ],
    },
    create,
  );
  leaf<Fields>(
    cli,
    [tokens, 'edit <token>'],
    {
      summary: 'Change the name, role, expiry or rights, from the next request on',
      example: 'tokens edit "A dashboard" --role operator',
      options: [
        ['--role <role>', ROLE],
        ['--name <name>', 'new name'],
        ['--expires <time>', 'expiry, or never'],
        ['--rights <list>', `${RIGHTS}; all: every right of the role`],
      ],
    },
    edit,
  );
  leaf(
    cli,
    [tokens, 'revoke <token>'],
    { summary: 'Revoke a token immediately', example: 'tokens revoke "A dashboard"' },
    async (session, _, given = '') => {
      const { id, version } = await findToken(session.api(), given);
      await session.api().call('DELETE /tokens/{id}', { id, ifMatch: `"${String(version)}"` });
      session.print.thing({ id, deleted: true }, [['revoked', id]]);
    },
  );
}

async function create(session: Session, options: Fields & { out?: string }, name = ''): Promise<void> {
  const { world, print } = session;
  if (options.role === undefined) throw usage(`--role is required. ${ROLE}.`);
  const { expires, rights } = options;
  const body: Operations['POST /tokens']['body'] = {
    ...{ name, role: oneOf(options.role, '--role', ROLES) },
    ...(expires !== undefined && { expiresAt: expires }),
    ...(rights !== undefined && { rights: rightsOf(rights) }),
  };
  const { data } = await session.api().call('POST /tokens', { body });
  if (options.out !== undefined) {
    writePrivately(resolve(world.cwd, options.out), `${data.token}\n`);
    show(session, withoutSecret(data));
  } else if (print.json) {
    print.thing(data, []);
  } else {
    // The only line on standard output, so that it can be piped.
    world.out(`${data.token}\n`);
    print.note(`${data.id} is ${data.role}. Its secret is not stored and cannot be shown again.`);
  }
}

async function edit(session: Session, options: Fields, given = ''): Promise<void> {
  const { expires, rights } = options;
  const body = {
    ...(options.name !== undefined && { name: options.name }),
    ...(options.role !== undefined && { role: oneOf(options.role, '--role', ROLES) }),
    ...(expires !== undefined && { expiresAt: expires === 'never' ? null : expires }),
    ...(rights !== undefined && { rights: rights === 'all' ? null : rightsOf(rights) }),
  };
  if (Object.keys(body).length === 0) throw usage('Nothing to change. Give --role, --name, --expires or --rights.');
  const { id, version } = await findToken(session.api(), given);
  const ifMatch = `"${String(version)}"`;
  show(session, (await session.api().call('PATCH /tokens/{id}', { id, body, ifMatch })).data);
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
