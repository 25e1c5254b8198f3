import { type Json, type JsonObject } from './message';

/**
 * What control asks of the processes that keep profiles (`profiles.questions`), and what they answer (`profiles.answers`), both
 * under the question's id. Each process answers for the partitions that it keeps, so whoever asks knows that an answer is
 * whole when all partitions have been answered for.
 */

interface Asked {
  id: string;
  /** ms since 1970: then nobody waits for it any more */
  expiresAt: number;
}

/** How many a condition would have as members. */
export interface PreviewQuery extends Asked {
  kind: 'preview';
  condition: string;
  /** ids of the sources whose messages count; absent: all whose trust is `server` */
  sources?: string[];
}

/** Who is in an audience, or has a computed trait, in order of their ids. */
export interface MembersQuery extends Asked {
  kind: 'members';
  /** id of the audience or computed trait */
  definition: string;
  /** where to look, each from behind a user on, or from the first */
  partitions: { partition: number; after?: string }[];
  /** the most that is wanted of each partition */
  limit: number;
  /** this one alone */
  user?: string;
}

/** Nobody waits for it any more. */
interface Cancellation extends Asked {
  kind: 'cancel';
}

export type ProfileQuery = PreviewQuery | MembersQuery | Cancellation;

/** Of a whole process: it has read the question, or will not answer it. */
type ProcessAnswer = { kind: 'heard' } | { kind: 'refused'; reason: string };

/** Somebody who would be in, with some of their traits. */
export interface SampleUser {
  userId: string;
  traits: JsonObject;
}

/** How far a preview is in one partition: a later one takes the place of the ones before it. */
export interface PreviewResult {
  kind: 'preview';
  partition: number;
  /** waiting: messages that came before are read first */
  state: 'waiting' | 'counting' | 'done';
  /** profiles there are */
  profiles: number;
  /** profiles looked at, of how many that are to be: all, or a sample */
  looked: number;
  of: number;
  /** profiles whose result is known, how many of them are in, and how many failed */
  known: number;
  members: number;
  failed: number;
  /** of those known: what they did under another id could not be counted */
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
  /** there is nobody behind them */
  end: boolean;
}

export type ProfileResult = ProcessAnswer | PreviewResult | MembersResult;

/** @returns undefined where it cannot be read: written by Waypost alone, it is one of a newer version */
export function readQuery(value: Buffer | null): ProfileQuery | undefined {
  return read(value, ['preview', 'members', 'cancel']) as ProfileQuery | undefined;
}

/** @returns undefined where it cannot be read, as `readQuestion` */
export function readResult(value: Buffer | null): ProfileResult | undefined {
  return read(value, ['heard', 'refused', 'preview', 'members']) as ProfileResult | undefined;
}

function read(value: Buffer | null, kinds: readonly string[]): { kind: string } | undefined {
  try {
    const read = JSON.parse(value?.toString() ?? 'null') as { kind?: unknown } | null;
    return typeof read?.kind === 'string' && kinds.includes(read.kind) ? { ...read, kind: read.kind } : undefined;
  } catch {
    return undefined;
  }
}
