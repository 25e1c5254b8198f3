import { databaseJson, type Database } from '../history/database';

/**
 * Stores the keys that sign sessions, ended sessions, and last uses of tokens in control's
 * database.
 */

export interface SessionKey {
  /**
   * number of the key's period since 1970: if two processes create a key for one period, the first
   * wins
   */
  period: number;
  /** ms since 1970 */
  madeAt: number;
  /** 32 bytes, base64 */
  key: string;
}

/**
 * Reads the keys that sign sessions, the newest first, and adds `made` if its period has no key.
 * @param neededSince drops keys whose successor was created before this time (ms since 1970): all
 * their sessions have ended
 */
export async function sessionKeys(
  database: Database,
  made: SessionKey,
  neededSince: number,
): Promise<SessionKey[]> {
  const { query } = database;
  const read = () =>
    query<{ period: number; madeAt: number; key: string }>(
      'select period, made_at as "madeAt", key from waypost.session_keys order by period desc',
    );
  const keys = await read();
  if (keys.some(({ period }) => period >= made.period)) return keys;
  await query(
    'insert into waypost.session_keys (period, made_at, key) values ($1, $2, $3) on ' +
      'conflict do nothing',
    [made.period, made.madeAt, made.key],
  );
  await query(
    `delete from waypost.session_keys
     where period < (select max(period) from waypost.session_keys where made_at < $1::bigint)`,
    [neededSince],
  );
  return read();
}

export interface EndedSession {
  id: string;
  /** regular end, ms since 1970, after which the row is deleted */
  until: number;
}

/** Writes ended sessions, and returns all whose regular end is not over. */
export async function endedSessions(
  { query }: Database,
  ended: readonly EndedSession[],
  nowMs: number,
): Promise<EndedSession[]> {
  if (ended.length > 0) {
    await query('delete from waypost.ended_sessions where until <= $1::bigint', [nowMs]);
    await query(
      `insert into waypost.ended_sessions (id, until)
       select id, until from jsonb_to_recordset($1::jsonb) as given(id text, until bigint)
       on conflict do nothing`,
      [databaseJson(ended)],
    );
  }
  return query<{ id: string; until: number }>(
    'select id, until from waypost.ended_sessions where until > $1::bigint',
    [nowMs],
  );
}

/** By token id; ms since 1970. */
export type TokenTimes = ReadonlyMap<string, number>;

/** Stores the latest uses, in a fixed order, so that two processes cannot deadlock. */
export async function recordTokenUses({ query }: Database, uses: TokenTimes): Promise<void> {
  await query(
    `insert into waypost.token_uses (token, at)
     select token, at from jsonb_to_recordset($1::jsonb) as given(token text, at bigint)
     order by token
     on conflict (token) do update set at = greatest(waypost.token_uses.at, excluded.at)`,
    [databaseJson(Array.from(uses, ([token, at]) => ({ token, at })))],
  );
}

export async function tokenUses({ query }: Database): Promise<TokenTimes> {
  const rows = await query<{ token: string; at: number }>(
    'select token, at from waypost.token_uses',
  );
  return new Map(rows.map(({ token, at }) => [token, at]));
}
