import { resolve } from 'node:path';
import { type Command } from 'commander';
import { type NewToken, type Token } from '../../shared/api/operations';
import { type Cli, group, leaf, oneOf, type Session } from '../command';
import { writePrivately } from '../connect/files';
import { allTokens, findToken } from '../find';
import { type Column } from '../output/table';
import { usage } from '../world';

/** `waypost tokens`: who may ask the control API, and what they may do. */

const ROLES = ['admin', 'operator', 'read_only'] as const;
const ROLE = `admin: everything; operator: everything that runs, no secrets; read_only: looks`;

const COLUMNS: Column<Token>[] = [
  { title: 'ID', of: ({ id }) => id },
  { title: 'NAME', of: ({ name }) => name },
  { title: 'ROLE', of: ({ role }) => role },
  { title: 'CREATED', of: ({ createdAt }) => createdAt },
];

export function addTokens(cli: Cli, program: Command): void {
  const tokens = group(program, 'tokens', 'Who may ask the control API: list, make, change, revoke');
  leaf(
    cli,
    [tokens, 'list'],
    { summary: 'All tokens, without their secrets', example: 'tokens list' },
    async ({ api, print }) =>
      print.rows(COLUMNS, await allTokens(api()), 'There is none beside WAYPOST_ADMIN_TOKEN, which every Waypost has.'),
  );
  leaf(
    cli,
    [tokens, 'show <token>'],
    { summary: 'One token, without its secret', example: 'tokens show "A dashboard"' },
    async (session, _, name = '') => show(session, await findToken(session.api(), name)),
  );
  leaf<{ role?: string; out?: string }>(
    cli,
    [tokens, 'create <name>'],
    {
      summary: 'Make a token: its secret is shown this once',
      example: 'tokens create "A dashboard" --role read_only --out dashboard-token',
      options: [
        ['--role <role>', ROLE],
        ['--out <file>', 'its secret to this file, which only you can read; else to standard output'],
      ],
    },
    create,
  );
  leaf<{ role?: string; name?: string }>(
    cli,
    [tokens, 'edit <token>'],
    {
      summary: 'Give it another name or role, from its next request on',
      example: 'tokens edit "A dashboard" --role operator',
      options: [
        ['--role <role>', ROLE],
        ['--name <name>', 'another name'],
      ],
    },
    edit,
  );
  leaf(
    cli,
    [tokens, 'revoke <token>'],
    { summary: 'Delete it: it opens nothing more', example: 'tokens revoke "A dashboard"' },
    async (session, _, given = '') => {
      const { id, version } = await findToken(session.api(), given);
      await session.api().call('DELETE /tokens/{id}', { id, ifMatch: `"${String(version)}"` });
      session.print.thing({ id, deleted: true }, [['revoked', id]]);
    },
  );
}

async function create(session: Session, options: { role?: string; out?: string }, name = ''): Promise<void> {
  const { world, print } = session;
  if (options.role === undefined) throw usage(`--role is needed. ${ROLE}.`);
  const body = { name, role: oneOf(options.role, '--role', ROLES) };
  const { data } = await session.api().call('POST /tokens', { body });
  if (options.out !== undefined) {
    writePrivately(resolve(world.cwd, options.out), `${data.token}\n`);
    show(session, withoutSecret(data));
  } else if (print.json) {
    print.thing(data, []);
  } else {
    // Alone on standard output, so that it can be given on.
    world.out(`${data.token}\n`);
    print.note(`${data.id} is ${data.role}. Its secret is kept nowhere: nobody can show it again.`);
  }
}

async function edit(session: Session, options: { role?: string; name?: string }, given = ''): Promise<void> {
  const body = {
    ...(options.name !== undefined && { name: options.name }),
    ...(options.role !== undefined && { role: oneOf(options.role, '--role', ROLES) }),
  };
  if (Object.keys(body).length === 0) throw usage('Say what to change: --role or --name.');
  const { id, version } = await findToken(session.api(), given);
  const ifMatch = `"${String(version)}"`;
  show(session, (await session.api().call('PATCH /tokens/{id}', { id, body, ifMatch })).data);
}

function withoutSecret({ token: _, ...rest }: NewToken): Token {
  return rest;
}

function show({ print }: Session, token: Token): void {
  const { id, name, role, createdAt, updatedAt } = token;
  print.thing(token, [
    ['id', id],
    ['name', name],
    ['role', role],
    ['created', createdAt],
    ['changed', updatedAt],
  ]);
}
