import { type Command } from 'commander';
import { AUDIT_KINDS } from '../../shared/api/operation';
import { type Audit, type Operations } from '../../shared/api/operations';
import { type Cli, leaf, oneOf, type Session, whole } from '../command';
import { all } from '../connect/api';
import { findToken } from '../resolve-by-name';
import { type Column } from '../output/table';

/** `waypost audit`: the log of changes and actions, with their authors. */

type Entry = Audit['data'][number];
type Query = NonNullable<Operations['GET /audit']['query']>;

/** Authors without a token in the list: the admin token of the settings, and Waypost itself. */
const NO_TOKENS = ['admin', 'waypost'];

const COLUMNS: Column<Entry>[] = [
  { title: 'AT', of: ({ at }) => at },
  { title: 'BY', of: ({ by }) => by.name },
  { title: 'ROLE', of: ({ by }) => by.role },
  { title: 'DID', of: ({ action, kind }) => `${action} ${kind}` },
  { title: 'NAME', of: ({ name }) => name },
  { title: 'ENTRY', of: ({ entry }) => entry },
  { title: 'CHANGED', of: ({ changes }) => changes.map(changeOf).join('; ') },
];

interface AuditOptions {
  kind?: string;
  entry?: string;
  by?: string;
  limit?: string;
}

export function addAudit(cli: Cli, program: Command): void {
  leaf<AuditOptions>(
    cli,
    [program, 'audit'],
    {
      summary: 'List the audit trail, newest first',
      example: 'audit --kind destination --limit 20',
      options: [
        ['--kind <kind>', AUDIT_KINDS.join(', ')],
        ['--entry <id>', 'id of a source, destination or other entry'],
        ['--by <token>', 'by id or name; admin: the token in the settings; waypost: Waypost itself'],
        ['--limit <n>', 'maximum number (default 50)'],
      ],
    },
    async (session, options) => {
      const query = await queryOf(session, options);
      const limit = whole(options.limit ?? '50', '--limit', [1, 100_000]);
      const { call } = session.api();
      const found = await all((page) => call('GET /audit', { query: { ...query, ...page } }), limit);
      session.print.rows(COLUMNS, found, 'No matching entries.');
    },
  );
}

async function queryOf(session: Session, { kind, entry, by }: AuditOptions): Promise<Query> {
  return {
    ...(kind !== undefined && { kind: oneOf(kind, '--kind', AUDIT_KINDS) }),
    ...(entry !== undefined && { entry }),
    ...(by !== undefined && { by: await actor(session, by) }),
  };
}

/** Accepts any id as it is: a revoked token is no longer in the list, but its actions still are. */
async function actor(session: Session, by: string): Promise<string> {
  if (NO_TOKENS.includes(by) || by.startsWith('tok_')) return by;
  return (await findToken(session.api(), by)).id;
}

function changeOf({ field, from, to }: Entry['changes'][number]): string {
  return `${field}: ${textOf(from)} → ${textOf(to)}`;
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return '-';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
