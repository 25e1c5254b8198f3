import { type Encryptor } from '../../../shared/config/encryption';
import { resealDestination } from '../../../shared/config/reencrypt';
import { type InRecord } from '../../../shared/kafka/port';
import { type ConfigRecord, type Destination } from '../../../shared/model/config';
import { databaseJson, type Database, type Queries } from './database';

/**
 * Stores the versions of destinations that control reads from `config`, so that the history shows
 * which URL an attempt called after the destination changed. `config` itself is compacted and keeps
 * the last version only. Secrets stay encrypted as they are in `config`.
 */

export interface DestinationVersion {
  destination: string;
  version: number;
  /** ms since 1970 */
  at: number;
  /** undefined: this version deleted the destination */
  data: Destination | undefined;
}

/** @returns none for the records of other entries, and for tombstones */
export function parseVersion({ value, timestampMs: at }: InRecord): DestinationVersion[] {
  if (!value) return [];
  const { kind, id, version, data } = JSON.parse(value.toString()) as ConfigRecord;
  return kind === 'destination'
    ? [{ destination: id, version, at, data: data as Destination | undefined }]
    : [];
}

export async function recordVersions(
  { query }: Queries,
  rows: readonly DestinationVersion[],
): Promise<void> {
  if (rows.length === 0) return;
  const given = rows.map(({ data, ...row }) => ({
    ...row,
    data: data === undefined ? null : JSON.stringify(data),
  }));
  await query(
    `insert into waypost.destination_versions (destination, version, at, data)
     select destination, version, at, data from jsonb_to_recordset($1::jsonb)
       as given(destination text, version int, at bigint, data text)
     on conflict (destination, version) do nothing`,
    [databaseJson(given)],
  );
}

export type Versions = ReadonlyMap<string, Destination>;

export function versionKey(destination: string, version: number): string {
  return `${destination}/${version}`;
}

/** Reads these versions. The result omits unknown ones. */
export async function readVersions(
  { query }: Queries,
  wanted: readonly Pick<DestinationVersion, 'destination' | 'version'>[],
): Promise<Versions> {
  if (wanted.length === 0) return new Map();
  const rows = await query<{ destination: string; version: number; data: string | null }>(
    `select v.destination, v.version, v.data from waypost.destination_versions v
     join (select distinct destination, version from jsonb_to_recordset($1::jsonb)
       as given(destination text, version int)) w
       on v.destination = w.destination and v.version = w.version`,
    [databaseJson(wanted.map(({ destination, version }) => ({ destination, version })))],
  );
  return new Map(
    rows.flatMap(({ destination, version, data }): [string, Destination][] =>
      data === null ? [] : [[versionKey(destination, version), JSON.parse(data) as Destination]],
    ),
  );
}

/**
 * Deletes the versions that were replaced before a time, since no attempt of the history is as old,
 * and with its last version the health of a deleted destination. A backup may bring one back.
 */
export async function dropVersions({ query }: Queries, sinceMs: number): Promise<void> {
  await query(
    `with dropped as (
       delete from waypost.destination_versions v where (data is null and at < $1) or exists (
         select 1 from waypost.destination_versions later
         where later.destination = v.destination and later.version > v.version and later.at < $1)
       returning destination, version, data)
     delete from waypost.health using dropped
     where health.destination = dropped.destination and dropped.data is null and not exists (
       select 1 from waypost.destination_versions later
       where later.destination = dropped.destination and later.version > dropped.version)`,
    [sinceMs],
  );
}

/** Encrypts the versions with the first key, so that the other keys can be retired. */
export async function reencryptVersions(database: Database, encryptor: Encryptor): Promise<void> {
  const rows = await database.query<{ destination: string; version: number; data: string }>(
    'select destination, version, data from waypost.destination_versions where data is not null',
  );
  for (const { destination, version, data } of rows) {
    const resealed = resealDestination(JSON.parse(data) as Destination, encryptor).data;
    if (!resealed) continue;
    await database.query(
      'update waypost.destination_versions set data = $3 where destination = $1 and version = $2',
      [destination, version, JSON.stringify(resealed)],
    );
  }
}
