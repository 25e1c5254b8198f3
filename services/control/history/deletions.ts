import { type Database, type Row } from './database';
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

/** Those whose users may still be met in `attempts`. */
export async function deletionsSince(database: Database, sinceMs: number): Promise<Deletion[]> {
  const rows = await database.query('select * from waypost.deletions where at >= $1::bigint', [sinceMs]);
  return rows.map(fromRow);
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

/** Whether an event is of a user who was deleted after it was accepted. */
export class Forgotten {
  readonly #byUser = new Map<string, Pick<Deletion, 'at' | 'sources'>[]>();

  add({ at, users, sources }: Deletion): void {
    for (const user of users) this.#byUser.set(user, [...(this.#byUser.get(user) ?? []), { at, sources }]);
  }

  has(event: { userId?: string | undefined; source: string; acceptedAt: string }): boolean {
    const deletions = event.userId === undefined ? undefined : this.#byUser.get(event.userId);
    if (!deletions) return false;
    const acceptedAt = Date.parse(event.acceptedAt);
    return deletions.some(({ at, sources }) => acceptedAt < at && (sources === null || sources.includes(event.source)));
  }
}
