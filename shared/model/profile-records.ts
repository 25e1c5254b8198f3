/** Records about profiles that one service writes and another reads. */

/** Longest id of a user that has a profile. It is part of keys in the store, which are limited to 1,978 bytes. */
export const MAX_USER_BYTES = 512;

/** Header `format` of the records of `profiles.events`. */
export const PROFILE_EVENT_FORMAT = '1';

/** A line of an upload of members, in `profiles.events`. It counts when the upload is complete. */
export interface ListedEvent {
  kind: 'listed';
  audience: string;
  upload: number;
  listed: boolean;
}

/**
 * The progress of a definition in one partition.
 *
 * waiting: the log must be read again · filling: it is being read · held: counts, and waits for the messages that
 * existed when it was created, or for a scan · scanning: its first sync runs · live · leaving: deleted, and its data is
 * being removed
 */
export type Phase = 'waiting' | 'filling' | 'held' | 'scanning' | 'live' | 'leaving';

/** A record of `profiles.status`: one definition in one partition. */
export interface StatusValue {
  definition: string;
  partition: number;
  /** ISO 8601 */
  at: string;
  revision: number;
  phase: Phase;
  profiles: number;
  /** users whose profiles are full; absent: written by an older version */
  full?: number;
  /** profiles that the first sync has checked */
  counted: number;
  members: number;
  told: number;
  /** sent, and not yet acknowledged */
  waiting: number;
  /** the last upload of members that was applied */
  upload: number;
  lastSync: { at: string; looked: number; told: number } | null;
}
