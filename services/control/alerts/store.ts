import { type Total } from '../../../shared/api/fields';
import { compact } from '../../../shared/collections/defined';
import { type Decision, type DueNotice, type EndedNotice } from './decide';
import { type Notice } from './notice';
import { databaseJson, type Database, type Queries, type Row } from '../history/database';
import { allOf, behind, equalTo, parameters, whereOf } from '../history/filter';
import {
  countNewest,
  type Cursor,
  listNewest,
  type NewestPage,
  type NewestQuery,
} from '../history/newest';

/** Stores the decisions of alerts. */

/** SQL: who changes several notices locks them in one order, so that no two wait for each other. */
const IN_ORDER = 'order by id for update';

/** Stores what begins and ends, and which alerts are due. */
export async function storeDecision(
  queries: Queries,
  { raised, ended, due }: Pick<Decision, 'raised' | 'ended' | 'due'>,
): Promise<void> {
  const ids = [...ended, ...due].map(({ id }) => id);
  await queries.query(
    `select 1 from waypost.notices
     where id in (select jsonb_array_elements_text($1::jsonb)) ${IN_ORDER}`,
    [databaseJson(ids)],
  );
  await addNotices(queries, raised);
  await endNotices(queries, ended);
  await makeDue(queries, due);
}

export async function addNotices({ query }: Queries, notices: readonly Notice[]): Promise<void> {
  for (const notice of notices) {
    const { id, at, destination, kind, since, endedAt, alert, acknowledged: _, ...said } = notice;
    await query(
      `insert into waypost.notices (id, at, destination, kind, since, ended_at, alert, said)
       values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict (id) do nothing`,
      [id, at, destination, kind, since, endedAt, alert, databaseJson(said)],
    );
  }
}

async function makeDue({ query }: Queries, due: readonly DueNotice[]): Promise<void> {
  for (const { id, ...said } of due) {
    await query(
      `update waypost.notices set alert = 'due', said = (said::jsonb || $2::jsonb)::text
       where id = $1 and alert = 'later'`,
      [id, databaseJson(said)],
    );
  }
}

export async function endNotices({ query }: Queries, ended: readonly EndedNotice[]): Promise<void> {
  for (const { id, endedAt, alert, acknowledged = null, ...said } of ended) {
    await query(
      `update waypost.notices set ended_at = $2, alert = $3,
         said = (said::jsonb || $4::jsonb)::text, acknowledged = coalesce(acknowledged, $5)
       where id = $1 and ended_at is null`,
      [id, endedAt, alert, databaseJson(said), acknowledged && databaseJson(acknowledged)],
    );
  }
}

/** Returns the notices that have not ended, and those of some kinds since a moment. */
export async function knownNotices(
  { query }: Queries,
  { kinds, sinceMs }: { kinds: readonly string[]; sinceMs: number },
): Promise<Notice[]> {
  const rows = await query(
    `select * from waypost.notices
     where ended_at is null or (at > $2 and kind in (select jsonb_array_elements_text($1::jsonb)))
     order by at, id`,
    [databaseJson(kinds), sinceMs],
  );
  return rows.map(fromRow);
}

/** Returns notices with an alert to send, the oldest first. */
export async function dueNotices({ query }: Queries, limit: number): Promise<Notice[]> {
  const rows = await query(
    `select * from waypost.notices where alert = 'due' order by at, id limit $1`,
    [limit],
  );
  return rows.map(fromRow);
}

/**
 * Settles the alerts of these notices. One that has ended since has another alert to send, which
 * tells the end.
 */
export async function settleAlerts(
  { query }: Queries,
  notices: readonly Pick<Notice, 'id' | 'endedAt'>[],
  alert: 'sent' | 'none',
): Promise<void> {
  await query(
    `update waypost.notices set alert = $2 where id in (
       select notices.id from waypost.notices
       join jsonb_to_recordset($1::jsonb) as settled(id text, "endedAt" bigint)
         on notices.id = settled.id and notices.ended_at is not distinct from settled."endedAt"
       where alert = 'due' order by notices.id for update of notices)`,
    [databaseJson(notices.map(({ id, endedAt }) => ({ id, endedAt }))), alert],
  );
}

