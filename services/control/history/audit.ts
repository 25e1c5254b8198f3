import { type Total } from '../../../shared/api/fields';
import { type AuditKind } from '../../../shared/api/operation';
import { type Authenticator, NOTE_HEADER } from '../../../shared/config/authentication';
import { compact } from '../../../shared/collections/defined';
import { type InRecord } from '../../../shared/kafka/port';
import { type ApiKind, type ConfigRecord, type Role } from '../../../shared/model/config';
import { type DestinationVersion, parseVersion, recordVersions } from './destination-versions';
import { databaseJson, type Database, type Queries } from './database';
import { allOf, behind, equalTo, parameters, whereOf } from './filter';
import { countNewest, type Cursor, listNewest, type NewestPage, type NewestQuery } from './newest';
import { type AuditNote, type Change } from './audit-note';

/**
 * Stores the audit trail: from the notes in records of `config`, each once, by the version that it
 * created, and from operations that change no entry of `config`.
 */

export interface AuditRow extends AuditNote {
  kind: AuditKind;
  entry: string;
  version: number;
  /** ms since 1970 */
  at: number;
}

export type ConfigFact =
  { kind: 'audit'; row: AuditRow } | { kind: 'version'; row: DestinationVersion };

/**
 * @returns the facts of a record; undefined in place of each that cannot be read; none of a record
 *   that control did not write, which changed nothing
 */
export function parseFacts(
  record: InRecord,
  authenticator: Pick<Authenticator, 'distrust'>,
): (ConfigFact | undefined)[] {
  if (authenticator.distrust(record)) return [];
  return [...factsOf('audit', parseNotes, record), ...factsOf('version', parseVersion, record)];
}

function factsOf<K extends ConfigFact['kind']>(
  kind: K,
  parse: (record: InRecord) => Extract<ConfigFact, { kind: K }>['row'][],
  record: InRecord,
): (ConfigFact | undefined)[] {
  try {
    return parse(record).map((row) => ({ kind, row }) as ConfigFact);
  } catch {
    return [undefined];
  }
}

export async function recordFacts(queries: Queries, facts: readonly ConfigFact[]): Promise<void> {
  const audit = facts.flatMap((fact) => (fact.kind === 'audit' ? [fact.row] : []));
  const versions = facts.flatMap((fact) => (fact.kind === 'version' ? [fact.row] : []));
  await recordAudit(queries, audit);
  await recordVersions(queries, versions);
}

/** @returns the row of a record; none for a tombstone, or for a copy that repairs the log */
export function parseNotes(record: InRecord): AuditRow[] {
  const note = record.headers[NOTE_HEADER];
  if (!note || !record.value) return [];
  const {
    kind,
    id: entry,
    version,
  } = JSON.parse(record.value.toString()) as ConfigRecord & { kind: ApiKind };
  return [{ ...(JSON.parse(note) as AuditNote), kind, entry, version, at: record.timestampMs }];
}

/** Name and type of each column, for reading a set of records from JSON. */
const TYPES = {
  kind: 'text',
  entry: 'text',
  version: 'int',
  at: 'bigint',
  action: 'text',
  name: 'text',
  by_id: 'text',
  by_name: 'text',
  by_role: 'text',
  changes: 'text',
};
const COLUMNS = Object.keys(TYPES).join(', ');
const COLUMN_TYPES = Object.entries(TYPES)
  .map((column) => column.join(' '))
  .join(', ');

export async function recordAudit({ query }: Queries, rows: readonly AuditRow[]): Promise<void> {
  const given = rows.map(({ by, changes, ...row }) => ({
    ...row,
    by_id: by.id,
    by_name: by.name,
    by_role: by.role,
    // A text within the JSON of the row, which PostgreSQL parses as JSON of its own.
    changes: databaseJson(changes),
  }));
  await query(
    `insert into waypost.audit (${COLUMNS})
     select ${COLUMNS} from jsonb_to_recordset($1::jsonb) as given(${COLUMN_TYPES})
     on conflict (entry, version) do nothing`,
    [databaseJson(given)],
  );
}

export interface AuditFilter {
  kind?: string | undefined;
  entry?: string | undefined;
  by?: string | undefined;
  /** false: without sessions, unless `kind` asks for them */
  sessions?: boolean | undefined;
  /** ms since 1970; `until` is exclusive */
  since?: number | undefined;
  until?: number | undefined;
}

/** Lists the newest first. A page looks at a limited number of rows. */
export async function listAudit(
  database: Database,
  filter: AuditFilter,
  { limit, after }: { limit: number; after?: Cursor | undefined },
): Promise<NewestPage<AuditRow>> {
  const { rows, stoppedAt } = await listNewest<Stored>(database, newestQuery(filter, after), limit);
  return {
    rows: rows.map(fromStored),
    stoppedAt: stoppedAt && { at: stoppedAt.at, id: auditId(stoppedAt) },
  };
}

/** Counts the rows that a list finds, as far as one page looks. */
export function countAudit(database: Database, filter: AuditFilter): Promise<Total> {
  return countNewest(database, newestQuery(filter, undefined));
}

function newestQuery(
  { kind, entry, by, since, until, sessions }: AuditFilter,
  after: Cursor | undefined,
): NewestQuery {
  const { params, param } = parameters();
  // Each has an index. The first one finds the fewest.
  const found = compact([
    equalTo(param, 'entry', entry),
    equalTo(param, 'by_id', by),
    equalTo(param, 'kind', kind),
  ]);
  const times = compact([
    since === undefined ? undefined : `at >= ${param(since)}::bigint`,
    until === undefined ? undefined : `at < ${param(until)}::bigint`,
  ]);
  const position = positionOf(after);
  if (position) {
    const at = `${param(position.at)}::bigint`;
    const values = [`${param(position.entry)}::text`, `${param(position.version)}::int`];
    times.push(...behind('at', ['entry', 'version'], at, values));
  }
  const leavesOut = sessions === false && kind === undefined;
  const fits = leavesOut ? [...found, `kind <> 'session'`] : found;
  return {
    newest: [`select ${COLUMNS} from waypost.audit ${whereOf([...found.slice(0, 1), ...times])}`],
    fits: allOf(fits),
    order: 'at desc, entry desc, version desc',
    params,
  };
}

function fromStored({ by_id, by_name, by_role, changes, ...row }: Stored): AuditRow {
  return {
    ...row,
    by: {
      id: by_id,
      name: by_name,
      role: by_role,
    },
    changes: JSON.parse(changes) as Change[],
  };
}

export async function lastSetAt(
  { query }: Database,
  entry: string,
  fields: readonly string[],
): Promise<number | null> {
  const [row] = await query<{ at: number | null }>(
    `select max(at) as at from waypost.audit where entry = $1 and exists (
       select 1 from jsonb_array_elements(changes::jsonb) change
       where change ->> 'field' in (select jsonb_array_elements_text($2::jsonb)))`,
    [entry, databaseJson(fields)],
  );
  return row?.at ?? null;
}

type Stored = Omit<AuditRow, 'by' | 'changes'> & {
  by_id: string;
  by_name: string;
  by_role: Role;
  changes: string;
};

export function auditId({ entry, version }: Pick<AuditRow, 'entry' | 'version'>): string {
  return `${entry}.${version}`;
}

function positionOf(after: Cursor | undefined) {
  const [, entry, version] = /^(.+)\.(\d+)$/.exec(after?.id ?? '') ?? [];
  if (!after || entry === undefined) return undefined;
  return { at: after.at, entry, version: Number(version) };
}
