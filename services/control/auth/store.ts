import { databaseJson } from '../history/row-codec';
import { type Database } from '../history/database';

/** What control keeps about access in its own database: keys that sign sessions, ended sessions, and last uses of tokens. */

export interface SessionKey {
  /** number of the key's time span since 1970: of two processes that make a key for one span, the first wins */
  period: number;
  /** ms since 1970 */
  madeAt: number;
  /** 32 bytes, base64 */
  key: string;
}

/**
 * Reads the keys that sign sessions, the newest first, and adds `made` where no process has made one for its period.
 * @param neededSince a key whose successor was made before this time (ms since 1970) signs no session that still holds
 */
export async function sessionKeys(database: Database, made: SessionKey, neededSince: number): Promise<SessionKey[]> {
  const { query } = database;
  const read = () =>
    query<{ period: number; madeAt: number; key: string }>(
      'select period, made_at as "madeAt", key from waypost.session_keys order by period desc',
    );
  const keys = await read();
  if (keys.some(({ period }) => period >= made.period)) return keys;
  await query('insert into waypost.session_keys (period, made_at, key) values ($1, $2, $3) on conflict do nothing', [
    ...[made.period, made.madeAt, made.key],
  ]);
  await query(
    `delete from waypost.session_keys
     where period < (select max(period) from waypost.session_keys where made_at < $1::bigint)`,
    [neededSince],
  );
  return read();
}

/** A session that was ended before its time. */
export interface EndedSession {
  id: string;
  /** ms since 1970 at which it would have ended by itself: then the row goes */
  until: number;
}

/** Writes down ended sessions, and returns all whose time is not over. */
export async function endedSessions(
  { query }: Database,
  ended: readonly EndedSession[],
  nowMs: number,
): Promise<EndedSession[]> {
  if (ended.length > 0) {
    await query('delete from waypost.ended_sessions where until <= $1::bigint', [nowMs]);
    await query(
      `insert into waypost.ended_sessions (id, until)
       select id, until from jsonb_to_recordset($1::jsonb) as given(id text, until bigint) on conflict do nothing`,
      [databaseJson(ended)],
    );
  }
  return query<{ id: string; until: number }>('select id, until from waypost.ended_sessions where until > $1::bigint', [
    nowMs,
  ]);
}

/** By token id: ms since 1970. */
export type TokenTimes = ReadonlyMap<string, number>;

export async function recordTokenUses({ query }: Database, uses: TokenTimes): Promise<void> {
  await query(
    `insert into waypost.token_uses (token, at)
     select token, at from jsonb_to_recordset($1::jsonb) as given(token text, at bigint)
     on conflict (token) do update set at = greatest(waypost.token_uses.at, excluded.at)`,
    [databaseJson(Array.from(uses, ([token, at]) => ({ token, at })))],
  );
}

export async function tokenUses({ query }: Database): Promise<TokenTimes> {
  const rows = await query<{ token: string; at: number }>('select token, at from waypost.token_uses');
  return new Map(rows.map(({ token, at }) => [token, at]));
}