export interface NoticeFilter {
  destination?: string | undefined;
  kind?: string | undefined;
  open?: boolean | undefined;
  acknowledged?: boolean | undefined;
}

/** Lists the newest first. A page looks at a limited number of notices. */
export async function listNotices(
  database: Database,
  filter: NoticeFilter,
  { limit, after }: { limit: number; after?: Cursor | undefined },
): Promise<NewestPage<Notice>> {
  const { rows, stoppedAt } = await listNewest(database, newestQuery(filter, after), limit);
  const last = stoppedAt && fromRow(stoppedAt);
  return { rows: rows.map(fromRow), stoppedAt: last && { at: last.at, id: last.id } };
}

/** Counts the notices that a list finds, as far as one page looks. */
export function countNotices(database: Database, filter: NoticeFilter): Promise<Total> {
  return countNewest(database, newestQuery(filter, undefined));
}

function newestQuery(
  { destination, kind, open, acknowledged }: NoticeFilter,
  after: Cursor | undefined,
): NewestQuery {
  const { params, param } = parameters();
  // Each has an index. Few notices are open.
  const found = compact([
    open === true ? 'ended_at is null' : undefined,
    equalTo(param, 'destination', destination),
  ]);
  const before: string[] = [];
  if (after) {
    const at = `${param(after.at)}::bigint`;
    before.push(...behind('at', ['id'], at, [`${param(after.id)}::text`]));
  }
  const fits = compact([
    ...found,
    open === false ? 'ended_at is not null' : undefined,
    equalTo(param, 'kind', kind),
    acknowledged === undefined ? undefined : `(acknowledged is not null) = ${param(acknowledged)}`,
  ]);
  return {
    newest: [`select * from waypost.notices ${whereOf([...found.slice(0, 1), ...before])}`],
    fits: allOf(fits),
    order: 'at desc, id desc',
    params,
  };
}

/** Acknowledges notices of one origin, or with these ids. @returns those that nobody had */
export async function acknowledgeAll(
  { query }: Queries,
  which: { ids?: readonly string[] | undefined; origin?: string | undefined },
  acknowledged: NonNullable<Notice['acknowledged']>,
): Promise<string[]> {
  const rows = await query<{ id: string }>(
    `update waypost.notices set acknowledged = $1 where id in (
       select id from waypost.notices where acknowledged is null
         and ($2::jsonb is null or id in (select jsonb_array_elements_text($2::jsonb)))
         and ($3::text is null or said::jsonb ->> 'origin' = $3) ${IN_ORDER}) returning id`,
    [
      databaseJson(acknowledged),
      which.ids === undefined ? null : databaseJson(which.ids),
      which.origin ?? null,
    ],
  );
  return rows.map(({ id }) => id);
}

export async function getNotice(database: Database, id: string): Promise<Notice | undefined> {
  const [row] = await database.query('select * from waypost.notices where id = $1', [id]);
  return row && fromRow(row);
}

/**
 * Stores who acknowledged it; the first one stays. @returns undefined if the notice does not exist
 */
export async function acknowledge(
  database: Database,
  id: string,
  acknowledged: NonNullable<Notice['acknowledged']>,
): Promise<Notice | undefined> {
  const [row] = await database.query(
    `update waypost.notices set acknowledged = coalesce(acknowledged, $2)
     where id = $1 returning *`,
    [id, databaseJson(acknowledged)],
  );
  return row && fromRow(row);
}

type Stored = Pick<Notice, 'id' | 'at' | 'destination' | 'kind' | 'since' | 'alert'> & {
  ended_at: number | null;
  said: string;
  acknowledged: string | null;
};

function fromRow(row: Row): Notice {
  const {
    id,
    at,
    destination,
    kind,
    since,
    ended_at: endedAt,
    alert,
    said,
    acknowledged,
  } = row as Stored;
  return {
    id,
    at,
    destination,
    kind,
    since,
    endedAt,
    alert,
    ...(JSON.parse(said) as Omit<Notice, keyof Stored | 'endedAt'>),
    acknowledged:
      acknowledged === null ? null : (JSON.parse(acknowledged) as Notice['acknowledged']),
  };
}
