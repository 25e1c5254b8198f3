import { type DeliveryEvent } from '../../../shared/model/attempt-events';
import { DELETIONS_KEPT_MS, DeletedUsers } from '../../../shared/model/deletion';
import { databaseJson, type Database, type Queries, type Row, UNHURRIED } from './database';
import { readParts } from './record-events';
import { storedId } from './stored-id';
import { type TablePartition } from './table-partitions';

/**
 * Stores deletions of users, removes their rows from the history, and keeps out their events in
 * `attempts`.
 */

export interface Deletion {
  id: string;
  /** ms since 1970 */
  at: number;
  users: string[];
  /** visitors who have no user id */
  anonymous: string[];
  /** sources whose rows are removed; null: all */
  sources: string[] | null;
  /** sources that got a message */
  affected: string[];
  messages: number;
}

/**
 * Stores a deletion, or a later time of it, and removes the users' rows.
 * @returns number of rows
 */
export async function recordDeletion(
  database: Queries & Pick<Database, 'transaction'>,
  deletion: Deletion,
): Promise<number> {
  const { id, at, users, anonymous, sources, affected, messages } = deletion;
  let rows = 0;
  // A user may have millions of rows, and who writes the history waits for each transaction.
  for (const part of await readParts(database)) {
    rows += await transactAlone(database, (queries) => removeRows(queries, deletion, part));
  }
  return transactAlone(database, async (queries) => {
    // With a new number, so that every process reads the later time.
    await queries.query('delete from waypost.deletions where id = $1', [id]);
    await queries.query(
      `insert into waypost.deletions (id, at, users, anonymous, sources, affected, messages)
       values ($1, $2, $3, $4, $5, $6, $7)`,
      [
        id,
        at,
        databaseJson(users),
        databaseJson(anonymous),
        databaseJson(sources),
        databaseJson(affected),
        messages,
      ],
    );
    // Those that were written meanwhile.
    return rows + (await removeRows(queries, deletion, { from: 0, to: at }));
  });
}

/**
 * Runs one transaction of a deletion. Two deletions may find the same rows in another order, and
 * would wait for each other.
 */
function transactAlone(
  database: Pick<Database, 'transaction'>,
  work: (queries: Queries) => Promise<number>,
): Promise<number> {
  return database.transaction(async (queries) => {
    await queries.query(UNHURRIED);
    if (queries.kind === 'server') {
      await queries.query('lock table waypost.deletions in share row exclusive mode');
    }
    return work(queries);
  });
}

/**
 * Removes the users' rows that were accepted within a span of time, ms since 1970.
 * @returns number of rows
 */
async function removeRows(
  { query }: Queries,
  { at, users, anonymous, sources }: Deletion,
  { from, to }: Pick<TablePartition, 'from' | 'to'>,
): Promise<number> {
  let rows = 0;
  for (const [column, ids] of [['user_id', users] as const, ['anonymous_id', anonymous] as const]) {
    if (ids.length === 0) continue;
    const [removed] = await query<{ count: number }>(
      `with gone as (
         delete from waypost.deliveries
         where ${column} in (select jsonb_array_elements_text($1::jsonb))
           and accepted_at >= $2::bigint and accepted_at < $3::bigint
           and ($4::boolean or source in (select jsonb_array_elements_text($5::jsonb)))
         returning accepted_at, id
       ), responses as (
         delete from waypost.responses r using gone
         where r.accepted_at = gone.accepted_at and r.delivery = gone.id
           and r.accepted_at >= $2::bigint and r.accepted_at < $3::bigint
       )
       select count(*)::bigint as count from gone`,
      [
        databaseJson(ids.map(storedId)),
        from,
        Math.min(to, at),
        sources === null,
        databaseJson(sources ?? []),
      ],
    );
    rows += removed?.count ?? 0;
  }
  return rows;
}

/** Lists the newest first. */
export async function listDeletions(
  database: Database,
  page: { limit: number; after?: { at: number; id: string } | undefined },
): Promise<{ rows: Deletion[] }> {
  const rows = await database.query(
    `select * from waypost.deletions where ($1::bigint is null or (at, id) < ($1::bigint, $2::text))
     order by at desc, id desc limit $3::int`,
    [page.after?.at ?? null, page.after?.id ?? null, page.limit],
  );
  return { rows: rows.map(fromRow) };
}

