import { parseJson } from '../json/json';
import { type Json, type JsonObject } from './message';

/**
 * Records about profiles that one service writes and another reads: events, status, and queries of
 * control to the processes that own profiles (`profiles.queries`) with their results
 * (`profiles.results`).
 *
 * Queries and results are keyed by the query's id. Each process answers for the partitions that it
 * owns. A result is therefore complete when all partitions have answered.
 */

/**
 * Longest id of a user that has a profile. It is part of keys in the store, which are limited to
 * 1,978 bytes.
 */
export const MAX_USER_BYTES = 512;

/**
 * A deletion of a user, in `profiles.events`. Control writes it there itself, so that it needs no
 * source and no destination.
 */
export interface UserDeletedEvent {
  kind: 'delete';
  /** ms since 1970: calls that ingest accepted before no longer count */
  at: number;
  /** ids of the sources whose calls and traits go; null: everything known of the user */
  sources: string[] | null;
}

/** Header of an event: when its call or upload was accepted, ms since 1970. */
export const ACCEPTED_AT_HEADER = 'accepted-at';

/** A line of an upload of members, in `profiles.events`. It counts when the upload is complete. */
export interface ListedEvent {
  kind: 'listed';
  audience: string;
  /** id of its upload */
  upload: string;
  listed: boolean;
}

/**
 * The end of an upload of members, behind its lines in each partition of `profiles.events`. Uploads
 * of an audience take effect in the order of their numbers, which is the order of their ends.
 */
export interface UploadedEvent {
  kind: 'uploaded';
  audience: string;
  upload: string;
  number: number;
  /** true: the members are exactly these; false: members are added and removed */
  full: boolean;
  /** the lines of this partition have this offset at least */
  from: number;
}

/**
 * The progress of a definition in one partition.
 *
 * waiting: the log must be read again · filling: it is being read · held: counts, and waits for the
 * messages that existed when it was created, or for a scan · scanning: its first sync runs · live ·
 * leaving: deleted, and its data is being removed
 */
export type Phase = 'waiting' | 'filling' | 'held' | 'scanning' | 'live' | 'leaving';

/** A record of `profiles.status`: one definition in one partition. */
export interface StatusValue {
  definition: string;
  partition: number;
  /** number of all partitions */
  partitions: number;
  /** of the process that reports: later than that of each owner before */
  term: number;
  /** ISO 8601 */
  at: string;
  revision: number;
  phase: Phase;
  profiles: number;
  /** users whose profiles are full */
  full: number;
  /** profiles that the first sync has checked */
  counted: number;
  members: number;
  told: number;
  /** of these, not yet acknowledged */
  waiting: number;
  /** the last upload of members that was applied */
  upload: number;
  lastSync: { at: string; looked: number; told: number } | null;
}

interface QueryHeader {
  id: string;
  /** ms since 1970; after it no caller waits any more */
  expiresAt: number;
}

/** Asks how many members a condition would have. */
export interface PreviewQuery extends QueryHeader {
  kind: 'preview';
  condition: string;
  /** ids of the sources whose messages count; absent: all whose trust is `server` */
  sources?: string[];
}

/**
 * Asks for the members of an audience, or the users with a computed trait, in order of their ids.
 */
export interface MembersQuery extends QueryHeader {
  kind: 'members';
  /** id of the audience or computed trait */
  definition: string;
  /** the partitions to read, each after a user or from the first one */
  partitions: { partition: number; after?: string }[];
  /** the most users of each partition */
  limit: number;
  /** only this user */
  user?: string;
}

/** Cancels a query, since no caller waits any more. */
interface Cancellation extends QueryHeader {
  kind: 'cancel';
}

/** A process that has just started begins a preview from before; written first. */
interface Attempt extends QueryHeader {
  kind: 'attempt';
}

export type ProfileQuery = PreviewQuery | MembersQuery | Cancellation | Attempt;

/** Sent by a whole process: it has read the query, or will not answer it. */
type ProcessAnswer = { kind: 'heard' } | { kind: 'refused'; reason: string };

/** A user who would be a member, with some of their traits. */
export interface SampleUser {
  userId: string;
  traits: JsonObject;
}

/** The progress of a preview in one partition. A later one replaces earlier ones. */
export interface PreviewResult {
  kind: 'preview';
  partition: number;
  /** waiting: earlier messages are read first */
  state: 'waiting' | 'counting' | 'done';
  /** number of profiles */
  profiles: number;
  /** profiles checked, and the number to check: all, or a sample */
  looked: number;
  of: number;
  /** profiles with a known result, members among them, and failures */
  known: number;
  members: number;
  failed: number;
  /** among the known profiles: events under another id could not be counted */
  unsure: number;
  sample: SampleUser[];
}

export interface Member {
  userId: string;
  value: Json;
  /** ms since 1970 */
  since: number;
}

export interface MembersResult {
  kind: 'members';
  partition: number;
  members: Member[];
  /** no users follow */
  end: boolean;
}

export type ProfileResult = ProcessAnswer | PreviewResult | MembersResult;

/**
 * @returns undefined if unreadable. Only Waypost writes queries, so it comes from a newer version.
 */
/** The part of a `Buffer` that readers need; the console's types know no `Buffer`. */
type Bytes = { toString(): string };

export function readQuery(value: Bytes | null): ProfileQuery | undefined {
  return read(value, ['preview', 'members', 'cancel', 'attempt']) as ProfileQuery | undefined;
}

/** @returns undefined if unreadable, as for `readQuery` */
export function readResult(value: Bytes | null): ProfileResult | undefined {
  return read(value, ['heard', 'refused', 'preview', 'members']) as ProfileResult | undefined;
}

function read(value: Bytes | null, kinds: readonly string[]): { kind: string } | undefined {
  try {
    const read = parseJson(value?.toString() ?? 'null') as { kind?: unknown } | null;
    return typeof read?.kind === 'string' && kinds.includes(read.kind)
      ? { ...read, kind: read.kind }
      : undefined;
  } catch {
    return undefined;
  }
}
