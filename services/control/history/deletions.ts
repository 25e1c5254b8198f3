import { type Database, type Queries, type Row } from './database';
import { databaseJson } from './columns';
import { storedIds } from './user-id';

/** Users that were deleted: what the history forgets of them, now and in what is still to be read of `attempts`. */

/** Of these sources. */
export interface Deletion {
  id: string;
  /** ms since 1970 */
  at: number;
  users: string[];
  /** whose rows are forgotten; null: of all sources */
  sources: string[] | null;
  /** the sources that a message was sent for */
  affected: string[];
  /** messages sent */
  messages: number;
}

/** Writes it down, and removes the users' rows. @returns how many */
export async function recordDeletion(database: Database, deletion: Deletion): Promise<number> {
  const { id, at, users, sources, affected, messages } = deletion;
  return database.transaction(async ({ query }) => {
    await query(
      `insert into waypost.deletions (id, at, users, sources, affected, messages) values ($1, $2, $3, $4, $5, $6)`,
      [id, at, databaseJson(users), databaseJson(sources), databaseJson(affected), messages],
    );
    const rows = await query(
      `delete from waypost.deliveries
       where user_id in (select jsonb_array_elements_text($1::jsonb)) and accepted_at < $2::bigint
         and ($3::boolean or source in (select jsonb_array_elements_text($4::jsonb)))
       returning id`,
      [databaseJson(users.flatMap(storedIds)), at, sources === null, databaseJson(sources ?? [])],
    );
    return rows.length;
  });
}

/** The newest first. */
export async function listDeletions(
  database: Database,
  page: { limit: number; after?: { at: number; id: string } | undefined },
): Promise<Deletion[]> {
  const rows = await database.query(
    `select * from waypost.deletions where ($1::bigint is null or (at, id) < ($1::bigint, $2::text))
     order by at desc, id desc limit $3::int`,
    [page.after?.at ?? null, page.after?.id ?? null, page.limit],
  );
  return rows.map(fromRow);
}

export async function getDeletion(database: Database, id: string): Promise<Deletion | undefined> {
  const [row] = await database.query('select * from waypost.deletions where id = $1', [id]);
  return row && fromRow(row);
}

function fromRow(row: Row): Deletion {
  const { id, at, users, sources, affected, messages } = row as Record<keyof Deletion, never>;
  return {
    id,
    at,
    users: JSON.parse(users) as string[],
    sources: JSON.parse(sources) as string[] | null,
    affected: JSON.parse(affected) as string[],
    messages,
  };
}

/** Longer than `attempts` keeps a record. */
const REMEMBERED_MS = 8 * 86_400_000;

/**
 * The deletions that this process knows, of those that events still to be read may be older than. Other control processes
 * write deletions too: a process that writes rows learns of them first, in the same transaction.
 */
export class Forgotten {
  readonly #byUser = new Map<string, Pick<Deletion, 'at' | 'sources'>[]>();
  /** all deletions up to this one are known */
  #seq = 0;
  #latestAt = 0;

  /** changes with each deletion that is learned */
  get latestSeq(): number {
    return this.#seq;
  }

  /**
   * Learns all deletions, and holds off others until the transaction ends: a deletion that comes then finds the rows
   * that the transaction has written, and removes them.
   */
  async learn({ query }: Queries, nowMs: number): Promise<void> {
    // Waits for deletions under way, also those of processes that know nothing of this. Without it one of them could
    // become visible after another with a higher number.
    await query('lock table waypost.deletions in share mode');
    const rows = await query<{ seq: number; at: number; users: string; sources: string }>(
      `select seq, at, sources, case when at >= $2::bigint then users else '[]' end as users
       from waypost.deletions where seq > $1::bigint order by seq`,
      [this.#seq, nowMs - REMEMBERED_MS],
    );
    for (const { seq, at, users, sources } of rows) {
      this.add({ at, users: JSON.parse(users) as string[], sources: JSON.parse(sources) as string[] | null });
      this.#seq = seq;
    }
  }

  /** The same where nothing is to be written. */
  async refresh(database: Database, nowMs: number): Promise<void> {
    const news = await database.query('select 1 from waypost.deletions where seq > $1::bigint limit 1', [this.#seq]);
    if (news.length > 0) await database.transaction((queries) => this.learn(queries, nowMs));
  }

  add({ at, users, sources }: Pick<Deletion, 'at' | 'users' | 'sources'>): void {
    for (const user of users.map(asStored)) {
      this.#byUser.set(user, [...(this.#byUser.get(user) ?? []), { at, sources }]);
    }
    if (users.length > 0) this.#latestAt = Math.max(this.#latestAt, at);
  }

  /** Whether an event is of a user who was deleted after it was accepted. */
  has({ userId, source, acceptedAt }: { userId?: string | undefined; source: string; acceptedAt: string }): boolean {
    return userId !== undefined && this.hides(() => [userId], source, Date.parse(acceptedAt));
  }

  /** Whether what was sent at this time is of any of these users, and they were deleted afterwards. */
  hides(users: () => readonly string[], source: string, atMs: number): boolean {
    // Most are newer than any deletion: of these nothing is looked up.
    if (atMs >= this.#latestAt) return false;
    const isDeleted = (user: string) =>
      (this.#byUser.get(asStored(user)) ?? []).some(
        ({ at, sources }) => atMs < at && (sources === null || sources.includes(source)),
      );
    return users().some(isDeleted);
  }
}

/** A text as the database gives it back. */
function asStored(text: string): string {
  return JSON.parse(databaseJson(text)) as string;
}