export async function getDeletion(database: Database, id: string): Promise<Deletion | undefined> {
  const [row] = await database.query('select * from waypost.deletions where id = $1', [id]);
  return row && fromRow(row);
}

function fromRow(row: Row): Deletion {
  const { id, at, users, anonymous, sources, affected, messages } = row as Record<
    keyof Deletion,
    never
  >;
  return {
    id,
    at,
    users: JSON.parse(users) as string[],
    anonymous: JSON.parse(anonymous) as string[],
    sources: JSON.parse(sources) as string[] | null,
    affected: JSON.parse(affected) as string[],
    messages,
  };
}

/**
 * Remembers deletions that later events may predate. Other control processes write deletions too,
 * so a process that writes rows first reads new deletions in the same transaction.
 */
export class Forgotten {
  readonly #users = new DeletedUsers();
  /** sequence number of the last known deletion */
  #seq = 0;

  get latestSeq(): number {
    return this.#seq;
  }

  /**
   * Reads all new deletions, and blocks further ones until the transaction ends: a blocked deletion
   * then finds and removes the rows that the transaction wrote.
   * @param kind an embedded database runs one transaction at a time, and needs no lock
   */
  async learn({ query }: Queries, kind: Database['kind'], nowMs: number): Promise<void> {
    // Waits for deletions in progress: every insert takes the conflicting lock. Otherwise a
    // deletion could become visible after one with a higher number.
    if (kind === 'server') await query('lock table waypost.deletions in share mode');
    const rows = await query<{
      seq: number;
      at: number;
      users: string;
      anonymous: string;
      sources: string;
    }>(
      `select seq, at, users, anonymous, sources from waypost.deletions where seq > $1::bigint
       and (at >= $2::bigint or seq = (select max(seq) from waypost.deletions)) order by seq`,
      [this.#seq, nowMs - DELETIONS_KEPT_MS],
    );
    for (const { seq, at, users, anonymous, sources } of rows) {
      const deletion = {
        at,
        users: JSON.parse(users) as string[],
        anonymous: JSON.parse(anonymous) as string[],
        sources: JSON.parse(sources) as string[] | null,
      };
      this.add(deletion, nowMs);
      this.#seq = seq;
    }
  }

  /** Reads new deletions outside a transaction that writes rows. */
  async refresh(database: Database, nowMs: number): Promise<void> {
    const news = await database.query(
      'select 1 from waypost.deletions where seq > $1::bigint limit 1',
      [this.#seq],
    );
    if (news.length > 0) {
      await database.transaction((queries) => this.learn(queries, database.kind, nowMs));
    }
  }

  add(
    { at, users, anonymous, sources }: Pick<Deletion, 'at' | 'users' | 'anonymous' | 'sources'>,
    nowMs = at,
  ): void {
    // They expire by their time, but one of a time ahead must not let all others expire.
    const expiresBy = Math.min(at, nowMs);
    for (const id of users) this.#users.add({ userId: asStored(id), at, sources }, expiresBy);
    for (const id of anonymous) {
      this.#users.add({ anonymousId: asStored(id), at, sources }, expiresBy);
    }
  }

  /** Returns whether the user or visitor of an event was deleted after its acceptance. */
  has(
    {
      userId,
      anonymousId,
      source: sourceId,
    }: Pick<DeliveryEvent, 'userId' | 'anonymousId' | 'source'>,
    acceptedAt: number,
  ): boolean {
    // Most records are newer than any deletion, and their ids need not be read.
    if (acceptedAt >= this.#users.latestAt) return false;
    const call = { sourceId, acceptedAt };
    return (
      (userId !== undefined && this.#users.covers({ ...call, userId: asStored(userId) })) ||
      (anonymousId !== undefined &&
        this.#users.covers({ ...call, anonymousId: asStored(anonymousId) }))
    );
  }

  /** Returns whether a user was deleted after this time, for all sources or for some. */
  wasDeletedSince(userId: string, atMs: number): boolean {
    const sources = this.#users.deletedSources(asStored(userId), atMs);
    return sources === 'all' || sources.length > 0;
  }

  /** Returns whether any of these users or visitors was deleted after this time. */
  hides(ids: () => readonly string[], source: string, atMs: number): boolean {
    if (atMs >= this.#users.latestAt) return false;
    return ids().some((id) => this.has({ userId: id, anonymousId: id, source }, atMs));
  }
}

/** Returns a text as the database stores it. */
function asStored(text: string): string {
  return JSON.parse(databaseJson(text)) as string;
}
