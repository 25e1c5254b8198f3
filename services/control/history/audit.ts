import { type Total } from '../../../shared/api/fields';
import { type AuditKind } from '../../../shared/api/operation';
import { type Authenticator, NOTE_HEADER } from '../../../shared/config/authentication';
import { type InRecord } from '../../../shared/kafka/port';
import { type ApiKind, type ConfigRecord, type Role } from '../../../shared/model/config';
import { type DestinationVersion, parseVersion, recordVersions } from './destination-versions';
import { databaseJson, type Database, type Queries } from './database';
import { countUpTo } from './total';
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

export async function recordAudit({ query }: Queries, rows: readonly AuditRow[]): Promise<void> {
  const given = rows.map(({ by, changes, ...row }) => ({
    ...row,
    by_id: by.id,
    by_name: by.name,
    by_role: by.role,
    changes: JSON.stringify(changes),
  }));
  await query(
    `insert into waypost.audit (kind, entry, version, at, action, name, by_id, by_name, by_role, changes)
     select kind, entry, version, at, action, name, by_id, by_name, by_role, changes
     from jsonb_to_recordset($1::jsonb) as given(kind text, entry text, version int, at bigint, action text, name text,
       by_id text, by_name text, by_role text, changes text)
     on conflict (entry, version) do nothing`,
    [databaseJson(given)],
  );
}

export interface AuditFilter {
  kind?: string | undefined;
  entry?: string | undefined;
  by?: string | undefined;
  /** false: without sessions */
  sessions?: boolean | undefined;
  /** ms since 1970; `until` is exclusive */
  since?: number | undefined;
  until?: number | undefined;
}

/** Lists the newest first. */
export async function listAudit(
  database: Database,
  filter: AuditFilter,
  page: { limit: number; after?: { at: number; id: string } | undefined },
): Promise<AuditRow[]> {
  const rows = await database.query<Stored>(
    `select kind, entry, version, at, action, name, by_id, by_name, by_role, changes from waypost.audit
     where ${FITS}
       and ($7::bigint is null or (at, entry, version) < ($7::bigint, $8::text, $9::int))
     order by at desc, entry desc, version desc limit $10::int`,
    [...fitting(filter), ...positionOf(page.after), page.limit],
  );
  return rows.map(({ by_id: id, by_name, by_role: role, changes, ...row }) => ({
    ...row,
    by: { id, name: by_name, role },
    changes: JSON.parse(changes) as Change[],
  }));
}

/** Counts the rows that a list finds, up to a limit. */
export function countAudit(database: Database, filter: AuditFilter): Promise<Total> {
  return countUpTo(database, `select 1 from waypost.audit where ${FITS}`, fitting(filter));
}

/** The condition of a filter, with the parameters that `fitting` returns. */
const FITS = `($1::text is null or kind = $1) and ($2::text is null or entry = $2) and ($3::text is null or by_id = $3)
  and ($4::bigint is null or at >= $4) and ($5::bigint is null or at < $5) and ($6::text is null or kind <> $6)`;

function fitting({ kind, entry, by, since, until, sessions }: AuditFilter) {
  const left = sessions === false ? 'session' : null;
  return [kind ?? null, entry ?? null, by ?? null, since ?? null, until ?? null, left];
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

function positionOf(after: { at: number; id: string } | undefined) {
  const [, entry, version] = /^(.+)\.(\d+)$/.exec(after?.id ?? '') ?? [];
  return [
    after?.at ?? null,
    entry ?? null,
    version === undefined ? null : Number(version),
  ] as const;
}
